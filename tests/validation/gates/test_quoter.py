"""Quotes are what trades give, on every pool at every size; a quoter that lies is named."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import UnknownName
from mayavi.evm.contents import WorldContents
from mayavi.evm.state import open_evm
from mayavi.protocols import CurveStableSwap, UniswapV3
from mayavi.validation.gate import GateContext, Tally
from mayavi.validation.gates.quoter import QuoterGate
from mayavi.validation.quoter.curve import compare_curve_pool, curve_pools
from mayavi.validation.quoter.odd_pools import ODD_CURVE_POOLS, ODD_POOLS, odd_world
from mayavi.validation.quoter.sizes import amounts_in, amounts_out
from mayavi.validation.quoter.uniswap import compare_pool, swap_cases, uniswap_pools
from mayavi.validation.run import run_gate
from mayavi.worlds import world_names
from mayavi.worlds.source import WorldSource
from tests.evm.assembler import assemble

SLOW = {"ONE_TICK_100"}  # walks through every tick of a pool with a spacing of one


@cache
def _odd() -> Fork:
    return odd_world()


@pytest.fixture
def odd() -> Fork:
    return _odd().copy()


@pytest.fixture
def ethereum() -> Fork:
    return WorldSource("replica", "ethereum").open()


def test_sizes_reach_from_one_unit_to_beyond_what_a_pool_holds() -> None:
    assert amounts_in(5_000)[:6] == [1, 2, 3, 10, 100, 1_000]
    assert {5_000, 50_000} <= set(amounts_in(5_000))
    assert {2_500, 5_000, 5_001} <= set(amounts_out(5_000))
    assert max(amounts_in(0)) == max(amounts_out(0)) == 10**30


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in ODD_POOLS])
def test_an_odd_pool_gives_what_its_quoter_says(odd: Fork, name: str) -> None:
    (label,) = [each for each in uniswap_pools(odd) if each.startswith(f"UniswapV3.{name}_0/")]
    tally, before = Tally(), odd.digest()
    compare_pool(odd, label, tally, where="odd")
    assert tally.first_difference == ""
    assert tally.cases >= 20
    assert odd.digest() == before


@pytest.mark.parametrize("name", ODD_CURVE_POOLS)
def test_an_odd_curve_pool_gives_what_get_dy_says(odd: Fork, name: str) -> None:
    tally = Tally()
    rounded = compare_curve_pool(odd, f"Curve.{name}", tally, where="odd")
    assert tally.first_difference == ""
    assert 0 < rounded < tally.cases


def test_odd_pools_are_odd(odd: Fork) -> None:
    pools = {label.split(".")[1].split("_0/")[0]: label for label in uniswap_pools(odd)}
    assert set(pools) == set(ODD_POOLS)
    market = UniswapV3(odd)
    one_tick, empty, never, lowest, highest = (
        market._pool_of(pools[name])
        for name in ("ONE_TICK_3000", "EMPTY", "NEVER_INITIALISED", "LOWEST_PRICE", "HIGHEST_PRICE")
    )
    assert [each.tick for each in one_tick.ticks()] == [0, 60]
    assert empty.ticks() == []
    assert never.sqrt_price_x96 == 0
    assert (lowest.tick, highest.tick) == (-887_272, 887_271)
    assert {case.exact_input for case in swap_cases(one_tick)} == {True, False}
    assert {case.zero_for_one for case in swap_cases(one_tick)} == {True, False}


@pytest.mark.parametrize("chain", world_names())
def test_a_pool_of_each_replica_gives_what_its_quoter_says(chain: str) -> None:
    fork = WorldSource("replica", chain).open()
    label = next(each for each in uniswap_pools(fork) if not each.endswith(".100"))
    report = run_gate(QuoterGate([WorldSource("replica", chain)], [label]), GateContext()).report
    assert report.first_difference == ""
    assert report.verdict == "passed"
    assert report.parts[chain] > 50


def test_a_quoter_that_answers_something_else_is_named(ethereum: Fork, tmp_path: Path) -> None:
    ethereum.set_code("UniswapV3.QuoterV2", assemble("5 0 MSTORE 128 0 RETURN"))
    ethereum.dump_snapshot(tmp_path / "poisoned.snapshot")
    source = WorldSource.of(snapshot=tmp_path / "poisoned.snapshot")
    report = run_gate(QuoterGate([source], ["UniswapV3.WETH/USDC.500"]), GateContext()).report
    assert report.verdict == "failed"
    assert "UniswapV3.WETH/USDC.500, 1 units of USDC for WETH: QuoterV2 says 5 units" in report.first_difference


def test_a_swap_that_needs_one_unit_more_than_quoted_is_a_difference(ethereum: Fork) -> None:
    """A quoter that asks one unit less than the pool: the swap with exactly that budget fails."""
    quote = UniswapV3(ethereum).quote_exact_output(("USDC", "WETH", 500), 10**18)
    words = f"{quote.amount_in - 1} 0 MSTORE {quote.sqrt_prices_after_x96[0]} 32 MSTORE 128 0 RETURN"
    ethereum.set_code("UniswapV3.QuoterV2", assemble(words))
    tally = Tally()
    compare_pool(ethereum, "UniswapV3.WETH/USDC.500", tally, where="ethereum")
    assert tally.differences == tally.cases


def test_a_curve_pool_that_quotes_a_unit_too_little_is_named(odd: Fork) -> None:
    """Coins of 18 decimals have no slack; a quote may never be below the exchange."""
    pool = CurveStableSwap(odd, "Curve.unbalanced")
    tally = Tally()
    real = type(pool).quote
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CurveStableSwap, "quote", lambda *asked: max(0, real(*asked) - 1))
        compare_curve_pool(odd, "Curve.unbalanced", tally, where="odd")
    assert tally.differences
    assert "get_dy says" in tally.first_difference


def test_pools_can_be_chosen_by_label_and_address_and_an_unknown_one_is_refused(ethereum: Fork) -> None:
    world = [WorldSource("replica", "ethereum")]
    assert curve_pools(ethereum)
    address = ethereum.labels["UniswapV3.WBTC/WETH.3000"]
    report = run_gate(QuoterGate(world, [address, "Curve.3pool"]), GateContext()).report
    assert report.verdict == "passed"
    with pytest.raises(UnknownName, match=r"unknown pool 'UniswapV3\.WETH/USDC\.501'"):
        QuoterGate(world, ["UniswapV3.WETH/USDC.501"]).run(GateContext(), lambda done, total: None)
    with pytest.raises(UnknownName, match="no contract stands at"):
        QuoterGate(world, ["0x00000000000000000000000000000000000a11ce"]).run(GateContext(), lambda done, total: None)


def test_a_token_that_cannot_be_dealt_is_said_and_not_compared(ethereum: Fork) -> None:
    """The token answers 1 to every call and stores no balance."""
    ethereum.set_code("USDC", assemble("1 0 MSTORE 32 0 RETURN"))
    tally = Tally()
    compare_pool(ethereum, "UniswapV3.WETH/USDC.500", tally, where="ethereum")
    (reason,) = tally.skips
    assert reason == "ethereum, UniswapV3.WETH/USDC.500: the trader cannot be given so much USDC"
    assert f"not compared: {reason}" in tally.report("quotes").notes[0]


def test_a_snapshot_that_lacks_the_state_of_a_pool_is_said_and_not_compared(ethereum: Fork, tmp_path: Path) -> None:
    """A world that knows what a quote reads, and no account that trades."""
    partial = open_evm(1, ethereum.hardfork)
    for address, account in WorldContents.of(ethereum.freeze().dump()).accounts.items():
        partial.learn_account(address, account.balance, account.nonce, account.code)
        partial.learn_slots(address, account.slots)
    fork = Fork.from_state(partial.freeze(), labels=ethereum.labels, source={"kind": "rpc"})
    fork.dump_snapshot(tmp_path / "partial.snapshot")
    source = WorldSource.of(snapshot=tmp_path / "partial.snapshot")
    report = run_gate(QuoterGate([source], ["UniswapV3.WETH/USDC.500"]), GateContext()).report
    assert report.verdict == "skipped"
    assert "1 not compared: " in report.notes[0]
    assert "is not in this snapshot" in report.notes[0]
