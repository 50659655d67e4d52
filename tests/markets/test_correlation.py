"""Correlated prices."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.markets import Correlation, GeometricBrownianMotion, OrnsteinUhlenbeck, PricePaths, Series

N = 50_000
GBM = GeometricBrownianMotion(0.8)


def shocks_of(*symbols: str, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {symbol: rng.standard_normal(N) for symbol in symbols}


def returns_of(prices: PricePaths) -> np.ndarray:
    return np.array([np.diff(np.log(prices[symbol])) for symbol in prices])


def draw(correlation: Correlation | None, *symbols: str) -> PricePaths:
    start = dict.fromkeys(symbols, 100.0)
    return PricePaths.draw(
        dict.fromkeys(symbols, GBM), start, steps=N, step_seconds=600, seed=3, correlation=correlation
    )


@pytest.mark.parametrize("value", [-0.9, -0.3, 0.5, 0.8, 0.99])
def test_the_correlation_of_two_is_recovered(value: float) -> None:
    returns = returns_of(draw(Correlation({("WBTC", "WETH"): value}), "WBTC", "WETH"))
    assert np.corrcoef(returns)[0, 1] == pytest.approx(value, abs=4 * (1 - value**2) / math.sqrt(N))


def test_a_whole_matrix_is_recovered_and_every_price_keeps_its_own_volatility() -> None:
    matrix = [[1.0, 0.8, 0.6], [0.8, 1.0, 0.7], [0.6, 0.7, 1.0]]
    correlation = Correlation.of_matrix(["WETH", "LINK", "WBTC"], matrix)
    returns = returns_of(draw(correlation, "WETH", "LINK", "WBTC"))  # in the order of the alphabet
    assert np.corrcoef(returns) == pytest.approx(correlation.matrix, abs=4 / math.sqrt(N))
    assert correlation.of("WBTC", "WETH") == 0.6
    deviation = 0.8 * math.sqrt(600 / (365 * 86_400))
    assert returns.std(axis=1) == pytest.approx([deviation] * 3, rel=4 / math.sqrt(2 * N))


@pytest.mark.slow(0.3)
def test_complete_correlation_is_the_same_move_or_its_mirror() -> None:
    same = draw(Correlation({("A", "B"): 1.0}), "A", "B")
    assert same["A"].tobytes() == same["B"].tobytes()
    returns = returns_of(draw(Correlation({("A", "B"): -1.0}), "A", "B"))
    centred = returns - (-(0.8**2) / 2 * 600 / (365 * 86_400))
    assert centred[0] == pytest.approx(-centred[1], abs=1e-12)


def test_three_that_determine_each_other_are_allowed() -> None:
    """A matrix of rank one, at the edge of positive semidefinite."""
    returns = returns_of(draw(Correlation({("A", "B"): 1.0, ("A", "C"): -1.0, ("B", "C"): -1.0}), "A", "B", "C"))
    assert np.corrcoef(returns) == pytest.approx(np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]]), abs=1e-9)


def test_processes_of_different_kinds_move_together() -> None:
    prices = PricePaths.draw(
        {"WETH": GBM, "stETH": OrnsteinUhlenbeck(0.0, 0.4)},
        {"WETH": 2000.0, "stETH": 1.0},
        steps=N,
        step_seconds=600,
        seed=5,
        correlation=Correlation({("stETH", "WETH"): 0.7}),
    )
    assert np.corrcoef(returns_of(prices))[0, 1] == pytest.approx(0.7, abs=4 * (1 - 0.49) / math.sqrt(N))


def test_the_order_of_the_pairs_changes_nothing() -> None:
    pairs = {("WETH", "WBTC"): 0.8, ("LINK", "WETH"): 0.6}
    one, other = Correlation(pairs), Correlation({(b, a): v for (a, b), v in reversed(pairs.items())})
    assert one == other
    assert hash(one) == hash(other)
    shocks = shocks_of("WETH", "WBTC", "LINK")
    for symbol, joint in one.apply(shocks).items():
        assert joint.tobytes() == other.apply(shocks)[symbol].tobytes()


def test_whoever_is_not_named_keeps_its_shocks() -> None:
    shocks = shocks_of("WETH", "WBTC", "USDC")
    joint = Correlation({("WETH", "WBTC"): 0.8}).apply(shocks)
    assert joint["USDC"] is shocks["USDC"]
    assert set(joint) == set(shocks)


def test_two_groups_do_not_touch_each_other() -> None:
    shocks = shocks_of("A", "B", "C", "D")
    alone = Correlation({("A", "C"): 0.5}).apply(shocks)
    both = Correlation({("A", "C"): 0.5, ("B", "D"): 0.9}).apply(shocks)
    assert alone["C"].tobytes() == both["C"].tobytes()


def test_the_matrix_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Correlation({("A", "B"): 0.5}).matrix[0, 1] = 2.0


def test_no_pairs_are_no_correlation() -> None:
    shocks = shocks_of("A")
    assert Correlation({}).apply(shocks)["A"] is shocks["A"]


@pytest.mark.parametrize(
    ("make", "words", "hint"),
    [
        (lambda: Correlation({("A", "B"): 1.2}), "correlation of A and B is '1.2'", "from -1 to 1"),
        (lambda: Correlation({("A", "B"): math.nan}), "correlation of A and B 'nan' is not a finite number", ""),
        (lambda: Correlation({("A", "A"): 0.5}), "correlation of A with itself is '0.5'", "leave it out"),
        (lambda: Correlation({("A", "B"): 0.5, ("B", "A"): 0.6}), "is both '0.5' and '0.6'", "give each pair once"),
        (
            lambda: Correlation({("A", "B"): 0.9, ("B", "C"): 0.9, ("A", "C"): -0.9}),
            "correlations of A, B, C contradict each other: the matrix has the eigenvalue -0.8",
            "weaker ones do not: each times 0.55, for one",
        ),
        (lambda: Correlation.of_matrix(["A", "B"], [[1.0]]), "the correlation matrix has the shape (1, 1)", "2 × 2"),
        (lambda: Correlation.of_matrix(["A", "A"], np.eye(2)), "a symbol is listed twice in 'A, A'", "one row"),
        (
            lambda: Correlation.of_matrix(["A", "B"], [[1, 0.5], [0.4, 1]]),
            "B and A is both '0.4' and '0.5'",
            "above and below",
        ),
        (lambda: Correlation.of_matrix(["A", "B"], [[2, 0.5], [0.5, 1]]), "A with itself is '2.0'", "diagonal"),
    ],
)
def test_correlations_that_cannot_be_are_refused(make, words: str, hint: str) -> None:
    with pytest.raises(BadArgument) as caught:
        make()
    assert words in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_the_weaker_ones_a_refusal_offers_are_accepted() -> None:
    assert Correlation({("A", "B"): 0.9 * 0.55, ("B", "C"): 0.9 * 0.55, ("A", "C"): -0.9 * 0.55}).symbols == (
        "A",
        "B",
        "C",
    )


@pytest.mark.slow
def test_the_real_correlation_of_ether_and_bitcoin_is_drawn_again(cases: Path) -> None:
    histories = [Series.read(cases / "market" / f"{name}USDT_1h_2022-10_2025-10.csv") for name in ("BTC", "ETH")]
    real = float(np.corrcoef([np.diff(np.log(each.prices)) for each in histories])[0, 1])
    assert 0.75 < real < 0.95
    prices = PricePaths.draw(
        {
            "WBTC": GeometricBrownianMotion(histories[0].volatility),
            "WETH": GeometricBrownianMotion(histories[1].volatility),
        },
        {"WBTC": 109_887.2, "WETH": 3869.03},
        steps=N,
        step_seconds=3600,
        seed=1,
        correlation=Correlation({("WBTC", "WETH"): real}),
    )
    assert np.corrcoef(returns_of(prices))[0, 1] == pytest.approx(real, abs=4 * (1 - real**2) / math.sqrt(N))


def test_whoever_is_determined_by_the_others_has_no_shocks_of_its_own() -> None:
    one, other = -0.66, 0.63
    third = one * other + math.sqrt((1 - one**2) * (1 - other**2))  # rounding leaves C a part of 2e-16 for itself
    correlation = Correlation({("A", "B"): one, ("A", "C"): other, ("B", "C"): third})
    shocks, others = shocks_of("A", "B", "C"), shocks_of("C", seed=2)
    mixed, again = (correlation.apply(each)["C"] for each in (shocks, {**shocks, **others}))
    assert mixed.tolist() == again.tolist()
    assert mixed.std() == pytest.approx(1, abs=4 / math.sqrt(2 * N))
