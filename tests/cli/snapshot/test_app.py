"""`mayavi snapshot info|diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000000")
VAULT = bytes.fromhex("0a01700000000000000000000000000000000000")


def small_fork() -> Fork:
    fork = Fork.empty(chain_id=1, hardfork="shanghai")
    fork.set_block(number=100, timestamp=1_700_000_000)
    fork.set_balance(ALICE, 5 * 10**18)
    fork.set_code(VAULT, b"\x60\x00\x60\x00\xfd")
    fork.set_storage(VAULT, 1, 7)
    fork.labels["Vault"] = "0x0a01700000000000000000000000000000000000"
    return fork


@pytest.fixture
def before(tmp_path: Path) -> Path:
    path = tmp_path / "before.snapshot"
    small_fork().dump_snapshot(path)
    return path


def test_info_says_what_the_file_holds(run_mayavi, before: Path) -> None:
    finished = run_mayavi("snapshot", "info", str(before), "--json")
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    assert document["digest"] == small_fork().digest()
    assert (document["chain_id"], document["hardfork"], document["closed"]) == (1, "shanghai", True)
    assert document["block"]["number"] == 100
    assert (document["accounts"], document["contracts"], document["slots"]) == (2, 1, 1)
    assert document["file_bytes"] == before.stat().st_size

    plain = run_mayavi("snapshot", "info", str(before)).stdout
    assert small_fork().digest() in plain
    assert "2023-11-14 22:13:20 UTC, rules of shanghai" in plain


def test_equal_states_have_no_difference(run_mayavi, before: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.snapshot"
    small_fork().dump_snapshot(again)
    finished = run_mayavi("snapshot", "diff", str(before), str(again))
    assert (finished.returncode, finished.stdout) == (0, f"equal: both hold {small_fork().digest()}\n")


def test_differences_are_named_field_by_field_and_exit_with_1(run_mayavi, before: Path, tmp_path: Path) -> None:
    fork = small_fork()
    fork.set_storage(VAULT, 1, 8)
    fork.set_balance(ALICE, 10**18)
    fork.mine(1)
    after = tmp_path / "after.snapshot"
    fork.dump_snapshot(after)

    finished = run_mayavi("snapshot", "diff", str(before), str(after))
    assert finished.returncode == 1
    assert finished.stdout.splitlines() == [
        "chain",
        "  block.number: 100 → 101",
        "  block.timestamp: 1,700,000,000 → 1,700,000,012",
        "Vault 0x0a01700000000000000000000000000000000000",
        "  slot 0x1: 0x7 → 0x8",
        "0xA11Ce00000000000000000000000000000000000",
        "  balance: 5,000,000,000,000,000,000 → 1,000,000,000,000,000,000",
        "4 differences in 2 accounts",
    ]

    document = json.loads(run_mayavi("snapshot", "diff", str(before), str(after), "--json").stdout)
    assert document["equal"] is False
    assert document["after"] == fork.digest()
    assert {"address": "0xA11Ce00000000000000000000000000000000000", "field": "balance", "slot": None,
            "before": "5000000000000000000", "after": "1000000000000000000"} in document["differences"]  # fmt: skip


def test_many_slots_are_cut_unless_all_are_asked_for(run_mayavi, before: Path, tmp_path: Path) -> None:
    fork = small_fork()
    for slot in range(100, 120):
        fork.set_storage(VAULT, slot, 1)
    after = tmp_path / "after.snapshot"
    fork.dump_snapshot(after)
    short = run_mayavi("snapshot", "diff", str(before), str(after)).stdout
    assert "… 12 more, `--all` shows them" in short
    assert run_mayavi("snapshot", "diff", str(before), str(after), "--all").stdout.count("slot 0x") == 20


def test_a_damaged_file_is_refused_with_the_reason(run_mayavi, before: Path) -> None:
    content = bytearray(before.read_bytes())
    content[-1] ^= 1
    before.write_bytes(content)
    finished = run_mayavi("snapshot", "info", str(before))
    assert finished.returncode == 1
    assert "is damaged: its checksum does not match" in finished.stderr
