"""Witnesses of real blocks prove their pre-state and give the state root; a corrupted witness never passes."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import MayaviError, UsageError, WitnessError
from mayavi.evm.hashing import keccak256
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.witness import WitnessReport, validate_witness, validate_witnesses
from tests.replay.witness_corruption import Corrupter

MAINNET, EARLIER, LATER = "mainnet-23587691", "holesky-2971845", "holesky-2971846"
HASHES = {
    MAINNET: "0x9947c2115bd723806b7e9ebe5d1787696b7e87f00de6528e30f9314ea4382182",
    EARLIER: "0x64c44fdc52a8c624eb09dac656cfb5ffe430633572de87c5dff5cd8fc57f8bc4",  # the parent hash in LATER
    LATER: "0xf91a7f61b32cfbacb2cac4c38ea85affabd58cb08c629c135af3d31592a57bef",
}


@pytest.fixture(scope="module")
def folder(cases: Path) -> Path:
    return cases / "mainnet" / "witness"


@pytest.fixture(scope="module")
def documents(folder: Path) -> dict[str, Any]:
    return {name: json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes())) for name in HASHES}


@pytest.fixture
def later(documents: dict[str, Any]) -> Any:
    """Private copy of the smallest witness, to change."""
    return copy.deepcopy(documents[LATER])


def validated(document: Any, name: str) -> WitnessReport:
    return validate_witness(BlockWitness.of(document), block_hash=bytes.fromhex(HASHES[name][2:]))


def first_field(document: Any) -> str:
    difference = validate_witness(BlockWitness.of(document)).first_difference
    assert difference is not None
    return difference.field


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_every_case_is_exact_up_to_the_state_root(folder: Path, documents: dict[str, Any]) -> None:
    reports = validate_witnesses([folder / f"{name}.json.gz" for name in sorted(HASHES)])
    assert [each.first_difference for each in reports.witnesses] == [None] * len(HASHES)
    for each in reports.witnesses:
        document = documents[Path(each.path).name.removesuffix(".json.gz")]
        assert "0x" + each.state_root.hex() == document["header"]["state_root"]
        assert "0x" + each.block_hash.hex() in HASHES.values()
        assert each.gas_used == int(str(document["header"]["gas_used"]), 0)
    assert [each.transactions for each in reports.witnesses] == [24, 9, 40]
    assert any("follows from" in note for note in reports.witnesses[1].notes)
    totals = reports.to_json()
    assert (totals["witnesses"], totals["exact_witnesses"], totals["gas_used"]) == (3, 3, 7_661_478)


def test_a_missing_trie_node_is_named(later: Any) -> None:
    """Each of some nodes is left out; execution or the state root names its hash, with account or slot."""
    for position in range(0, len(later["states"]), 97):
        node = later["states"].pop(position)
        name = keccak256(bytes.fromhex(node[2:])).hex()
        try:
            difference = validate_witness(BlockWitness.of(later)).first_difference
            told = str(difference)
        except WitnessError as error:
            told = str(error)
        # The nodes below it have become unreachable; if there are none, the lookup names it.
        assert "trie node" in told, position
        assert "no reference to" in told or name in told, position
        later["states"].insert(position, node)


def test_a_missing_leaf_is_named_with_its_account(later: Any) -> None:
    leaf = next(node for node in later["states"] if is_account_leaf(node))
    later["states"].remove(leaf)
    difference = None
    try:
        difference = str(validate_witness(BlockWitness.of(later)).first_difference)
    except WitnessError as error:
        difference = str(error)
    assert f"trie node 0x{keccak256(bytes.fromhex(leaf[2:])).hex()}" in difference
    assert "state of account 0x" in difference


def is_account_leaf(node: str) -> bool:
    """Leaf of an account without code and storage: its value ends with the two hashes of nothing."""
    return node.endswith("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")


def test_missing_code_is_named_with_its_account(later: Any) -> None:
    code = later["codes"].pop(5)
    difference = validate_witness(BlockWitness.of(later)).first_difference
    assert difference is not None
    assert difference.field == "execution"
    assert f"code 0x{keccak256(bytes.fromhex(code[2:])).hex()} of account 0x" in difference.got


def test_an_unused_code_or_node_is_refused(later: Any) -> None:
    later["codes"].append("0x6001")
    assert first_field(later) == "code"
    later["codes"].pop()
    later["states"].append("0xe09e20703a7054ca46938fb9a536dc6f4acd78982a1c38ff67a2abc0cba036c209")
    assert first_field(later) == "trie node"


@pytest.mark.parametrize(
    ("member", "value", "field"),
    [
        ("state_root", "0x" + "11" * 32, "state root"),
        ("receipts_root", "0x" + "11" * 32, "receipts root"),
        ("transactions_root", "0x" + "11" * 32, "transactions root"),
        ("withdrawals_root", "0x" + "11" * 32, "withdrawals root"),
        ("logs_bloom", "0x" + "11" * 256, "logs bloom"),
        ("gas_used", 1_111_964, "gas used"),
        ("blob_gas_used", 0, "blob gas used"),
        ("difficulty", 1, "difficulty after the merge"),
        ("nonce", "0x0000000000000001", "header nonce after the merge"),
        ("sha3Uncles", "0x" + "11" * 32, "ommers hash after the merge"),
        ("parent_hash", "0x" + "11" * 32, "hash of block 2971845"),
        ("parent_beacon_block_root", "0x" + "11" * 32, "state root"),
        ("miner", "0x" + "11" * 20, "execution"),  # its account is not in the witness
        ("extra_data", "0x" + "11" * 33, "extra data"),
    ],
)
def test_a_changed_header_is_named(later: Any, member: str, value: object, field: str) -> None:
    assert member in later["header"]
    later["header"][member] = value
    assert first_field(later) == field


def test_a_header_field_that_nothing_reads_is_found_by_the_block_hash(later: Any) -> None:
    later["header"]["extra_data"] = "0x00"
    report = validate_witness(BlockWitness.of(later))
    assert report.exact
    assert any(f"it has 0x{report.block_hash.hex()}" in note for note in report.notes)
    assert "0x" + report.block_hash.hex() != HASHES[LATER]
    difference = validated(later, LATER).first_difference
    assert difference is not None
    assert difference.field == "block hash"


def test_a_stated_hash_or_sender_must_be_right(later: Any) -> None:
    later["transaction"][2]["from"] = "0x" + "22" * 20
    assert first_field(later).endswith("sender")
    del later["transaction"][2]["from"]
    later["transaction"][2]["hash"] = "0x" + "22" * 32
    assert first_field(later).endswith("hash")


def test_consecutive_blocks_must_follow_from_one_another(documents: dict[str, Any], tmp_path: Path, later: Any) -> None:
    first = write(tmp_path / "1.json", documents[EARLIER])
    later["block_hashes"][100] = "0x" + "22" * 32  # read by neither block
    second = write(tmp_path / "2.json", later)
    reports = validate_witnesses([second, first]).witnesses
    assert [each.exact for each in reports] == [False, True]
    assert reports[0].first_difference is not None
    assert reports[0].first_difference.field == f"hash of block 2971745, compared with '{first}'"


def test_a_block_hash_that_is_read_counts(later: Any) -> None:
    (read,) = validated(later, LATER).unproven_hashes
    later["block_hashes"][2_971_845 - read] = "0x" + "22" * 32
    assert first_field(later) in ("execution", "gas used", "logs bloom", "receipts root", "state root")


def test_an_unreadable_file_is_a_difference_and_the_others_are_still_validated(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty.json.gz").write_bytes(gzip.compress(b"{}"))
    reports = validate_witnesses([tmp_path, folder / f"{LATER}.json.gz"])
    assert [each.exact for each in reports.witnesses] == [False, False, True]
    assert "is not JSON" in str(reports.witnesses[0].first_difference)
    assert "there is no block" in str(reports.witnesses[1].first_difference)


def test_misuse_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UsageError, match="holds no witness"):
        validate_witnesses([tmp_path])
    with pytest.raises(UsageError, match="there is no witness at"):
        validate_witnesses([tmp_path / "absent.json"])
    with pytest.raises(UsageError, match="one block hash cannot be that of 3 witnesses"):
        validate_witnesses([folder], block_hash=bytes(32))


def corrupt(document: Any, name: str, times: int, seed: int) -> Counter[str]:
    """Count the fate of `times` corruptions; one that is neither refused nor left out fails the test."""
    fates: Counter[str] = Counter()
    corrupter = Corrupter(document, seed)
    for _ in range(times):
        with corrupter.corrupted() as where:
            try:
                report = validated(document, name)
            except MayaviError:
                fates["refused"] += 1
                continue
        if not report.exact:
            fates["differs"] += 1
            continue
        # The one part that a single witness cannot prove: hashes of blocks before the parent, which nothing reads.
        # They are left out, and the report counts them. Two consecutive witnesses prove them for one another.
        assert where[0] == "block_hashes", where
        assert where[1] != 0, "the parent's hash is in the header"
        assert report.number - 1 - where[1] not in report.unproven_hashes, "one that is read changes the results"
        assert report.unread_hashes + len(report.unproven_hashes) == 255
        assert any(f"{report.unread_hashes} block hashes are left out" in note for note in report.notes)
        fates["left out"] += 1
    return fates


@pytest.mark.slow(1)
def test_no_corruption_passes_silently(documents: dict[str, Any]) -> None:
    fates = corrupt(documents[LATER], LATER, 60, seed=7)
    assert fates["refused"] + fates["differs"] > 50


@pytest.mark.slow(5)
@pytest.mark.parametrize(("name", "times"), [(MAINNET, 400), (LATER, 400), (EARLIER, 200)])
def test_none_of_a_thousand_corruptions_passes_silently(documents: dict[str, Any], name: str, times: int) -> None:
    fates = corrupt(documents[name], name, times, seed=15)
    assert sum(fates.values()) == times
    assert fates["left out"] <= times * 0.06  # the share of those bytes is 2 to 3 %
    assert validated(documents[name], name).exact  # the document is as before
