"""Scripted price paths: constant, step, ramp, waypoints; with other processes before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mayavi.errors import BadArgument
from mayavi.markets.process import Floats, PriceProcess
from mayavi.numerics.parameters import above_zero, finite, whole


@dataclass(frozen=True, slots=True)
class Constant(PriceProcess):
    """Constant price."""

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the start price at every step; the shocks are ignored."""
        del step_seconds, rng
        return np.full(len(shocks) + 1, start)


@dataclass(frozen=True, slots=True)
class Step(PriceProcess):
    """Jump of the price at step `at` by `size` (-0.25 is minus 25 %) or `to` a price.

    The path follows `before` up to the jump and `then` after it. The jump adds to what `before` does in that step: the
    price at `at` is the first after it. With `at` 0 the path starts after the jump.
    """

    at: int
    size: float | None = None
    to: float | None = None
    before: PriceProcess = field(default_factory=Constant)
    then: PriceProcess = field(default_factory=Constant)

    def __post_init__(self) -> None:
        whole("at", self.at, 0, "steps count from 0, the state a run opens with")
        _check_move(self.size, self.to)
        _check_processes(self.before, self.then)

    @property
    def diffuses(self) -> bool:
        """Whether `before` or `then` does."""
        return self.before.diffuses or self.then.diffuses

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path of `before`, the jump, then the path of `then`."""
        _check_reached("step", "at", self.at, len(shocks))
        first, second = rng.spawn(2)
        before = self.before.driven(start, shocks[: self.at], step_seconds, first)
        jumped = _moved(float(before[-1]), self.size, self.to)
        after = self.then.driven(jumped, shocks[self.at :], step_seconds, second)
        return np.concatenate((before[:-1], after))


@dataclass(frozen=True, slots=True)
class Ramp(PriceProcess):
    """Even move from step `begin` to step `end`, by `size` in total or `to` a price; `then` follows."""

    begin: int
    end: int
    size: float | None = None
    to: float | None = None
    before: PriceProcess = field(default_factory=Constant)
    then: PriceProcess = field(default_factory=Constant)

    def __post_init__(self) -> None:
        whole("begin", self.begin, 0, "a ramp begins at step 0 or later")
        whole("end", self.end, 1)
        if self.end <= self.begin:
            raise BadArgument(
                f"the ramp ends at step {self.end} and begins at step {self.begin}", "end it later than it begins"
            )
        _check_move(self.size, self.to)
        _check_processes(self.before, self.then)

    @property
    def diffuses(self) -> bool:
        """Whether `before` or `then` does."""
        return self.before.diffuses or self.then.diffuses

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path of `before`, the ramp, then the path of `then`."""
        _check_reached("ramp", "end", self.end, len(shocks))
        first, second = rng.spawn(2)
        before = self.before.driven(start, shocks[: self.begin], step_seconds, first)
        foot = float(before[-1])
        top = _moved(foot, self.size, self.to)
        share = np.arange(self.end - self.begin) / (self.end - self.begin)
        after = self.then.driven(top, shocks[self.end :], step_seconds, second)
        return np.concatenate((before[:-1], foot + (top - foot) * share, after))


@dataclass(frozen=True, slots=True)
class Waypoints(PriceProcess):
    """Prices at given steps as multiples of the start, ((12, 0.9), (24, 0.88)); constant after the last.

    `between` them the price holds the last one, or moves evenly with "linear".
    """

    points: tuple[tuple[int, float], ...]
    between: Literal["hold", "linear"] = "hold"

    def __post_init__(self) -> None:
        if not self.points:
            raise BadArgument("there are no waypoints", "give at least one: ((12, 0.9),)")
        last = 0
        for step, multiple in self.points:
            whole("step of a waypoint", step, 1, "the first step that can differ from the start is 1")
            above_zero("multiple of a waypoint", multiple, "0.9 is minus 10 % against the start")
            if step <= last:
                raise BadArgument(
                    f"the waypoint at step {step} follows that at step {last}", "list them by step, each once"
                )
            last = step
        if self.between not in ("hold", "linear"):
            raise BadArgument(f"unknown interpolation '{self.between}' between waypoints", "choose 'hold' or 'linear'")

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the waypoint path; the shocks are ignored."""
        del step_seconds, rng
        _check_reached("last waypoint", "step", self.points[-1][0], len(shocks))
        steps = np.array([0, *(step for step, _ in self.points)])
        multiples = np.array([1.0, *(multiple for _, multiple in self.points)])
        asked = np.arange(len(shocks) + 1)
        if self.between == "hold":
            return start * multiples[np.searchsorted(steps, asked, side="right") - 1]
        left = np.minimum(np.searchsorted(steps, asked, side="right") - 1, len(steps) - 2)
        share = np.minimum((asked - steps[left]) / (steps[left + 1] - steps[left]), 1.0)
        result: Floats = start * (multiples[left] + (multiples[left + 1] - multiples[left]) * share)
        return result


def _check_move(size: float | None, to: float | None) -> None:
    if (size is None) == (to is None):
        raise BadArgument("a move needs a size or a price to go to, and only one of them", "size=-0.25, or to=0.88")
    if to is not None:
        above_zero("to", to, "a price is more than zero")
    if size is not None and finite("size", size, "-0.25 is minus 25 %") <= -1:
        raise BadArgument(f"size '{size}' leaves no price", "a price falls by less than 100 %: -0.25 is minus 25 %")


def _check_processes(*processes: PriceProcess) -> None:
    for process in processes:
        if not isinstance(process, PriceProcess):
            raise BadArgument(
                f"'{process}' is not a price process", "such as Constant() or GeometricBrownianMotion(0.8)"
            )


def _check_reached(what: str, name: str, step: int, steps: int) -> None:
    if step > steps:
        raise BadArgument(
            f"the {what} at {step} never comes in a path of {steps} steps",
            f"set {name} to {steps} or less, or take more steps",
        )


def _moved(price: float, size: float | None, to: float | None) -> float:
    return float(to) if to is not None else price * (1 + float(size or 0.0))
