"""exp and log of plain operations: the true value to two units of the last place, on every machine the same."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from mayavi.numerics import portable

RNG = np.random.default_rng(1)


def units_off(found, true) -> float:
    return float(np.max(np.abs(found - true) / np.spacing(np.abs(true))))


@pytest.mark.parametrize("reach", [1e-6, 0.5, 20.0, 700.0])
def test_exp_is_right(reach: float) -> None:
    x = RNG.uniform(-reach, reach, 50_000)
    assert units_off(portable.exp(x), np.array([math.exp(each) for each in x])) <= 2


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (0.999, 1.001), (1e-300, 1e-290), (1.0, 1e300)])
def test_log_is_right(low: float, high: float) -> None:
    x = RNG.uniform(low, high, 50_000)
    assert units_off(portable.log(x), np.array([math.log(each) for each in x])) <= 2


def test_the_ends_are_what_they_should_be() -> None:
    assert portable.exp([0.0, 1000.0, -1000.0, math.inf, -math.inf]).tolist() == [1.0, math.inf, 0.0, math.inf, 0.0]
    assert np.isnan(portable.exp(math.nan))
    assert portable.log([1.0]).tolist() == [0.0]
    assert portable.log(5e-324) == pytest.approx(-744.4400719213812)


def test_the_bits_are_these() -> None:
    """IEEE 754 leaves no choice: whoever gets another digest here gets other prices."""
    x = np.arange(-5_000, 5_000) / 250.0
    results = (
        portable.exp(x).astype("<f8").tobytes() + portable.log(np.arange(1, 10_000) / 97.0).astype("<f8").tobytes()
    )
    assert hashlib.sha256(results).hexdigest() == "ba06fdd8e0edd2d3209a9b3fcdd75f3e6fef8847fc0f01e2ce248dee03907bed"


def test_few_numbers_give_the_same_bits_as_many() -> None:
    x = np.concatenate((RNG.uniform(-750, 750, 3_000), RNG.uniform(-1, 1, 3_000), [-745.2, 709.9, -0.0, 720.5]))
    assert [float(portable.exp(each)) for each in x] == portable.exp(x).tolist()
    above = np.concatenate((np.exp(RNG.uniform(-700, 700, 3_000)), RNG.uniform(0.5, 2, 3_000), [5e-324, 1.0]))
    assert [float(portable.log(each)) for each in above] == portable.log(above).tolist()
    assert portable.exp(x[:6].reshape(2, 3)).tolist() == portable.exp(x)[:6].reshape(2, 3).tolist()


def test_more_than_a_chunk_gives_the_same_bits_as_few() -> None:
    x = RNG.uniform(-2, 2, 20_000)
    assert portable.exp(x).tolist() == [float(portable.exp(each)) for each in x]
    x[::997] = RNG.uniform(-800, 800, len(x[::997]))  # some chunks have a number that leaves the normal ones
    x[12_345] = math.inf
    assert portable.exp(x).tolist() == [float(portable.exp(each)) for each in x]
    above = RNG.uniform(0.01, 3, (3, 7_000)).T  # not in the order of memory
    assert portable.log(above).tolist() == [[float(portable.log(each)) for each in row] for row in above]
