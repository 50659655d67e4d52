"""`gymnasium.make` takes the same options as `make_vec` and `make_rows`."""

from __future__ import annotations

import gymnasium

from mayavi.gym_env import make_rows


def test_a_portfolio_ignores_specialise_however_it_is_made() -> None:
    one = gymnasium.make("mayavi/RWAYield-v0", horizon=24, specialise="on")
    many = gymnasium.make_vec("mayavi/RWAYield-v0", num_envs=2, horizon=24, specialise="on")
    rows = make_rows("rwa", horizon=24, specialise="on")
    assert one.unwrapped.env.config == many.unwrapped.env.config == rows.config
