"""The gate `official` passes on official tests, and names one changed balance, slot, root, log or guard."""

from __future__ import annotations

import copy
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.evm.state import Evm, State
from mayavi.validation.gate import GateContext, GateReport
from mayavi.validation.gates.official import OfficialGate
from mayavi.validation.official import transactions
from mayavi.validation.official.accounts import world_of
from mayavi.validation.official.blockchain import check_blockchain_test
from mayavi.validation.official.files import find_files
from mayavi.validation.official.findings import Findings
from mayavi.validation.official.networks import Rules, rules_of
from mayavi.validation.official.transactions import check_state_test
from mayavi.validation.run import run_gate

CHAIN = "BlockchainTests/GeneralStateTests/stCreateTest/CREATE_ContractSSTOREDuringInit.json"
REFUSED = "BlockchainTests/GeneralStateTests/Pyspecs/cancun/eip4844_blobs/invalid_blob_tx_contract_creation.json"
COLLISION = "BlockchainTests/GeneralStateTests/stSStoreTest/InitCollisionParis.json"
BRANCHES = "BlockchainTests/TransitionTests/bcBerlinToLondon/initialVal.json"
PLACES = "GeneralStateTests/stSelfBalance/diffPlaces.json"
LOGS = "GeneralStateTests/stLogTests/log1_nonEmptyMem.json"

OTHER = "0x" + "33" * 32

Test = dict[str, Any]
Change = Callable[[Test], None]


@pytest.fixture(scope="module")
def tests(cases: Path) -> dict[str, bytes]:
    """Some of the files, by their names."""
    wanted = {CHAIN, REFUSED, COLLISION, BRANCHES, PLACES, LOGS}
    return dict(find_files(GateContext(cases)).read(wanted.__contains__))


def first(content: bytes) -> Test:
    """The first test of a file."""
    found: Test = next(iter(json.loads(content).values()))
    return found


