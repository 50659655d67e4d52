"""Steps that are too long for the fall of a price are found; jumps that a scenario asks for are not."""

from __future__ import annotations

import pytest

from mayavi.evm.units import WAD
from mayavi.scenarios.build.pricing import price_drawer
from mayavi.scenarios.figures.coarseness import largest_falls
from mayavi.scenarios.figures.notes import notes
from mayavi.scenarios.loading import load_text
from tests.agents.stage import replica
from tests.scenarios.play import play

MARKET = """\
name: market
chain: ethereum
steps: 10
step_time: {time}
prices: {{WETH: {price}}}
agents:
  alice: {{kind: borrower, collateral: 5 WETH, debt: USDC, health_factor: 1.5}}
  bot: {{kind: liquidator, capital: {{USDC: 100_000}}}}
"""


def fall_of(price: str, time: str = "1h") -> tuple[float, int]:
    config = load_text(MARKET.format(price=price, time=time)).config
    seconds = config.step_time or 0
    (prices,) = price_drawer(config, replica(), seconds)([1])
    found = largest_falls(config, prices, ["WETH", "WBTC"], seconds)["WETH"]
    return found.change_wad / WAD, found.step_needed


@pytest.mark.parametrize(
    ("price", "time", "change", "needed"),
    [
        ("{process: ramp, at: 2, steps: 5, size: -20%}", "1h", -0.0476, 0),
        ("{process: ramp, at: 2, steps: 2, size: -40%}", "1h", -0.25, 600),
        ("{process: ramp, at: 2, steps: 1, size: -40%}", "1h", -0.4, 300),
        ("{process: ramp, at: 2, steps: 1, size: -40%}", "1m", -0.4, 12),
        ("{process: step, at: 2, size: -40%}", "1h", 0.0, 0),
        ("{process: step, at: 2, size: -40%, then: {process: ramp, at: 1, steps: 2, size: -50%}}", "1h", -0.3333, 300),
        ("{process: ramp, at: 2, steps: 2, size: 40%}", "1h", 0.0, 0),
    ],
)
def test_the_largest_fall_in_a_step(price: str, time: str, change: float, needed: int) -> None:
    found, step = fall_of(price, time)
    assert found == pytest.approx(change, abs=1e-3)
    assert step == needed


def test_a_run_with_long_steps_prints_a_note_that_names_the_step_to_take() -> None:
    played = play("", text=MARKET.format(price="{process: ramp, at: 2, steps: 2, size: -40%}", time="1h"))
    rows = {row.name: row.number for row in played.built.kpis(played.built.world)}
    (note,) = [note for note in notes(rows) if "in one step" in note]
    assert "the price of WETH falls by 25.00 % in one step" in note
    assert "`step_time: 10m`" in note
    shorter = MARKET.format(price="{process: ramp, at: 2, steps: 7, size: -20%}", time="10m")
    assert "step_needed.WETH" not in play("", text=shorter).kpis


def test_bad_debt_after_a_jump_is_explained_by_the_jump() -> None:
    played = play("", text=MARKET.format(price="{process: step, at: 2, size: -50%}", time="1h"))
    rows = {row.name: row.number for row in played.built.kpis(played.built.world)}
    assert rows["jump.WETH"] == pytest.approx(-0.5)
    assert rows["bad_debt"] > 0
    (note,) = [note for note in notes(rows) if "jumps by" in note]
    assert "WETH jumps by −50.0 % at once" in note
    small = play("", text=MARKET.format(price="{process: step, at: 2, size: -10%}", time="1h"))
    assert not [
        note
        for note in notes({row.name: row.number for row in small.built.kpis(small.built.world)})
        if "jumps by" in note
    ]
