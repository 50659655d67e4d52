"""Check a submission without running it, and write the command line that does the same."""

from __future__ import annotations

import shlex

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Problem
from mayavi.api.models.scenarios import Validated, Validation
from mayavi.api.models.sweeps import SweepSubmission
from mayavi.api.queue.scenarios.inline_scenarios import check_submission, check_sweep
from mayavi.scenarios.run.overrides import override_value

FILE = "scenario.yaml"
"""Name of the file that an inline scenario is saved to for the command line."""
_SEEDS = "0:20"


def validated(submission: Validation) -> Validated:
    """Return whether the submission can run: all known problems, or the resolved scenario and the command."""
    try:
        if submission.seeds is None and not submission.grid:
            text, runs = check_submission(submission).text, 1
        else:
            fields = submission.model_dump(exclude={"seed", "seeds"}) | {"seeds": submission.seeds or _SEEDS}
            scenarios, points, seeds = check_sweep(SweepSubmission(**fields))
            text, runs = scenarios[0].text, len(points) * len(seeds)
    except ApiError as error:
        problems = list(error.problems) or [Problem(message=error.message, hint=error.hint)]
        return Validated(valid=False, problems=problems)
    return Validated(valid=True, yaml=text, command=command_of(submission), runs=runs)


def command_of(submission: Validation) -> str:
    """Return the `mayavi run` or `mayavi sweep` line that does the same, quoted for a shell."""
    sweeps = submission.seeds is not None or bool(submission.grid)
    words = ["mayavi", "sweep" if sweeps else "run", submission.scenario or FILE]
    if sweeps:
        words += ["--seeds", submission.seeds or _SEEDS]
    elif submission.seed is not None:
        words += ["--seed", str(submission.seed)]
    for path, values in submission.grid.items():
        words += ["--grid", f"{path}={','.join(override_value(value) for value in values)}"]
    if submission.chain is not None:
        words += ["--chain", submission.chain]
    if submission.steps is not None:
        words += ["--steps", str(submission.steps)]
    for path, value in submission.overrides.items():
        words += ["--set", f"{path}={override_value(value)}"]
    return shlex.join(words)
