"""The processor's side of rows on a device: starts of episodes, and rows that leave the known paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.device.parts import Part
from mayavi.gym_env.device.steps import Table
from mayavi.gym_env.device.wiring import Limbs

MOST_ROOM = 1_024
"""Rows that are played on the processor at once."""
LEARNERS = 256
"""Episodes of one round before the first kernel."""
MOST_ROUNDS = 24
"""Rounds before the first kernel."""
QUIET_ROUNDS = 4
"""Rounds in a row without a new path after which no further one is played."""


class HostRows:
    """Rows of an environment on the processor: one at the start of each episode, and room to play others."""

    def __init__(self, env: ChainRowsEnv[Any], parts: Sequence[Part], starts: int) -> None:
        self.env, self.parts, self.starts = env, parts, starts
        self.table, self.kernel = parts[-1].wiring.table, parts[-1].kernel
        self.fleet = env.fleet._fleet
        self.fleet.record_all_paths()
        self.room = np.arange(starts, env.rows)

    def read_starts(self, first: int = 0) -> Limbs:
        """What the starts keep of their chains, from the plane `first` on."""
        return self.kernel.read(self.fleet, list(range(self.starts)), first)

    def put(self, entries: NDArray[np.int64], kept: Limbs) -> None:
        """Let the first rows of the room be rows that began at `entries`, and keep what `kept` says."""
        self.kernel.write(self.fleet, self.room[: len(entries)].tolist(), entries.tolist(), kept)

    def play(
        self,
        part: Part,
        which: NDArray[np.intp],
        given: Limbs,
        singles: NDArray[np.float32],
        threads: int | None = None,
    ) -> None:
        """Play a part of a step with the rows `which` of the room; its outputs go into `given` and `singles`."""
        if not len(which):
            return
        wiring, own, seen = part.wiring, np.ascontiguousarray(given[:, which]), singles[which]
        inputs = wiring.program_inputs(own)
        found = self.env.fleet.run(wiring.program, threads=threads or self.env.threads, only=self.room[which], **inputs)
        wiring.take_outputs(found, own, seen)
        given[:, which], singles[which] = own, seen

    def take(self, entries: NDArray[np.int64]) -> tuple[Limbs, bool]:
        """What the first rows of the room keep now, and whether that is more than before."""
        rows = self.room[: len(entries)].tolist()
        grown = self.kernel.extend(self.fleet, rows, entries.tolist())
        return self.kernel.read(self.fleet, rows), grown

    def is_current(self) -> bool:
        """Whether all that the kernel takes for constant still is."""
        return all(part.kernel.is_current(self.fleet, part.wiring.program) for part in self.parts)

    def paths(self) -> int:
        """Recorded paths of all programs."""
        return sum(each["paths"] for each in self.env.fleet.program_statistics() if each["calls"])

    def learn(self, given: Limbs, kept: Limbs, tables: Mapping[str, Table]) -> None:
        """Play episodes of the table until no new path of a step comes up.

        One thread does: the same paths in every process give the same kernels, which the driver has compiled before.
        """
        rng, known, quiet = np.random.default_rng(21), 0, 0
        for at in range(MOST_ROUNDS):
            self._learn_round(rng, given, kept, tables, at)
            quiet = quiet + 1 if self.paths() == known else 0
            if quiet == QUIET_ROUNDS:
                break
            known = self.paths()

    def _learn_round(
        self, rng: np.random.Generator, given: Limbs, kept: Limbs, tables: Mapping[str, Table], at: int
    ) -> None:
        env, planes, room = self.env, self.table.planes, LEARNERS
        entries = (np.arange(room) + at * room) % self.starts
        horizon = env.config.horizon
        self.put(entries, np.ascontiguousarray(kept[:, entries]))
        playing, singles = given[:, entries].copy(), np.zeros((room, self.table.columns), dtype=np.float32)
        edges, every = draw_actions(env, rng, room), np.arange(room)
        for step in range(horizon):
            drawn = draw_actions(env, rng, room)
            actions = np.where((every % 3 == 0).reshape(-1, *[1] * (drawn.ndim - 1)), edges, drawn)
            playing[planes["action"]] = as_planes(env, actions)
            playing[planes["steps"]] = step
            for name, table in tables.items():
                playing[planes[name]] = table.words[:, entries, min(step + table.ahead, horizon)]
            for part in self.parts:
                self.play(part, every, playing, singles, threads=1)


def draw_actions(env: ChainRowsEnv[Any], rng: np.random.Generator, rows: int) -> NDArray[Any]:
    """Draw actions: any of a discrete space; of a box anywhere, or an edge or its middle."""
    if env.config.actions == "discrete":
        return rng.integers(env.action_space.n, size=rows)  # type: ignore[attr-defined]
    shape = rows, *(env.action_space.shape or ())
    edges = rng.choice([-1.0, 0.0, 1.0], shape)
    return np.where(rng.random(shape) < 0.3, edges, rng.uniform(-1.0, 1.0, shape)).astype(np.float32)


def as_planes(env: ChainRowsEnv[Any], actions: NDArray[Any]) -> Limbs:
    """Actions as the words that a step takes: (numbers of an action, rows)."""
    kind = np.int64 if env.config.actions == "discrete" else np.float64
    return np.ascontiguousarray(np.atleast_2d(actions.T), dtype=kind).view(np.uint64)
