"""Last values of the learning curves of a training, read from its TensorBoard logs."""

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
    files = sorted(logs.glob("events.out.tfevents.*"))
    if not files:
        return {}
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ModuleNotFoundError:
        return None
    found: dict[str, CurveEnd] = {}
    for file in files:  # by time: a resumed training logs the steps after its checkpoint again
        for event in EventFileLoader(str(file)).Load():
            for entry in event.summary.value:
                value = entry.simple_value if entry.HasField("simple_value") else make_ndarray(entry.tensor)
                if getattr(value, "size", 1) == 1:
                    found[entry.tag] = CurveEnd(int(event.step), float(value))
    return dict(sorted(found.items()))
