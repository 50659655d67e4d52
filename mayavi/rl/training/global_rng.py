"""Save and restore the global random generators of Python, NumPy and torch."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mayavi.numerics.streams import stream


def spread_seed(seed: int, purpose: str) -> int:
    """31-bit seed for `purpose`, far from the seeds of neighbouring trainings.

    Frameworks seed their rows with consecutive numbers, so nearby seeds would share episodes.
    """
    return int(stream(seed, "training", purpose).integers(2**31 - 2**20))


def state() -> dict[str, Any]:
    """State of the global generators as JSON data; torch only if it is imported."""
    version, words, gauss = random.getstate()
    kind, keys, place, has_gauss, cached = np.random.get_state(legacy=True)
    found: dict[str, Any] = {
        "python": [version, list(words), gauss],
        "numpy": [kind, [int(each) for each in keys], int(place), int(has_gauss), float(cached)],
    }
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.get_rng_state().numpy().tobytes().hex()
        if torch.cuda.is_available():
            found["cuda"] = [each.numpy().tobytes().hex() for each in torch.cuda.get_rng_state_all()]
    return found


def restore(saved: Mapping[str, Any]) -> None:
    """Restore the global generators from the result of `state`."""
    version, words, gauss = saved["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, place, has_gauss, cached = saved["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), place, has_gauss, cached))
    if "torch" in saved:
        import torch

        torch.set_rng_state(_tensor(saved["torch"]))
        if "cuda" in saved and torch.cuda.device_count() == len(saved["cuda"]):
            torch.cuda.set_rng_state_all([_tensor(each) for each in saved["cuda"]])


@contextmanager
def preserved() -> Iterator[None]:
    """Restore the caller's global generators on exit."""
    before = state()
    try:
        yield
    finally:
        restore(before)


def _tensor(written: str) -> Any:
    import torch

    return torch.frombuffer(bytearray.fromhex(written), dtype=torch.uint8)
