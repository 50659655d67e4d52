"""`RWAYieldEnv` with the arguments of its class, and with a market in memory."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from mayavi.errors import MayaviError
from mayavi.portfolio import RWAModel, RWAYieldEnv, market_of_arrays, write_rwa
from mayavi.portfolio.market.data import ASSETS, COLUMNS, HOUR_SECONDS, INPUTS

HOURS = 1_000


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    drawn = RWAModel().draw([np.random.default_rng(3)], HOURS - 1)
    return {name: drawn.column(name)[0] for name in COLUMNS}


def test_it_is_a_gymnasium_environment_with_its_own_arguments() -> None:
    env = RWAYieldEnv(
        episode_length=24, initial_capital=5_000, rebalance_cost_bps=20, risk_free_rate=3, reward_scaling=1
    )
    assert issubclass(RWAYieldEnv, gymnasium.Env)
    config = env.env.config
    assert (config.horizon, config.initial_capital, config.rebalance_cost_bps) == (24, 5_000, 20)
    assert (config.risk_free_rate, config.reward_scaling) == (3, 1)
    check_env(env, skip_render_check=True)
    assert type(gymnasium.make("mayavi/RWAYield-v0").unwrapped) is RWAYieldEnv


def test_infos_have_names() -> None:
    env = RWAYieldEnv(episode_length=24)
    _, info = env.reset(seed=1)
    assert info["weights"] == {"usdy": 0.4, "meth": 0.35, "mi4": 0.25}
    assert tuple(info["market"]) == COLUMNS
    _, _, _, _, info = env.step(np.zeros(3, dtype=np.float32) if env.action_space.shape else 1)
    assert tuple(info["return_by_asset"]) == tuple(info["target_weights"]) == ASSETS
    assert sum(info["weights"].values()) == pytest.approx(1)


@pytest.mark.slow(0.3)
def test_arrays_play_what_the_same_file_plays(arrays: dict[str, Any], tmp_path) -> None:
    times = 1_735_689_600.0 + HOUR_SECONDS * np.arange(HOURS)
    in_memory = RWAYieldEnv({"time": times, **arrays}, episode_length=48)
    write_rwa(market_of_arrays({"time": times, **arrays}), tmp_path / "market.csv")
    from_file = RWAYieldEnv(data=str(tmp_path / "market.csv"), episode_length=48)
    one, other = in_memory.reset(seed=9), from_file.reset(seed=9)
    assert (one[0] == other[0]).all()
    assert one[1] == other[1]
    for _ in range(48):
        action = in_memory.action_space.sample()
        mine, its = in_memory.step(action), from_file.step(action)
        assert (mine[0] == its[0]).all()
        assert mine[1:] == its[1:]


def test_a_data_frame_without_times_or_assumed_columns_is_enough(arrays: dict[str, Any]) -> None:
    import pandas as pd

    frame = pd.DataFrame({name: arrays[name] for name in INPUTS})
    env = RWAYieldEnv(frame, episode_length=48, start="fixed")
    _, info = env.reset(seed=0)
    assert info["market"]["eth_price"] in frame["eth_price"].to_numpy()
    needed = {name: arrays[name] for name in ("eth_price", "btc_price", "fed_rate")}
    assert market_of_arrays(needed).assumed == tuple(name for name in COLUMNS if name not in needed)


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"eth_prize": [1.0]}, "unknown column 'eth_prize'", "eth_price"),
        ({"fed_rate": None}, "column 'fed_rate'", "one number an hour"),
        ({"fed_rate": [1.0, 2.0]}, "differ in length", "one value for each hour"),
        ({"btc_price": [[1.0]]}, "has the shape (1, 1)", "one number an hour"),
        ({"time": np.zeros(HOURS)}, "the hour after 1970-01-01", "hours follow each other"),
    ],
)
def test_arrays_that_are_no_market_are_refused(arrays, change: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(MayaviError) as caught:
        market_of_arrays(arrays | change)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_arguments_that_contradict_each_other_are_refused(arrays: dict[str, Any]) -> None:
    del_required = {name: values for name, values in arrays.items() if name != "btc_price"}
    for make, message in (
        (lambda: RWAYieldEnv(episode_length=3, horizon=4), "both episode_length and horizon"),
        (lambda: RWAYieldEnv(arrays, data="x.csv"), "both historical_data and data"),
        (lambda: RWAYieldEnv(source="snapshot:x"), "there is no snapshot|stands on no chain"),
        (lambda: RWAYieldEnv(del_required), "no column 'btc_price'"),
        (lambda: RWAYieldEnv(arrays, episode_length=5_000), "an episode needs"),
    ):
        with pytest.raises(MayaviError, match=message):
            make()


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"episode_lenght": 3}, "no setting 'episode_lenght'", "did you mean 'episode_length'?"),
        ({"historic_data": {}}, "no setting 'historic_data'", "did you mean 'historical_data'?"),
        ({"reward_scalin": 3}, "no setting 'reward_scalin'", "reward_scaling"),
        ({"historical_data": 3}, "historical_data is of the type int", "a mapping of columns to arrays"),
    ],
)
def test_misspelt_arguments_are_refused_with_the_name_meant(given: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(MayaviError) as refused:
        RWAYieldEnv(**given)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
