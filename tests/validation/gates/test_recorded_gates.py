"""The gates `blocks`, `witness` and `quotes` pass on recorded data and name one changed value."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mayavi.validation.gate import GateContext
from mayavi.validation.gates.blocks import BlocksGate
from mayavi.validation.gates.quotes import QuotesGate
from mayavi.validation.gates.witness import WitnessGate
from mayavi.validation.run import run_gate
from tests.validation.recorded_copy import change, copy_blocks

BLOCK = 12_244_000


@pytest.mark.slow(0.3)
def test_a_recorded_block_passes_with_all_its_transactions(cases: Path, tmp_path: Path) -> None:
    report = run_gate(BlocksGate(), GateContext(copy_blocks(cases, tmp_path, BLOCK))).report
    assert (report.verdict, report.cases, report.parts) == ("passed", 133, {"berlin": 133})


@pytest.mark.slow(0.3)
def test_one_unit_of_gas_in_a_receipt_is_named(cases: Path, tmp_path: Path) -> None:
    folder = copy_blocks(cases, tmp_path, BLOCK)

    def one_more(receipts: Any) -> None:
        receipts[3]["gasUsed"] = int(str(receipts[3]["gasUsed"]), 0) + 1

    change(folder / "mainnet" / "blocks" / "receipts" / f"{BLOCK}.json.gz", one_more)
    report = run_gate(BlocksGate(), GateContext(folder)).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith(f"block {BLOCK}, transaction 3 ")
    assert "gas used" in report.first_difference


def test_witnesses_pass_and_a_changed_root_is_named(cases: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mainnet" / "witness"
    folder.mkdir(parents=True)
    shutil.copyfile(cases / "mainnet" / "witness" / "holesky-2971846.json.gz", folder / "holesky-2971846.json.gz")
    report = run_gate(WitnessGate(), GateContext(tmp_path)).report
    assert (report.verdict, report.cases, report.parts) == ("passed", 9, {"cancun": 9})

    def other_root(document: Any) -> None:
        document["header"]["state_root"] = "0x" + "11" * 32

    change(folder / "holesky-2971846.json.gz", other_root)
    report = run_gate(WitnessGate(), GateContext(tmp_path)).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith("holesky-2971846.json.gz, ")


@pytest.mark.slow(0.5)
def test_recorded_quotes_pass_and_one_unit_is_named(cases: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mainnet" / "quotes"
    shutil.copytree(cases / "mainnet" / "quotes", folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    report = run_gate(QuotesGate(), GateContext(tmp_path)).report
    assert (report.verdict, report.cases) == ("passed", 98)

    path = folder / "curve_tripool_get_dy.json"
    content = json.loads(path.read_text())
    quote = next(iter(content["entries"]))
    content["entries"][quote]["value"] += 1
    path.write_text(json.dumps(content))
    report = run_gate(QuotesGate(), GateContext(tmp_path)).report
    assert report.verdict == "failed"
    assert quote.partition("|")[2] in report.first_difference


def test_a_folder_without_a_case_is_a_failure_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "mainnet" / "blocks").mkdir(parents=True)
    report = run_gate(BlocksGate(), GateContext(tmp_path)).report
    assert report.verdict == "failed"
    assert "holds no block case" in report.first_difference
