"""What a run asks the kernel: nothing that it knows already."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from mayavi import _kernel
from mayavi.evm.specialise import specialised
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario
from mayavi.worlds.source import WorldSource

DECIMALS = bytes.fromhex("313ce567")


class CountingEvm:
    """EVM that counts what it is asked: methods, and calls by target and selector."""

    def __init__(self, evm: _kernel.Evm) -> None:
        self.evm, self.asked = evm, Counter[Any]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.evm, name)
        if not callable(found):
            return found

        def counted(*arguments: Any, **options: Any) -> Any:
            self.asked[name] += 1
            if name in ("call", "call_many"):
                data = arguments[1] if name == "call" else arguments[1][0]
                self.asked[arguments[0], data[:4]] += 1
            return found(*arguments, **options)

        return counted


@pytest.fixture(scope="module")
def asked() -> tuple[Counter[Any], dict[str, bytes]]:
    """What eight steps of a price crash ask of the kernel, without fees; and the addresses of contracts."""
    overrides = ["agents.borrowers.count=40", "prices.WETH={process: step, at: 1, size: -35%}"]
    overrides += ["gas.base_fee=0", "gas.priority_fee=0"]
    config = load_scenario("depeg_cascade", steps=8, overrides=overrides).config
    with specialised("on") as work:
        built = build(config, WorldSource.of(chain=config.chain).open(), 7, 1)
        fork = built.world.fork
        fork.read_within(work, seed=1)
        built.scheduler.begin()
        evm = CountingEvm(fork._evm)
        fork._evm = fork._fetcher._evm = fork._snapshots._evm = cast(_kernel.Evm, evm)
        kinds = Counter(row.kind for _ in range(8) for row in built.scheduler.tick()[0] if row.status == "success")
    assert {"liquidate", "arbitrage", "deleverage"} <= set(kinds), kinds
    return evm.asked, {name: fork.address_of(name) for name in fork.labels}


def test_amounts_are_quoted_without_measuring_gas(asked: tuple[Counter[Any], dict[str, bytes]]) -> None:
    counts, places = asked
    by_target = Counter[bytes]()
    for key, count in counts.items():
        if isinstance(key, tuple):
            by_target[key[0]] += count
    assert by_target[places["UniswapV3.Quoter"]] > 0
    assert by_target[places["UniswapV3.QuoterV2"]] == 0


def test_what_never_changes_is_read_once(asked: tuple[Counter[Any], dict[str, bytes]]) -> None:
    counts, places = asked
    assert counts["code"] <= 6  # a few of each adapter when it is opened
    for token in ("WETH", "USDC"):
        assert counts[places[token], DECIMALS] <= 2


def test_the_block_is_asked_for_once_a_block_of_agents(asked: tuple[Counter[Any], dict[str, bytes]]) -> None:
    counts, _ = asked
    assert counts["block"] < counts["transact"] / 2


def test_approvals_are_sent_with_what_they_are_for(asked: tuple[Counter[Any], dict[str, bytes]]) -> None:
    counts, _ = asked
    assert counts["attempt"] > counts["transact"] / 2
