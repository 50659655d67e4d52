"""Scripted price paths."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadInteger, UsageError
from mayavi.markets import (
    Constant,
    GeometricBrownianMotion,
    JumpDiffusion,
    OrnsteinUhlenbeck,
    Ramp,
    Step,
    Waypoints,
    stream,
)

HOUR = 3600.0
GBM = GeometricBrownianMotion(volatility=0.8)


def path(process, steps: int = 6, start: float = 100.0, seed: int = 1) -> list[float]:
    return process.path(start, steps, HOUR, stream(seed, "x")).tolist()


def test_a_constant_price_stays() -> None:
    assert path(Constant(), start=2562.92441874) == [2562.92441874] * 7


def test_a_step_is_there_from_its_step_on() -> None:
    assert path(Step(at=3, size=-0.25)) == [100, 100, 100, 75, 75, 75, 75]
    assert path(Step(at=3, to=0.88)) == [100, 100, 100, 0.88, 0.88, 0.88, 0.88]
    assert path(Step(at=6, size=0.5)) == [100] * 6 + [150]
    assert path(Step(at=0, size=-0.25)) == [75] * 7


def test_a_ramp_moves_evenly_between_its_ends() -> None:
    assert path(Ramp(begin=1, end=5, size=-0.4)) == pytest.approx([100, 100, 90, 80, 70, 60, 60])
    assert path(Ramp(begin=0, end=4, to=60.0)) == pytest.approx([100, 90, 80, 70, 60, 60, 60])
    assert path(Ramp(begin=2, end=3, size=-0.25)) == path(Step(at=3, size=-0.25))


def test_a_ramp_reaches_its_price_exactly() -> None:
    assert path(Ramp(begin=0, end=6, to=0.1), start=0.3)[-1] == 0.1


def test_waypoints_are_passed() -> None:
    points = ((2, 0.9), (4, 0.5))
    assert path(Waypoints(points)) == [100, 100, 90, 90, 50, 50, 50]
    assert path(Waypoints(points, between="linear")) == pytest.approx([100, 95, 90, 70, 50, 50, 50])
    assert path(Waypoints(((1, 1.0), (2, 0.9)), between="linear"), steps=2) == pytest.approx([100, 100, 90])


def test_after_a_step_another_process_goes_on_from_there() -> None:
    """The worked example: `{process: jump, at: 12, size: -25%, then: {process: gbm, volatility: 80%}}`."""
    rng = stream(7, "WETH")
    crash = Step(at=12, size=-0.25, then=GBM).path(2562.92, 48, HOUR, rng)
    assert crash[:12].tolist() == [2562.92] * 12
    assert crash[12] == 2562.92 * 0.75
    shocks = stream(7, "WETH").standard_normal(48)
    assert crash[12:].tobytes() == GBM.driven(2562.92 * 0.75, shocks[12:], HOUR, rng).tobytes()


def test_a_step_interrupts_a_process_and_leaves_its_chance_alone() -> None:
    plain = np.array(path(GBM))
    crash = np.array(path(Step(at=3, size=-0.25, before=GBM, then=GBM)))
    assert crash == pytest.approx(np.where(np.arange(7) < 3, plain, plain * 0.75), rel=1e-12)


def test_steps_follow_each_other() -> None:
    assert path(Step(at=2, size=-0.5, then=Step(at=2, size=1.0))) == [100, 100, 50, 50, 100, 100, 100]
    assert path(Ramp(begin=1, end=3, to=80.0, then=Step(at=1, to=1.0))) == pytest.approx([100, 100, 90, 80, 1, 1, 1])


def test_jumps_of_what_comes_before_and_after_are_not_the_same() -> None:
    jumps = JumpDiffusion(0.0, jumps_per_year=20_000.0, jump_mean=-0.01, jump_deviation=0.01)
    returns = np.diff(np.log(path(Step(at=50, size=0.0, before=jumps, then=jumps), steps=100)))
    assert not np.array_equal(returns[:50], returns[50:])


def test_a_composition_diffuses_where_a_part_does() -> None:
    assert not Constant().diffuses
    assert not Step(at=1, size=-0.1).diffuses
    assert Step(at=1, size=-0.1, then=GBM).diffuses
    assert Ramp(begin=0, end=1, size=-0.1, before=OrnsteinUhlenbeck(1, 1)).diffuses
    assert not Waypoints(((1, 0.5),)).diffuses


@pytest.mark.parametrize(
    "process",
    [
        Step(at=3, size=-0.25, before=GBM, then=GBM),
        Ramp(begin=1, end=3, to=1.0, then=GBM),
        Waypoints(((3, 0.5),), "linear"),
    ],
)
def test_a_longer_path_begins_as_the_shorter(process) -> None:
    assert path(process, steps=40)[:7] == path(process, steps=6)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Step(at=-1, size=-0.1), BadInteger, "at '-1' is less than 0"),
        (lambda: Step(at=1.5, size=-0.1), BadInteger, "at '1.5' is not a whole number"),
        (lambda: Step(at=True, size=-0.1), BadInteger, "at 'True' is not a whole number"),
        (lambda: Step(at=1), BadArgument, "a move needs a size or a price to go to, and only one of them"),
        (lambda: Step(at=1, size=-0.1, to=5.0), BadArgument, "a move needs a size or a price to go to"),
        (lambda: Step(at=1, size=-1.0), BadArgument, "size '-1.0' leaves no price"),
        (lambda: Step(at=1, to=0.0), BadArgument, "to '0.0' is not above zero"),
        (lambda: Step(at=1, size="-25%"), BadArgument, "size '-25%' is not a number"),
        (lambda: Step(at=1, size=-0.1, then="gbm"), BadArgument, "'gbm' is not a price process"),
        (lambda: Ramp(begin=3, end=3, size=-0.1), BadArgument, "the ramp ends at step 3 and begins at step 3"),
        (lambda: Ramp(begin=-1, end=3, size=-0.1), BadInteger, "begin '-1' is less than 0"),
        (lambda: Ramp(begin=1, end=3), BadArgument, "a move needs a size"),
        (lambda: Waypoints(()), BadArgument, "there are no waypoints"),
        (lambda: Waypoints(((0, 1.0),)), BadInteger, "step of a waypoint '0' is less than 1"),
        (lambda: Waypoints(((2, 0.9), (1, 0.8))), BadArgument, "the waypoint at step 1 follows that at step 2"),
        (lambda: Waypoints(((2, 0.9), (2, 0.8))), BadArgument, "the waypoint at step 2 follows that at step 2"),
        (lambda: Waypoints(((1, -0.9),)), BadArgument, "multiple of a waypoint '-0.9' is not above zero"),
        (lambda: Waypoints(((1, 0.9),), "spline"), BadArgument, "unknown interpolation 'spline' between waypoints"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(make, error, words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert caught.value.hint or error is BadInteger


@pytest.mark.parametrize(
    ("process", "words", "hint"),
    [
        (Step(at=7, size=-0.1), "the step at 7 never comes in a path of 6 steps", "set at to 6 or less"),
        (Ramp(begin=0, end=7, size=-0.1), "the ramp at 7 never comes in a path of 6 steps", "set end to 6 or less"),
        (Waypoints(((7, 0.9),)), "the last waypoint at 7 never comes in a path of 6 steps", "set step to 6 or less"),
    ],
)
def test_what_would_never_come_is_refused(process, words: str, hint: str) -> None:
    with pytest.raises(BadArgument, match=words) as caught:
        path(process)
    assert caught.value.hint.startswith(hint)
