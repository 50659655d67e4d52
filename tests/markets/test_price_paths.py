"""Prices of a run: reproducible, one stream per symbol, exact integers."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import BadArgument, BadInteger, UnknownName
from mayavi.markets import (
    Constant,
    Correlation,
    GeometricBrownianMotion,
    JumpDiffusion,
    OrnsteinUhlenbeck,
    PricePaths,
    Step,
    stream,
)
from mayavi.markets.price_paths import all_to_usd_e8, from_usd_e8, to_usd_e8

GBM = GeometricBrownianMotion(volatility=0.8)
PROCESSES = {
    "WETH": Step(at=12, size=-0.25, then=GBM),
    "WBTC": JumpDiffusion(volatility=0.6, jumps_per_year=500, jump_mean=-0.02, jump_deviation=0.03),
    "USDC": OrnsteinUhlenbeck.of_half_life(hours=6, deviation=0.001),
    "DAI": Constant(),
}
START = {"WETH": 2562.92441874, "WBTC": 42_000.0, "USDC": 0.9998, "DAI": 1.0}
RUN = {"steps": 48, "step_seconds": 3600.0, "seed": 7}


def draw(**changed) -> PricePaths:
    return PricePaths.draw(**({"processes": PROCESSES, "start_usd": START} | RUN | changed))


def test_the_same_seed_gives_the_same_prices_to_the_last_bit_and_another_seed_others() -> None:
    first, again, other = draw(), draw(), draw(seed=8)
    for symbol in ("WETH", "WBTC", "USDC"):
        assert first[symbol].tobytes() == again[symbol].tobytes()
        assert not np.array_equal(first[symbol], other[symbol])
    assert np.array_equal(first["DAI"], np.ones(49))


def test_a_run_in_another_process_has_the_same_prices() -> None:
    code = (
        "from mayavi.markets import GeometricBrownianMotion, PricePaths\n"
        "p = PricePaths.draw({'WETH': GeometricBrownianMotion(0.8)}, {'WETH': 2000.0},"
        " steps=48, step_seconds=3600, seed=7)\n"
        "print([p.usd_e8('WETH', step) for step in range(49)])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = PricePaths.draw({"WETH": GBM}, {"WETH": 2000.0}, **RUN)
    assert printed.strip() == str([here.usd_e8("WETH", step) for step in range(49)])


def test_prices_of_a_seed_are_these_integers() -> None:
    """A change here changes every stored run: it needs a reason and a changelog entry."""
    prices = draw(correlation=Correlation({("WETH", "WBTC"): 0.8}))
    assert [prices.usd_e8(symbol, 48) for symbol in prices] == [
        100_000_000,
        99_922_539,
        4_460_225_230_018,
        183_953_245_733,
    ]


def test_paths_of_many_seeds_are_those_of_each() -> None:
    processes = PROCESSES | {"LINK": GBM, "UNI": GBM}
    options = {
        "processes": processes,
        "start_usd": START | {"LINK": 14.1, "UNI": 6.3},
        "correlation": Correlation({("WETH", "WBTC"): 0.8, ("LINK", "UNI"): -0.3}),
    }
    seeds = [7, 2**63 - 1, 0, 12]
    drawn = list(PricePaths.draw_each(**options, steps=48, step_seconds=3600.0, seeds=seeds))
    for seed, paths in zip(seeds, drawn, strict=True):
        alone = draw(**options, seed=seed)
        assert {symbol: path.tobytes() for symbol, path in paths.items()} == {
            symbol: path.tobytes() for symbol, path in alone.items()
        }


def test_an_invalid_path_raises_when_its_turn_comes() -> None:
    wild = GeometricBrownianMotion(volatility=45.0)
    prices = PricePaths.draw_each({"WETH": wild}, {"WETH": 1.0}, steps=4, step_seconds=86_400.0, seeds=range(40))
    first = next(seed for seed in range(40) if not _is_drawn(wild, seed))
    assert len(list(islice(prices, first))) == first > 0
    with pytest.raises(BadArgument, match="WETH at step"):
        next(prices)


def _is_drawn(process: GeometricBrownianMotion, seed: int) -> bool:
    try:
        return bool(PricePaths.draw({"WETH": process}, {"WETH": 1.0}, steps=4, step_seconds=86_400.0, seed=seed))
    except BadArgument:
        return False


def test_another_symbol_changes_no_path() -> None:
    everything = draw()
    for symbol in PROCESSES:
        alone = draw(processes={symbol: PROCESSES[symbol]})
        assert alone[symbol].tobytes() == everything[symbol].tobytes()


def test_a_correlation_changes_only_those_it_names() -> None:
    plain, joint = draw(), draw(correlation=Correlation({("WETH", "WBTC"): 0.8}))
    assert joint["USDC"].tobytes() == plain["USDC"].tobytes()
    assert joint["WBTC"].tobytes() == plain["WBTC"].tobytes()  # the first of them keeps its own shocks
    assert not np.array_equal(joint["WETH"], plain["WETH"])


def test_a_correlation_of_nothing_changes_nothing() -> None:
    plain, joint = draw(), draw(correlation=Correlation({("WETH", "WBTC"): 0.0}))
    assert all(plain[symbol].tobytes() == joint[symbol].tobytes() for symbol in PROCESSES)


def test_the_order_of_symbols_changes_nothing() -> None:
    backwards = dict(reversed(PROCESSES.items()))
    one, other = draw(), draw(processes=backwards)
    assert list(one) == list(other) == sorted(PROCESSES)
    assert all(one[symbol].tobytes() == other[symbol].tobytes() for symbol in PROCESSES)


def test_a_longer_run_begins_as_the_shorter_one() -> None:
    short, long = draw(), draw(steps=96)
    for symbol in PROCESSES:
        assert np.array_equal(long[symbol][:49], short[symbol])


def test_no_global_generator_is_touched() -> None:
    np.random.seed(1)
    random.seed(1)
    before = pickle.dumps(np.random.get_state()), random.getstate()
    draw(correlation=Correlation({("WETH", "WBTC"): 0.8}))
    assert (pickle.dumps(np.random.get_state()), random.getstate()) == before


def test_a_process_draws_from_the_generator_it_is_given() -> None:
    for symbol, process in PROCESSES.items():
        alone = process.path(START[symbol], 48, 3600.0, stream(7, "price", symbol))
        assert alone.tobytes() == draw()[symbol].tobytes()


def test_prices_begin_at_the_start_exactly() -> None:
    for symbol, path in draw().items():
        assert path[0] == START[symbol]
        assert len(path) == 49


# -- exact integers ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 2**53))
def test_an_answer_of_a_feed_survives_the_way_through_a_float(answer: int) -> None:
    assert to_usd_e8(from_usd_e8(answer)) == answer


@given(st.floats(1e-8, 1e30))
def test_the_integer_is_the_float_rounded_once(price: float) -> None:
    assert to_usd_e8(price) == round(Fraction(price) * 10**8)


@given(st.lists(st.one_of(st.floats(1e-8, 9e10), st.integers(0, 10**13).map(lambda n: (n + 0.5) / 10**8)), min_size=1))
def test_many_at_once_are_rounded_as_each_is(prices: list[float]) -> None:
    assert all_to_usd_e8(np.array(prices)).tolist() == [to_usd_e8(each) for each in prices]
    assert all_to_usd_e8(np.array([prices, prices])).tolist() == [[to_usd_e8(each) for each in prices]] * 2


def test_halves_go_to_the_even_neighbour() -> None:
    assert all_to_usd_e8(np.array([1 / 512, 3 / 512])).tolist() == [195_312, 585_938]
    assert to_usd_e8(1 / 512) == 195_312  # 195312.5
    assert to_usd_e8(3 / 512) == 585_938  # 585937.5


def test_a_step_has_one_price_as_float_and_integer() -> None:
    prices = PricePaths({"WETH": np.array([2562.92441874, 1794.04709311])}, step_seconds=12)
    assert prices.usd("WETH", 0) == 2562.92441874
    assert [prices.usd_e8("WETH", step) for step in (0, 1)] == [256_292_441_874, 179_404_709_311]
    assert type(prices.usd_e8("WETH", 1)) is int


def test_paths_cannot_be_changed_by_whoever_holds_them() -> None:
    given_path = np.array([1.0, 2.0])
    prices = PricePaths({"WETH": given_path}, step_seconds=12)
    given_path[1] = 99.0
    assert prices.usd("WETH", 1) == 2.0
    with pytest.raises(ValueError, match="read-only"):
        prices["WETH"][1] = 3.0


def test_they_survive_pickling() -> None:
    prices = pickle.loads(pickle.dumps(draw()))
    assert prices.usd_e8("WETH", 48) == draw().usd_e8("WETH", 48)
    assert prices.steps == 48


# -- what is refused --------------------------------------------------------------------------------------------------


def test_an_unknown_symbol_names_the_nearest() -> None:
    prices = draw()
    with pytest.raises(UnknownName, match="unknown price 'WETG'") as caught:
        prices.usd("WETG", 0)
    assert caught.value.hint.startswith("did you mean 'WETH'?")
    assert prices.get("WETG") is None
    assert "WETG" not in prices


@pytest.mark.parametrize("step", [-1, 49])
def test_a_step_outside_is_refused(step: int) -> None:
    with pytest.raises(BadArgument, match=f"no step '{step}'") as caught:
        draw().usd_e8("WETH", step)
    assert caught.value.hint == "they run from step 0 to 48"


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"steps": 0}, BadInteger, "steps '0' is less than 1"),
        ({"steps": 1.5}, BadInteger, "steps '1.5' is not a whole number"),
        ({"step_seconds": 0}, BadArgument, "step_seconds '0' is not above zero"),
        ({"seed": -1}, BadInteger, "seed '-1' is less than 0"),
        ({"seed": 2**63}, BadInteger, f"seed '{2**63}' is out of range"),
        ({"processes": {}}, BadArgument, "there are no price paths"),
        ({"start_usd": {"WETH": 1.0}}, BadArgument, "DAI has no start price"),
        ({"start_usd": START | {"WETH": 0.0}}, BadArgument, "start price of WETH '0.0' is not above zero"),
        ({"start_usd": START | {"WETH": -3}}, BadArgument, "start price of WETH '-3' is not above zero"),
        (
            {"start_usd": START | {"WETH": float("nan")}},
            BadArgument,
            "start price of WETH 'nan' is not a finite number",
        ),
        (
            {"correlation": Correlation({("WETH", "DAI"): 0.5})},
            BadArgument,
            "DAI is correlated, but Constant has no random shocks",
        ),
        ({"correlation": Correlation({("WETH", "LINK"): 0.5})}, UnknownName, "unknown symbol of a correlation 'LINK'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changed, error, words) -> None:
    with pytest.raises(error) as caught:
        draw(**changed)
    assert words in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ({"A": [1.0, float("inf")]}, "the price of A at step 1, 'inf', is not a number"),
        ({"A": [1.0, float("nan")]}, "the price of A at step 1, 'nan', is not a number"),
        ({"A": [1.0, -2.0]}, "the price of A at step 1, '-2.0', is less than a feed can say"),
        ({"A": [1.0, 4e-9]}, "the price of A at step 1, '4e-09', is less than a feed can say"),
        ({"A": [1.0]}, "the path of A has the shape (1,)"),
        ({"A": [[1.0], [2.0]]}, "the path of A has the shape (2, 1)"),
        ({"A": [1.0, 2.0], "B": [1.0, 2.0, 3.0]}, "the paths differ in length: A 2, B 3"),
    ],
)
def test_paths_no_feed_could_follow_are_refused(paths, words) -> None:
    with pytest.raises(BadArgument) as caught:
        PricePaths({symbol: np.array(path) for symbol, path in paths.items()}, step_seconds=12)
    assert words in str(caught.value)
    assert caught.value.hint


def test_a_price_that_overflows_names_its_symbol_and_step() -> None:
    wild = GeometricBrownianMotion(volatility=0.0, drift=1e9)
    with pytest.raises(BadArgument, match="the price of WETH at step 1, 'inf'"):
        PricePaths.draw({"WETH": wild}, {"WETH": 1.0}, steps=4, step_seconds=86_400, seed=1)


# -- streams ----------------------------------------------------------------------------------------------------------


def test_streams_follow_from_seed_and_names_alone() -> None:
    draws = {
        names: stream(seed, *names).standard_normal(4).tobytes()
        for seed, names in [(7, ("a", "bc")), (7, ("ab", "c")), (7, ("abc",)), (7, ()), (7, ("A", "bc"))]
    }
    assert len(set(draws.values())) == len(draws)
    assert stream(7, "a", "bc").standard_normal(4).tobytes() == draws["a", "bc"]
    assert stream(8, "a", "bc").standard_normal(4).tobytes() != draws["a", "bc"]
    assert stream(2**63 - 1, "a").random() != stream(0, "a").random()


def test_streams_of_neighbours_have_nothing_in_common() -> None:
    normals = np.array([stream(seed, "price", "WETH").standard_normal(2000) for seed in range(40)])
    shared = np.corrcoef(normals)[~np.eye(40, dtype=bool)]
    assert np.abs(shared).max() < 5 / np.sqrt(2000)
