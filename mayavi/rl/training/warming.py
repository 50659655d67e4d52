"""Write a snapshot that an environment trains on without requests to a node.

Every strategy plays on a fork of the node until a whole pass reads no new state. State that rows miss is read in
batches and the rows run again, so a pass never fails. The snapshot holds the chain as it was before the environment
prepared it: opening the file prepares it again, with all the state that this needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import StateError, UsageError
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.configuration import SPLITS, configured
from mayavi.gym_env.registry import entry
from mayavi.numerics.streams import stream
from mayavi.rl.evaluation.play import play, play_roles
from mayavi.rl.evaluation.strategies import RandomPlay, Scripted, Strategy

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.gym_env.rows import Floats, Observations, RowsEnv
    from mayavi.worlds.source import WorldSource

MOST_PASSES = 10
MOST_ROLLOUTS = 100_000
MOST_ROWS = 16
"""Rows per environment: state that several of them miss is requested together."""
LAST_EPISODE = 2**31

Progress = Callable[[str, int, int], None]
"""`progress(what, done, total)`."""


@dataclass(frozen=True, slots=True)
class Warmed:
    """A written snapshot and its statistics."""

    path: Path
    env: str
    chain_id: int
    block: int
    digest: str
    strategies: tuple[str, ...]
    rollouts: int
    """Episodes of each strategy in a pass."""
    passes: int
    facts: int
    """Accounts, slots and block hashes read."""
    requests: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Always:
    """Strategy that repeats one action."""

    name: str
    action: NDArray[Any]

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Stateless."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The action for every row."""
        return np.repeat(self.action[None], env.rows, axis=0)


