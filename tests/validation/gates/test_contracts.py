"""Our contracts agree with mainnet's bytecode, and each comparison can fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayavi.validation.contracts import comet_markets, feeds, lockstep, tokens
from mayavi.validation.contracts.feeds import compare_feeds
from mayavi.validation.contracts.lockstep import compare_comet, compare_stableswap
from mayavi.validation.contracts.published_code import compare_code
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.contracts.recorded_exchange import BLOCK as EXCHANGE_BLOCK
from mayavi.validation.contracts.recorded_exchange import compare_exchanges
from mayavi.validation.contracts.stableswap_pools import OurPool, Situation
from mayavi.validation.contracts.tokens import TOKENS, compare_tokens
from mayavi.validation.gate import GateContext, GateSkipped, Tally
from mayavi.validation.gates.contracts import ContractsGate
from mayavi.validation.run import run_gate
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from tests.validation.recorded_copy import change, copy_blocks

ROUTER = "0xe592427a0aece92de3edee1f18e0157c05861564"
WETH = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"


@pytest.fixture(scope="module")
def recorded(cases: Path) -> RecordedContracts:
    return RecordedContracts(cases / "mainnet" / "blocks")


@pytest.mark.slow(1)
def test_all_contracts_agree(cases: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = run_gate(
        ContractsGate(operations=60), GateContext(cases), progress=lambda done, total: seen.append((done, total))
    ).report
    assert report.first_difference == ""
    assert report.verdict == "passed"
    assert report.notes == ()
    assert set(report.parts) == {
        *("StableSwap3 as 3pool", "Comet as cUSDCv3", "WETH9 as WETH", "Token as USDC", "Token as DAI"),
        *("SilentToken as USDT", "StableSwap3 in block 17,666,333", "PriceFeed as ETH/USD", "Uniswap V3 code from npm"),
    }
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)


def test_a_fee_of_a_ten_billionth_more_is_found(recorded: RecordedContracts, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_fee(situation: Situation, *rest: Any) -> OurPool:
        return OurPool(replace(situation, fee=situation.fee + 1), *rest)

    monkeypatch.setattr(lockstep, "OurPool", other_fee)
    tally = Tally()
    compare_stableswap(recorded, 200, tally)
    assert tally.differences == 1
    assert tally.first_difference.startswith("StableSwap3 as 3pool: OurPool, ")
    assert "fee is" in tally.first_difference


def test_another_parameter_of_comet_is_found(recorded: RecordedContracts, monkeypatch: pytest.MonkeyPatch) -> None:
    real = comet_markets.our_market
    monkeypatch.setattr(
        comet_markets,
        "our_market",
        lambda parameters, *rest, **more: real(parameters.but(borrow_min=parameters.borrow_min + 1), *rest, **more),
    )
    tally = Tally()
    compare_comet(recorded, 60, tally)
    assert tally.differences == 1
    assert "baseBorrowMin" in tally.first_difference


def test_a_token_that_returns_something_is_not_usdt(
    recorded: RecordedContracts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (usdt,) = [each for each in TOKENS if each.symbol == "USDT"]
    monkeypatch.setattr(tokens, "TOKENS", [usdt._replace(artifact="Token")])
    tally = Tally()
    compare_tokens(recorded, 100, tally)
    assert tally.differences == 1
    assert "Token as USDT: " in tally.first_difference
    assert "mainnet's code" in tally.first_difference


class LaterFeeds(ArtifactStore):
    """Artifacts whose price feed is posted a second too late."""

    def get(self, name: str) -> Any:
        real = super().get(name)

        class Later:
            def initcode(self, arguments: Sequence[Any]) -> bytes:
                text, decimals, answer, number, updated_at, owner = arguments
                return Artifact.initcode(real, (text, decimals, answer, number, updated_at + 1, owner))

        return Later()


def test_a_feed_with_another_time_is_found(recorded: RecordedContracts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "ArtifactStore", LaterFeeds)
    tally = Tally()
    compare_feeds(recorded, tally)
    assert tally.differences == 2
    assert tally.first_difference.startswith("PriceFeed as ETH/USD: latestRoundData(): Chainlink's ")


@pytest.mark.slow(0.3)
def test_one_unit_in_the_recorded_exchange_is_found(cases: Path, tmp_path: Path) -> None:
    folder = copy_blocks(cases, tmp_path, EXCHANGE_BLOCK) / "mainnet" / "blocks"
    amount = 10_743_789_362

    def one_more(receipts: Any) -> None:
        (log,) = [
            each
            for receipt in receipts
            for each in receipt["logs"]
            if each["data"].endswith(f"{amount:064x}") and len(each["data"]) == 2 + 4 * 64
        ]
        log["data"] = log["data"][:-64] + f"{amount + 1:064x}"

    change(folder / "receipts" / f"{EXCHANGE_BLOCK}.json.gz", one_more)
    tally = Tally()
    compare_exchanges(RecordedContracts(folder), tally)
    assert tally.differences == 1
    assert f"the chain gave {amount + 1}, ours {amount}" in tally.first_difference


@pytest.mark.slow(0.3)
def test_other_code_at_the_address_of_the_router_is_found(cases: Path, tmp_path: Path) -> None:
    block = 19_932_703
    folder = copy_blocks(cases, tmp_path, block) / "mainnet" / "blocks"

    def swap(accounts: Any) -> None:
        accounts[ROUTER]["code_hash"] = accounts[WETH]["code_hash"]

    change(folder / str(block) / "pre_state.json.gz", swap)
    tally = Tally()
    compare_code(RecordedContracts(folder), tally)
    assert tally.differences == 1
    assert tally.first_difference.startswith("UniswapV3.SwapRouter: mainnet's code hashes to 0xd0a06b12")


@pytest.mark.slow(3)
def test_damaged_bytecode_fails_the_gate(cases: Path, tmp_path: Path) -> None:
    folder = copy_blocks(cases, tmp_path, EXCHANGE_BLOCK)

    def damage(codes: Any) -> None:
        first = next(iter(codes))
        codes[first] = codes[first][:-1] + ("0" if codes[first][-1] != "0" else "1")

    change(folder / "mainnet" / "blocks" / "bytecodes.json.gz", damage)
    report = run_gate(ContractsGate(operations=1), GateContext(folder)).report
    assert report.verdict == "failed"
    assert "hashes to" in report.first_difference


@pytest.mark.slow(0.5)
def test_parts_without_their_recording_are_noted(cases: Path, tmp_path: Path) -> None:
    folder = copy_blocks(cases, tmp_path, EXCHANGE_BLOCK)
    report = run_gate(ContractsGate(operations=5), GateContext(folder)).report
    assert report.verdict == "passed"
    assert any("has no contract" in note for note in report.notes)
    with pytest.raises(GateSkipped, match="has no contract"):
        RecordedContracts(folder / "mainnet" / "blocks").get(1, bytes(20))
