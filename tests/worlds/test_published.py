"""Contracts published on npm are kept and nothing else; Uniswap V4's pool manager is what its sources compile to."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    ensure_packages(UNISWAP_V4.packages(tmp_path))
    settings = SoliditySettings("0.8.26", optimizer_runs=44_444_444, evm_version="cancun", via_ir=True, metadata=True)
    file = "@uniswap/v4-core/src/PoolManager.sol"
    remappings = ["solmate/=@uniswap/v4-core/lib/solmate/"]
    compiled = compile_packages(tmp_path, {"PoolManager": file}, settings, remappings)["PoolManager"]
    assert compiled.bytecode_hex == published_contracts(UNISWAP_V4)["PoolManager"].bytecode_hex
    assert len(compiled.bytecode_hex) > 40_000


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
