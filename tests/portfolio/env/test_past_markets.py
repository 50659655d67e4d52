"""Episodes of the portfolio in a market of the past, read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.market.assets import growth, trade_gas_usd
from mayavi.portfolio.market.data import COLUMNS, PLACE, RWAMarket
from mayavi.portfolio.market.history import read_rwa, write_rwa
from mayavi.portfolio.market.model import RWAModel
from tests.portfolio.env.by_hand import PortfolioByHand
from tests.portfolio.env.rows import rwa

HOURS = 2_000


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, RWAMarket]:
    """Two thousand hours in a file, and what it says."""
    path = tmp_path_factory.mktemp("rwa") / "market.csv"
    write_rwa(RWAModel().draw([np.random.default_rng(77)], HOURS - 1), path, begin="2024-01-01T00:00:00Z")
    return str(path), read_rwa(path)


@pytest.mark.slow(2)
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


@pytest.mark.slow(1)
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


@pytest.mark.slow(0.4)
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


@pytest.mark.slow(2)
def test_a_file_that_cannot_be_played_says_why(past: tuple[str, RWAMarket], tmp_path: Path) -> None:
    path, _ = past
    with pytest.raises(
        UsageError, match=r"the test split of .* has 400 hours, and an episode needs 721: its 720 steps"
    ):
        rwa(data=path, split="test")
    with pytest.raises(UsageError, match="needs 269: its 100 steps and the 168 before it"):
        rwa(data=path, end="2024-01-10", horizon=100)
    with pytest.raises(UsageError, match="begin 'yesterday' is not a valid time"):
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
