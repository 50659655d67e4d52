"""Morpho's compiled contracts: read from the factories of the npm package, and nothing damaged is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import SetupError
from mayavi.worlds.morpho_contracts import MorphoArtifacts, morpho_contract, morpho_packages, read_factory


@pytest.mark.parametrize(
    ("name", "size", "function"),
    [
        ("Morpho", 16_055, "liquidate"),
        ("AdaptiveCurveIrm", 2_613, "borrowRateView"),
        ("MetaMorpho", 27_604, "reallocate"),
        ("PublicAllocator", 8_951, "reallocateTo"),
    ],
)
def test_a_contract_has_its_abi_and_creation_code(name: str, size: int, function: str) -> None:
    artifact = morpho_contract(name)
    assert len(artifact.linked({})) == size
    assert function in {entry.get("name") for entry in artifact.abi}
    assert MorphoArtifacts().get(f"Morpho.{name}") is artifact


def test_only_what_the_lock_file_pins_is_installed() -> None:
    packages = morpho_packages()
    assert packages.locked_packages()["node_modules/@morpho-org/morpho-blue-bundlers"] == "1.1.2"
    assert packages.missing_packages() == []


@pytest.mark.parametrize("text", ["", "const _abi = [\n];\n", 'const _abi = [\n  {{\n];\nconst _bytecode = "0x60";\n'])
def test_a_damaged_factory_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Morpho__factory.js"
    path.write_text(text)
    with pytest.raises(SetupError, match="the factory of Morpho cannot be read") as caught:
        read_factory(path, "Morpho")
    assert "installs the package anew" in (caught.value.hint or "")
    with pytest.raises(SetupError):
        read_factory(tmp_path / "nothing.js", "Morpho")


def test_without_the_package_and_the_network_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYAVI_CONTRACTS", str(tmp_path))
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    morpho_contract.cache_clear()
    with pytest.raises(SetupError, match="the packages of Morpho are not installed") as caught:
        morpho_contract("Morpho")
    assert "`mayavi setup`" in (caught.value.hint or "")
