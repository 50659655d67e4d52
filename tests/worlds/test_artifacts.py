"""Compiled contracts are found, linked and completed with their arguments, or the error names the command."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mayavi.errors import BadArgument, SetupError, UnknownName, UsageError
from mayavi.evm.abi.contract import BoundFunction, Contract
from mayavi.worlds.artifacts import _PACKAGED, _TRUFFLE, Artifact, ArtifactStore
from mayavi.worlds.contract_folder import SOURCES, ContractFolder
from mayavi.worlds.vyper import built_contract, compile_contracts, sources_key, vyper_contracts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContractFolder:
    """Our sources, with nothing installed or compiled, and no network."""
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    shutil.copytree(SOURCES, tmp_path / "sources")
    return ContractFolder(tmp_path / "contracts", tmp_path / "sources")


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
    with pytest.raises(UsageError, match="Math"):
        artifact.initcode()


def test_the_pool_links_seven_libraries(artifacts: ArtifactStore) -> None:
    assert len(artifacts.get("Pool").links) == 7
    assert set(artifacts.get("FlashLoanLogic").links) == {"BorrowLogic"}


def test_no_runtime_code_needs_the_size_limit_lifted(artifacts: ArtifactStore) -> None:
    for name in ("Pool", "PoolConfigurator", "NonfungiblePositionManager"):
        path = next(artifacts.folder.packages.glob(f"@*/*/artifacts/contracts/**/{name}.json"))
        runtime = json.loads(path.read_bytes())["deployedBytecode"]
        assert (len(runtime) - 2) // 2 <= 24_576


def test_no_attribute_of_a_contract_hides_a_function_of_any_abi(artifacts: ArtifactStore) -> None:
    names = [*_PACKAGED, *_TRUFFLE, *vyper_contracts(artifacts.folder.sources)]
    assert {"Pool", "WETH9", "Comet"} <= set(names)
    seen = set()
    for name in names:
        contract = Contract(b"\1" * 20, artifacts.get(name).abi, name=name)
        for function in contract.interface.functions.values():
            bound = getattr(contract, function.name)
            assert isinstance(bound, BoundFunction), f"{name}.{function.name} is {bound!r}"
            assert function in bound.overloads
            assert contract[function.text].function is function
            seen.add(function.name)
    assert {"name", "symbol", "mint", "supply", "decimals"} <= seen


def test_a_package_that_is_not_installed_is_named_with_the_command(folder: ContractFolder) -> None:
    for name, package in (
        ("Pool", "@aave/core-v3"),
        ("QuoterV2", "@uniswap/v3-periphery"),
        ("WETH9", "canonical-weth"),
    ):
        with pytest.raises(SetupError, match=package) as caught:
            ArtifactStore(folder).get(name)
        assert "mayavi setup" in str(caught.value.hint)


def test_a_cut_artifact_is_not_read(folder: ContractFolder) -> None:
    path = folder.packages / "canonical-weth" / "build" / "contracts" / "WETH9.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"abi": [')
    with pytest.raises(SetupError, match="canonical-weth"):
        ArtifactStore(folder).get("WETH9")


def test_an_unknown_contract_offers_the_near_ones(artifacts: ArtifactStore) -> None:
    with pytest.raises(UnknownName, match="QuoterV3") as caught:
        artifacts.get("QuoterV3")
    assert "QuoterV2" in str(caught.value.hint)


@pytest.mark.slow(3)
def test_our_contracts_compile_once_for_each_state_of_their_sources(folder: ContractFolder) -> None:
    sources, build = folder.sources / "vyper", folder.root / "build"
    for source in sources.glob("*.vy"):  # the small ones are enough
        if source.stem not in {"RatioFeed", "Token", "ledger"}:
            source.unlink()
    assert vyper_contracts(folder.sources) == ["RatioFeed", "Token"]
    assert compile_contracts(folder) == ["RatioFeed", "Token"]
    assert compile_contracts(folder) == []
    written = {path: path.stat().st_mtime_ns for path in build.iterdir()}
    assert built_contract(folder, "Token")["bytecode"].startswith("0x")
    assert {path: path.stat().st_mtime_ns for path in build.iterdir()} == written

    key = sources_key(folder.sources)
    with (sources / "ledger.vy").open("a") as source:
        source.write("# touched\n")
    assert sources_key(folder.sources) != key
    assert compile_contracts(folder) == ["RatioFeed", "Token"]
    assert len(list(build.iterdir())) == 2 * len(written)

    next(build.glob(f"Token.{sources_key(folder.sources)}.json")).write_text('{"abi": [')
    assert built_contract(folder, "Token")["bytecode"].startswith("0x")


@pytest.mark.slow
def test_only_the_last_states_of_the_sources_are_kept(tmp_path: Path) -> None:
    folder = ContractFolder(tmp_path / "contracts", tmp_path / "sources")
    (folder.sources / "vyper").mkdir(parents=True)
    shutil.copy(SOURCES / "vyper" / "RatioFeed.vy", folder.sources / "vyper")
    (folder.root / "build").mkdir(parents=True)
    for age in range(6):
        old = folder.root / "build" / f"RatioFeed.{age}.json"
        old.write_text("{}")
        os.utime(old, (age, age))
    compile_contracts(folder)
    names = {path.name for path in (folder.root / "build").iterdir()}
    assert names == {
        "RatioFeed.3.json",
        "RatioFeed.4.json",
        "RatioFeed.5.json",
        f"RatioFeed.{sources_key(folder.sources)}.json",
    }


@pytest.mark.slow(0.3)
def test_a_source_that_does_not_compile_says_why(folder: ContractFolder) -> None:
    (folder.sources / "vyper" / "Broken.vy").write_text("# pragma version 0.4.3\nx: public(uint257)\n")
    with pytest.raises(SetupError, match="uint257"):
        compile_contracts(folder)


@pytest.mark.skipif(os.name == "nt", reason="the compiler is hidden by a PYTHONPATH trick")
def test_a_missing_compiler_is_said_with_the_command(
    folder: ContractFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "sitecustomize.py").write_text("import sys; sys.modules['vyper'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    with pytest.raises(SetupError) as caught:
        compile_contracts(folder)
    assert "make setup" in str(caught.value.hint)
