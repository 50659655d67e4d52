"""Solidity files are compiled with the version they demand, once for each state, and refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.compilers.load import load_contract
from mayavi.compilers.solc_install import PINNED
from mayavi.compilers.solidity import compile_solidity
from mayavi.errors import AmbiguousName, CompileError, SetupError, UnknownName, UsageError

pytestmark = pytest.mark.slow

STORE = "contract Store { uint256 public value = 7; }"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_contracts_of_a_file_come_before_those_of_its_imports(tmp_path: Path) -> None:
    write(tmp_path, "Base.sol", "pragma solidity ^0.8.0; contract Base { uint256 public base; }")
    file = write(tmp_path, "Top.sol", 'pragma solidity ^0.8.0; import "./Base.sol"; contract Top is Base {}')
    said: list[str] = []
    contracts = compile_solidity(file, say=said.append)
    assert list(contracts) == ["Top", "Base"]
    assert [entry["name"] for entry in contracts["Top"].abi] == ["base"]
    assert f"compiling {file}" in said


def test_an_unchanged_file_is_not_compiled_again_and_a_changed_import_is(tmp_path: Path) -> None:
    base = write(tmp_path, "Base.sol", "pragma solidity ^0.8.0; contract Base { uint256 public base; }")
    file = write(tmp_path, "Top.sol", 'pragma solidity ^0.8.0; import "./Base.sol"; contract Top is Base {}')
    said: list[str] = []
    first = compile_solidity(file, say=said.append)["Top"]
    count = len(said)
    assert compile_solidity(file, say=said.append)["Top"] == first
    assert len(said) == count
    base.write_text("pragma solidity ^0.8.0; contract Base { uint256 public other; }")
    assert [entry["name"] for entry in compile_solidity(file, say=said.append)["Top"].abi] == ["other"]
    assert len(said) == count + 1


def test_the_code_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{each}/Store.sol", f"pragma solidity ^0.8.0; {STORE}") for each in ("one", "another")]
    one, another = (compile_solidity(file)["Store"].bytecode_hex for file in files)
    assert one == another


def test_a_pragma_chooses_the_lowest_version_that_all_sources_allow(tmp_path: Path) -> None:
    file = write(tmp_path, "Old.sol", f"pragma solidity >=0.8.19 <0.8.20; {STORE}")
    said: list[str] = []
    assert compile_solidity(file, say=said.append)["Store"].bytecode_hex
    assert PINNED != "0.8.19"
    file = write(tmp_path, "None.sol", f"pragma solidity >0.9.0; {STORE}")
    with pytest.raises(CompileError, match=r"^None.sol:1:1: .*no version of the compiler satisfies"):
        compile_solidity(file)


@pytest.mark.parametrize(
    ("layout", "imported"),
    [
        ({"node_modules/@scope/lib/Base.sol": ""}, "@scope/lib/Base.sol"),
        ({"lib/lib/src/Base.sol": ""}, "lib/Base.sol"),
        ({"remappings.txt": "mine/=vendor/lib/\n", "vendor/lib/Base.sol": ""}, "mine/Base.sol"),
        (
            {"foundry.toml": '[profile.default]\nremappings = ["mine/=vendor/"]\n', "vendor/Base.sol": ""},
            "mine/Base.sol",
        ),
    ],
    ids=["npm", "foundry library", "remappings.txt", "foundry.toml"],
)
def test_imports_are_found_as_npm_and_foundry_place_them(tmp_path: Path, layout: dict[str, str], imported: str) -> None:
    for name, text in layout.items():
        write(tmp_path, name, text or "pragma solidity ^0.8.0; contract Base {}")
    if "foundry.toml" not in layout:
        write(tmp_path, "package.json", "{}")
    file = write(tmp_path, "src/Top.sol", f'pragma solidity ^0.8.0; import "{imported}"; contract Top is Base {{}}')
    assert "Base" in compile_solidity(file)


def test_the_settings_of_foundry_are_used(tmp_path: Path) -> None:
    text = "pragma solidity ^0.8.0; contract Sum { function sum(uint256[] calldata v) external pure returns (uint256 s) { for (uint256 i; i < v.length; i++) s += v[i]; } }"  # noqa: E501
    plain = compile_solidity(write(tmp_path, "plain/Sum.sol", text))["Sum"]
    write(tmp_path, "slow/foundry.toml", "[profile.default]\noptimizer = false\n")
    slow = compile_solidity(write(tmp_path, "slow/src/Sum.sol", text))["Sum"]
    assert len(slow.bytecode_hex) > len(plain.bytecode_hex)
    write(tmp_path, "broken/foundry.toml", "[profile")
    with pytest.raises(UsageError, match=r"foundry.toml' cannot be read"):
        compile_solidity(write(tmp_path, "broken/Sum.sol", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pragma solidity ^0.8.0;\ncontract A {\n  function f() public { x = 1; }\n}", "A.sol:3:25: DeclarationError"),
        ('pragma solidity ^0.8.0; import "./nope.sol"; contract A {}', "A.sol:1:25: ParserError: Source"),
        ('pragma solidity ^0.8.0; import "/etc/passwd"; contract A {}', "outside of the project"),
        ("contract", "A.sol:1:9: ParserError"),
    ],
)
def test_a_refused_source_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_solidity(write(tmp_path, "A.sol", text))
    assert message in caught.value.message


def test_one_of_several_contracts_must_be_named(tmp_path: Path) -> None:
    file = write(tmp_path, "Two.sol", "pragma solidity ^0.8.0; contract A {} contract B {} interface C {}")
    with pytest.raises(AmbiguousName, match="has 2 contracts: A, B"):
        load_contract(file)
    assert load_contract(f"{file}:B").artifact.name == "B"
    with pytest.raises(UnknownName, match="unknown contract 'D'"):
        load_contract(file, "D")


def test_artifacts_of_built_projects_are_found_by_name(tmp_path: Path) -> None:
    artifact = {"abi": [], "bytecode": {"object": "0x00"}}
    write(tmp_path, "out/A.sol/A.json", json.dumps(artifact))
    assert load_contract(f"{tmp_path}:A").artifact.name == "A"
    with pytest.raises(UsageError, match="holds no artifact of 'B'") as caught:
        load_contract(tmp_path, "B")
    assert "forge build" in str(caught.value.hint)
    write(tmp_path, "out/other/A.json", json.dumps(artifact))
    with pytest.raises(AmbiguousName, match="2 artifacts are called 'A'"):
        load_contract(tmp_path, "A")
    with pytest.raises(UsageError, match="is a folder"):
        load_contract(tmp_path)


def test_without_network_and_compiler_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(SetupError, match="MAYAVI_OFFLINE forbids"):
        compile_solidity(write(tmp_path, "Store.sol", f"pragma solidity ^0.8.0; {STORE}"))
