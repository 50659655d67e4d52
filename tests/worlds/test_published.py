"""Contracts published on npm are kept and nothing else; Uniswap V4's pool manager is what its sources compile to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mayavi import compilers
from mayavi.compilers.kept import read_kept, write_kept
from mayavi.compilers.packages import ensure_packages
from mayavi.compilers.solidity import compile_packages
from mayavi.compilers.solidity_project import SoliditySettings
from mayavi.errors import SetupError
from mayavi.evm.hashing import keccak256
from mayavi.replay.case import read_bytecodes
from mayavi.worlds import published
from mayavi.worlds.deploy.pendle import PENDLE
from mayavi.worlds.deploy.uniswap_v4 import UNISWAP_V4
from mayavi.worlds.published import published_contracts

CHAIN_ID, DOMAIN = 32, 32
PERMIT2_CODE = "0xc67d1657868aa5146eaf24fb879fb1fdec3d2d493b3683a61c9c2f4fb2851131"
"""Hash of Permit2's code on mainnet."""


@pytest.mark.slow(20)
def test_the_pool_manager_is_the_code_that_its_sources_compile_to(tmp_path: Path) -> None:
    assert pool_manager_of_sources(tmp_path) == published_contracts(UNISWAP_V4)["PoolManager"].bytecode_hex


def pool_manager_of_sources(folder: Path) -> str:
    """Compile the pool manager, once for each state of the locked sources and of all that decides what comes out.

    What is kept is of another state if the lock file, which pins each package by its hash, our compiler or this file
    was changed.
    """
    lock = UNISWAP_V4.packages(folder).sources / "package-lock.json"
    compiler = [file for file in Path(compilers.__path__[0]).rglob("*") if file.suffix in {".py", ".cjs", ".json"}]
    deciding = [Path(__file__), lock, *sorted(compiler)]
    states = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in deciding}
    key = hashlib.sha256(json.dumps(states).encode()).hexdigest()[:32]
    kept = read_kept(key)
    if kept is None:
        kept = {"bytecode": compiled_pool_manager(folder), "imported": states}
        write_kept(key, kept)
    code: str = kept["bytecode"]
    assert len(code) > 40_000
    return code


def compiled_pool_manager(folder: Path) -> str:
    ensure_packages(UNISWAP_V4.packages(folder))
    settings = SoliditySettings("0.8.26", optimizer_runs=44_444_444, evm_version="cancun", via_ir=True, metadata=True)
    file = "@uniswap/v4-core/src/PoolManager.sol"
    remappings = ["solmate/=@uniswap/v4-core/lib/solmate/"]
    return compile_packages(folder, {"PoolManager": file}, settings, remappings)["PoolManager"].bytecode_hex


@pytest.mark.slow(5)
def test_permit2_is_mainnets_but_for_the_chain_it_remembers(cases: Path) -> None:
    """Both of its immutables, chain id and domain separator, only save gas where they fit the chain."""
    real = read_bytecodes(cases / "mainnet" / "blocks")[PERMIT2_CODE]
    assert "0x" + keccak256(real).hex() == PERMIT2_CODE
    ours = bytes.fromhex(published_contracts(UNISWAP_V4)["Permit2"].bytecode_hex)[10:]
    assert len(ours) == len(real)
    differing = [place for place, (one, other) in enumerate(zip(ours, real, strict=True)) if one != other]
    assert len(differing) <= CHAIN_ID + DOMAIN


@pytest.mark.slow(2)
def test_of_the_packages_only_the_code_in_use_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = published_contracts(PENDLE)
    monkeypatch.setattr(published, "contracts_root", lambda: tmp_path)
    messages: list[str] = []
    assert published_contracts(PENDLE, messages.append) == installed
    assert [message.split(" into ")[0] for message in messages] == ["installing 1 package of Pendle V2"]
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]
    assert kept == [PENDLE.path]
    assert PENDLE.path.stat().st_size < 10**6
    PENDLE.path.write_text("damaged", encoding="utf-8")
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    with pytest.raises(SetupError, match="contracts of Pendle V2 are not installed"):
        published_contracts(PENDLE)


def test_missing_packages_are_not_downloaded_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    monkeypatch.setattr(published, "contracts_root", lambda: tmp_path)
    with pytest.raises(SetupError, match="contracts of Uniswap V4 are not installed, and MAYAVI_OFFLINE") as caught:
        published_contracts(UNISWAP_V4)
    assert "`mayavi setup --all`" in str(caught.value.hint)
