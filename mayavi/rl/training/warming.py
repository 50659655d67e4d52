"""A snapshot to train an environment on with no request: every action is played on a fork until nothing read is new.

State that rows miss is read from the node in batches and the rows run again, so a pass never fails; a pass in which
nothing was missing ends it. What is written is the chain as it was, not as the environment prepares it: whoever opens
the file prepares it again, and finds all that this takes.
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
from mayavi.rl.evaluation.strategies import Chance, Scripted, Strategy

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.gym_env.rows import Floats, Observations, RowsEnv
    from mayavi.worlds.source import WorldSource

MOST_PASSES = 10
MOST_ROLLOUTS = 100_000
MOST_ROWS = 16
"""Rows side by side: what all of them miss is asked for together."""
LAST_EPISODE = 2**31

Progress = Callable[[str, int, int], None]
"""`progress(what, done, total)`."""


@dataclass(frozen=True, slots=True)
class Warmed:
    """A snapshot that was written, and what it took."""

    path: Path
    env: str
    chain_id: int
    block: int
    digest: str
    strategies: tuple[str, ...]
    rollouts: int
    """Of each strategy, in a pass."""
    passes: int
    facts: int
    """Accounts, slots and block hashes that were asked for."""
    requests: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Always:
    """One and the same action."""

    name: str
    action: NDArray[Any]

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """It remembers nothing."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The action, for all rows."""
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
    """Play `rollouts` episodes with every strategy of an environment until a pass reads nothing new; write a snapshot.

    Without `path` the file is named after environment, chain and block, in `data/snapshots`. Before it gets its name it
    is opened and played, and every reward must be the one that was had on the fork.
    """
    if not 1 <= rollouts <= MOST_ROLLOUTS:
        raise UsageError(f"{rollouts:,} rollouts cannot be played", f"give 1 … {MOST_ROLLOUTS:,}")
    kind = entry(name).load()
    if not issubclass(kind, ChainRowsEnv):
        raise UsageError(f"'{name}' stands on no chain: there is nothing to read", "it trains offline as it is")
    settings = configured(kind.config_type, config)
    if path is not None:
        _check_place(path)
    fork = world.on(settings.chain).open()
    rows = min(MOST_ROWS, -(-rollouts // len(SPLITS)))
    envs = _on(fork, name, config, rows)
    names: tuple[str, ...] = ()
    for passed in range(1, MOST_PASSES + 1):
        before = fork.facts_read
        names = _play_all(envs, passed, rollouts, f"pass {passed}", progress)
        found = fork.facts_read - before
        if not found:
            break
    else:
        raise StateError(
            f"after {MOST_PASSES} passes rollouts still read what was not read before: {found:,} facts in the last",
            f"more in a pass find more: --rollouts {4 * rollouts}; what was read is cached, so it goes on from here",
        )
    place = path or _default_place(entry(name).name, fork)
    digest = _write(fork, place, lambda written: _check(envs, written, name, config, rollouts, progress))
    return Warmed(
        path=place,
        env=entry(name).name,
        chain_id=fork.chain_id,
        block=fork.block_number,
        digest=digest,
        strategies=names,
        rollouts=rollouts,
        passes=passed,
        facts=fork.facts_read,
        requests=fork.requests,
        file_bytes=place.stat().st_size,
    )


def _on(
    world: WorldSource | Fork, name: str, config: Mapping[str, object] | None, rows: int
) -> list[tuple[str, RowsEnv[Any]]]:
    """The environment on `world`, once for each split."""
    kind: type[Any] = entry(name).load()  # one on a chain, the market's rows among them
    return [
        (split, kind(configured(kind.config_type, config, {"split": split}), rows, world=world)) for split in SPLITS
    ]


def _play_all(
    envs: list[tuple[str, RowsEnv[Any]]], passed: int, rollouts: int, what: str, progress: Progress | None
) -> tuple[str, ...]:
    """Every strategy on `rollouts` episodes, a third of each split; the names of those that played."""
    first = envs[0][1]
    if first.multi_agent:
        for at, (split, env) in enumerate(envs):
            _all_by_chance(env, _episodes(env.name, split, passed, rollouts), seed=passed)
            _tell(progress, what, at + 1, len(envs))
        return ("random",)
    players = strategies_of(first)
    for at, player in enumerate(players):
        for split, env in envs:
            play(env, player(passed), _episodes(env.name, split, passed, rollouts))
        _tell(progress, what, at + 1, len(players))
    return tuple(player(0).name for player in players)


def strategies_of(env: RowsEnv[Any]) -> list[Callable[[int], Strategy]]:
    """Who plays, given the number of the pass: the environment's scripts, each action over and over, and chance."""
    from gymnasium import spaces

    space = env.action_space
    if isinstance(space, spaces.Discrete):
        actions = [np.array(int(space.start) + each) for each in range(int(space.n))]
    else:
        assert isinstance(space, spaces.Box)
        actions = [np.asarray(each, dtype=np.float64) for each in (space.low, (space.low + space.high) / 2, space.high)]
    scripted: list[Strategy] = [Scripted(name, script) for name, script in env.strategies.items()]
    always: list[Strategy] = [Always(f"always {each.tolist()}", each) for each in actions]
    return [*(lambda passed, one=one: one for one in (*scripted, *always)), Chance]


def _episodes(name: str, split: str, passed: int, rollouts: int) -> list[int]:
    """A third of the rollouts, at least one, drawn from all episodes there are."""
    chance = stream(passed, "warm", name, split)
    drawn: list[int] = chance.integers(LAST_EPISODE, size=-(-rollouts // len(SPLITS))).tolist()
    return drawn


def _check(
    envs: list[tuple[str, RowsEnv[Any]]],
    written: Path,
    name: str,
    config: Mapping[str, object] | None,
    rollouts: int,
    progress: Progress | None,
) -> None:
    """Play random rollouts on the file: it must hold all that they read, and give the rewards of the fork."""
    from mayavi.worlds.source import WorldSource

    again = _on(WorldSource("snapshot", path=written.absolute()), name, config, envs[0][1].rows)
    for at, ((split, live), (_, offline)) in enumerate(zip(envs, again, strict=True)):
        episodes = _episodes(live.name, split, 1, rollouts)
        unlike = np.flatnonzero(_rewards(live, episodes) != _rewards(offline, episodes))
        if len(unlike):
            raise StateError(
                f"episode {episodes[unlike[0]]} has another reward on the snapshot than on the fork",
                "please report this: nothing was written",
            )
        _tell(progress, "checking the snapshot", at + 1, len(envs))


def _rewards(env: RowsEnv[Any], episodes: Sequence[int]) -> Floats:
    if env.multi_agent:
        return _all_by_chance(env, episodes, seed=1)
    return play(env, Chance(1), episodes).rewards


def _all_by_chance(env: RowsEnv[Any], episodes: Sequence[int], *, seed: int) -> Floats:
    """The rewards of all roles together in each episode, all agents playing at random."""
    played = play_roles(env, {role: Chance(seed, role=role) for role in env.role_names}, episodes)
    return np.asarray(np.sum([each.rewards for each in played.values()], axis=0))


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)


def _check_place(path: Path) -> None:
    """Found out before hours of reading, not after."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name the file to write")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.absolute().parent}'", "create it, or name another place")


def _default_place(name: str, fork: Fork) -> Path:
    from mayavi.evm.chains import chain

    folder = Path("data/snapshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{chain(fork.chain_id).name}-{fork.block_number}.snapshot"


def _write(fork: Fork, path: Path, check: Callable[[Path], None]) -> str:
    """Write the snapshot, and give it its name when `check` is content with it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.unchecked")
    try:
        digest = fork.dump_snapshot(temporary)
        check(temporary)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return digest
