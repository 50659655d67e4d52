"""Contracts of one's own on a fork: from sources and artifacts, with libraries, names and typed handles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from mayavi import Contract, Fork
from mayavi.errors import BadAddress, BadArgument, CallReverted, CompileError, UnknownName, UsageError
from tests.conftest import REPOSITORY

VAULT = REPOSITORY / "examples" / "vault" / "Vault.sol"
GOLD = REPOSITORY / "examples" / "vault" / "Gold.vy"
ALICE = b"\xa1" * 20


@pytest.fixture(scope="module")
def deployed() -> Fork:
    fork = Fork.empty()
    fork.deploy(GOLD, 10**24, label="gold", sender=ALICE)
    fork.deploy(VAULT, constructor={"exitFeeBps_": 50, "asset_": "gold"}, label="vault", sender=ALICE)
    return fork


@pytest.fixture
def fork(deployed: Fork) -> Fork:
    return deployed.copy()


@pytest.mark.slow(3)
def test_a_solidity_vault_holds_a_vyper_token(fork: Fork) -> None:
    vault, gold = fork.contract("vault"), fork.contract("gold")
    assert vault.asset() == gold.address
    gold.approve(vault, 10**20, sender=ALICE)
    receipt = vault.deposit(10**20, sender=ALICE)
    (event,) = vault.events(receipt, "Deposit")
    assert (event.args.assets, event.args.shares) == (10**20, 10**20)
    vault.withdraw(4 * 10**19, sender=ALICE)
    assert gold.balanceOf(vault) == 10**20 - 4 * 10**19 * 9950 // 10_000
    with pytest.raises(CallReverted, match="NotEnoughShares"):
        vault.withdraw(10**21, sender=ALICE)


def test_the_abi_stays_with_copies_pickles_and_snapshots(fork: Fork, tmp_path: Path) -> None:
    fork.dump_snapshot(tmp_path / "own.snapshot")
    for other in (
        fork.copy(),
        fork.frozen(),
        pickle.loads(pickle.dumps(fork)),
        Fork.load_snapshot(tmp_path / "own.snapshot"),
    ):
        assert other.contract("vault").exitFeeBps() == 50
    with pytest.raises(UsageError, match="the ABI of 'stranger' is missing") as caught:
        fork.contract("stranger")
    assert "gold, vault" in str(caught.value.hint)


def test_libraries_are_deployed_with_the_contract_unless_given(fork: Fork) -> None:
    before = fork.nonce(ALICE)
    fork.deploy(VAULT, "gold", 0, sender=ALICE)
    assert fork.nonce(ALICE) == before + 2
    library = fork.deploy(f"{VAULT}:Shares", sender=ALICE)
    vault = fork.deploy(VAULT, "gold", 0, libraries={"Shares": library}, sender=ALICE)
    assert fork.nonce(ALICE) == before + 4
    assert library.address in fork.code(vault)
    with pytest.raises(UnknownName, match="unknown library 'Share'"):
        fork.deploy(VAULT, "gold", 0, libraries={"Share": library}, sender=ALICE)


def test_a_library_that_is_missing_is_named(fork: Fork) -> None:
    placeholder = "__$0123456789abcdef0123456789abcdef01$__"
    links = {"Shares.sol": {"Shares": [{"start": 1, "length": 20}]}}
    artifact = {"contractName": "A", "abi": [], "bytecode": f"0x73{placeholder}00", "linkReferences": links}
    with pytest.raises(UsageError, match="A needs the library Shares") as caught:
        fork.deploy(artifact)
    assert 'libraries={"Shares": address}' in str(caught.value.hint)
    contract = fork.deploy(artifact | {"bytecode": f"0x73{placeholder}5f5f00"}, libraries={"Shares": ALICE})
    assert isinstance(contract, Contract)


def test_a_foundry_build_links_the_libraries_of_its_folder(fork: Fork, tmp_path: Path) -> None:
    from mayavi.compilers.load import load_contract

    loaded = load_contract(VAULT)
    for artifact in (loaded.artifact, loaded.others["Shares"]):
        place = tmp_path / "out" / f"{artifact.name}.sol" / f"{artifact.name}.json"
        place.parent.mkdir(parents=True)
        links = {"Shares.sol": {name: [{"start": at} for at in each] for name, each in artifact.links.items()}}
        code = {"object": "0x" + artifact.bytecode_hex, "linkReferences": links}
        place.write_text(json.dumps({"abi": list(artifact.abi), "bytecode": code}))
    vault = fork.deploy(f"{tmp_path}:Vault", "gold", 7, sender=ALICE)
    assert (vault.exitFeeBps(), vault.sharePrice()) == (7, 10**18)


@pytest.mark.parametrize(
    ("constructor", "kind", "message"),
    [
        ({"asset_": "gold"}, BadArgument, "the constructor argument 'exitFeeBps_' is missing"),
        ({"asset_": "gold", "fee": 1}, UnknownName, "unknown constructor argument 'fee'"),
        ({"asset_": "silver", "exitFeeBps_": 1}, BadAddress, "unknown address or contract 'silver'"),
    ],
)
def test_wrong_arguments_by_name_are_named_and_nothing_is_deployed(
    fork: Fork, constructor: dict[str, object], kind: type[Exception], message: str
) -> None:
    before = fork.digest()
    with pytest.raises(kind) as caught:
        fork.deploy(VAULT, constructor=constructor, sender=ALICE)
    assert message in str(caught.value)
    assert fork.digest() == before


def test_a_label_that_is_taken_is_refused_before_anything_is_deployed(fork: Fork) -> None:
    before = fork.digest()
    with pytest.raises(BadArgument, match="the name 'gold' is taken"):
        fork.deploy(GOLD, 1, label="gold", sender=ALICE)
    assert fork.digest() == before


@pytest.mark.slow(0.3)
def test_a_vyper_file_is_refused_with_file_and_line(fork: Fork, tmp_path: Path) -> None:
    (tmp_path / "Bad.vy").write_text("@external\ndef f():\n    y = 1\n")
    with pytest.raises(CompileError, match=r"^Bad.vy:3:5: UndeclaredDefinition: 'y' has not been declared"):
        fork.deploy(tmp_path / "Bad.vy")
