"""Find the training step from which an evaluation no longer changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mayavi.rl.evaluation.comparison import Comparison, check_paired, compare
from mayavi.rl.evaluation.play import Played
from mayavi.rl.evaluation.settings import EvaluationSettings


@dataclass(frozen=True, slots=True)
class CheckpointOutcome:
    """Outcome of one checkpoint, compared with the last checkpoint."""

    step: int
    played: Played
    to_last: Comparison
    same_trajectories: bool


@dataclass(frozen=True, slots=True)
class Convergence:
    """Outcomes of checkpoints in the order of their steps, and the steps from which they no longer change.

    A step is None if the last checkpoint still changed the outcome.
    """

    outcomes: tuple[CheckpointOutcome, ...]
    identical_from: int | None
    """Step from which every checkpoint plays every episode exactly as the last one does."""
    indistinguishable_from: int | None
    """Step from which every checkpoint is indistinguishable from the last one."""

    @property
    def sentence(self) -> str:
        """The conclusion in one sentence."""
        last = self.outcomes[-1].step
        if len(self.outcomes) == 1:
            return f"there is one checkpoint, after {last:,} steps: nothing to compare it with"
        if self.identical_from is not None:
            return (
                f"from step {self.identical_from:,} on, up to {last:,}, every checkpoint played every episode exactly"
                " alike: training on moved nothing that this evaluation sees"
            )
        if self.indistinguishable_from is not None:
            return (
                f"from step {self.indistinguishable_from:,} on, up to {last:,}, no checkpoint can be told from"
                " the last; they still play differently"
            )
        return f"the evaluation still moved between the last two checkpoints, at {last:,} steps"


def find_convergence(steps: Sequence[int], played: Sequence[Played], settings: EvaluationSettings) -> Convergence:
    """Compare the checkpoints after `steps` steps, all on the same episodes, with the last of them."""
    check_paired(played)
    last = played[-1]
    outcomes = tuple(
        CheckpointOutcome(step, each, compare(each, last, settings), each.fingerprints == last.fingerprints)
        for step, each in zip(steps, played, strict=True)
    )
    return Convergence(
        outcomes,
        _first_of_tail(steps, [each.same_trajectories for each in outcomes]),
        _first_of_tail(
            steps, [each.same_trajectories or each.to_last.verdict.word == "indistinguishable" for each in outcomes]
        ),
    )


def _first_of_tail(steps: Sequence[int], fits: Sequence[bool]) -> int | None:
    """First step from which all checkpoints fit; None if only the last one does, compared with itself."""
    first = len(fits) - 1
    while first > 0 and fits[first - 1]:
        first -= 1
    return steps[first] if first < len(fits) - 1 else None
