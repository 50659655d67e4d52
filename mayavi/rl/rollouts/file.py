"""Parquet file of recorded rollouts: schema `mayavi-rollouts`, described in docs/how-to/train-offline.md.

One table row for each step. The metadata of the file, JSON under the key `mayavi`, names the environment with all its
settings, its world and spaces, and the strategy that played. The same rollouts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import RolloutsError, SetupError, UsageError
from mayavi.rl.training_runs.atomic_files import PARTIAL
from mayavi.setup_errors import RL_HINT

SCHEMA, VERSION = "mayavi-rollouts", 1
KEY = b"mayavi"
_GROUP = 128
"""Episodes in a row group of the file."""
_NEEDED = ("env", "env_config", "world_digest", "observation_space", "action_space")


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """One episode: T + 1 observations, and T actions and rewards."""

    episode: int
    observations: NDArray[np.float32]
    actions: NDArray[Any]
    """(T,) of discrete actions, (T, size) of continuous ones, as they were played."""
    rewards: NDArray[np.float64]
    terminated: bool
    """Whether the episode ended by itself; otherwise its horizon cut it off."""

    def __len__(self) -> int:
        return len(self.rewards)


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Episodes of a file, and its metadata."""

    path: Path
    facts: Mapping[str, Any]
    episodes: tuple[RecordedEpisode, ...]

    @property
    def steps(self) -> int:
        """Number of steps of all episodes."""
        return sum(len(each) for each in self.episodes)

    @property
    def mean_reward(self) -> float:
        """Mean reward of the episodes."""
        return float(np.mean([each.rewards.sum() for each in self.episodes]))


def write_rollouts(path: Path, facts: Mapping[str, Any], episodes: Iterable[RecordedEpisode]) -> tuple[int, int]:
    """Write episodes atomically; returns the numbers of episodes and steps."""
    arrow, parquet = _arrow()
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.absolute().parent}'", "create it, or name another place")
    discrete = facts["action_space"]["kind"] == "Discrete"
    schema = _schema(arrow, discrete).with_metadata(
        {KEY: json.dumps({"schema": SCHEMA, "version": VERSION, **facts}, sort_keys=True).encode()}
    )
    partial, count, steps = path.with_name(f".{path.name}{PARTIAL}"), 0, 0
    try:
        with parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
            waiting: list[Any] = []
            for each in episodes:
                waiting.append(_table(arrow, schema, each))
                count, steps = count + 1, steps + len(each)
                if len(waiting) == _GROUP:
                    writer.write_table(arrow.concat_tables(waiting))
                    waiting = []
            if waiting:
                writer.write_table(arrow.concat_tables(waiting))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count, steps


def read_facts(path: Path) -> dict[str, Any]:
    """Read the metadata of a file; `RolloutsError` if it holds no rollouts, or those of a newer version."""
    arrow, parquet = _arrow()
    if not path.is_file():
        raise UsageError(f"there is no file of rollouts at '{path}'", "`mayavi rollouts RUN --out FILE` records one")
    try:
        found = parquet.read_schema(path).metadata or {}
        facts: dict[str, Any] = json.loads(found[KEY])
        version = int(facts["version"]) if facts["schema"] == SCHEMA else 0
    except (arrow.ArrowInvalid, OSError, KeyError, ValueError, TypeError):
        version = 0
    if not version:
        raise RolloutsError(f"'{path}' holds no rollouts", "`mayavi rollouts RUN --out FILE` records them")
    if version > VERSION:
        raise RolloutsError(
            f"'{path}' has version {version}, and this mayavi reads versions up to {VERSION}", "install a newer mayavi"
        )
    missing = [name for name in _NEEDED if name not in facts]
    if missing:
        raise RolloutsError(f"the metadata of '{path}' lacks {', '.join(missing)}", "record the rollouts again")
    return facts


def read_rollouts(path: Path) -> Rollouts:
    """Read a file; `RolloutsError` if it is damaged or empty."""
    facts = read_facts(path)
    arrow, parquet = _arrow()
    try:
        table = parquet.read_table(path)
        columns = {name: table.column(name) for name in _schema(arrow, True).names}
    except (arrow.ArrowInvalid, OSError, KeyError) as error:
        raise RolloutsError(f"'{path}' cannot be read: {str(error).splitlines()[0]}", "record it again") from None
    if not table.num_rows:
        raise RolloutsError(f"'{path}' holds no step", "record at least one episode")
    return Rollouts(path, facts, tuple(_episodes(path, columns)))


def _episodes(path: Path, columns: Mapping[str, Any]) -> Iterator[RecordedEpisode]:
    numbers = columns["episode"].to_numpy()
    steps = columns["step"].to_numpy()
    seen, following = (np.stack(columns[name].to_pylist()) for name in ("observation", "next_observation"))
    actions = np.array(columns["action"].to_pylist())
    rewards = columns["reward"].to_numpy()
    terminated, truncated = (columns[name].to_numpy(zero_copy_only=False) for name in ("terminated", "truncated"))
    starts = np.flatnonzero(steps == 0)
    for start, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        last = end - 1
        if (steps[start:end] != np.arange(end - start)).any() or not (terminated[last] or truncated[last]):
            raise RolloutsError(
                f"episode {numbers[start]} of '{path}' is incomplete",
                "its steps count from 0 to its end: record it again",
            )
        yield RecordedEpisode(
            int(numbers[start]),
            np.concatenate([seen[start:end], following[last:end]]).astype(np.float32),
            actions[start:end],
            rewards[start:end],
            bool(terminated[last]),
        )


def _schema(arrow: Any, discrete: bool) -> Any:
    vector = arrow.list_(arrow.float32())
    return arrow.schema(
        [
            ("episode", arrow.int64()),
            ("step", arrow.int32()),
            ("observation", vector),
            ("action", arrow.int64() if discrete else vector),
            ("reward", arrow.float64()),
            ("terminated", arrow.bool_()),
            ("truncated", arrow.bool_()),
            ("next_observation", vector),
        ]
    )


def _table(arrow: Any, schema: Any, episode: RecordedEpisode) -> Any:
    count = len(episode)
    last = np.arange(count) == count - 1
    return arrow.table(
        {
            "episode": np.full(count, episode.episode),
            "step": np.arange(count, dtype=np.int32),
            "observation": list(episode.observations[:-1]),
            "action": episode.actions if episode.actions.ndim == 1 else list(episode.actions),
            "reward": episode.rewards,
            "terminated": last & episode.terminated,
            "truncated": last & (not episode.terminated),
            "next_observation": list(episode.observations[1:]),
        },
        schema=schema,
    )


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise SetupError("rollouts need pyarrow, which is not installed", RL_HINT) from None
    return pyarrow, pyarrow.parquet
