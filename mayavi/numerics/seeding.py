"""`SeedSequence` with precomputed state words, equal to NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray


class PrecomputedSeed(ISpawnableSeedSequence):
    """`SeedSequence` of the big-endian integer `digest`, with its PCG64 words `state` precomputed."""

    def __init__(self, digest: bytes, state: NDArray[np.uint64]) -> None:
        self._digest, self._state = digest, state
        self._full: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Return the precomputed words for PCG64; compute any others."""
        if dtype is np.uint64 and n_words == len(self._state):
            return self._state
        return self._sequence().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[np.random.SeedSequence]:  # type: ignore[override]  # as NumPy's own does
        """Spawn child seeds."""
        return self._sequence().spawn(n_children)

    def _sequence(self) -> np.random.SeedSequence:
        if self._full is None:
            self._full = np.random.SeedSequence(int.from_bytes(self._digest, "big"))
        return self._full
