"""`mayavi validate blocks`: real blocks, and what a program and a person see of them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

BLOCK = 12244000


@pytest.fixture
def one_block(cases: Path, tmp_path: Path) -> Path:
    """A copy of one case, to be tampered with."""
    source = cases / "mainnet" / "blocks"
    shutil.copytree(source / str(BLOCK), tmp_path / str(BLOCK), copy_function=shutil.copyfile)
    (tmp_path / "receipts").mkdir()
    shutil.copyfile(source / "bytecodes.json.gz", tmp_path / "bytecodes.json.gz")
    shutil.copyfile(source / "receipts" / f"{BLOCK}.json.gz", tmp_path / "receipts" / f"{BLOCK}.json.gz")
    return tmp_path


def last_object(output: str) -> dict:
    return json.loads(output.splitlines()[-1])


@pytest.mark.slow(1)
def test_every_transaction_of_every_mainnet_block_is_exact(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", "blocks", str(cases / "mainnet" / "blocks"), "--json")
    assert finished.returncode == 0, finished.stderr
    totals = last_object(finished.stdout)
    assert (totals["blocks"], totals["exact_blocks"]) == (24, 24)
    assert (totals["transactions"], totals["exact_transactions"]) == (7716, 7716)


@pytest.mark.slow(0.4)
def test_one_block_can_be_chosen_and_is_shown_as_a_table(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", "blocks", str(cases / "mainnet" / "blocks"), "--block", str(BLOCK))
    assert (finished.returncode, finished.stderr) == (0, "")
    header, row, *_ = finished.stdout.splitlines()
    assert header.split() == ["block", "hard", "fork", "transactions", "exact", "gas", "result"]
    assert row.split()[:2] == [str(BLOCK), "berlin"]
    assert row.endswith("exact")
    assert "1 of 1 blocks exact" in finished.stdout


@pytest.mark.slow(0.4)
def test_a_block_named_twice_counts_once(run_mayavi, cases: Path) -> None:
    twice = ["--block", str(BLOCK), "--block", str(BLOCK)]
    finished = run_mayavi("validate", "blocks", str(cases / "mainnet" / "blocks"), *twice, "--json")
    assert last_object(finished.stdout)["blocks"] == 1


@pytest.mark.slow(1)
def test_a_wrong_byte_makes_it_fail_and_is_named(run_mayavi, one_block: Path) -> None:
    path = one_block / "receipts" / f"{BLOCK}.json.gz"
    receipts = json.loads(gzip.decompress(path.read_bytes()))
    receipts[3]["gasUsed"] = int(str(receipts[3]["gasUsed"]), 0) + 1
    path.write_bytes(gzip.compress(json.dumps(receipts).encode()))

    finished = run_mayavi("validate", "blocks", str(one_block), "--json")
    assert finished.returncode == 1
    totals = last_object(finished.stdout)
    assert (totals["blocks"], totals["exact_blocks"]) == (1, 0)
    assert totals["exact_transactions"] == totals["transactions"] - 1
    (difference,) = totals["differences"]
    assert (difference["block"], difference["transaction"], difference["field"]) == (BLOCK, 3, "gas used")
    assert int(difference["expected"]) == int(difference["got"]) + 1

    plain = run_mayavi("validate", "blocks", str(one_block))
    assert plain.returncode == 1
    assert f"block {BLOCK}, transaction 3 " in plain.stdout


def test_a_block_that_is_not_there_is_a_misuse(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", "blocks", str(cases / "mainnet" / "blocks"), "--block", "1")
    assert finished.returncode == 2
    assert "block 1 has no case" in finished.stderr
