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
from tests.evm.rpc.proving_node import Prover
from tests.evm.witness.oracle_state import OracleAccount, OracleState
from tests.node.hardhat import Hardhat
from tests.node.proving_proxy import ProvingProxy
from tests.node.test_warm_snapshot import started

pytestmark = [pytest.mark.node, pytest.mark.slow(40)]
OPTIONS = ("--env", "aave", "--rollouts", "3", "--prove", "--json")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProvingProxy]:
    """Node with the replica of Ethereum on it, whose whole state is known."""
    world = Fork.replica("ethereum")
    node = started(tmp_path_factory.mktemp("node"), world)
    running = ProvingProxy(node, Prover(whole_state(world, node)))
    yield running
    running.close()
    node.stop()


def whole_state(world: Fork, node: Hardhat) -> OracleState:
    """Accounts of the replica, and those that the node has from the start."""
    contents = WorldContents.of(world.freeze().dump())
    state = OracleState(
        {
            address: OracleAccount(each.nonce, each.balance, each.code, dict(each.slots))
            for address, each in contents.accounts.items()
        }
    )
    for name in node.rpc("eth_accounts"):
        account = state.accounts.setdefault(bytes.fromhex(name[2:]), OracleAccount())
        account.balance = int(node.rpc("eth_getBalance", name, "latest"), 16)
    return state


def warmed(run_mayavi: Any, proxy: ProvingProxy, folder: Path) -> Any:
    file = str(folder / "warm.snapshot")
    environment = {"MAYAVI_CACHE_DIR": str(folder / "cache")}
    return run_mayavi("snapshot", "warm", *OPTIONS, "--output", file, "--rpc-url", proxy.url, env=environment)


def test_a_warmed_snapshot_proves_itself(run_mayavi: Any, proxy: ProvingProxy, tmp_path: Path) -> None:
    assert "0x" + proxy.prover.root.hex() == proxy.node.head["stateRoot"]
    done = warmed(run_mayavi, proxy, tmp_path)
    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert proof["proven"]
    assert proof["slots"] > 50
    again = prove_snapshot(tmp_path / "warm.snapshot", offline=True)
    assert (again.proven, again.accounts, again.slots) == (True, proof["accounts"], proof["slots"])

    # The same node, which adds one to a slot: the environment still runs, the proof does not.
    accounts = WorldContents.of_snapshot(again.path).accounts.values()
    slots = {slot: value for each in accounts for slot, value in each.slots.items()}
    slot = max(slot for slot, value in slots.items() if value)
    proxy.lies = {slot: slots[slot] + 1}
    (tmp_path / "lie").mkdir()
    lied = warmed(run_mayavi, proxy, tmp_path / "lie")
    assert lied.returncode == 1
    told = json.loads(lied.stdout)["error"]
    assert f"slot {slot:#x}: {slots[slot] + 1:#x} is stated, {slots[slot]:#x} is proven" in told
