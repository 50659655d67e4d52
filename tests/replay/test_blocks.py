"""Real mainnet blocks replay bit for bit, and a damaged case does not."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UsageError
from mayavi.evm.hashing import keccak256
from mayavi.replay.blocks import Report, validate
from mayavi.replay.case import CaseError, read_bytecodes

SMALL = 19_934_116
"""Cancun block of 58 transactions, including a blob transaction."""


SOUND = 19_932_703
"""Another block, left undamaged."""


@pytest.fixture(scope="module")
def blocks(cases: Path) -> Path:
    return cases / "mainnet" / "blocks"


@pytest.fixture(scope="module")
def bytecodes(blocks: Path) -> bytes:
    """Return the bytecode file, reduced to what the two blocks use."""
    used = {
        account.get("code_hash")
        for number in (SMALL, SOUND)
        for account in json.loads(gzip.decompress((blocks / f"{number}/pre_state.json.gz").read_bytes())).values()
    }
    codes = json.loads(gzip.decompress((blocks / "bytecodes.json.gz").read_bytes()))
    return gzip.compress(json.dumps({key: code for key, code in codes.items() if key in used}).encode(), 1)


@pytest.fixture
def case(blocks: Path, bytecodes: bytes, tmp_path: Path) -> Path:
    """Private copy of one case, to damage."""
    copy_files(blocks / str(SMALL), tmp_path / str(SMALL))
    (tmp_path / "receipts").mkdir()
    (tmp_path / f"receipts/{SMALL}.json.gz").write_bytes((blocks / f"receipts/{SMALL}.json.gz").read_bytes())
    (tmp_path / "bytecodes.json.gz").write_bytes(bytecodes)
    return tmp_path


def copy_files(source: Path, target: Path) -> None:
    """Copy to writable files, whatever the original's permissions."""
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())


def change(path: Path, how: Callable[[Any], None]) -> None:
    content = json.loads(gzip.decompress(path.read_bytes()))
    how(content)
    path.write_bytes(gzip.compress(json.dumps(content).encode(), 1))


def flipped(text: str, at: int = -1) -> str:
    digits = list(text)
    digits[at] = "1" if digits[at] != "1" else "2"
    return "".join(digits)


@pytest.mark.slow(2)
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
        "transaction 0 .*: (hash|from): expected 0x",
    ),
    "an excess of blob gas that no price follows from": (
        f"{SMALL}/block.json.gz",
        lambda block: block.update(excessBlobGas="0xffffffffffffffff"),
        "case: expected readable and consistent, got .* blob gas",
    ),
    "the hash of a transaction": (
        f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][2].update(hash=flipped(block["transactions"][2]["hash"])),
        "transaction 2 .*hash",
    ),
    "the sender of a transaction": (
        f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][0].update({"from": "0x" + "11" * 20}),
        r"transaction 0 .*from: expected 0x1{40}, got 0x6c432c6c0b410e89d7c60cb4f5aea95a2a3d9eec by its signature",
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


def test_without_receipts_a_flipped_transaction_hash_still_fails(case: Path) -> None:
    (case / f"receipts/{SMALL}.json.gz").unlink()
    change(
        case / f"{SMALL}/block.json.gz",
        lambda block: block["transactions"][2].update(hash=flipped(block["transactions"][2]["hash"])),
    )
    assert "transaction 2 " in only_difference(validate(case))


@pytest.mark.slow(1)
def test_withdrawals_and_system_calls_that_were_left_out_are_noted(blocks: Path, case: Path) -> None:
    (shanghai,) = validate(blocks, only=[17_666_333]).blocks
    assert shanghai.notes == ["withdrawals: 0 applied, 16 not (accounts not in the pre-state)"]
    (cancun,) = validate(case).blocks
    assert cancun.notes == [
        "EIP-4788 beacon root: contract not in the pre-state",
        "withdrawals: 0 applied, 16 not (accounts not in the pre-state)",
    ]
    (berlin,) = validate(blocks, only=[12_244_000]).blocks
    assert [each.partly for each in (shanghai, cancun, berlin)] == [True, True, False]


@pytest.mark.slow(0.5)
def test_a_block_whose_withdrawals_are_all_applied_is_not_partly_done(blocks: Path, tmp_path: Path) -> None:
    number = 17_666_333
    (tmp_path / "receipts").mkdir()
    for name in (f"{number}", "bytecodes.json.gz", f"receipts/{number}.json.gz"):
        source, target = blocks / name, tmp_path / name
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
            target.chmod(0o755)
        else:
            shutil.copyfile(source, target)
    block = json.loads(gzip.decompress((tmp_path / f"{number}/block.json.gz").read_bytes()))
    account = {"balance": "0x1", "nonce": 0, "storage": {}}
    receivers = {withdrawal["address"]: account for withdrawal in block["withdrawals"]}
    change(tmp_path / f"{number}/pre_state.json.gz", lambda state: state.update(receivers | state))
    (report,) = validate(tmp_path).blocks
    assert report.exact
    assert not report.partly


def test_withdrawals_to_accounts_of_the_pre_state_are_applied(case: Path) -> None:
    block = json.loads(gzip.decompress((case / f"{SMALL}/block.json.gz").read_bytes()))
    receivers = {withdrawal["address"] for withdrawal in block["withdrawals"]}
    account = {"balance": "0x1", "nonce": 0, "storage": {}}
    change(case / f"{SMALL}/pre_state.json.gz", lambda state: state.update(dict.fromkeys(receivers, account)))
    (report,) = validate(case).blocks
    assert report.exact
    assert report.notes[-1] == "withdrawals: 16 applied"


