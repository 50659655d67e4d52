"""Random streams by name: what one draws never depends on who else draws."""

from __future__ import annotations

import hashlib

import numpy as np

from mayavi.errors import BadInteger
from mayavi.markets.parameters import whole

LARGEST_SEED = 2**63 - 1
"""What a signed 64-bit column holds."""


def stream(seed: int, *names: str) -> np.random.Generator:
    """The generator that belongs to `names` in the run of `seed`: the same each time, unlike that of any other names.

    The seed of the generator is the hash of both, so that neighbouring seeds and names have nothing in common.
    """
    seed = whole("seed", seed, 0, f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if seed > LARGEST_SEED:
        raise BadInteger(f"seed '{seed}' is out of range", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    key = hashlib.sha256(b"mayavi stream")
    for part in (str(seed), *names):
        encoded = part.encode()
        key.update(len(encoded).to_bytes(8, "big") + encoded)  # ("a", "bc") is not ("ab", "c")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(key.digest(), "big"))))
