"""The portfolio of USDY, mETH and MI4: its accounts, its bounds, and that nothing of the future is seen or earned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.gym_env import make_rows
from mayavi.gym_env.episodes import episode_stream
from mayavi.gym_env.registry import make_single
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.env.observations import OWN
from mayavi.portfolio.market.assets import growth, trade_gas_usd
from mayavi.portfolio.market.data import ASSETS, COLUMNS, PLACE, RWAMarket
from mayavi.portfolio.market.history import read_rwa, write_rwa
from mayavi.portfolio.market.model import RWAModel
from tests.portfolio.env.by_hand import USUAL, PortfolioByHand

WITHOUT_COSTS = {"rebalance_cost_bps": 0.0, "least_turnover": 0.0, "market": {"gas_median": 1e-12}}


def rwa(rows: int = 1, **settings: Any) -> RWAYieldRows:
    env = make_rows("rwa", rows, **settings)
    assert isinstance(env, RWAYieldRows)
    return env


def market_of(env: RWAYieldRows, episode: int) -> RWAMarket:
    """The market of an episode, lookback and all."""
    model = replace(RWAModel(), **env.config.market)
    return model.draw([episode_stream("rwa", env.config.split, episode)], LOOKBACK + env.config.horizon)


def by_hand(env: RWAYieldRows, episode: int) -> PortfolioByHand:
    market = market_of(env, episode)
    inputs = {name: market.column(name)[0].tolist() for name in COLUMNS}
    factors = growth(market.values, env.config.lent_share)[0].tolist()
    return PortfolioByHand(env.config, inputs, factors, trade_gas_usd(market.values)[0].tolist(), LOOKBACK)


def requests(rng: np.random.Generator, env: RWAYieldRows, at: int) -> NDArray[np.float32]:
    """Any action; now and then what is held already."""
    drawn = rng.uniform(-1, 1, (env.rows, 3)).astype(np.float32)
    return env.holding_actions() if at % 5 == 4 else drawn


# -- accounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["log_growth", "shaped"])
def test_an_episode_is_what_plain_arithmetic_makes_of_its_market(reward: str) -> None:
    env = rwa(3, reward=reward, horizon=400, rebalance_cost_bps=7.0, stop_drawdown=0.3, risk_free_rate=5.0)
    numbers = [11, 12, 13]
    env.begin(range(3), numbers)
    hands = [by_hand(env, number) for number in numbers]
    rng, live = np.random.default_rng(4), np.ones(3, dtype=np.bool_)
    steps = 0
    assert list(USUAL) == list(COLUMNS)
    for at in range(env.config.horizon):
        for row, hand in enumerate(hands):
            np.testing.assert_allclose(env.observe()[row], hand.observe(), rtol=2e-6, atol=2e-6)
        actions = requests(rng, env, at)
        stepped = env.step(actions, live)
        told = env.exact()
        for row in np.flatnonzero(live):
            reward_by_hand, terminated, truncated = hands[row].step(actions[row].astype(float).tolist())
            assert stepped.rewards[row] == pytest.approx(reward_by_hand, rel=1e-6, abs=1e-9)
            assert (stepped.terminated[row], stepped.truncated[row]) == (terminated, truncated)
            for name, expected in hands[row].info().items():
                assert told[name][row] == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            steps += 1
        live &= ~stepped.done
        if not live.any():
            break
    assert steps > 400


def test_ten_thousand_random_actions_break_no_bound_and_lose_no_dollar() -> None:
    env = rwa(100, horizon=100, stop_drawdown=0.99)
    env.begin(range(100), range(100))
    rng = np.random.default_rng(5)
    traded = 0
    for at in range(100):
        before = env.columns["value"].copy()
        env.step(requests(rng, env, at))
        told = {name: np.array(values) for name, values in env.exact().items()}
        for weights in (told["target_weights"], told["weights"]):
            assert np.abs(weights.sum(axis=1) - 1).max() < 1e-14
        assert (told["target_weights"] >= 0.05).all()
        assert (told["target_weights"] <= 0.60).all()
        parts = before * told["return_by_asset"].sum(axis=1) - told["cost"] - told["gas_usd"]
        np.testing.assert_allclose(told["portfolio_value"] - before, parts, atol=1e-9 * before.max(), rtol=0)
        np.testing.assert_allclose(before * (1 + told["hourly_return"]), told["portfolio_value"], rtol=1e-13)
        assert ((told["cost"] > 0) == (told["turnover"] > 0)).all()
        assert ((told["gas_usd"] > 0) == (told["turnover"] > 0)).all()
        np.testing.assert_allclose(told["cost"], before * told["turnover"] * 0.001, rtol=1e-13)
        assert (told["peak_value"] >= told["portfolio_value"]).all()
        traded += int((told["turnover"] > 0).sum())
    assert 7_000 < traded < 10_000
    assert (env.columns["costs"] > 0).all()


def test_who_asks_for_what_is_held_pays_nothing_and_drifts_until_a_bound_is_broken() -> None:
    env = rwa(64, horizon=720, stop_drawdown=0.9, max_weight=0.42)
    env.begin(range(64), range(64))
    paid_within = brought_back = 0
    for _ in range(720):
        drifted = np.array(env.exact()["weights"])
        broken = (drifted < 0.05).any(axis=1) | (drifted > 0.42).any(axis=1)
        env.step(env.strategies["buy_and_hold"](env))
        turnover = env.columns["turnover"]
        assert (turnover[~broken] == 0).all()
        assert (env.columns["cost"][~broken] == 0).all()
        assert (turnover[broken] > 0).all()
        assert (np.array(env.exact()["target_weights"])[broken].max(axis=1) <= 0.42).all()
        paid_within += int((~broken).sum())
        brought_back += int(broken.sum())
    assert paid_within > 20_000
    assert brought_back > 100


def test_what_gas_takes_never_exceeds_what_is_there() -> None:
    env = rwa(4, initial_capital=1.0, market={"gas_median": 1e6}, stop_drawdown=0.99)
    env.begin(range(4), range(4))
    stepped = env.step(np.full((4, 3), 1.0))
    assert stepped.terminated.all()
    assert (env.columns["value"] == 0).all()
    assert np.isfinite(stepped.rewards).all()
    assert all(env.observation_space.contains(seen) for seen in stepped.observations)


def test_gas_and_costs_are_paid_once_and_a_dearer_market_pays_more() -> None:
    def after(**settings: Any) -> float:
        env = rwa(1, least_turnover=0.0, **settings)
        env.begin([0], [3])
        env.step(env.action_of([[0.6, 0.2, 0.2]]))
        return float(env.columns["value"][0])

    free = after(rebalance_cost_bps=0.0, market={"gas_median": 1e-12})
    turnover = 0.2 + 0.15 + 0.05
    assert after(rebalance_cost_bps=10.0, market={"gas_median": 1e-12}) == pytest.approx(
        free * (1 - 0.001 * turnover), rel=1e-7
    )
    assert after(rebalance_cost_bps=0.0, market={"gas_median": 2000.0}) < free - 1_000


# -- ends -------------------------------------------------------------------------------------------------------------


def test_a_benchmark_takes_the_markets_noise_off_and_leaves_every_difference() -> None:
    played = {}
    for benchmark in ("none", "equal_weight"):
        for name, (request, cost) in {
            "usdy": ([1, -1, -1], 10),
            "meth": ([-1, 1, -1], 10),
            "even": ([0, 0, 0], 0),
        }.items():
            env = rwa(64, horizon=100, benchmark=benchmark, rebalance_cost_bps=cost, stop_drawdown=0.99)
            env.begin(range(64), range(64))
            actions = np.tile(np.float32(request), (64, 1))
            played[benchmark, name] = np.stack([env.step(actions).rewards for _ in range(100)])
    plain, less = (
        {name: played[which, name] for name in ("usdy", "meth", "even")} for which in ("none", "equal_weight")
    )
    assert less["usdy"] - less["meth"] == pytest.approx(plain["usdy"] - plain["meth"], abs=1e-12)
    assert np.abs(less["even"]).mean() < 0.02 * np.abs(plain["even"]).mean()  # but for gas
    assert less["usdy"].std() < 0.7 * plain["usdy"].std()
    with pytest.raises(UsageError, match="a benchmark belongs to log_growth"):
        rwa(1, reward="shaped", benchmark="equal_weight")


def test_ruin_terminates_and_the_horizon_truncates() -> None:
    env = rwa(20, horizon=300, market={"eth_drift": -12.0, "btc_drift": -12.0, "sol_drift": -12.0})
    env.begin(range(20), range(20))
    live, ends = np.ones(20, dtype=np.bool_), []
    while live.any():
        stepped = env.step(env.strategies["meth_only"](env), live)
        drawdown = env.drawdown()
        assert (stepped.terminated[live] == (drawdown[live] > 0.15)).all()
        ends += [bool(each) for each in stepped.terminated[live & stepped.done]]
        live &= ~stepped.done
    assert all(ends)
    assert (env.steps < 300).all()
    calm = rwa(4, horizon=6)
    calm.begin(range(4), range(4))
    for at in range(6):
        stepped = calm.step(calm.holding_actions())
        assert stepped.truncated.tolist() == [at == 5] * 4
        assert not stepped.terminated.any()


def test_ruin_costs_more_than_any_policy_loses_by_going_on() -> None:
    env = rwa(50, horizon=720, stop_drawdown=0.10)
    totals, ruined = np.zeros(50), np.zeros(50, dtype=np.bool_)
    env.begin(range(50), range(50))
    live = np.ones(50, dtype=np.bool_)
    rng = np.random.default_rng(2)
    while live.any():
        stepped = env.step(rng.uniform(-1, 1, (50, 3)), live)
        totals[live] += stepped.rewards[live]
        ruined |= stepped.terminated & live
        live &= ~stepped.done
    assert ruined.all()
    careful = np.zeros(50)
    env.begin(range(50), range(50))
    live = np.ones(50, dtype=np.bool_)
    while live.any():
        stepped = env.step(env.strategies["usdy_only"](env), live)
        careful[live] += stepped.rewards[live]
        live &= ~stepped.done
    assert careful.mean() > totals.mean() + 5


# -- nothing of the future --------------------------------------------------------------------------------------------


def excess_of(rule: str, episodes: int, horizon: int) -> tuple[float, float]:
    """Mean and z of the log growth of a rule over that of equal weights, on the same episodes, without costs."""
    settings = {**WITHOUT_COSTS, "horizon": horizon, "stop_drawdown": 0.99, "split": "test"}
    one, other = rwa(episodes, **settings), rwa(episodes, **settings)
    for env in (one, other):
        env.begin(range(episodes), range(episodes))
    for _ in range(horizon):
        hours = one.hours
        if rule == "where the last hour went up":
            moves = one.observe()[:, OWN : OWN + 3]
        else:  # what the hour to come will do: what a leak would show
            moves = one.markets.levels_at(hours + 1) / one.markets.levels_at(hours)
        wanted = np.where(moves == moves.max(axis=1, keepdims=True), 1.0, -1.0)
        one.step(wanted)
        other.step(np.zeros((episodes, 3)))
    gained = np.log(one.columns["value"] / other.columns["value"])
    return float(gained.mean()), float(gained.mean() / (gained.std(ddof=1) / episodes**0.5))


def test_the_last_hours_move_cannot_be_earned_any_more() -> None:
    mean, z = excess_of("where the last hour went up", 400, 240)
    assert z < 1.96, f"the rule earns {mean:.2%} with z = {z:.2f}"
    _, leaked = excess_of("where the next hour goes up", 400, 24)
    assert leaked > 20  # had the observation shown the move that is earned, this test would see it


def test_a_policy_that_sees_now_and_an_hour_ago_earns_the_hour_to_come() -> None:
    env = rwa(8, horizon=48, **WITHOUT_COSTS)
    env.begin(range(8), range(8))
    markets = [growth(market_of(env, number).values, 0.5)[0] for number in range(8)]
    rng = np.random.default_rng(8)
    for hour in range(48):
        env.step(rng.uniform(-1, 1, (8, 3)))
        for row in range(8):
            held, factors = env.columns["target"][row], markets[row][LOOKBACK + hour]
            earned = 1 + env.columns["hourly_return"][row]
            assert earned == pytest.approx(float(held @ factors), rel=1e-9)
            seen = env.observe()[row, OWN : OWN + 3]  # now that it is over, it is seen
            np.testing.assert_allclose(seen, np.clip(100 * (factors - 1), -10, 10), rtol=1e-5, atol=1e-6)


def test_what_is_seen_does_not_depend_on_how_long_the_market_goes_on() -> None:
    short, long = rwa(5, horizon=30), rwa(5, horizon=90)
    for env in (short, long):
        env.begin(range(5), range(5))
    for _ in range(30):
        np.testing.assert_array_equal(short.observe()[:, 1:], long.observe()[:, 1:])
        actions = np.random.default_rng(int(short.steps[0])).uniform(-1, 1, (5, 3))
        assert short.step(actions).rewards.tolist() == long.step(actions).rewards.tolist()


# -- a market of the past ---------------------------------------------------------------------------------------------

HOURS = 2_000


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, RWAMarket]:
    """Two thousand hours in a file, and what it says."""
    path = tmp_path_factory.mktemp("rwa") / "market.csv"
    write_rwa(RWAModel().draw([np.random.default_rng(77)], HOURS - 1), path, begin="2024-01-01T00:00:00Z")
    return str(path), read_rwa(path)


def test_episodes_of_a_file_start_within_their_split_and_never_leave_it(past: tuple[str, RWAMarket]) -> None:
    path, market = past
    assert market.times is not None
    edges = {"train": (LOOKBACK, 1_199), "validation": (1_200, 1_599), "test": (1_600, 1_999)}
    for split, (first, last) in edges.items():
        env = rwa(300, data=path, split=split, horizon=100)
        env.begin(range(300), range(300))
        starts = env.columns["start_hour"]
        assert first <= starts.min() <= first + 20
        assert last - 120 <= starts.max() <= last - 100
        assert len(set(starts.tolist())) > 100
        for _ in range(100):
            stepped = env.step(env.holding_actions())
        assert (stepped.done | (env.drawdown() > 0.15)).all()
        times = np.array(env.exact()["time"])
        assert times.max() <= market.times[last]
        again = rwa(2, data=path, split=split, horizon=100)
        again.begin([0, 1], [5, 6])
        assert again.columns["start_hour"].tolist() == starts[5:7].tolist()


def test_a_file_is_played_as_its_drawn_twin_is(past: tuple[str, RWAMarket]) -> None:
    path, market = past
    env = rwa(2, data=path, split="validation", horizon=60, lent_share=0.2)
    env.begin([0, 1], [3, 4])
    starts = env.columns["start_hour"].tolist()
    factors, gas = growth(market.values, 0.2, first_hour=473_352)[0], trade_gas_usd(market.values)[0]
    assert market.times is not None
    assert market.times[0] == 473_352 * 3_600
    inputs = {name: market.column(name)[0].tolist() for name in COLUMNS}
    hands = [PortfolioByHand(env.config, inputs, factors.tolist(), gas.tolist(), start) for start in starts]
    rng = np.random.default_rng(6)
    for _ in range(60):
        actions = rng.uniform(-1, 1, (2, 3))
        stepped = env.step(actions)
        for row, hand in enumerate(hands):
            reward, _, _ = hand.step(actions[row].tolist())
            assert stepped.rewards[row] == pytest.approx(reward, rel=1e-7, abs=1e-10)
            np.testing.assert_allclose(stepped.observations[row], hand.observe(), rtol=2e-6, atol=2e-6)
            assert env.exact()["portfolio_value"][row] == pytest.approx(hand.value, rel=1e-9)


def test_another_future_leaves_what_was_seen_before_it(past: tuple[str, RWAMarket], tmp_path: Path) -> None:
    _, market = past
    cut = 1_700
    values = market.values.copy()
    values[0, cut + 1 :, PLACE["eth_price"]] *= 0.5
    shuffled = values.copy()
    shuffled[0, cut + 1 :] = np.random.default_rng(1).permutation(values[0, cut + 1 :])
    shuffled[0, cut + 1 :, PLACE["eth_price"]] *= 4.0  # mETH is the worst of the one future, the best of the other
    files = str(tmp_path / "one.csv"), str(tmp_path / "shuffled.csv")
    for file, each in zip(files, (values, shuffled), strict=True):
        write_rwa(RWAMarket(market.times, each), file)
    one, two = (rwa(1, data=file, split="test", horizon=200, stop_drawdown=0.99) for file in files)
    first = cut - 72  # at the cut the scripts that decide once a day decide
    for env in (one, two):
        env.begin_at([0], [first])
    same, otherwise = True, set()
    for hour in range(first, cut + 25):
        same = bool((one.observe() == two.observe()).all())
        assert same == (hour <= cut)
        assert (one.columns["value"] == two.columns["value"]).all() == (hour <= cut)
        apart = {name for name, play in one.strategies.items() if (play(one) != play(two)).any()}
        assert not apart or hour > cut, f"{apart} know what comes after hour {hour}"
        otherwise |= apart
        actions = np.random.default_rng(hour).uniform(-1, 1, (1, 3))
        one.step(actions)
        two.step(actions)
    assert not same
    assert {"minimum_variance", "risk_parity", "momentum", "volatility_targeting"} <= otherwise


def test_a_fixed_start_in_a_file_is_the_first_of_the_split(past: tuple[str, RWAMarket]) -> None:
    env = rwa(3, data=past[0], split="test", start="fixed", horizon=50)
    env.begin(range(3), [1, 2, 3])
    assert env.columns["start_hour"].tolist() == [1_600] * 3
    assert env.markets.consecutive(50)[:3] == [1_600]  # type: ignore[attr-defined]
    drawn = rwa(3, data=past[0], split="test", horizon=50)
    drawn.begin_at(range(3), [1_650, 1_700, 1_700])
    assert drawn.observe()[1].tolist() == drawn.observe()[2].tolist() != drawn.observe()[0].tolist()
    with pytest.raises(UsageError, match="cannot start at hour 1599"):
        drawn.begin_at([0], [1_599])
    with pytest.raises(UsageError, match="cannot be chosen"):
        rwa().begin_at([0], [5])


def test_a_file_that_cannot_be_played_says_why(past: tuple[str, RWAMarket], tmp_path: Path) -> None:
    path, _ = past
    with pytest.raises(
        UsageError, match=r"the test split of .* has 400 hours, and an episode needs 721: its 720 steps"
    ):
        rwa(data=path, split="test")
    with pytest.raises(UsageError, match="needs 269: its 100 steps and the 168 before it"):
        rwa(data=path, end="2024-01-10", horizon=100)
    with pytest.raises(UsageError, match="begin 'yesterday' is no time"):
        rwa(data=path, begin="yesterday")
    with pytest.raises(UsageError, match="no two whole hours"):
        rwa(data=path, begin="2030-01-01")
    with pytest.raises(UsageError, match=r"none\.csv"):
        rwa(data=str(tmp_path / "none.csv"))
    lines = Path(path).read_text().splitlines()
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("\n".join(line.replace("btc_price", "bitcoin") for line in lines))
    with pytest.raises(UsageError, match="has no column 'btc_price'"):
        rwa(data=str(lacking))
    part = rwa(data=path, begin="2024-01-11", end="2024-02-20T12:00", horizon=100)
    assert part.world_digest != rwa(data=path).world_digest


# -- the same again ---------------------------------------------------------------------------------------------------


def played_alone(env: gymnasium.Env[Any, Any], seed: int, actions: NDArray[np.float32]) -> list[Any]:
    seen, info = env.reset(seed=seed)
    told = [(seen.tolist(), info["portfolio_value"])]
    for action in actions:
        seen, reward, terminated, truncated, info = env.step(action)
        told.append((seen.tolist(), reward, terminated, truncated, info["portfolio_value"], info["weights"]))
        if terminated or truncated:
            break
    return told


@pytest.mark.slow(7)
@pytest.mark.parametrize(("horizon", "each_end"), [(36, 200), (720, 6)], ids=["every row", "a month"])
def test_a_batch_is_two_hundred_single_environments(horizon: int, each_end: int) -> None:
    """Compare a batch with single environments: all rows of a day and a half, the first and last six of a month."""
    count = 200
    settings: dict[str, Any] = {"horizon": horizon, "stop_drawdown": 0.02 if horizon < 100 else 0.15}
    batch = gymnasium.make_vec("mayavi/RWAYield-v0", count, vectorization_mode="vector_entry_point", **settings)
    single = gymnasium.make("mayavi/RWAYield-v0", **settings)
    wishes = np.random.default_rng(3).uniform(-1, 1, (horizon // 12, count, 3)).astype(np.float32)
    actions = np.repeat(wishes, 12, axis=0)  # who wants something else every hour is ruined by its costs
    seen, infos = batch.reset(seed=100)
    told: list[list[Any]] = [[(seen[row].tolist(), infos["portfolio_value"][row])] for row in range(count)]
    assert len({row.tobytes() for row in seen}) == count  # each a market of its own
    over, ruined = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for action in actions:
        seen, rewards, terminated, truncated, infos = batch.step(action)
        for row in np.flatnonzero(~over):
            fact = (seen[row].tolist(), rewards[row], terminated[row], truncated[row])
            weights = {asset: infos["weights"][asset][row] for asset in ASSETS}
            told[row].append((*fact, infos["portfolio_value"][row], weights))
        ruined |= terminated & ~over
        over |= terminated | truncated
    some = [np.flatnonzero(which)[:each_end].tolist() for which in (ruined, ~ruined)]
    compared = {0, count - 1, *some[0], *some[1]}
    for row in sorted(compared):
        assert played_alone(single, 100 + row, actions[:, row]) == told[row]
    ends = {told[row][-1][2:4] for row in compared}
    assert {(True, False), (False, True)} == ends
    assert len(compared) == count if horizon < 100 else len(compared) >= 2 * each_end


def test_paths_drawn_on_several_threads_are_those_drawn_on_one() -> None:
    told = []
    for threads in (1, 2, 5):
        env = rwa(130, horizon=48, threads=threads)
        env.begin(range(130), range(130))
        env.begin([7, 99], [1_000, 1_001])
        for at in range(3):
            env.step(np.random.default_rng(at).uniform(-1, 1, (130, 3)))
        told.append((env.observe().tobytes(), env.columns["value"].tobytes(), env.identities(np.arange(130))))
    assert told[0] == told[1] == told[2]


def test_the_same_seed_is_the_same_episode_and_another_is_another() -> None:
    env, again = make_single("rwa", horizon=20), make_single("rwa", horizon=20)
    actions = np.random.default_rng(9).uniform(-1, 1, (20, 3)).astype(np.float32)
    assert played_alone(env, 5, actions) == played_alone(again, 5, actions)
    assert played_alone(env, 6, actions) != played_alone(again, 5, actions)


# -- actions ----------------------------------------------------------------------------------------------------------


def test_weights_become_actions_and_back() -> None:
    env = rwa(2)
    weights = np.array([[0.4, 0.35, 0.25], [0.05, 0.35, 0.6]])
    np.testing.assert_allclose(env.weights_of(env.action_of(weights)), weights, atol=1e-7)
    assert env.action_of([0.5, 0.25, 0.25]).tolist() == [0.0, -0.5, -0.5]
    env.begin([0, 1], [0, 1])
    asked = np.array([[0.9, -0.2, 0.3], [-1.0, -1.0, -1.0]])
    env.step(asked)
    np.testing.assert_allclose(env.columns["target"], env.weights_of(asked), rtol=1e-15)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.5, 0.4, 0.3], "weights add up to 1.2"),
        ([0.3, 0.3, 0.3], "weights add up to 0.9"),
        ([0.7, 0.2, 0.1], "a weight of 0.7 is outside of 0.05 to 0.6"),
        ([0.6, 0.38, 0.02], "a weight of 0.02 is outside"),
        ([0.5, 0.5], r"weights have the shape \(2,\)"),
        ([float("nan"), 0.5, 0.5], "a weight is not a finite number"),
    ],
)
def test_weights_that_cannot_be_held_are_refused(weights: list[float], told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        rwa().action_of(weights)


def test_the_menu_is_one_two_or_all_of_the_assets_as_far_as_the_bounds_go() -> None:
    env = rwa(8, actions="discrete", least_turnover=0.0)
    env.begin(range(8), [1] * 8)
    env.step(np.arange(8))
    expected = [
        [0.4, 0.35, 0.25],
        [1 / 3, 1 / 3, 1 / 3],
        [0.6, 0.2, 0.2],
        [0.2, 0.6, 0.2],
        [0.2, 0.2, 0.6],
        [0.475, 0.475, 0.05],
        [0.475, 0.05, 0.475],
        [0.05, 0.475, 0.475],
    ]
    np.testing.assert_allclose(env.columns["target"], expected, rtol=1e-14)
    assert env.columns["cost"][0] == 0


def test_scripts_hold_what_they_say() -> None:
    env = rwa(4)
    for name, expected in {
        "equal_weight": [1 / 3] * 3,
        "usdy_only": [0.6, 0.2, 0.2],
        "meth_only": [0.2, 0.6, 0.2],
        "mi4_only": [0.2, 0.2, 0.6],
        "buy_and_hold": [0.4, 0.35, 0.25],
        "noop": [0.4, 0.35, 0.25],
    }.items():
        env.begin(range(4), range(4))
        env.step(env.strategies[name](env))
        np.testing.assert_allclose(env.columns["target"], [expected] * 4, atol=1e-7, err_msg=name)


def test_past_growth_is_the_markets_and_reaches_before_the_start() -> None:
    env = rwa(3, horizon=12)
    env.begin(range(3), [5, 6, 7])
    factors = np.stack([growth(market_of(env, number).values, 0.5)[0] for number in (5, 6, 7)])
    for hour in range(4):
        for window in (1, 24, LOOKBACK):
            expected = factors[:, LOOKBACK + hour - window : LOOKBACK + hour]
            np.testing.assert_allclose(env.past_growth(window), expected, rtol=1e-13)
        env.step(np.zeros((3, 3)))
    with pytest.raises(BadArgument, match="a window of 169 hours"):
        env.past_growth(169)


# -- settings and looks -----------------------------------------------------------------------------------------------


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
