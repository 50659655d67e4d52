"""What a fork refuses: bad addresses and numbers, unknown names, missing state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi._kernel import Evm, create_address
from mayavi.errors import (
    BadAddress,
    BadInteger,
    MissingStateError,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from tests.evm.bytecode import (
    LOAD,
    RETURN_42,
    word,
)
from tests.evm.fork.accounts import ALICE, BOB, deployed


@pytest.mark.parametrize("text", ["0x12", "0x" + "g" * 40, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB49", b"\1" * 19, 7])
def test_malformed_addresses_are_refused(fork: Fork, text: str | bytes) -> None:
    for use in (lambda: fork.balance(text), lambda: fork.call(text, b""), lambda: fork.send(text, b"", sender=ALICE)):
        with pytest.raises(BadAddress):
            use()


def test_a_name_will_do_wherever_an_address_is_taken_and_an_unknown_one_is_said(fork: Fork) -> None:
    fork.labels["Answer"] = checksum(deployed(fork, RETURN_42))
    fork.labels["Alice"] = checksum(ALICE)
    assert fork.call("Answer", b"\1", sender="Alice") == word(42)
    assert fork.send("Answer", b"\1", sender="Alice").success
    assert fork.code("Answer") == RETURN_42
    fork.deal("ETH", "Alice", 5)
    assert fork.balance("Alice") == 5
    with pytest.raises(UnknownName, match="unknown address or contract 'Answr'") as failure:
        fork.call("Answr", b"")
    assert "did you mean 'Answer'?" in str(failure.value.hint)


@pytest.mark.parametrize("value", [-1, 2**256, 1.5, "7"])
def test_integers_out_of_range_are_refused(fork: Fork, value: object) -> None:
    for use in (
        lambda: fork.set_balance(ALICE, value),  # type: ignore[arg-type]
        lambda: fork.set_storage(ALICE, 0, value),  # type: ignore[arg-type]
        lambda: fork.storage(ALICE, value),  # type: ignore[arg-type]
        lambda: fork.send(BOB, b"", sender=ALICE, value=value),  # type: ignore[arg-type]
        lambda: fork.call(BOB, b"", sender=ALICE, value=value),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadInteger):
            use()


@pytest.mark.parametrize("value", [-1, 2**64, 1.5, "7", None, True])
def test_numbers_of_blocks_gas_and_nonces_are_whole_and_in_range(fork: Fork, value: Any) -> None:
    uses = [lambda: fork.mine(value), lambda: fork.set_nonce(ALICE, value), lambda: Fork.empty(chain_id=value)]
    if value is not None:
        uses += [lambda: fork.call(ALICE, b"", gas=value), lambda: fork.set_block(number=value)]
    for use in uses:
        with pytest.raises(BadInteger):
            use()


def test_a_blob_fee_beyond_all_money_is_refused_at_once(fork: Fork) -> None:
    before = fork.block
    with pytest.raises(BadInteger, match="blob fee beyond 128 bits"):
        fork.set_block(number=99, excess_blob_gas=2**64 - 1)
    assert fork.block == before


def test_integers_of_numpy_are_integers(fork: Fork) -> None:
    fork.set_balance(ALICE, np.int64(9))
    fork.set_block(number=np.int32(5), timestamp=np.uint64(6))
    fork.mine(np.int64(2), np.int8(3))
    fork.send(BOB, b"", sender=ALICE, value=np.uint8(4))
    assert (fork.balance(ALICE), fork.balance(BOB), fork.block_number, fork.timestamp) == (5, 4, 7, 9)


def test_calldata_that_is_not_bytes_is_refused(fork: Fork) -> None:
    with pytest.raises(UsageError, match="calldata must be bytes, not str"):
        fork.call(ALICE, "0x1234")  # type: ignore[arg-type]


def test_a_call_where_no_contract_stands_is_refused(fork: Fork) -> None:
    with pytest.raises(NoCode, match="no contract stands there"):
        fork.call(BOB, b"\1\2\3\4")
    with pytest.raises(NoCode, match="no contract stands there"):
        fork.send(BOB, b"\1\2\3\4", sender=ALICE)
    assert fork.nonce(ALICE) == 0, "refused before it happened"


def test_precompiles_can_be_called(fork: Fork) -> None:
    assert fork.call(bytes(19) + b"\4", b"echo") == b"echo"


def test_an_unknown_hard_fork_or_chain_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownName, match="unknown hard fork 'shangai'") as failure:
        Fork.empty(hardfork="shangai")
    assert "did you mean 'shanghai'?" in str(failure.value.hint)


def test_missing_state_names_address_and_slot_and_fresh_slots_read_zero() -> None:
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(BOB, 5, 1, LOAD)
    evm.learn_slots(BOB, {3: 33})
    fork = Fork.from_state(evm.freeze(), labels={}, source={"kind": "snapshot"})
    assert fork.storage(BOB, 3) == 33
    with pytest.raises(MissingStateError, match=f"state of {checksum(BOB)} slot 0x4 is not in this snapshot"):
        fork.call(BOB, word(4), sender=BOB)
    with pytest.raises(MissingStateError, match=f"state of account {checksum(ALICE)}"):
        fork.balance(ALICE)

    closed = Fork.empty()
    contract = deployed(closed, LOAD)
    assert closed.call(contract, word(4)) == word(0), "a contract made here is known in full"


def test_what_a_fork_created_is_complete_even_where_the_rest_is_partial() -> None:
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(ALICE, 0, 0, b"")
    evm.learn_account(create_address(ALICE, 0), 0, 0, b"")
    fork = Fork.from_state(evm.freeze(), labels={}, source={"kind": "snapshot"})
    contract = deployed(fork, LOAD)
    assert fork.call(contract, word(123), sender=ALICE) == word(0)
    reopened = Fork.from_state(fork.freeze(), labels={}, source={"kind": "snapshot"})
    assert reopened.call(contract, word(123), sender=ALICE) == word(0), "the mark survives freezing"
