"""Normal tail probabilities against the C library's error function."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.markets.normal_tail import upper_quantile, upper_tail
from mayavi.portfolio.market.events import event_bound, event_sizes


def test_it_is_the_tail() -> None:
    x = np.linspace(-7, 9, 4001)
    true = np.array([0.5 * math.erfc(each / math.sqrt(2)) for each in x])
    assert upper_tail(x) == pytest.approx(true, rel=1e-12)
    assert float(upper_tail(1.5)) == pytest.approx(0.5 * math.erfc(1.5 / math.sqrt(2)))


def test_one_gives_the_bits_of_many() -> None:
    x = np.linspace(-5, 6, 300)
    assert [float(upper_tail(each)) for each in x] == upper_tail(x).tolist()


@pytest.mark.parametrize("probability", [1e-9, 1e-4, 0.01, 0.3, 0.5])
def test_the_quantile_is_its_inverse(probability: float) -> None:
    assert upper_quantile(probability) == pytest.approx(-NormalDist().inv_cdf(probability), abs=1e-9)


def test_a_chance_out_of_range_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"the probability '0\.7' is out of range"):
        upper_quantile(0.7)


def test_events_are_as_frequent_as_said_and_their_sizes_exponential() -> None:
    z = np.random.default_rng(3).standard_normal((1, 400_000))
    sizes = event_sizes(z, upper_quantile(0.01), 0.05, 0.2)
    happened = sizes[sizes > 0]
    assert len(happened) == pytest.approx(4_000, abs=4 * math.sqrt(4_000 * 0.99))
    assert happened.min() >= 0.05
    excess = happened - 0.05
    assert excess.mean() == pytest.approx(0.2, abs=4 * 0.2 / math.sqrt(len(happened)))
    for level in (0.1, 0.4):  # the distribution, not its mean alone
        share = math.exp(-level / 0.2)
        slack = 4 * math.sqrt(share * (1 - share) / len(happened))
        assert (excess > level).mean() == pytest.approx(share, abs=slack)


def test_a_lean_moves_events_and_not_how_many_there_are() -> None:
    rng = np.random.default_rng(4)
    z, lean = rng.standard_normal((1, 400_000)), 0.7 * rng.standard_normal((1, 400_000))
    sizes = event_sizes(z, event_bound(87.6, 0.49), 0.05, 0.2, lean)
    happened = sizes > 0
    assert happened.sum() == pytest.approx(4_000, abs=4 * math.sqrt(4_000))
    assert happened[lean > 0.7].mean() > 5 * happened[lean < -0.7].mean()
    assert (sizes[happened] - 0.05).mean() == pytest.approx(0.2, abs=4 * 0.2 / math.sqrt(happened.sum()))


def test_no_chance_no_event() -> None:
    assert not event_sizes(np.full((1, 3), 9.0), event_bound(0.0), 0.05, 0.2).any()
