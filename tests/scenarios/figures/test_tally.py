"""Totals of a run, added up from rows that are written by hand."""

from __future__ import annotations

from mayavi import Fork
from mayavi.scenarios.figures.tally import ScenarioTally
from mayavi.sim.rows import ActionRow, canonical
from mayavi.sim.world_state import WorldState


def row(kind: str, **details: int | str) -> ActionRow:
    return ActionRow(0, "act", 0, "bot", "bot", kind, "success", "", 1, 21_000, "0", 1, 1, canonical(details))


def tally_of(*rows: ActionRow) -> ScenarioTally:
    tally = ScenarioTally()
    tally.add_step(WorldState(Fork.empty(), [], seed=1), rows)
    return tally


def test_an_action_that_liquidates_several_times_counts_as_several() -> None:
    tally = tally_of(
        row("liquidate", borrower="alice", covered_e8=500, times=3, profit_e8=20),
        row("liquidate", borrower="bob", covered_e8=70),
        row("liquidate", borrower="alice", covered_e8=9, profit_e8=-5),
    )
    assert (tally.liquidations, tally.liquidated_e8, tally.liquidator_profit_e8) == (5, 579, 15)
    assert list(tally.liquidated_accounts) == ["alice", "bob"]


def test_the_largest_difference_from_the_record_is_that_of_any_trade() -> None:
    trades = [
        row("buy", token_in="USDC", token_out="NOVA", amount_in=10, amount_out=out, recorded_out=1_000)
        for out in (1_000, 970, 1_010)
    ]
    tally = tally_of(*trades)
    assert (tally.recorded_trades, tally.largest_difference_ppm) == (3, 30_000)
    assert tally.sold["bot", "USDC", "NOVA"] == [30, 2_980]
