"""Where inputs and outputs of a step's program lie on a device: planes, one 64-bit word for each row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.evm.fleet import Outcome, Program
from mayavi.evm.words import Words

Limbs = NDArray[np.uint64]
WORD_LIMBS = 4


@dataclass(slots=True)
class PlaneTable:
    """Planes of what steps are given and hand back, by name."""

    planes: dict[str, slice] = field(default_factory=dict)
    count: int = 0
    columns: int = 0
    """Floats of 32 bits that a row hands back."""

    def place(self, name: str, count: int) -> int:
        """First plane of `name`, which gets `count` if it is new."""
        if name not in self.planes:
            self.planes[name] = slice(self.count, self.count + count)
            self.count += count
        first: int = self.planes[name].start
        return first


@dataclass(slots=True)
class Wiring:
    """Inputs and outputs of a program on planes; outputs are read, or become inputs again."""

    program: Program
    table: PlaneTable
    inputs: list[tuple[str, int, int]] = field(default_factory=list)
    fixed: list[tuple[str, int]] = field(default_factory=list)
    outputs: list[tuple[str, str, int, int]] = field(default_factory=list)

    def add_input(self, name: str, *, limbs: int = 1, count: int = 1) -> None:
        """Add an input of `count` words with `limbs` limbs each."""
        self.inputs.append((name, self.table.place(name, limbs * count), limbs))

    def fix_input(self, name: str, value: int) -> None:
        """Give an input the same value on every row."""
        self.fixed.append((name, value))

    def add_output(self, name: str, *, plane: str, limbs: int = 1) -> None:
        """Add an output whose lowest limbs, or only float, are read from `plane`."""
        self.outputs.append((name, "word", self.table.place(plane, limbs), limbs))

    def feed_back(self, output: str, name: str, *, limbs: int = 1) -> None:
        """Make an output the next step's input `name`, limb by limb."""
        self.outputs.append((output, "word", self.table.planes[name].start, limbs))

    def feed_back_rounded(self, outputs: Iterable[str], name: str) -> None:
        """Make outputs the floats of the next step's input `name`."""
        first = self.table.planes[name].start
        self.outputs += [(output, "rounded", first + at, 1) for at, output in enumerate(outputs)]

    def add_singles(self, name: str, count: int) -> None:
        """Add an output of `count` floats of 32 bits."""
        self.outputs.append((name, "single", self.table.columns, 1))
        self.table.columns += count

    def program_inputs(self, given: Limbs) -> dict[str, Any]:
        """The inputs of a run on the processor, from planes (planes, rows)."""
        floats = dict(self.program.float_inputs)
        found: dict[str, Any] = dict(self.fixed)
        for name, first, limbs in self.inputs:
            planes = given[self.table.planes[name]]
            if name in floats:
                found[name] = planes.view(np.float64).T
            elif limbs == 1:
                found[name] = given[first]
            else:
                found[name] = Words(np.ascontiguousarray(planes[::-1].T).astype(">u8").view(np.uint8))
        return found

    def take_outputs(self, outcome: Outcome, given: Limbs, singles: NDArray[np.float32]) -> None:
        """Put what a run gave into planes and singles."""
        for name, kind, first, limbs in self.outputs:
            if kind == "single":
                found = outcome.arrays[name]
                singles[:, first : first + found.shape[1]] = found
            elif name in outcome.arrays:
                found = np.ascontiguousarray(outcome.arrays[name].T, dtype=np.float64).view(np.uint64)
                given[first : first + len(found)] = found
            elif kind == "rounded":
                given[first] = outcome.floats[:, list(outcome).index(name)].copy().view(np.uint64)
            else:
                given[first : first + limbs] = outcome[name].limbs().T[::-1][:limbs]
