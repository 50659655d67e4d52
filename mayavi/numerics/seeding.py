"""The `SeedSequence` of a hash: NumPy's own, or one that knows already what a generator will ask it for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray


class Seeded(ISpawnableSeedSequence):
    """The `SeedSequence` of the number that `digest` is, big-endian, whose words for a PCG64 are `state`."""

    def __init__(self, digest: bytes, state: NDArray[np.uint64]) -> None:
        self._digest, self._state = digest, state
        self._whole: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """What the generator asks for."""
        if dtype is np.uint64 and n_words == len(self._state):
            return self._state
        return self._sequence().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[np.random.SeedSequence]:  # type: ignore[override]  # as NumPy's own does
        """Seeds of generators of its own."""
        return self._sequence().spawn(n_children)

    def _sequence(self) -> np.random.SeedSequence:
        if self._whole is None:
            self._whole = np.random.SeedSequence(int.from_bytes(self._digest, "big"))
        return self._whole
