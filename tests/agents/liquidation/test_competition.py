"""Liquidators and blocks: who comes first, how many fit, and what the later one is told."""

from __future__ import annotations

from collections import Counter

import pytest

from mayavi.agents.base import Agent
from mayavi.evm.units import gwei
from tests.agents.liquidation.places import PLACES, Place, crowd, liquidated, lowered
from tests.agents.stage import Stage, details, replica


@pytest.mark.parametrize("place", PLACES)
def test_of_two_that_race_the_slower_is_refused_and_stays_in_the_record(place: Place) -> None:
    agents: list[Agent] = [
        place.borrower(),
        place.liquidator("fast", priority_fee_wei=gwei(2)),
        place.liquidator("slow", priority_fee_wei=gwei(1)),
    ]
    stage = Stage(replica(place.chain), agents, ordering="priority_fee", base_fee_wei=gwei(1))
    lowered(stage.fork)
    rows = [row for row in stage.after("-0.25") if row.kind == "liquidate"]
    assert [(row.agent, row.status) for row in rows] == [("fast", "success"), ("slow", "failed")]
    assert "HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in rows[1].reason or "NotLiquidatable" in rows[1].reason
    assert details(rows[1])["borrower"] == "alice"
    assert int(rows[0].fee_wei) > 0


def test_the_race_is_drawn_by_lot_where_nobody_pays_for_a_place() -> None:
    winners = set()
    for seed in range(8):
        agents: list[Agent] = [Place().borrower(), Place().liquidator("one"), Place().liquidator("two")]
        stage = Stage(replica(), agents, seed=seed)
        rows = [row for row in stage.after("-0.25") if row.kind == "liquidate"]
        assert sorted(row.status for row in rows) == ["failed", "success"]
        winners.add(rows[0].agent)
    assert winners == {"one", "two"}


def test_no_more_than_it_sends_in_a_block_and_the_rest_in_the_next_blocks() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=5)
    stage = Stage(replica(), [people, bot], step_blocks=300)
    rows = [row for row in stage.after("-0.2") if row.agent == "bot"]
    per_block = Counter(row.block_number for row in rows)
    first = min(per_block)
    assert per_block == {first: 5, first + 1: 5, first + 2: 2}
    assert {details(row)["borrower"] for row in rows} == set(people.accounts)
    assert not people.loan.lending.healths(people.addresses).liquidatable.any()
    # Each was quoted after the sales before it, so every expectation is what came out.
    for row in rows:
        facts = details(row)
        assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=200)  # two units of USDC


def test_a_step_of_one_block_leaves_the_rest_to_the_next_step() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=5)
    stage = Stage(replica(), [people, bot])
    counts = [len(liquidated(stage.after("-0.2"))), len(liquidated(stage.step())), len(liquidated(stage.step()))]
    assert counts == [5, 5, 2]
    assert len(bot.limited["most_a_block"]) == 7


@pytest.mark.slow(0.3)
def test_the_richer_an_account_the_earlier_it_tends_to_come() -> None:
    ranks = []
    for seed in range(12):
        people = crowd()
        bot = Place().liquidator(watch=people.accounts, most_a_block=12)
        stage = Stage(replica(), [people, bot], seed=seed)
        order = [int(details(row)["borrower"].partition("-")[2]) for row in liquidated(stage.after("-0.2"))]
        richest = max(range(12), key=lambda member: people.amounts[member])
        ranks.append(order.index(richest))
    assert len(set(ranks)) > 1
    assert sum(ranks) / len(ranks) < 4.5  # a shuffle without weights gives 5.5


def test_competitors_go_for_different_accounts_and_collisions_fail() -> None:
    people = crowd()
    bots = [Place().liquidator(f"bot-{at}", watch=people.accounts, most_a_block=3) for at in range(3)]
    stage = Stage(replica(), [people, *bots])
    rows = liquidated(stage.after("-0.2"))
    assert len(rows) == 9
    done = [details(row)["borrower"] for row in rows if row.status == "success"]
    failed = [row for row in rows if row.status == "failed"]
    assert len(set(done)) == len(done) >= 5
    assert {details(row)["borrower"] for row in failed} <= set(done)
    assert all("HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in row.reason for row in failed)


def test_a_slow_one_waits_its_blocks_even_if_nobody_else_acts() -> None:
    alice, bot = Place().borrower(), Place().liquidator(latency_blocks=7)
    stage = Stage(replica(), [alice, bot], step_blocks=300)
    stage.step()
    seen = stage.fork.block_number
    (row,) = liquidated(stage.after("-0.2"))
    assert row.status == "success"
    assert row.block_number == seen + 7


def test_of_a_fast_and_a_slow_one_the_fast_one_gets_the_account() -> None:
    agents = [Place().borrower(), Place().liquidator("fast"), Place().liquidator("slow", latency_blocks=1)]
    stage = Stage(replica(), agents, step_blocks=300)
    assert [(row.agent, row.status) for row in liquidated(stage.after("-0.2"))] == [("fast", "success")]


def test_a_block_holds_only_so_much_gas() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=12)
    stage = Stage(replica(), [people, bot], step_blocks=300)
    stage.fork.set_block(gas_limit=3_000_000)
    rows = liquidated(stage.after("-0.2"))
    used: Counter[int] = Counter()
    for row in rows:
        used[row.block_number] += row.gas_used
    assert len(rows) == 12
    assert len(used) > 2
    assert max(used.values()) <= 3_000_000


@pytest.mark.slow(0.3)
def test_an_account_is_noticed_by_chance_and_liquidated_in_that_block() -> None:
    waits = []
    for seed in range(40):
        bot = Place().liquidator(notices=0.5)
        stage = Stage(replica(), [Place().borrower(), bot], seed=seed, step_blocks=300)
        start = stage.fork.block_number
        (row,) = liquidated(stage.after("-0.2"))
        waits.append(row.block_number - start)
    assert set(waits) > {0, 1, 2}
    assert 0.4 < sum(waits) / len(waits) < 1.8  # a geometric number of blocks: one on average
