"""A fork is a chain one can act on: real transaction semantics, nothing silent."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from mayavi.errors import (
    CallHalted,
    CallReverted,
    ExecutionError,
    StateError,
    TransactionInvalid,
    UsageError,
)
from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from tests.evm.bytecode import (
    BLOCK_HASH,
    CALLER_REVERTS,
    EXTERNAL_CODE_SIZE,
    INVALID,
    LOAD,
    LOGS,
    RETURN_42,
    STORE,
    TIMESTAMP_NUMBER,
    TRANSIENT,
    forwarder,
    initcode,
    word,
)
from tests.evm.fork.accounts import ALICE, BOB, deployed


def test_a_call_returns_the_output_and_changes_nothing(fork: Fork) -> None:
    writes_and_returns = STORE + RETURN_42
    contract = deployed(fork, writes_and_returns)
    before = fork.digest()
    assert fork.call(contract, word(1) + word(7), sender=ALICE) == word(42)
    assert fork.digest() == before
    assert fork.storage(contract, 1) == 0
    echo = deployed(fork, bytes.fromhex("366000600037366000f3"))  # returns its calldata
    for sent in (b"", b"\x01", word(2**256 - 1), bytes(range(256)) * 3):
        assert fork.call(echo, sent) == sent


def test_a_transaction_stays(fork: Fork) -> None:
    contract = deployed(fork, STORE)
    receipt = fork.send(contract, word(1) + word(7), sender=ALICE)
    assert receipt.success
    assert fork.storage(contract, 1) == 7
    assert fork.nonce(ALICE) == 2


def test_addresses_may_be_text_in_any_place(fork: Fork) -> None:
    contract = deployed(fork, RETURN_42)
    assert fork.call(checksum(contract), b"", sender=checksum(ALICE)) == word(42)
    assert fork.call("0x" + contract.hex(), b"") == word(42)


def test_every_transaction_starts_with_cold_slots_and_pays_for_them(fork: Fork) -> None:
    contract = deployed(fork, LOAD)
    first = fork.send(contract, word(5), sender=ALICE).gas_used
    second = fork.send(contract, word(5), sender=ALICE).gas_used
    assert first == second == 21_000 + 31 * 4 + 16 + 2_100 + 3 * 7


def test_transient_storage_ends_with_the_transaction() -> None:
    fork = Fork.empty(hardfork="cancun")
    contract = deployed(fork, TRANSIENT)
    outputs = [fork.send(contract, b"", sender=ALICE).output for _ in range(2)]
    assert outputs == [word(0), word(0)]


def test_an_opcode_of_a_later_hard_fork_halts() -> None:
    fork = Fork.empty(hardfork="shanghai")
    with pytest.raises(CallHalted, match=r"halted: (OpcodeNotFound|NotActivated)"):
        fork.call(deployed(fork, TRANSIENT), b"\x01")


@pytest.mark.parametrize(("hardfork", "new_account"), [("tangerine", 25_000), ("spurious_dragon", 0)])
def test_before_eip_161_a_destroyed_account_is_gone_and_not_just_empty(hardfork: str, new_account: int) -> None:
    fork = Fork.empty(hardfork=hardfork)
    doomed = fork.deploy(initcode(bytes.fromhex("33ff")), sender=ALICE)
    caller = fork.deploy(initcode(forwarder(doomed)), sender=ALICE)
    fork.send(caller, b"\1", sender=ALICE)
    gone, touched = (fork.send(caller, b"\1", sender=ALICE).gas_used for _ in range(2))
    # Calling nobody pays for a new account once: the call itself leaves an empty one there.
    assert gone - touched == new_account


def test_create_at_runs_the_constructor_at_the_chosen_place(fork: Fork) -> None:
    place = b"\x42" * 20
    receipt = fork.create_at(place, initcode(EXTERNAL_CODE_SIZE), sender=ALICE)
    assert receipt.created == place
    assert fork.code(place) == EXTERNAL_CODE_SIZE
    assert fork.nonce(place) == 1, "a contract begins with nonce 1, so what it creates has its mainnet address"


def test_in_a_constructor_there_is_no_code_yet(fork: Fork) -> None:
    # initcode that returns EXTCODESIZE(this) as its one-word runtime
    place = b"\x43" * 20
    fork.create_at(place, bytes.fromhex("303b60005260206000f3"), sender=ALICE)
    assert fork.code(place) == word(0)


def test_create_at_refuses_an_occupied_place(fork: Fork) -> None:
    contract = deployed(fork, RETURN_42)
    with pytest.raises(CallHalted, match="CreateCollision"):
        fork.create_at(contract, initcode(LOAD), sender=ALICE)
    assert fork.code(contract) == RETURN_42


def test_a_revert_raises_with_its_data_and_leaves_only_the_nonce(fork: Fork) -> None:
    contract = deployed(fork, CALLER_REVERTS)
    nonce = fork.nonce(ALICE)
    with pytest.raises(CallReverted) as failure:
        fork.send(contract, b"\1", sender=ALICE)
    assert failure.value.output == word(0xAA)
    assert failure.value.gas_used > 21_000
    assert fork.nonce(ALICE) == nonce + 1
    assert fork.send(contract, b"\1", sender=ALICE, check=False).reason == "revert"


def test_a_halt_is_an_error_and_the_fork_goes_on(fork: Fork) -> None:
    contract = deployed(fork, INVALID)
    with pytest.raises(CallHalted, match="InvalidFEOpcode"):
        fork.call(contract, b"\1")
    with pytest.raises(CallHalted, match="InvalidFEOpcode"):
        fork.send(contract, b"\1", sender=ALICE)
    assert fork.call(deployed(fork, RETURN_42), b"") == word(42)


def test_out_of_gas_is_an_error_with_its_name(fork: Fork) -> None:
    contract = deployed(fork, LOAD)
    with pytest.raises(CallHalted, match="OutOfGas"):
        fork.call(contract, word(1), gas=21_200)
    with pytest.raises(TransactionInvalid, match="gas"):
        fork.call(contract, word(1), gas=20_000)


def test_value_must_be_there(fork: Fork) -> None:
    with pytest.raises(ExecutionError, match=r"OutOfFunds|lack of funds"):
        fork.send(BOB, b"", sender=ALICE, value=1)
    fork.set_balance(ALICE, 10)
    fork.send(BOB, b"", sender=ALICE, value=3)
    assert (fork.balance(ALICE), fork.balance(BOB)) == (7, 3)


def test_fees_are_charged_when_they_are_switched_on(fork: Fork) -> None:
    fork.set_block(base_fee=10, coinbase=b"\xcc" * 20)
    fork.set_rules(charge_fees=True, check_balance=True, check_nonce=True, check_base_fee=True)
    with pytest.raises(TransactionInvalid, match="gas price"):
        fork.send(BOB, b"", sender=ALICE, gas=21_000, gas_price=9)
    with pytest.raises(TransactionInvalid, match="lack of funds"):
        fork.send(BOB, b"", sender=ALICE, gas=21_000, gas_price=12)
    fork.set_balance(ALICE, 21_000 * 12 + 5)
    fork.send(BOB, b"", sender=ALICE, gas=21_000, gas_price=12, value=5)
    assert fork.balance(ALICE) == 0
    assert fork.balance(b"\xcc" * 20) == 21_000 * 2, "the base fee burns, the tip goes to the coinbase"


def test_a_read_needs_no_money_whatever_the_rules(fork: Fork) -> None:
    contract = deployed(fork, RETURN_42)
    fork.set_block(base_fee=10)
    fork.set_rules(charge_fees=True, check_balance=True, check_base_fee=True)
    assert fork.call(contract, b"", sender=ALICE) == word(42)


def test_logs_are_in_the_receipt(fork: Fork) -> None:
    contract = deployed(fork, LOGS)
    receipt = fork.send(contract, b"\1", sender=ALICE)
    assert [(log.address, log.topics, log.data) for log in receipt.logs] == [(contract, (word(7),), word(42))]


def test_time_moves_by_the_pace_of_the_chain(fork: Fork) -> None:
    fork.set_block(number=100, timestamp=1_000)
    fork.mine()
    assert (fork.block_number, fork.timestamp) == (101, 1_012)
    fork.mine(blocks=10, seconds=5)
    assert (fork.block_number, fork.timestamp) == (111, 1_017)
    contract = deployed(fork, TIMESTAMP_NUMBER)
    assert fork.call(contract, b"\1") == word(1_017) + word(111)
    with pytest.raises(UsageError, match="block time of chain 777"):
        Fork.empty(chain_id=777).mine()


def test_block_hashes_of_a_world_without_ancestors_are_the_same_in_every_run() -> None:
    def hashes() -> bytes:
        fork = Fork.empty()
        fork.set_block(number=1_000)
        contract = deployed(fork, BLOCK_HASH)
        return fork.call(contract, word(999)) + fork.call(contract, word(1_000)) + fork.call(contract, word(1))

    assert hashes() == hashes()
    assert hashes()[:32] != bytes(32)
    assert hashes()[32:] == bytes(64), "the current block and those too far back have none"


def test_a_trace_shows_the_tree_with_gas_and_reverts(fork: Fork) -> None:
    failing = deployed(fork, CALLER_REVERTS)
    outer = deployed(fork, forwarder(failing))
    tree = fork.trace(outer, b"\1", sender=ALICE)
    assert not tree.success
    assert [(frame.kind, frame.to, frame.success) for frame in tree.walk()] == [
        ("CALL", outer, False),
        ("CALL", failing, False),
    ]
    inner = tree.calls[0]
    assert inner.output == word(0xAA)
    assert 0 < inner.gas_used < tree.gas_used
    assert "CALL" in tree.render()
    assert fork.nonce(outer) == 1


def test_a_trace_keeps_logs_with_the_frame_that_emitted_them(fork: Fork) -> None:
    logger = deployed(fork, LOGS)
    outer = deployed(fork, forwarder(logger))
    tree = fork.trace(outer, b"\1", sender=ALICE, commit=True)
    assert tree.logs == ()
    assert tree.calls[0].logs[0].topics == (word(7),)
    assert fork.nonce(ALICE) == 3


def test_copies_are_independent(fork: Fork) -> None:
    contract = deployed(fork, STORE)
    twin = fork.copy()
    twin.send(contract, word(1) + word(9), sender=ALICE)
    assert fork.storage(contract, 1) == 0
    assert twin.storage(contract, 1) == 9
    assert twin.digest() != fork.digest()


def test_the_digest_depends_on_the_state_alone(fork: Fork) -> None:
    one, other = fork.copy(), fork.copy()
    for each, order in ((one, (1, 2, 3)), (other, (3, 1, 2))):
        for slot in order:
            each.set_storage(BOB, slot, slot * 10)
    other.set_storage(BOB, 4, 1)
    other.set_storage(BOB, 4, 0)
    assert one.digest() == other.digest()
    other.set_storage(BOB, 4, 1)
    assert one.digest() != other.digest()


def test_copies_of_the_standard_library_and_pickles_are_independent_too(fork: Fork) -> None:
    contract = deployed(fork, STORE)
    fork.labels["Store"] = checksum(contract)
    for twin in (copy.copy(fork), copy.deepcopy(fork), pickle.loads(pickle.dumps(fork)), fork.frozen()):
        assert (twin.digest(), twin.labels) == (fork.digest(), fork.labels)
        twin.send(contract, word(1) + word(9), sender=ALICE)
        twin.labels["Other"] = twin.labels["Store"]
    assert fork.storage(contract, 1) == 0
    assert list(fork.labels) == ["Store"]


@pytest.mark.slow
def test_two_threads_on_one_fork_are_told_so_and_nothing_breaks(fork: Fork) -> None:
    spin = bytes.fromhex("5b600056")  # jumps until the gas is gone
    contract = deployed(fork, spin)
    failures: list[BaseException] = []

    def burn() -> None:
        for _ in range(20):
            try:
                fork.send(contract, b"\1", sender=ALICE, check=False)
            except StateError as error:
                failures.append(error)

    threads = [threading.Thread(target=burn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures
    assert {str(error) for error in failures} == {"another thread is using this fork"}
    assert fork.nonce(ALICE) == 1 + 60 - len(failures)


def test_a_hint_is_shown_with_the_traceback(fork: Fork) -> None:
    with pytest.raises(CallHalted) as failure:
        fork.send(BOB, b"", sender=ALICE, value=1)
    assert "fork.deal" in str(failure.value.hint)
    assert failure.value.__notes__ == [failure.value.hint]
    assert pickle.loads(pickle.dumps(failure.value)).__notes__ == [failure.value.hint]