def report_on(tmp_path: Path, files: dict[str, bytes], **settings: Any) -> GateReport:
    """Report of the gate on a folder of these files."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    gate = OfficialGate(**({"every": 1} | settings))
    return run_gate(gate, GateContext(tmp_path)).report


def differences(check: Callable[[str, Test, Findings], None], test: Test, change: Change | None = None) -> list[str]:
    """What a check objects to in a test, after a change."""
    test, found = copy.deepcopy(test), Findings()
    if change is not None:
        change(test)
    check("t", test, found)
    assert found.counts
    return found.differences


@pytest.mark.slow(4)
def test_a_sample_of_the_tests_is_exact_and_mostly_replayed(cases: Path) -> None:
    report = run_gate(OfficialGate(every=20), GateContext(cases)).report
    assert (report.verdict, report.first_difference) == ("passed", "")
    assert report.cases == report.parts["blockchain tests"] + report.parts["state cases to their root"] + 3
    assert report.parts["state cases refused"] == 3
    assert (report.parts["transactions"], report.parts["accounts"], report.parts["slots"]) == (259, 2_748, 750)
    assert {f"blockchain tests of {each}" for each in ("Istanbul", "Berlin", "London", "Paris", "Shanghai")} <= set(
        report.parts
    )
    assert any("transactions at call sites were replayed" in note for note in report.notes)
    assert any("blocks to be refused for their header" in note for note in report.notes)


def test_a_wrong_balance_slot_nonce_or_code_is_named(tests: dict[str, bytes]) -> None:
    test = first(tests[CHAIN])
    assert differences(check_blockchain_test, test) == []
    address = "0x6295ee1b4f6dd65047762f924ecd367c17eabf8f"

    def planted(key: str, value: object) -> list[str]:
        return differences(check_blockchain_test, test, lambda each: each["postState"][address].update({key: value}))

    assert planted("balance", "0x01") == [f"t, account {address}: balance must be 1, is 0"]
    assert planted("nonce", "0x02") == [f"t, account {address}: nonce must be 2, is 1"]
    assert planted("code", "0x00") == [f"t, account {address}: code must be 0x00, is 0x"]
    assert planted("storage", {"0x00": "0xfe"}) == [f"t, account {address}: slot 0x0 must be 254, is 255"]
    assert planted("storage", {"0x07": "0x01"}) == [f"t, account {address}: slot 0x7 must be 1, is 0"]


def test_another_account_before_or_another_last_block_is_named(tests: dict[str, bytes]) -> None:
    test = first(tests[CHAIN])

    def richer(each: Test) -> None:
        each["pre"]["0x" + "11" * 20] = {"balance": "0x01", "nonce": "0x00", "code": "0x", "storage": {}}

    before, block = differences(check_blockchain_test, test, richer)
    assert before.startswith("t: root of the pre-state must be 0x")
    assert block.startswith("t, block entry 0: state root must be 0x")
    (last,) = differences(check_blockchain_test, test, lambda each: each.update(lastblockhash="0x" + "22" * 32))
    assert last.startswith("t: no block has the hash 0x2222")


def test_blocks_that_must_be_refused_are(tests: dict[str, bytes]) -> None:
    test = first(tests[REFUSED])
    assert differences(check_blockchain_test, test) == []
    (refused,) = differences(check_blockchain_test, test, lambda each: each["blocks"][0].pop("expectException"))
    assert refused.startswith("t, block entry 0: ")

    valid = first(tests[CHAIN])

    def expect(exception: str) -> Change:
        return lambda each: each["blocks"][0].update(expectException=exception)

    executed, *_ = differences(check_blockchain_test, valid, expect("TransactionException.NONCE_IS_MAX"))
    assert executed == "t, block entry 0: it must be refused for TransactionException.NONCE_IS_MAX, and was executed"
    found = Findings()
    changed = copy.deepcopy(valid)
    expect("BlockException.INVALID_GASLIMIT")(changed)
    check_blockchain_test("t", changed, found)
    assert found.left_out == {"blocks to be refused for their header: BlockException.INVALID_GASLIMIT": 1}


def test_blocks_beside_the_chain_are_played_on_their_parents(tests: dict[str, bytes]) -> None:
    test = first(tests[BRANCHES])
    parents = [each["blockHeader"]["parentHash"] for each in test["blocks"] if "blockHeader" in each]
    assert len(set(parents)) < len(parents)
    assert differences(check_blockchain_test, test) == []
    (orphan, *_) = differences(check_blockchain_test, test, lambda each: each["blocks"].pop(0))
    assert orphan == "t, block entry 0: its parent is no block of the chain"


def test_a_creation_over_storage_is_told_by_the_test_itself(tests: dict[str, bytes]) -> None:
    for test in json.loads(tests[COLLISION]).values():
        found = Findings()
        check_blockchain_test("t", test, found)
        assert (found.different, sum("EIP-7610" in reason for reason in found.left_out)) == (0, 1)

        for account in test["pre"].values():
            account["storage"] = account["storage"] if account["code"] != "0x" else {}
        assert any("block entry 0" in each for each in differences(check_blockchain_test, test))


def test_a_wrong_root_or_hash_of_logs_is_named(tests: dict[str, bytes]) -> None:
    test = first(tests[LOGS])
    assert differences(check_state_test, test) == []
    where = "t, Cancun, data 0, gas 0, value 0"
    for key, what in (("hash", "state root"), ("logs", "hash of the logs")):
        wrong = {key: OTHER}
        planted = differences(check_state_test, test, lambda each: each["post"]["Cancun"][0].update(wrong))  # noqa: B023
        assert planted[0].startswith(f"{where}: {what} must be 0x3333")
    executed = differences(
        check_state_test, test, lambda each: each["post"]["Cancun"][0].update(expectException="TransactionException.X")
    )
    assert executed == [f"{where}: the transaction must be refused for TransactionException.X, and was executed"]


def test_a_recording_without_its_last_guard_is_found(
    tests: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path))  # for the file that reproduces the difference
    test, found = first(tests[PLACES]), Findings()
    check_state_test("t", test, found)
    assert (found.different, found.counts["state cases to their root"]) == (0, 35)
    assert found.replayed["cancun"] > 200

    def faulty(*arguments: Any) -> State:
        world = world_of(*arguments)
        Evm.from_state(world).seed_fault()  # the kernel's own fault for tests: paths take calldata of other cases
        return world

    monkeypatch.setattr(transactions, "world_of", faulty)
    check_state_test("t", test, found)
    assert found.different
    assert "round 0 with check: status must be success, is failed: the replayed call " in found.differences[0]
    assert "differs from the interpreted one" in found.differences[0]


def test_rules_go_by_the_official_names() -> None:
    assert rules_of("ConstantinopleFix") == Rules("petersburg")
    transition = rules_of("BerlinToLondonAt5")
    assert transition is not None
    assert [transition.hardfork(number, 0) for number in (4, 5)] == ["berlin", "london"]
    timed = rules_of("ShanghaiToCancunAtTime15k")
    assert timed is not None
    assert [timed.hardfork(1, time) for time in (14_999, 15_000)] == ["shanghai", "cancun"]
    assert [rules_of(each) for each in ("Constantinople", "HomesteadToDaoAt5", "Verkle")] == [None] * 3


def test_tests_of_unknown_rules_are_counted_and_named(tests: dict[str, bytes]) -> None:
    test, found = first(tests[CHAIN]), Findings()
    check_blockchain_test("t", test | {"network": "Verkle"}, found)
    assert found.left_out == {"blockchain tests of Verkle, whose rules the kernel does not have": 1}
    assert not found.counts


def test_less_than_the_whole_is_not_passed(tmp_path: Path, tests: dict[str, bytes]) -> None:
    report = report_on(tmp_path, {CHAIN: tests[CHAIN]})
    assert (report.verdict, report.first_difference) == ("failed", "the tests: there is no file of GeneralStateTests")
    told = " ".join(report.notes)
    assert "no state tests were compared" in told
    assert "no blockchain tests of Istanbul were compared" in told
    assert "0 of 0 transactions at call sites were replayed" in told

    chosen = report_on(tmp_path, {}, only="CREATE_ContractSSTORE")
    assert (chosen.verdict, chosen.cases, chosen.parts["slots"]) == ("passed", 1, 2)
    nothing = report_on(tmp_path, {}, only="no such name")
    assert (nothing.verdict, nothing.first_difference) == (
        "failed",
        "the tests: 0 files are chosen, and 0 were read",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the file cannot be read: "),
        (b"{}", "the file cannot be read: there is no test in it"),
        (b'{"t": {"blocks": []}}', "the test cannot be read: KeyError: 'network'"),
        (b'{"t": {"trie": 1}}', "it is neither a blockchain test nor a state test"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    report = report_on(tmp_path, {"BlockchainTests/bad.json": content}, only="bad")
    assert report.verdict == "failed"
    assert report.first_difference.startswith(f"BlockchainTests/bad.json: {message}")


def test_an_archive_is_read_as_it_is_unpacked_and_a_cut_one_is_refused(tmp_path: Path, tests: dict[str, bytes]) -> None:
    folder = tmp_path / "ethereum-tests"
    for name in (CHAIN, LOGS):
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True)
        (tmp_path / "unpacked" / name).write_bytes(tests[name])
    folder.mkdir()
    packed = folder / "tests.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(tmp_path / "unpacked", "half")
    both = [run_gate(OfficialGate(1, "/"), GateContext(each)).report for each in (tmp_path, folder)]
    alone = run_gate(OfficialGate(1, "/", jobs=2), GateContext(tmp_path / "unpacked")).report
    assert [each.parts for each in both] == [alone.parts] * 2
    assert alone.verdict == "passed"
    assert alone.parts["files"] == 2
    assert [each.name for each in folder.iterdir()] == ["tests.tar.xz"]  # nothing is written there

    packed.write_bytes(packed.read_bytes()[:-200])
    cut = run_gate(OfficialGate(1, "/"), GateContext(tmp_path)).report
    assert cut.verdict == "failed"
    assert "cannot be unpacked" in cut.first_difference
    (folder / "more.tar.xz").write_bytes(b"")
    several = run_gate(OfficialGate(), GateContext(tmp_path)).report
    assert (several.verdict, "more than one archive" in several.reason) == ("skipped", True)


def test_without_official_tests_the_gate_is_skipped_with_the_reason(tmp_path: Path) -> None:
    report = run_gate(OfficialGate(), GateContext(tmp_path)).report
    assert report.verdict == "skipped"
    assert report.reason.startswith(f"there are no official tests in '{tmp_path}' or its folder 'ethereum-tests'")
