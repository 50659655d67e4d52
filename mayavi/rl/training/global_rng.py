"""The generators that frameworks share behind everybody's back, to be kept, put back, and left as they were found."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np


def spread_seed(seed: int, purpose: str) -> int:
    """A seed of 31 bits for `purpose`. Rows are seeded in sequence: neighbouring seeds must not share any of them."""
    from mayavi.numerics.streams import stream

    return int(stream(seed, "training", purpose).integers(2**31 - 2**20))


def state() -> dict[str, Any]:
    """The global generators of Python, NumPy and torch as plain data."""
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


def restore(found: Mapping[str, Any]) -> None:
    """Put the generators where `state` found them."""
    version, words, gauss = found["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, place, has_gauss, cached = found["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), place, has_gauss, cached))
    if "torch" in found:
        import torch

        torch.set_rng_state(_tensor(found["torch"]))
        if "cuda" in found and torch.cuda.device_count() == len(found["cuda"]):
            torch.cuda.set_rng_state_all([_tensor(each) for each in found["cuda"]])


@contextmanager
def kept() -> Iterator[None]:
    """Leave the generators as they were: whoever calls us may be using them."""
    before = state()
    try:
        yield
    finally:
        restore(before)


def _tensor(written: str) -> Any:
    import torch

    return torch.frombuffer(bytearray.fromhex(written), dtype=torch.uint8)