def warm(
    name: str,
    world: WorldSource,
    path: Path | None = None,
    *,
    config: Mapping[str, object] | None = None,
    rollouts: int = 100,
    progress: Progress | None = None,
) -> Warmed:
    """Play `rollouts` episodes with every strategy until a pass reads nothing new, then write a snapshot.

    Without `path` the file is named after environment, chain and block, in `data/snapshots`. Before it gets its name,
    episodes are played on it, and their rewards must equal those on the fork. Raises `StateError` if they do not, or if
    the last of `MOST_PASSES` passes still reads new state.
    """
    if not 1 <= rollouts <= MOST_ROLLOUTS:
        raise UsageError(f"{rollouts:,} rollouts cannot be played", f"give 1 … {MOST_ROLLOUTS:,}")
    kind = entry(name).load()
    if kind.takes_world and not issubclass(kind, ChainRowsEnv):
        raise UsageError(
            f"a snapshot cannot be warmed by '{name}', whose agents read other state with every seed",
            "train it with --source rpc: what was read is cached",
        )
    if not issubclass(kind, ChainRowsEnv):
        raise UsageError(f"'{name}' uses no chain, so that there is nothing to fetch", "it needs no snapshot to train")
    settings = configured(kind.config_type, config)
    if path is not None:
        _check_path(path)
    fork = world.on(settings.chain).open()
    rows = min(MOST_ROWS, -(-rollouts // len(SPLITS)))
    envs = _make_envs(fork, name, config, rows)
    names: tuple[str, ...] = ()
    for passed in range(1, MOST_PASSES + 1):
        before = fork.items_fetched
        names = _play_all(envs, passed, rollouts, f"pass {passed}", progress)
        found = fork.items_fetched - before
        if not found:
            break
    else:
        raise StateError(
            f"after {MOST_PASSES} passes rollouts still read new state: {found:,} facts in the last pass",
            f"play more in a pass: --rollouts {4 * rollouts}; what was read is cached and not requested again",
        )
    written = path or _default_path(entry(name).name, fork)
    digest = _write(fork, written, lambda file: _check(envs, file, name, config, rollouts, progress))
    return Warmed(
        path=written,
        env=entry(name).name,
        chain_id=fork.chain_id,
        block=fork.block_number,
        digest=digest,
        strategies=names,
        rollouts=rollouts,
        passes=passed,
        facts=fork.items_fetched,
        requests=fork.requests,
        file_bytes=written.stat().st_size,
    )


def _make_envs(
    world: WorldSource | Fork, name: str, config: Mapping[str, object] | None, rows: int
) -> list[tuple[str, RowsEnv[Any]]]:
    """Environment on `world` for each split."""
    kind: type[Any] = entry(name).load()  # a `ChainRowsEnv`
    return [
        (split, kind(configured(kind.config_type, config, {"split": split}), rows, world=world)) for split in SPLITS
    ]


def _play_all(
    envs: list[tuple[str, RowsEnv[Any]]], passed: int, rollouts: int, what: str, progress: Progress | None
) -> tuple[str, ...]:
    """Play `rollouts` episodes with every strategy, a third per split; returns the strategy names."""
    first = envs[0][1]
    if first.multi_agent:
        for at, (split, env) in enumerate(envs):
            _play_randomly(env, _episodes(env.name, split, passed, rollouts), seed=passed)
            _report(progress, what, at + 1, len(envs))
        return ("random",)
    players = strategies_of(first)
    for at, player in enumerate(players):
        for split, env in envs:
            play(env, player(passed), _episodes(env.name, split, passed, rollouts))
        _report(progress, what, at + 1, len(players))
    return tuple(player(0).name for player in players)


def strategies_of(env: RowsEnv[Any]) -> list[Callable[[int], Strategy]]:
    """Strategy factories that take the pass number: scripts, each action repeated, and random play."""
    from gymnasium import spaces

    space = env.action_space
    if isinstance(space, spaces.Discrete):
        actions = [np.array(int(space.start) + each) for each in range(int(space.n))]
    else:
        assert isinstance(space, spaces.Box)
        actions = [np.asarray(each, dtype=np.float64) for each in (space.low, (space.low + space.high) / 2, space.high)]
    scripted: list[Strategy] = [Scripted(name, script) for name, script in env.strategies.items()]
    always: list[Strategy] = [Always(f"always {each.tolist()}", each) for each in actions]
    return [*(lambda passed, one=one: one for one in (*scripted, *always)), RandomPlay]


def _episodes(name: str, split: str, passed: int, rollouts: int) -> list[int]:
    """Random episode numbers for one split: a third of the rollouts, at least one."""
    rng = stream(passed, "warm", name, split)
    drawn: list[int] = rng.integers(LAST_EPISODE, size=-(-rollouts // len(SPLITS))).tolist()
    return drawn


def _check(
    envs: list[tuple[str, RowsEnv[Any]]],
    written: Path,
    name: str,
    config: Mapping[str, object] | None,
    rollouts: int,
    progress: Progress | None,
) -> None:
    """Play random rollouts on the written file; `StateError` if a reward differs from the fork's."""
    from mayavi.worlds.source import WorldSource

    again = _make_envs(WorldSource("snapshot", path=written.absolute()), name, config, envs[0][1].rows)
    for at, ((split, live), (_, offline)) in enumerate(zip(envs, again, strict=True)):
        episodes = _episodes(live.name, split, 1, rollouts)
        differing = np.flatnonzero(_rewards(live, episodes) != _rewards(offline, episodes))
        if len(differing):
            raise StateError(
                f"episode {episodes[differing[0]]} has another reward on the snapshot than on the fork",
                "please report this: nothing was written",
            )
        _report(progress, "checking the snapshot", at + 1, len(envs))


def _rewards(env: RowsEnv[Any], episodes: Sequence[int]) -> Floats:
    if env.multi_agent:
        return _play_randomly(env, episodes, seed=1)
    return play(env, RandomPlay(1), episodes).rewards


def _play_randomly(env: RowsEnv[Any], episodes: Sequence[int], *, seed: int) -> Floats:
    """Play all roles at random; returns the summed rewards of each episode."""
    played = play_roles(env, {role: RandomPlay(seed, role=role) for role in env.role_names}, episodes)
    return np.asarray(np.sum([each.rewards for each in played.values()], axis=0))


def _report(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)


def _check_path(path: Path) -> None:
    """Raise `UsageError` for an unusable path now, not after hours of reading."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name the file to write")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.absolute().parent}'", "create it, or name another one")


def _default_path(name: str, fork: Fork) -> Path:
    from mayavi.evm.chains import chain

    folder = Path("data/snapshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{chain(fork.chain_id).name}-{fork.block_number}.snapshot"


def _write(fork: Fork, path: Path, check: Callable[[Path], None]) -> str:
    """Write the snapshot to a temporary file and rename it once `check` passes. Returns its digest."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.unchecked")
    try:
        digest = fork.dump_snapshot(temporary)
        check(temporary)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return digest
