"""`mayavi validate witness`: what a person and a program see."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

LATER_HASH = "0xf91a7f61b32cfbacb2cac4c38ea85affabd58cb08c629c135af3d31592a57bef"


@pytest.fixture(scope="module")
def folder(cases: Path) -> Path:
    return cases / "mainnet" / "witness"


def changed(folder: Path, target: Path, member: str, value: Any) -> Path:
    document = json.loads(gzip.decompress((folder / "holesky-2971846.json.gz").read_bytes()))
    document["header"][member] = value
    target.write_text(json.dumps(document))
    return target


def test_a_folder_of_witnesses_as_a_table(run_mayavi, folder: Path) -> None:
    finished = run_mayavi("validate", "witness", str(folder))
    assert (finished.returncode, finished.stderr) == (0, "")
    header, *rows = finished.stdout.splitlines()
    assert header.split() == [
        "witness",
        "chain",
        "block",
        "hard",
        "fork",
        "transactions",
        "gas",
        "trie",
        "nodes",
        "result",
    ]
    assert [row.split()[0] for row in rows[:3]] == [path.name for path in sorted(folder.iterdir())]
    assert all(row.endswith("exact") for row in rows[:3])
    assert "3 of 3 witnesses exact: pre-state proven, receipts root and state root equal" in finished.stdout
    assert "earlier block hashes are left out: nothing reads them, and nothing proves them" in finished.stdout


def test_a_difference_is_named_and_ends_with_1(run_mayavi, folder: Path, tmp_path: Path) -> None:
    file = changed(folder, tmp_path / "w.json", "state_root", "0x" + "11" * 32)
    finished = run_mayavi("validate", "witness", str(file), str(folder / "mainnet-23587691.json.gz"), "--json")
    assert finished.returncode == 1
    totals = json.loads(finished.stdout.splitlines()[-1])
    assert (totals["witnesses"], totals["exact_witnesses"]) == (2, 1)
    (difference,) = totals["differences"]
    assert (difference["file"], difference["field"]) == (str(file), "state root")
    assert difference["got"] == "0x4ae458b7aa969629f75e807d05229f64a20078985050edfb5143ba9c626e361a"
    shown = run_mayavi("validate", "witness", str(file))
    assert (shown.returncode, "w.json, block: state root: expected 0x1111" in shown.stdout) == (1, True)


@pytest.mark.slow(0.3)
def test_the_block_hash_can_come_from_elsewhere(run_mayavi, folder: Path, tmp_path: Path) -> None:
    good = folder / "holesky-2971846.json.gz"
    assert run_mayavi("validate", "witness", str(good), "--hash", LATER_HASH).returncode == 0
    other = changed(folder, tmp_path / "w.json", "extra_data", "0x00")
    assert run_mayavi("validate", "witness", str(other)).returncode == 0  # no field of a result depends on it
    finished = run_mayavi("validate", "witness", str(other), "--hash", LATER_HASH)
    assert finished.returncode == 1
    assert f"block hash: expected {LATER_HASH}" in finished.stdout
    assert "w.json was not executed" in finished.stdout
    assert finished.stdout.splitlines()[-2:] == ["0 of 1 witnesses exact", "0 transactions executed, 0 gas"]


def test_an_unreadable_witness_is_called_so(run_mayavi, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"header": ')
    good = str(folder / "holesky-2971846.json.gz")
    finished = run_mayavi("validate", "witness", str(tmp_path / "broken.json"), good)
    assert finished.returncode == 1
    rows = finished.stdout.splitlines()
    assert rows[1].endswith("unreadable")
    assert rows[2].endswith("exact")
    assert "broken.json cannot be read: " in finished.stdout
    assert "1 of 2 witnesses exact: pre-state proven" in finished.stdout
    assert "9 transactions executed, 1,111,965 gas" in finished.stdout
    alone = run_mayavi("validate", "witness", str(tmp_path / "broken.json"))
    assert "pre-state proven" not in alone.stdout


def test_rules_can_be_named(run_mayavi, folder: Path) -> None:
    finished = run_mayavi("validate", "witness", str(folder / "holesky-2971846.json.gz"), "--hardfork", "prague")
    assert finished.returncode == 1
    assert "execution: expected a valid block" in finished.stdout  # Holesky had no request contracts at that time


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.json"], "there is no witness at 'absent.json'"),
        (["{folder}", "--hash", "0x12"], "'0x12' is not a valid block hash"),
        (["{folder}", "--hash", "0x" + "11" * 32], "one block hash cannot be that of 3 witnesses"),
        (["{folder}", "--hardfork", "atlantis"], "unknown hard fork 'atlantis'"),
    ],
)
def test_misuse_ends_with_2(run_mayavi, folder: Path, arguments: list[str], message: str) -> None:
    finished = run_mayavi("validate", "witness", *(each.format(folder=folder) for each in arguments))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert message in finished.stderr
