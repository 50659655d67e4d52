"""Training without a node: the file of `mayavi snapshot warm` holds all an environment reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi import Fork
from mayavi.errors import MissingStateError
from mayavi.evm.snapshot.contents import WorldContents
from mayavi.gym_env import make_rows
from mayavi.gym_env.registry import ENVS
from mayavi.protocols import AaveV3
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import RandomPlay
from mayavi.rl.training.train import train
from mayavi.rl.training.warming import warm
from mayavi.worlds.source import WorldSource
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import node_with

pytestmark = [pytest.mark.node, pytest.mark.slow]
EPISODES = list(range(1000, 1006))


SHORT: dict[str, dict[str, Any]] = {"liquidator": {"borrowers": 4, "horizon": 8}}
"""Settings of environments with many strategies, each of which plays whole episodes in every pass."""
ON_CHAIN = [name for name, each in ENVS.items() if each.home.startswith("mayavi.gym_env")]


@pytest.mark.parametrize("name", ON_CHAIN)
def test_rewards_on_the_snapshot_are_those_on_the_fork(
    run_mayavi, ethereum_node: Hardhat, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "warm.snapshot"
    settings = SHORT.get(name, {})
    options = ["--env", name, "--rollouts", "6", "--output", str(file), "--rpc-url", ethereum_node.url, "--json"]
    options += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = run_mayavi("snapshot", "warm", *options, env={"MAYAVI_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passes"] > 1
    assert report["facts"] > 50
    assert report["requests"] < report["facts"]  # asked in batches
    assert ethereum_node.url not in done.stdout

    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cold"))
    world = WorldSource.of("rpc", rpc_url=ethereum_node.url, block=report["block"])
    live = make_rows(name, 3, world=world, split="test", **settings)
    offline = make_rows(name, 3, source=f"snapshot:{file}", split="test", **settings)
    replica = make_rows(name, 3, split="test", **settings)
    played = [play(env, RandomPlay(3), EPISODES) for env in (live, offline, replica)]
    assert np.array_equal(played[0].rewards, played[1].rewards)
    assert np.array_equal(played[0].rewards, played[2].rewards)
    assert played[0].rewards.any()
    for env in (live, offline):
        assert env.exact() == replica.exact()
    assert live.fleet._origin.requests > 0
    assert offline.fleet._origin.requests == 0


def test_a_market_of_several_agents_is_read_whole(
    ethereum_node: Hardhat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cache"))
    world = WorldSource.of("rpc", rpc_url=ethereum_node.url)
    found = warm("market", world, tmp_path / "market.snapshot", rollouts=3)  # it plays the file, and compares
    assert found.path.is_file()
    assert found.facts > 50
    assert found.strategies == ("random",)


def test_training_on_the_snapshot_is_training_on_the_fork_and_asks_nobody(
    ethereum_node: Hardhat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "aave.snapshot"
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cache"))
    report = warm("aave", WorldSource.of("rpc", rpc_url=ethereum_node.url), file, rollouts=6)
    settings = {"env": "aave", "framework": "sb3", "timesteps": 96, "num_envs": 4, "rollout_steps": 12}
    settings |= {"minibatch_size": 48, "epochs": 2, "seed": 5}
    monkeypatch.setenv("MAYAVI_RPC_URL", ethereum_node.url)
    live = train(TrainConfig.of(settings, {"source": "rpc", "block": report.block}), models=tmp_path / "live")
    monkeypatch.setenv("MAYAVI_RPC_URL", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "empty"))
    offline = train(TrainConfig.of(settings, {"source": f"snapshot:{file}"}), models=tmp_path / "offline")
    assert live.mean_reward == offline.mean_reward
    assert live.mean_reward
    with pytest.raises(MissingStateError) as error:
        make_rows("vesting", 1, source=f"snapshot:{file}")
    assert "mayavi snapshot warm --env vesting" in str(error.value.hint)


def test_prices_are_posted_where_the_feed_listens_to_its_own_oracles_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a real chain: WETH's feed forwards every call to an aggregator that tests cannot report to."""
    world = Fork.replica("ethereum").copy()
    feed = world.address_of(AaveV3(world).oracle.getSourceOfAsset(world.address_of("WETH")))
    aggregator = bytes.fromhex("a99e" * 10)
    world.set_code(aggregator, world.code(feed))
    for slot, value in WorldContents.of(world.freeze().dump()).accounts[feed].slots.items():
        world.set_storage(aggregator, slot, value)
    asks = "3660006000376000600036600073" + aggregator.hex() + "5afa3d600060003e6031573d6000fd5b3d6000f3"
    world.set_code(feed, bytes.fromhex(asks))
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cache"))
    node = node_with(tmp_path, world)
    try:
        file = tmp_path / "shock.snapshot"
        warm("aave-shock", WorldSource.of("rpc", rpc_url=node.url), file, rollouts=6)
        live = make_rows("aave-shock", 3, world=WorldSource.of("rpc", rpc_url=node.url, block=node.block_number))
        envs = (live, make_rows("aave-shock", 3, source=f"snapshot:{file}"), make_rows("aave-shock", 3))
        rewards = [play(env, RandomPlay(3), EPISODES).rewards.tolist() for env in envs]
    finally:
        node.stop()
    assert rewards[0] == rewards[1] == rewards[2]
    assert len(set(rewards[0])) > 3
