"""`mayavi snapshot warm --prove`: the state of an Aave market that an environment reads, proven by the state root."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi import Fork
from mayavi.evm.snapshot.contents import WorldContents
from mayavi.evm.snapshot.proof import prove_snapshot
from tests.node.anvil import Anvil
from tests.node.editing_proxy import EditingProxy, editing_proxy
from tests.node.replica_on_node import put_on_node

pytestmark = [pytest.mark.node, pytest.mark.slow]
OPTIONS = ("--env", "aave", "--rollouts", "3", "--prove", "--json")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EditingProxy]:
    """Node with the replica of Ethereum, at the replica's own block."""
    world = Fork.replica("ethereum")
    node = Anvil.start(
        tmp_path_factory.mktemp("node"),
        chain_id=1,
        hardfork=world.hardfork,
        first_block=world.block_number - 1,
        first_timestamp=world.timestamp - 1_000,
    )
    try:
        assert put_on_node(node, world) == world.block_number
        with editing_proxy(node) as running:
            yield running
    finally:
        node.stop()


def warmed(run_mayavi: Any, proxy: EditingProxy, folder: Path) -> Any:
    file = str(folder / "warm.snapshot")
    environment = {"MAYAVI_CACHE_DIR": str(folder / "cache")}
    return run_mayavi("snapshot", "warm", *OPTIONS, "--output", file, "--rpc-url", proxy.url, env=environment)


def test_a_warmed_snapshot_proves_itself(run_mayavi: Any, proxy: EditingProxy, tmp_path: Path) -> None:
    done = warmed(run_mayavi, proxy, tmp_path)
    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert proof["proven"]
    assert proof["state_root"] == proxy.node.head["stateRoot"]
    assert proof["slots"] > 50
    again = prove_snapshot(tmp_path / "warm.snapshot", offline=True)
    assert (again.proven, again.accounts, again.slots) == (True, proof["accounts"], proof["slots"])

    # The same node, which adds one to a slot: the environment still runs, the proof does not.
    accounts = WorldContents.of_snapshot(again.path).accounts.values()
    slots = {slot: value for each in accounts for slot, value in each.slots.items()}
    slot = max(slot for slot, value in slots.items() if value)

    def lie(call: dict[str, Any], result: Any) -> Any:
        wanted = call["method"] == "eth_getStorageAt" and int(call["params"][1], 16) == slot
        return f"0x{slots[slot] + 1:064x}" if wanted else result

    proxy.edits.append(lie)
    (tmp_path / "lie").mkdir()
    lied = warmed(run_mayavi, proxy, tmp_path / "lie")
    assert lied.returncode == 1
    told = json.loads(lied.stdout)["error"]
    assert f"slot {slot:#x}: {slots[slot] + 1:#x} is stated, {slots[slot]:#x} is proven" in told
