"""Learning curves of a training, read from its TensorBoard logs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class CurveEnd(NamedTuple):
    """Last entry of a curve."""

    steps: int
    value: float


def last_values(logs: Path) -> dict[str, CurveEnd] | None:
    """Last value of every curve in the folder `logs`, by name; None if tensorboard is not installed.

    An unfinished or damaged log file counts as far as it can be read.
    """
    found = read_curves(logs)
    if found is None:
        return None
    return {name: CurveEnd(step, values[step]) for name, values in found.items() for step in [next(reversed(values))]}


def read_curves(logs: Path) -> dict[str, dict[int, float]] | None:
    """Values of every curve in the folder `logs` by step, by name; None if tensorboard is not installed.

    Steps are in the order in which they were logged last: a resumed training logs those after its checkpoint again.
    """
    files = sorted(logs.glob("events.out.tfevents.*"))
    if not files:
        return {}
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ModuleNotFoundError:
        return None
    found: dict[str, dict[int, float]] = {}
    for file in files:  # by time
        for event in EventFileLoader(str(file)).Load():
            for entry in event.summary.value:
                value = entry.simple_value if entry.HasField("simple_value") else make_ndarray(entry.tensor)
                if getattr(value, "size", 1) == 1:
                    curve = found.setdefault(entry.tag, {})
                    curve.pop(int(event.step), None)
                    curve[int(event.step)] = float(value)
    return dict(sorted(found.items()))
