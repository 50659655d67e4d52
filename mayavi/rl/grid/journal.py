"""Run ids of the trainings of grids, written down before a training starts.

A grid that was killed finds its trainings again by their keys, on this machine and in the volume of Modal.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Sequence
from pathlib import Path

from mayavi.errors import CheckpointError
from mayavi.rl.grid.plan import GridTask
from mayavi.rl.training_runs.atomic_files import write_json
from mayavi.runs.run_id import check_id, new_run_id

JOURNAL = "grids.json"
LOCK = ".grids.lock"
FORMAT = 1


def assign_runs(models: Path, tasks: Sequence[GridTask]) -> dict[str, str]:
    """Run id of each task by its key: that of an earlier command, or a new one, which is stored at once."""
    models.mkdir(parents=True, exist_ok=True)
    with open(models / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = _read(models / JOURNAL)
        fresh = {each.key: new_run_id() for each in tasks if each.key not in known}
        if fresh:
            write_json(models / JOURNAL, {"format": FORMAT, "runs": known | fresh})
    return {each.key: (known | fresh)[each.key] for each in tasks}


def _read(path: Path) -> dict[str, str]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = {str(key): check_id(str(run)) for key, run in document["runs"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(
            f"'{path}' cannot be read", "it lists the trainings of grids; without it they are trained anew: remove it"
        ) from None
    if document.get("format") != FORMAT:
        raise CheckpointError(f"'{path}' has another format than {FORMAT}", "install a newer mayavi")
    return found