WRONG_TYPES = (None, True, -1, 1.5, "no hex", [1], {"a": 1})
PARTS = {
    "bytecodes.json.gz": ["", "*"],
    f"{SMALL}/block.json.gz": ["", "number", "gasUsed", "transactions", "transactions/0", "transactions/0/from",
                               "transactions/0/value", "withdrawals", "withdrawals/0", "excessBlobGas", "timestamp"],
    f"{SMALL}/pre_state.json.gz": ["", "*", "*/balance", "*/nonce", "*/code_hash", "*/storage", "*/storage/*"],
    f"{SMALL}/block_hashes.json": ["*"],
    f"receipts/{SMALL}.json.gz": ["", "1", "1/hash", "1/status", "1/gasUsed", "1/logs", "1/logs/0", "1/logs/0/address",
                                  "1/logs/0/topics", "1/logs/0/topics/0", "1/logs/0/data"],
}  # fmt: skip
MAY_PASS = ("*/code_hash", "1/status")
"""Places where null is valid: an account without code, a receipt without a status."""


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one each", "all"])
@pytest.mark.parametrize("file", PARTS)
def test_values_of_the_wrong_type_are_differences_of_their_block_and_not_crashes(
    case: Path, file: str, every: bool
) -> None:
    (case / f"{SMALL}/block_hashes.json").write_text(json.dumps({str(SMALL - 1): "0x" + "11" * 32}))
    path = case / file
    original = path.read_bytes()
    content = json.loads(gzip.decompress(original) if path.suffix == ".gz" else original)
    for number, place in enumerate(PARTS[file]):
        for value in WRONG_TYPES if every else [WRONG_TYPES[number % len(WRONG_TYPES)]]:
            raw = json.dumps(replaced(content, place.split("/") if place else [], value)).encode()
            path.write_bytes(gzip.compress(raw, 1) if path.suffix == ".gz" else raw)
            report = validate(case)
            assert place in MAY_PASS or not report.exact, (place, value)
            json.dumps(report.to_json())


def replaced(content: Any, place: list[str], value: Any) -> Any:
    """Return `content` with `value` at `place`; "*" is the first key under which the rest of the place exists."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if isinstance(content, list):
        key: Any = int(first)
    elif first == "*":
        key = next(key for key in content if exists(content[key], rest))
    else:
        key = first
    changed = content.copy()
    changed[key] = replaced(content[key], rest, value)
    return changed


def exists(content: Any, place: list[str]) -> bool:
    if not place:
        return True
    if place[0] == "*":
        return any(exists(each, place[1:]) for each in content.values())
    return place[0] in content and exists(content[place[0]], place[1:])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *((f"{SMALL}/pre_state.json.gz", content) for content in ("[]", "5", "null", "[" * 100_000)),
        *((f"{SMALL}/block_hashes.json", content) for content in ("[]", "5", "null", '{"7": "0x12"}', '{"-1": "0x"}')),
        *((f"receipts/{SMALL}.json.gz", content) for content in ("5", "null", "{}", "[null]")),
    ],
)
def test_one_damaged_case_leaves_the_others_their_report(blocks: Path, case: Path, file: str, content: str) -> None:
    copy_files(blocks / str(SOUND), case / str(SOUND))
    path = case / file
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    report = validate(case)
    assert [(block.number, block.exact) for block in report.blocks] == [(SOUND, True), (SMALL, False)]
    assert str(report.blocks[1].first_difference).startswith("block: case: expected readable and consistent, got '")


def test_code_is_read_again_once_its_file_has_changed(case: Path) -> None:
    before = read_bytecodes(case)
    read_bytecodes(case).clear()
    assert read_bytecodes(case) == before
    code = b"\x60\x00"
    named = "0x" + keccak256(code).hex()
    (case / "bytecodes.json.gz").write_bytes(gzip.compress(json.dumps({named: "0x6000"}).encode()))
    assert read_bytecodes(case)[named] == code
    (case / "bytecodes.json.gz").unlink()
    with pytest.raises(CaseError, match="is missing"):
        read_bytecodes(case)


@pytest.mark.parametrize("content", ["[]", "5", "null", '{"0x12": "0x12"}', '{"0x12": 5}'])
def test_damaged_bytecodes_are_a_difference_of_every_block(case: Path, content: str) -> None:
    (case / "bytecodes.json.gz").write_bytes(gzip.compress(content.encode()))
    assert "case: expected readable and consistent, got '" in only_difference(validate(case))


def test_code_that_is_nowhere_is_named(case: Path) -> None:
    (case / "bytecodes.json.gz").write_bytes(gzip.compress(b"{}"))
    assert "bytecodes.json.gz lacks its code 0x" in only_difference(validate(case))


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
    (tmp_path / "blocks").mkdir()
    with pytest.raises(UsageError) as failure:
        validate(tmp_path)
    assert "did you mean" in str(failure.value.hint)
    with pytest.raises(UsageError, match="is not a folder"):
        validate(tmp_path / "nowhere")


@pytest.mark.slow(0.3)
def test_single_blocks_can_be_asked_for(blocks: Path) -> None:
    assert [block.number for block in validate(blocks, only=[SMALL]).blocks] == [SMALL]
    with pytest.raises(UsageError, match="block 5 has no case"):
        validate(blocks, only=[5])


def test_the_case_folder_is_never_written_to(case: Path) -> None:
    before = sorted(case.rglob("*"))
    validate(case)
    assert sorted(case.rglob("*")) == before
    shutil.rmtree(case)
