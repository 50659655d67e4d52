"""`mayavi snapshot warm` and `--source` offline, with their errors. Against a node: tests/node."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import mayavi.gym_env
from mayavi import Fork
from mayavi.errors import StateError, UnknownName, UsageError
from mayavi.gym_env import make_rows
from mayavi.protocols import AaveV3
from mayavi.rl.training.warming import warm
from mayavi.worlds.source import WorldSource


@pytest.mark.slow(1)
def test_a_replica_is_written_and_played_like_itself(run_mayavi, tmp_path: Path) -> None:
    file = tmp_path / "vesting.snapshot"
    options = ("--env", "vesting", "--rollouts", "3", "--source", "replica", "--output", str(file), "--json")
    done = run_mayavi("snapshot", "warm", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["passes"], report["requests"], report["digest"]) == (1, 0, Fork.replica("ethereum").digest())
    assert {"random", "always 0"} < set(report["strategies"])
    assert list(tmp_path.iterdir()) == [file]  # no temporary file is left

    seen = []
    for source in ("replica", f"snapshot:{file}"):
        env = gymnasium.make("mayavi/Vesting-v0", source=source)
        first, _ = env.reset(seed=4)
        after, reward, *_ = env.step(env.action_space.sample() * 0 + 1)
        seen.append((first.tolist(), after.tolist(), reward))
    assert seen[0] == seen[1]

    evaluated = []
    for source in ("replica", f"snapshot:{file}"):
        done = run_mayavi("eval", "-", "--env", "vesting", "--episodes", "3", "--source", source, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        evaluated.append({name: report[name] for name in report["strategies"]})
    assert evaluated[0] == evaluated[1]


@pytest.mark.slow(0.3)
def test_a_continuous_environment_is_warmed_at_its_bounds(tmp_path: Path) -> None:
    found = warm("aave", WorldSource(), tmp_path / "a.snapshot", config={"actions": "continuous"}, rollouts=1)
    assert {"always [-1.0]", "always [0.0]", "always [1.0]", "random"} < set(found.strategies)


@pytest.mark.slow(0.3)
def test_a_file_on_which_rewards_are_others_never_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Fork.dump_snapshot

    def of_another_market(fork: Fork, path: Path) -> str:
        other = Fork.replica("ethereum")
        whale = AaveV3(other).account("0x00000000000000000000000000000000000a11ce")
        other.deal("WETH", whale.address, 10**23)
        whale.supply("WETH", 10**23)  # lowers the supply rate from now on
        return written(other, path)

    monkeypatch.setattr(Fork, "dump_snapshot", of_another_market)
    with pytest.raises(StateError, match="has another reward on the snapshot than on the fork"):
        warm("aave", WorldSource(), tmp_path / "a.snapshot", rollouts=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rollouts", [0, -1, 10**9])
def test_rollouts_that_cannot_be_played(rollouts: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rollouts cannot be played"):
        warm("aave", WorldSource(), tmp_path / "a.snapshot", rollouts=rollouts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--env", "aaave"), "did you mean 'aave'?"),
        (("--env", "aave", "--rollouts", "0"), "0 rollouts cannot be played"),
        (("--env", "aave", "--source", "replika"), "did you mean 'replica'?"),
        (("--env", "aave", "--source", "rpc:http://127.0.0.1:1"), "MAYAVI_RPC_URL"),
        (("--env", "aave", "--source", "snapshot:"), "name it: snapshot:PATH"),
        (("--env", "aave", "--source", "snapshot:nowhere.snapshot"), "there is no snapshot at 'nowhere.snapshot'"),
        (
            ("--env", "aave", "--source", "replica", "--rpc-url", "http://127.0.0.1:1"),
            "the source replica asks no node",
        ),
        (("--env", "aave", "--source", "replica", "--set", "chian=base"), "did you mean 'chain'?"),
        (("--env", "aave", "--source", "replica", "--output", "no/such/folder/a.snapshot"), "there is no folder"),
    ],
)
def test_what_cannot_be_done_is_a_misuse(run_mayavi, options: tuple[str, ...], message: str) -> None:
    done = run_mayavi("snapshot", "warm", *options)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr


def test_a_snapshot_of_another_chain(tmp_path: Path) -> None:
    other = Fork.empty(chain_id=42161)
    other.dump_snapshot(tmp_path / "arbitrum.snapshot")
    with pytest.raises(UsageError, match="holds arbitrum, not ethereum") as error:
        make_rows("aave", 1, source=f"snapshot:{tmp_path / 'arbitrum.snapshot'}")
    assert "chain=arbitrum" in str(error.value.hint)


def test_a_world_is_named_once() -> None:
    with pytest.raises(UsageError, match="both a world and a source"):
        make_rows("aave", 1, world=WorldSource(), source="replica")
    with pytest.raises(UnknownName, match="unknown source 'rcp'") as error:
        mayavi.gym_env.make_rows("aave", 1, source="rcp")
    assert "did you mean 'rpc'?" in str(error.value.hint)


def test_rows_on_a_fork_leave_it_as_it_was() -> None:
    fork = Fork.replica("ethereum")
    before = fork.digest()
    env = make_rows("aave", 2, world=fork)
    env.begin([0, 1], [1, 2])
    env.step(np.array([1, 2]))
    assert fork.digest() == before
