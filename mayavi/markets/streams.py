"""Random streams by name: what one draws never depends on who else draws."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

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
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed_words(key.digest()))))


def seed_words(digest: bytes) -> NDArray[np.uint32]:
    """The number that `digest` is, big-endian, as NumPy takes it apart to seed a generator, in half the time."""
    words = np.frombuffer(digest[::-1], dtype="<u4")
    while len(words) > 1 and not words[-1]:  # a number has no leading zeros
        words = words[:-1]
    return words
