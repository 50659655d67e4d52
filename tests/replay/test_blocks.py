"""Real mainnet blocks come out bit for bit, and a wrong byte in a case does not."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UsageError
from mayavi.replay.blocks import Report, validate

SMALL = 19_934_116
"""A Cancun block of 58 transactions, a blob among them."""


@pytest.fixture
def blocks(cases: Path) -> Path:
    return cases / "mainnet" / "blocks"


@pytest.fixture
def case(blocks: Path, tmp_path: Path) -> Path:
    """A private copy of one case, to damage."""
    for part in (str(SMALL), f"receipts/{SMALL}.json.gz", "bytecodes.json.gz"):
        target = tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (blocks / part).is_dir():
            target.mkdir()
            for file in (blocks / part).iterdir():
                (target / file.name).write_bytes(file.read_bytes())
        else:
            target.write_bytes((blocks / part).read_bytes())
    return tmp_path


def change(path: Path, how: Callable[[Any], None]) -> None:
    content = json.loads(gzip.decompress(path.read_bytes()))
    how(content)
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


def flipped(text: str, at: int = -1) -> str:
    digits = list(text)
    digits[at] = "1" if digits[at] != "1" else "2"
    return "".join(digits)


def test_all_blocks_are_exact(blocks: Path) -> None:
    report = validate(blocks)
    assert [(block.number, str(block.first_difference)) for block in report.blocks if not block.exact] == []
    totals = report.to_json()
    assert totals["blocks"] == totals["exact_blocks"] >= 24
    assert totals["transactions"] == totals["exact_transactions"] >= 7_716
    assert {block.hardfork for block in report.blocks} >= {
        *("petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun")
    }


def test_an_untouched_copy_is_exact_so_that_the_damage_below_is_what_fails(case: Path) -> None:
    report = validate(case)
    assert report.exact
    assert report.blocks[0].exact_transactions == 58


def only_difference(report: Report) -> str:
    assert not report.exact
    return str(report.blocks[0].first_difference)


DAMAGE: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "a log in a receipt": (
        f"receipts/{SMALL}.json.gz",
        lambda receipts: receipts[1]["logs"][0].update(data=flipped(receipts[1]["logs"][0]["data"])),
        "transaction 1 .*log 0 data: expected 0x",
    ),
    "gas in a receipt": (
        f"receipts/{SMALL}.json.gz",
        lambda receipts: receipts[0].update(gasUsed=21_001),
        r"transaction 0 .*gas used: expected 21001, got 21000",
    ),
    "status in a receipt": (
        f"receipts/{SMALL}.json.gz",
        lambda receipts: receipts[5].update(status=1 - receipts[5]["status"]),
        "transaction 5 .*status",
    ),
    "a receipt too few": (
        f"receipts/{SMALL}.json.gz",
        lambda receipts: receipts.pop(),
        "transaction 57 .*receipt",
    ),
    "the receipts root": (
        f"{SMALL}/block.json.gz",
        lambda block: block.update(receiptsRoot=flipped(block["receiptsRoot"])),
        "block: receipts root: expected 0x",
    ),
    "the bloom": (
        f"{SMALL}/block.json.gz",
        lambda block: block.update(logsBloom=flipped(block["logsBloom"])),
        "block: logs bloom",
    ),
    "gas used": (
        f"{SMALL}/block.json.gz",
        lambda block: block.update(gasUsed=hex(int(block["gasUsed"], 16) + 1)),
        "block: gas used",
    ),
    "the parent hash": (
        f"{SMALL}/block.json.gz",
        lambda block: block.update(parentHash=flipped(block["parentHash"])),
        "block: block hash",
    ),
    "a withdrawal": (
        f"{SMALL}/block.json.gz",
        lambda block: block["withdrawals"][0].update(amount="0x1"),
        "block: withdrawals root",
    ),
    "a value in a transaction": (
        f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][0].update(value="0x1"),
        "case: expected readable and consistent|transaction 0",
    ),
    "the hash of a transaction": (
        f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][2].update(hash=flipped(block["transactions"][2]["hash"])),
        "transaction 2 .*hash",
    ),
    "the sender of a transaction": (
        f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][0].update({"from": "0x" + "11" * 20}),
        "transaction 0 .*from",
    ),
    "a balance before the block": (
        f"{SMALL}/pre_state.json.gz",
        lambda state: state["0x6c432c6c0b410e89d7c60cb4f5aea95a2a3d9eec"].update(balance="0x1"),
        "transaction 0 .*lack of funds",
    ),
    "a nonce before the block": (
        f"{SMALL}/pre_state.json.gz",
        lambda state: state["0x6c432c6c0b410e89d7c60cb4f5aea95a2a3d9eec"].update(nonce=0x37),
        "transaction 0 .*nonce",
    ),
    "a slot that is not there": (
        f"{SMALL}/pre_state.json.gz",
        lambda state: state["0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"].update(storage={}),
        r"state of 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2 slot 0x\w+ is not in this world",
    ),
    "a byte of code": (
        "bytecodes.json.gz",
        lambda codes: codes.update({k: flipped(v) for k, v in [next(iter(codes.items()))]}),
        "hashes to 0x",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_wrong_byte_in_a_case_makes_it_fail_and_is_explained(case: Path, what: str) -> None:
    import re

    file, how, expected = DAMAGE[what]
    change(case / file, how)
    assert re.search(expected, only_difference(validate(case)))


def test_one_wrong_receipt_leaves_the_other_transactions_exact(case: Path) -> None:
    change(case / f"receipts/{SMALL}.json.gz", lambda receipts: receipts[3].update(gasUsed=1))
    assert validate(case).blocks[0].exact_transactions == 57


def test_without_receipts_the_root_vouches(case: Path) -> None:
    (case / f"receipts/{SMALL}.json.gz").unlink()
    report = validate(case)
    assert report.exact
    assert report.blocks[0].exact_transactions == 58
    assert any("vouches" in note for note in report.blocks[0].notes)


def test_damaged_files_are_differences_of_their_block_and_not_crashes(case: Path) -> None:
    path = case / str(SMALL) / "pre_state.json.gz"
    path.write_bytes(path.read_bytes()[:100])
    assert "cannot be unpacked" in only_difference(validate(case))
    path.write_bytes(gzip.compress(b"{ not json"))
    assert "is not JSON" in only_difference(validate(case))
    path.unlink()
    assert "is missing" in only_difference(validate(case))


def test_a_folder_without_cases_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no block case"):
        validate(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        validate(tmp_path / "nowhere")


def test_single_blocks_can_be_asked_for(blocks: Path) -> None:
    assert [block.number for block in validate(blocks, only=[SMALL]).blocks] == [SMALL]
    with pytest.raises(UsageError, match="block 5 has no case"):
        validate(blocks, only=[5])


def test_the_case_folder_is_never_written_to(case: Path) -> None:
    before = sorted(case.rglob("*"))
    validate(case)
    assert sorted(case.rglob("*")) == before
    shutil.rmtree(case)
