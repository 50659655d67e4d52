"""Whoever a scenario gives a tip offers it, whatever kind it is of."""

from __future__ import annotations

import pytest

from tests.scenarios.play import play

RACE = """\
name: race
chain: ethereum
steps: 2
step_time: 1h
tokens: {NOVA: {supply: 1_000_000}}
pools: {NOVA/USDC.3000: {price: 1, liquidity: {NOVA: 100_000, USDC: 100_000}}}
agents:
  ann: {kind: vesting, token: 1_000 NOVA, pool: NOVA/USDC.3000}
  bob: {kind: vesting, token: 1_000 NOVA, pool: NOVA/USDC.3000}
  crowd: {kind: traders, pool: NOVA/USDC.3000, trades_a_step: 20, size: 10, capital: {NOVA: 10_000, USDC: 10_000}}
ordering: priority_fee
gas: {base_fee: 1 gwei, priority_fee: 1 gwei}
"""


@pytest.mark.parametrize("first", ["ann", "bob", "crowd"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_highest_tip_comes_first_and_is_paid(first: str, seed: int) -> None:
    played = play("", text=RACE, seed=seed, overrides=[f"agents.{first}.priority_fee=9 gwei"])
    block = [row for row in played.actions if row.step == 0]
    names = [row.agent for row in sorted(block, key=lambda row: row.position)]
    count = names.count(first)
    assert count
    assert names[:count] == [first] * count
    for row in block:
        assert int(row.fee_wei) == row.gas_used * (10 if row.agent == first else 2) * 10**9
