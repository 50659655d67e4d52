"""The bound of hindsight: above all that can be done, and above what a linear program finds can be done at best."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.portfolio.backtest.hindsight import arriving, hindsight_bound
from mayavi.portfolio.capped_simplex import project

START = np.array([0.4, 0.35, 0.25])
LOW, HIGH, BPS = 0.05, 0.60, 10.0


def market(rows: int, hours: int, seed: int = 1, size: float = 0.01) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0, size, (rows, hours, 3)) * np.array([0.1, 1.0, 0.8]))


def bound(growth: np.ndarray, bps: float = BPS, low: float = LOW, high: float = HIGH, **more: float) -> np.ndarray:
    return hindsight_bound(growth, START, low=low, high=high, cost_bps=bps, **more)


def played(growth: np.ndarray, targets: np.ndarray, bps: float, stop: float = 1.0) -> np.ndarray:
    """(rows,) final values of a dollar that goes to `targets`, (rows, hours, 3), each hour, as the environment does."""
    rows, hours, _ = growth.shape
    weights, value, peak = np.tile(START, (rows, 1)), np.ones(rows), np.ones(rows)
    live = np.ones(rows, dtype=bool)
    for hour in range(hours):
        turnover = np.abs(targets[:, hour] - weights).sum(axis=1)
        grown = targets[:, hour] * growth[:, hour]
        value = np.where(live, value * (1 - bps / 1e4 * turnover) * grown.sum(axis=1), value)
        weights = grown / grown.sum(axis=1, keepdims=True)
        peak = np.maximum(peak, value)
        live &= 1 - value / peak < stop
    return value


def best_by_linear_program(growth: np.ndarray, bps: float, low: float, high: float) -> float:
    """The most a dollar can become with bounds and costs both: holdings and moves are the variables, all linear."""
    from scipy.optimize import linprog

    hours, assets = growth.shape
    pairs = [(i, j) for i, j in itertools.product(range(assets), repeat=2) if i != j]
    width = assets + len(pairs)  # of each hour: what is held after moving, and what is moved
    equal, equals, limit, limits = [], [], [], []
    for hour in range(hours):
        at = hour * width
        for asset in range(assets):
            # held = what came - what left + what arrived
            row = np.zeros(hours * width)
            row[at + asset] = 1.0
            for place, (source, target) in enumerate(pairs):
                if source == asset:
                    row[at + assets + place] += 1.0
                if target == asset:
                    row[at + assets + place] -= arriving(bps)
            if hour:
                row[at - width + asset] = -growth[hour - 1, asset]
            equal.append(row)
            equals.append(START[asset] if not hour else 0.0)
            for side, edge in ((1.0, high), (-1.0, low)):
                row = np.zeros(hours * width)
                row[at : at + assets] = -edge * side
                row[at + asset] += side
                limit.append(row)
                limits.append(0.0)
    goal = np.zeros(hours * width)
    goal[(hours - 1) * width : (hours - 1) * width + assets] = -growth[-1]
    found = linprog(goal, A_ub=limit, b_ub=limits, A_eq=equal, b_eq=equals, method="highs")
    assert found.success, found.message
    return -float(found.fun)


@pytest.mark.parametrize("bps", [0.0, 10.0, 100.0])
@pytest.mark.parametrize(("low", "high"), [(LOW, HIGH), (0.0, 1.0), (0.2, 0.5)])
def test_a_linear_program_lies_below_the_bound_and_above_every_strategy(bps: float, low: float, high: float):
    growth = market(6, 12)
    limits = bound(growth, bps, low, high)[:, -1]
    rng = np.random.default_rng(5)
    targets = [project(rng.uniform(-1, 2, (12, 3)), low, high) for _ in range(60)]
    targets += [np.tile(project(each[None], low, high), (12, 1)) for each in np.eye(3)]
    for row in range(len(growth)):
        best = best_by_linear_program(growth[row], bps, low, high)
        assert best <= limits[row] * (1 + 1e-9)
        values = played(np.tile(growth[row], (len(targets), 1, 1)), np.stack(targets), bps)
        assert values.max() <= best * (1 + 1e-9)


def test_without_costs_it_is_what_perfect_foresight_earns():
    growth = market(5, 30)
    order = np.argsort(np.argsort(growth, axis=2), axis=2)
    foresight = np.array([0.05, 0.35, 0.60])[order]
    assert bound(growth, 0.0)[:, -1] == pytest.approx(played(growth, foresight, 0.0), rel=1e-12)


def test_without_bounds_it_is_the_best_path_of_a_dollar():
    """Every path from asset to asset, tried one by one."""
    growth = market(1, 5, size=0.02)[0]
    found = 0.0
    for first, share in enumerate(START):
        best = 0.0
        for path in itertools.product(range(3), repeat=5):
            value, at = 1.0, first
            for hour, asset in enumerate(path):
                value *= growth[hour, asset] * (1.0 if asset == at else arriving(50.0))
                at = asset
            best = max(best, value)
        found += share * best
    assert bound(growth[None], 50.0, 0.0, 1.0)[0, -1] == pytest.approx(found, rel=1e-12)


def test_the_costs_that_the_bound_knows_are_never_more_than_those_paid():
    """Whatever is exchanged for whatever, a share 1/(1+2c) of what leaves covers what arrives."""
    rng = np.random.default_rng(2)
    for bps in (1.0, 10.0, 500.0):
        before, after = rng.dirichlet(np.ones(3), 5_000), rng.dirichlet(np.ones(3) * 0.3, 5_000)
        paid = bps / 1e4 * np.abs(after - before).sum(axis=1, keepdims=True)
        change = after * (1 - paid) - before
        left, came = np.maximum(-change, 0).sum(axis=1), np.maximum(change, 0).sum(axis=1)
        assert (came <= left * arriving(bps) * (1 + 1e-12)).all()


def test_fees_lower_the_bound_to_what_they_leave_worth_doing():
    assert arriving(10.0) == pytest.approx(1 / 1.002)
    growth = np.ones((1, 36, 3))
    growth[0, ::2, 1] = growth[0, 1::2, 2] = 1.001  # mETH and MI4 take turns
    free, dear = (bound(growth, bps, low=0.0, high=1.0)[0, -1] for bps in (0.0, 100.0))
    assert free == pytest.approx(1.001**36)
    # A dollar of USDY would pay 2 % to move, more than mETH or MI4 earn in eighteen hours: all stay where they are.
    assert dear == pytest.approx(START[0] + (START[1] + START[2]) * 1.001**18, rel=1e-12)


def test_a_stop_in_a_falling_market_does_not_break_the_bound():
    """All that may be held falls: who is stopped early keeps more than the best who goes on."""
    growth = np.full((1, 60, 3), 0.99)
    stopped = played(growth, np.tile(START, (1, 60, 1)), BPS, stop=0.15)
    assert bound(growth)[0, -1] < stopped[0]
    assert bound(growth, stop_drawdown=0.15)[0, -1] >= stopped[0]


def test_every_hour_is_a_bound_of_its_own():
    growth = market(20, 40)
    whole = bound(growth)
    for hour in (1, 7, 39):
        assert whole[:, hour] == pytest.approx(bound(growth[:, :hour])[:, -1], rel=1e-12)


def test_what_is_no_market_is_refused():
    with pytest.raises(BadArgument, match="shape"):
        bound(np.ones((3, 4)))
