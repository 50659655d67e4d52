"""The drawn market: which RNG is used, and what each parameter does to what is drawn."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadInteger
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.data import COLUMNS, PLACE, RWAMarket
from mayavi.portfolio.market.model import RWAModel

MODEL = RWAModel()


def rngs(seed: int, count: int) -> list[np.random.Generator]:
    return [stream(seed, "market", str(path)) for path in range(count)]


def draw(model: RWAModel, paths: int = 50, hours: int = 240, seed: int = 2) -> RWAMarket:
    return model.draw(rngs(seed, paths), hours)


def changed_columns(one: RWAMarket, other: RWAMarket) -> set[str]:
    return {name for name in COLUMNS if (one.column(name) != other.column(name)).any()}


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    assert draw(MODEL).digest == draw(MODEL).digest != draw(MODEL, seed=3).digest


def test_a_path_depends_on_its_own_generator_alone() -> None:
    many = draw(MODEL, paths=60)
    for path in (0, 23, 24, 59):
        alone = MODEL.draw([stream(2, "market", str(path))], 240)
        assert alone.values[0].tobytes() == many.values[path].tobytes()
    backwards = MODEL.draw(rngs(2, 60)[::-1], 240)
    assert backwards.values[::-1].tobytes() == many.values.tobytes()


@pytest.mark.parametrize("hours", [1, 23, 24, 25, 100, 719])
def test_a_longer_path_begins_with_the_shorter_one(hours: int) -> None:
    """What an hour is does not depend on what is drawn for later ones."""
    whole, part = draw(MODEL, paths=3, hours=720), draw(MODEL, paths=3, hours=hours)
    assert part.values.tobytes() == np.ascontiguousarray(whole.values[:, : hours + 1]).tobytes()


def test_a_generator_moves_on() -> None:
    rng = stream(2, "market")
    one, other = MODEL.draw([rng], 48), MODEL.draw([rng], 48)
    assert one.digest != other.digest


def test_the_bits_are_these() -> None:
    """Plain operations leave no choice: whoever gets another digest here trains on another market."""
    market = draw(MODEL, paths=3, hours=100, seed=11)
    assert market.digest == "0b96ac222bcec62e679c4ff4fceecdb249ec7c20eb736f336e4aaaa572dbfa6e"


def test_it_is_drawn_from_nothing_global() -> None:
    np.random.seed(1)
    before = draw(MODEL, paths=2)
    state = np.random.get_state()[1].tolist()
    np.random.seed(2)
    assert draw(MODEL, paths=2).digest == before.digest
    np.random.seed(1)
    assert np.random.get_state()[1].tolist() == state


INFLUENCE = {
    # what is turned, and every column that must follow; all others stay as they are to the last bit
    "eth_drift": {"eth_price", "btc_dominance"},
    "btc_drift": {"btc_price", "btc_dominance"},
    "sol_drift": {"sol_price", "btc_dominance"},
    "mnt_drift": {"mnt_price"},
    "rate_start": {"fed_rate", "usdy_apy", "mi4_apy", "aave_usdy_apy"},
    "rate_noise": {"fed_rate", "usdy_apy", "mi4_apy", "aave_usdy_apy"},
    "usdy_fee": {"usdy_apy", "mi4_apy"},
    "staking_mean": {"meth_apy", "mi4_apy", "aave_meth_apy"},
    "sol_staking_apy": {"mi4_apy"},
    "usdy_vol_mean": {"usdy_vol", "usdy_peg"},
    "usdy_depegs_per_year": {"usdy_peg"},
    "meth_depegs_per_year": {"meth_peg"},
    "meth_depeg_vol_link": {"meth_peg"},
    "meth_peg_deviation": {"meth_peg"},
    "eth_volatility": {"eth_vol", "eth_price", "sol_price", "mnt_price", "btc_dominance"},
    "btc_volatility": {"btc_price", "btc_dominance"},
    "usdy_utilisation_mean": {"aave_usdy_apy"},
    "meth_utilisation_mean": {"aave_meth_apy"},
    "gas_median": {"gas_price"},
    "dominance_start": {"btc_dominance"},
}


@pytest.mark.parametrize("name", INFLUENCE)
def test_a_parameter_moves_what_follows_from_it_and_nothing_else(name: str) -> None:
    turned = replace(MODEL, **{name: getattr(MODEL, name) * 1.5})
    assert changed_columns(draw(MODEL, hours=1440), draw(turned, hours=1440)) == INFLUENCE[name]


def test_eth_vol_is_the_size_of_the_next_move() -> None:
    """Without jumps, divided by the volatility known before it, a move is a standard normal."""
    swinging = replace(MODEL, vol_fast_deviation=0.7, vol_fast_half_life=1.0)  # one hour's tells little of the next's
    market = draw(replace(swinging, jumps_up_per_year=0.0, jumps_down_per_year=0.0), paths=200)
    moves = np.diff(np.log(market.column("eth_price")), axis=1)
    known = market.column("eth_vol")[:, :-1]
    normal = moves / (known / np.sqrt(8760))
    count = normal.size
    assert normal.std() == pytest.approx(1, abs=4 / np.sqrt(2 * count))
    assert (normal**4).mean() == pytest.approx(3, abs=4 * np.sqrt(96 / count))
    calm = np.abs(moves[known < np.median(known)]).mean()
    assert np.abs(moves[known > np.median(known)]).mean() > 1.5 * calm


def test_usdy_vol_is_the_size_of_the_peg_s_noise() -> None:
    model = replace(MODEL, usdy_depegs_per_year=0.0)
    narrow, wide = (draw(replace(model, usdy_vol_mean=size)).column("usdy_peg") for size in (0.001, 0.002))
    assert (1 / wide - 1) == pytest.approx(2 * (1 / narrow - 1), rel=1e-6, abs=1e-12)


@pytest.mark.slow(0.3)
def test_the_policy_rate_moves_by_quarters_at_meetings_and_never_below_zero() -> None:
    market = draw(replace(MODEL, rate_start=0.25, rate_noise=3.0), paths=100, hours=4 * 46 * 24)
    rate = market.column("fed_rate")
    assert rate.min() == 0
    assert (rate % 0.25 == 0).all()
    for path in range(100):
        when = np.flatnonzero(np.diff(rate[path]))
        assert len(when) <= 4
        assert (np.diff(when) % (46 * 24) == 0).all()


def test_without_noise_the_policy_rate_goes_to_its_mean() -> None:
    model = replace(MODEL, rate_noise=0.0, rate_momentum=0.0, rate_pull=3.0, rate_mean=3.0, rate_start_deviation=0.0)
    for start in (0.0, 6.0):
        rate = draw(replace(model, rate_start=start), paths=3, hours=8760).column("fed_rate")
        assert (np.sign(3.0 - start) * np.diff(rate) >= 0).all()
        assert rate[:, -1] == pytest.approx([3.0] * 3)


def test_usdy_s_yield_follows_the_policy_rate_with_its_lag() -> None:
    market = draw(replace(MODEL, rate_noise=2.0), paths=40, hours=4 * 46 * 24)
    rate, apy = market.column("fed_rate"), market.column("usdy_apy")
    expected = apy[:, :-24:24].copy()
    kept = 0.5 ** (24 / MODEL.usdy_lag_half_life)
    follows = kept * expected + (1 - kept) * (rate[:, 24::24] - MODEL.usdy_fee)
    assert apy[:, 24::24] == pytest.approx(np.maximum(follows, 0.0), abs=0.02)
    assert apy[:, 24::24][follows > 0.1] == pytest.approx(follows[follows > 0.1], abs=1e-9)
    assert apy[:, 0] == pytest.approx(rate[:, 0] - MODEL.usdy_fee)


def test_a_depeg_falls_and_recovers() -> None:
    model = replace(
        MODEL, usdy_depegs_per_year=20.0, usdy_depeg_least=0.05, usdy_vol_mean=1e-9, usdy_depeg_half_life=17.0
    )
    deviation = 1 / draw(model, paths=20, hours=2000).column("usdy_peg") - 1
    falls = np.argwhere(np.diff(deviation, axis=1) > 0.049)
    assert len(falls) > 20
    checked = 0
    for path, hour in falls:
        after = deviation[path, hour + 1 : hour + 19]
        if len(after) == 18 and (np.diff(after) < 0).all():
            assert after[17] == pytest.approx(after[0] / 2, rel=1e-6)
            checked += 1
    assert checked > 10


@pytest.mark.slow(0.5)
def test_a_path_may_begin_in_the_middle_of_a_depeg() -> None:
    """A depeg of mETH lasts for weeks: in the first hour pegs are as low, on average, as in the last."""
    peg = draw(MODEL, paths=1500, hours=240).column("meth_peg")
    first, last = (peg[:, hour] < 0.99 for hour in (0, -1))
    assert 0.02 < first.mean() < 0.2
    slack = 4 * np.sqrt(0.1 * 0.9 / 1500)
    assert first.mean() == pytest.approx(last.mean(), abs=slack)


def test_every_parameter_is_documented(repository) -> None:
    page = (repository / "docs" / "reference" / "rwa-market.md").read_text(encoding="utf-8")
    for field in fields(RWAModel):
        assert f"`{field.name}`" in page, field.name
        value = field.default
        told = f"| `{field.name}` | {value:g} |"
        assert told in page, told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"eth_start": 0.0}, "eth_start '0.0' is not above zero"),
        ({"eth_volatility": -1.0}, "eth_volatility '-1.0' is not above zero"),
        ({"vol_fast_half_life": 0.01}, "vol_fast_half_life '0.01' is too short"),
        ({"usdy_depegs_per_year": -1.0}, "usdy_depegs_per_year '-1.0' is negative"),
        ({"jumps_up_per_year": 1e6}, "jumps_up_per_year '1000000.0' is out of range"),
        ({"meth_depegs_per_year": 1e-9}, "meth_depegs_per_year '1e-09' is out of range"),
        ({"staking_half_life": 1.0}, "staking_half_life '1.0' is too short"),
        ({"eth_btc_correlation": -0.9}, "correlations of btc, eth, mnt, sol contradict each other"),
        ({"reserve_factor": 1.5}, "reserve_factor '1.5' is more than 1"),
        ({"dominance_start": 100.0}, "dominance_start '100.0' is out of range"),
        ({"jump_up_mean": 0.6}, "jump_up_mean '0.6' is too large"),
        ({"eth_drift": float("nan")}, "eth_drift 'nan' is not a finite number"),
        ({"meeting_days": 0}, "meeting_days '0' is less than 1"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(wrong: dict[str, float], told: str) -> None:
    with pytest.raises((BadArgument, BadInteger)) as error:
        RWAModel(**wrong)
    assert told in str(error.value)
    assert error.value.hint


def test_a_market_needs_paths_and_hours() -> None:
    with pytest.raises(BadArgument, match="there is no generator"):
        MODEL.draw([], 10)
    with pytest.raises(BadInteger, match="hours '0' is less than 1"):
        MODEL.draw(rngs(1, 1), 0)


@pytest.mark.parametrize(
    "extreme",
    [
        {"usdy_depegs_per_year": 2000.0, "meth_depegs_per_year": 2000.0, "jumps_down_per_year": 2000.0},
        {"meth_depegs_per_year": 1e-6, "meth_depeg_vol_link": 10.0, "usdy_depegs_per_year": 0.0},
        dict.fromkeys(("vol_slow_half_life", "usdy_peg_half_life", "gas_half_life", "meth_depeg_half_life"), 0.1),
        dict.fromkeys(("usdy_vol_half_life", "staking_half_life", "usdy_lag_half_life"), 3.0),
        {"dominance_start": 99.0, "usdy_vol_mean": 3.0, "rate_start": 0.0, "staking_deviation": 9.0},
    ],
)
def test_extreme_parameters_still_give_a_market(extreme: dict[str, float]) -> None:
    market = draw(replace(MODEL, **extreme), paths=5, hours=720)
    assert np.isfinite(market.values).all()
    assert market.values[:, :, PLACE["usdy_peg"]].min() > 0
