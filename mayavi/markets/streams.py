"""Random streams by name: what one draws never depends on who else draws."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from mayavi.errors import BadInteger
from mayavi.markets.parameters import whole
from mayavi.markets.seeding import Seeded, seed_words, spread

LARGEST_SEED = 2**63 - 1
"""What a signed 64-bit column holds."""
FEW = 16
"""Below so many, one by one is as fast."""


def stream(seed: int, *names: str) -> np.random.Generator:
    """The generator that belongs to `names` in the run of `seed`: the same each time, unlike that of any other names.

    The seed of the generator is the hash of both, so that neighbouring seeds and names have nothing in common.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed_words(_digest(seed, names)))))


def streams(seeds: Sequence[int], *names: str) -> list[np.random.Generator]:
    """`stream(seed, *names)` for each of `seeds`; for many of them in a third of the time."""
    if len(seeds) < FEW:
        return [stream(seed, *names) for seed in seeds]
    digests = [_digest(seed, names) for seed in seeds]
    words = np.frombuffer(b"".join(digests), dtype=">u4").reshape(len(seeds), -1)[:, ::-1]
    states = spread(words.astype(np.uint32))
    return [
        np.random.Generator(np.random.PCG64(Seeded(digest, state)))  # type: ignore[arg-type]  # NumPy documents it
        if digest[:4] != bytes(4)  # NumPy leaves leading zeros out
        else stream(seed, *names)
        for seed, digest, state in zip(seeds, digests, states, strict=True)
    ]


def _digest(seed: int, names: tuple[str, ...]) -> bytes:
    seed = whole("seed", seed, 0, f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if seed > LARGEST_SEED:
        raise BadInteger(f"seed '{seed}' is out of range", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    key = hashlib.sha256(b"mayavi stream")
    for part in (str(seed), *names):
        encoded = part.encode()
        key.update(len(encoded).to_bytes(8, "big") + encoded)  # ("a", "bc") is not ("ab", "c")
    return key.digest()
