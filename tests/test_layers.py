"""The layer contract of docs/concepts/architecture.md holds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.evm.abi.erc20 import BALANCE_OF, TOTAL_SUPPLY
from mayavi.evm.hashing import selector_of


def imported_modules(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.slow
def test_calls_go_down_only(repository: Path) -> None:
    finished = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_kernel_is_imported_by_evm_and_by_what_must_have_the_same_bits_everywhere(repository: Path) -> None:
    """import-linter sees Python sources alone, so the compiled module is watched here."""
    users = {
        path.relative_to(repository / "mayavi").as_posix()
        for path in (repository / "mayavi").rglob("*.py")
        if "_kernel" in (text := path.read_text(encoding="utf-8"))
        and any(name == "mayavi._kernel" or name.startswith("mayavi._kernel.") for name in imported_modules(text))
    }
    others = {each for each in users if not each.startswith("evm/")}
    assert others == {"numerics/portable.py", "numerics/streams.py", "records/figures.py", "records/parquet.py"}


KNOWS_CONTRACTS = ("evm/abi/", "protocols/", "validation/contracts/", "worlds/")
TYPE = r"(?:address|bool|string|bytes\d*|u?int\d*|\([^()]*\))(?:\[\d*\])*(?: \w+)?"
SIGNATURE = re.compile(
    rf"(?:function )?[A-Za-z]\w*\((?:{TYPE}(?:, ?{TYPE})*)?\)(?: (?:external|pure|returns|view)\b.*)?"
)
SELECTOR = re.compile(r"(?:0x)?[0-9a-fA-F]{8}")


def selectors(source: Path) -> Iterator[str]:
    """Function signatures in string literals, and selectors written as bytes."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SIGNATURE.fullmatch(node.value):
            yield node.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes) and len(node.value) == 4:
            if not node.value.isascii() or not node.value.decode().isprintable():
                yield node.value.hex()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fromhex":
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            yield from (each for each in given if SELECTOR.fullmatch(str(each)))


@pytest.mark.slow(3)
def test_only_protocols_and_worlds_know_selectors(repository: Path) -> None:
    """`evm/abi` encodes them, and holds those of ERC-20 alone (`evm/abi/erc20.py`).

    `validation/contracts` calls our contracts and the real ones side by side.
    """
    package = repository / "mayavi"
    found = {
        path.relative_to(package).as_posix(): sorted(selectors(path))
        for path in package.rglob("*.py")
        if not path.relative_to(package).as_posix().startswith(KNOWS_CONTRACTS)
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_the_search_for_selectors_finds_them(tmp_path: Path) -> None:
    source = tmp_path / "agent.py"
    source.write_text(
        "A = 'transfer(address,uint256)'; B = 'totalSupply() view returns (uint256)'; C = bytes.fromhex('70a08231')\n"
        "D = b'\\x70\\xa0\\x82\\x31'; E = 'swap((bytes path, address to) p)'; F = 'OWNER() view returns (address)'\n"
        "G = 'a sentence (of words)'; H = b'mint'\n"
    )
    assert len(list(selectors(source))) == 6


def test_the_erc20_selectors_are_those_of_their_signatures() -> None:
    assert selector_of("balanceOf(address)") == BALANCE_OF
    assert selector_of("totalSupply()") == TOTAL_SUPPLY
