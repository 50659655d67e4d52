"""Token buckets."""

from __future__ import annotations

from mayavi.api.security.rate import RateLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_is_refilled_evenly() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    assert [limiter.take("a", 2).allowed for _ in range(3)] == [True, True, False]
    refused = limiter.take("a", 2)
    assert (refused.limit, refused.remaining, refused.retry_after_s) == (2, 0, 30)
    clock.now += 29.9
    assert not limiter.take("a", 2).allowed
    clock.now += 0.2
    assert limiter.take("a", 2).allowed
    clock.now += 1e6
    assert [limiter.take("a", 2).allowed for _ in range(3)] == [True, True, False]


def test_buckets_are_separate_and_looking_takes_nothing() -> None:
    limiter = RateLimiter(Clock())
    assert limiter.take("a", 1).allowed
    assert not limiter.look("a", 1).allowed
    assert all(limiter.look("b", 1).allowed for _ in range(5))
    assert limiter.take("b", 1).allowed


def test_buckets_are_bounded() -> None:
    limiter = RateLimiter(Clock())
    for number in range(20_000):
        limiter.take(str(number), 1)
    assert len(limiter._buckets) == 10_000
