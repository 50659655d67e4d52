"""Compiled contracts are found, linked and given their arguments, or the error names the command to run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mayavi.errors import BadArgument, SetupError, UnknownName
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from mayavi.worlds.vyper import built_contract, compile_contracts, sources_key, vyper_contracts


@pytest.fixture
def folder(tmp_path: Path, repository: Path) -> Path:
    """A `contracts` folder with our sources and nothing installed or compiled."""
    shutil.copytree(repository / "contracts" / "vyper", tmp_path / "contracts" / "vyper")
    return tmp_path / "contracts"


def test_arguments_follow_the_code() -> None:
    abi = [{"type": "constructor", "inputs": [{"name": "a", "type": "uint256"}], "stateMutability": "nonpayable"}]
    artifact = Artifact("Thing", abi, "6001", {})
    assert artifact.initcode([5]) == bytes.fromhex("6001") + (5).to_bytes(32, "big")
    with pytest.raises(BadArgument):
        artifact.initcode([])


def test_libraries_are_linked_where_the_compiler_says() -> None:
    placeholder = "__$0123456789abcdef0123456789abcdef01$__"
    artifact = Artifact("Thing", [], f"73{placeholder}6001{placeholder}", {"Math": [1, 23]})
    address = b"\xab" * 20
    assert artifact.initcode(libraries={"Math": address}) == b"\x73" + address + b"\x60\x01" + address
    with pytest.raises(BadArgument, match="Math"):
        artifact.initcode()


def test_the_pool_links_seven_libraries(artifacts: ArtifactStore) -> None:
    assert len(artifacts.get("Pool").links) == 7
    assert set(artifacts.get("FlashLoanLogic").links) == {"BorrowLogic"}


def test_no_runtime_code_needs_the_size_limit_lifted(artifacts: ArtifactStore) -> None:
    for name in ("Pool", "PoolConfigurator", "NonfungiblePositionManager"):
        path = next((artifacts.root / "node_modules").glob(f"@*/*/artifacts/contracts/**/{name}.json"))
        runtime = json.loads(path.read_bytes())["deployedBytecode"]
        assert (len(runtime) - 2) // 2 <= 24_576


def test_a_package_that_is_not_installed_is_named_with_the_command(folder: Path) -> None:
    for name, package in (
        ("Pool", "@aave/core-v3"),
        ("QuoterV2", "@uniswap/v3-periphery"),
        ("WETH9", "canonical-weth"),
    ):
        with pytest.raises(SetupError, match=package) as caught:
            ArtifactStore(folder).get(name)
        assert "make setup" in str(caught.value.hint)


def test_a_cut_artifact_is_named(folder: Path) -> None:
    path = folder / "node_modules" / "canonical-weth" / "build" / "contracts" / "WETH9.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"abi": [')
    with pytest.raises(SetupError, match=r"WETH9\.json"):
        ArtifactStore(folder).get("WETH9")


def test_an_unknown_contract_offers_the_near_ones(artifacts: ArtifactStore) -> None:
    with pytest.raises(UnknownName, match="QuoterV3") as caught:
        artifacts.get("QuoterV3")
    assert "QuoterV2" in str(caught.value.hint)


def test_a_folder_without_sources_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no contract sources"):
        ArtifactStore(tmp_path).get("Token")


def test_our_contracts_compile_once_for_each_state_of_their_sources(folder: Path) -> None:
    for source in (folder / "vyper").glob("*.vy"):  # the small ones are enough
        if source.stem not in {"RatioFeed", "Token", "ledger"}:
            source.unlink()
    assert vyper_contracts(folder) == ["RatioFeed", "Token"]
    assert compile_contracts(folder) == vyper_contracts(folder)
    assert compile_contracts(folder) == []
    written = {path: path.stat().st_mtime_ns for path in (folder / "build").iterdir()}
    assert built_contract(folder, "Token")["bytecode"].startswith("0x")
    assert {path: path.stat().st_mtime_ns for path in (folder / "build").iterdir()} == written

    key = sources_key(folder)
    with (folder / "vyper" / "ledger.vy").open("a") as source:
        source.write("# touched\n")
    assert sources_key(folder) != key
    assert compile_contracts(folder) == vyper_contracts(folder)
    assert not set(written) & set((folder / "build").iterdir())


def test_a_source_that_does_not_compile_says_why(folder: Path) -> None:
    (folder / "vyper" / "Broken.vy").write_text("# pragma version 0.4.3\nx: public(uint257)\n")
    with pytest.raises(SetupError, match="uint257"):
        compile_contracts(folder)


@pytest.mark.skipif(os.name == "nt", reason="the compiler is hidden by a PYTHONPATH trick")
def test_a_missing_compiler_is_said_with_the_command(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "sitecustomize.py").write_text("import sys; sys.modules['vyper'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    with pytest.raises(SetupError) as caught:
        compile_contracts(folder)
    assert "make setup" in str(caught.value.hint)
