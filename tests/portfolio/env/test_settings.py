"""Settings of the portfolio, and what a person sees of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.gym_env.registry import make_single
from mayavi.portfolio.market.data import ASSETS
from tests.portfolio.env.rows import rwa


@pytest.mark.parametrize(
    ("settings", "kind", "told"),
    [
        ({"min_wight": 0.1}, UsageError, "no setting 'min_wight'"),
        ({"market": {"eth_drft": 1.0}}, UnknownName, "unknown parameter of the market 'eth_drft'"),
        ({"market": {"eth_volatility": -1.0}}, UsageError, "eth_volatility"),
        ({"initial_weights": [0.5, 0.5, 0.5]}, UsageError, "three weights that add up to one"),
        ({"initial_weights": [0.5, 0.5]}, UsageError, "'initial_weights' is .*: number 3 of it is missing"),
        ({"begin": "2024-01-01"}, UsageError, "^begin and end choose a part of a file; give data too"),
        ({"boundaries": [0.8, 0.6]}, UsageError, "two shares between 0 and 1"),
        ({"reward": "profit"}, UsageError, "setting 'reward'"),
        ({"stop_drawdown": 0.0}, UsageError, "setting 'stop_drawdown'"),
        ({"initial_capital": float("nan")}, UsageError, "setting 'initial_capital'"),
        ({"max_weight": 0.2}, UsageError, "setting 'max_weight'"),
        ({"source": "rpc"}, UsageError, "stands on no chain"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        rwa(1, **settings)


def test_an_action_of_another_shape_is_told_as_it_was_given() -> None:
    env = make_single("rwa", horizon=3)
    env.reset(seed=1)
    with pytest.raises(BadArgument, match=r"an action has the shape \(2,\)") as caught:
        env.step(np.zeros(2))
    assert caught.value.hint == "it takes the shape (3,): 3 numbers from -1 to 1"


def test_a_person_sees_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("mayavi/RWAYield-v0", render_mode="human", horizon=3)
    env.reset(seed=1)
    for _ in range(3):
        env.step(np.zeros(3, dtype=np.float32))  # it prints by itself
    assert env.render() is None  # and who asks again gets no second line
    lines = capsys.readouterr().out.splitlines()
    assert [line[:9] for line in lines] == ["Step    0", "Step    1", "Step    2", "Step    3"]
    assert lines[0] == "Step    0 | Value: $100,000.00 | Weights: USDY=0.40 mETH=0.35 MI4=0.25 | DD: 0.0000"
    assert "human" not in make_single("vesting").metadata["render_modes"]
    with pytest.raises(UsageError, match="render mode 'human'"):
        make_single("vesting", render_mode="human")


def test_the_markets_parameters_are_part_of_its_identity(tmp_path: Path) -> None:
    assert rwa().world_digest == rwa(3, horizon=10).world_digest
    assert rwa().world_digest != rwa(market={"eth_drift": 0.0}).world_digest
    assert len(ASSETS) == 3
