"""No number makes the EVM panic: each is taken, or refused with an error that says what was wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from mayavi.errors import BadInteger, MayaviError, TransactionInvalid
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.fork import Fork
from tests.evm.assembler import assemble
from tests.evm.bytecode import RETURN_42
from tests.evm.fork.accounts import ALICE, BOB

EXTREMES = [0, 1, 2**63, 2**64 - 1, 2**64, 2**127, 2**128 - 1, 2**128, 2**255, 2**256 - 1, 2**256, -1]
REFUSED: list[Any] = [1.5, "7", b"\1", -1, 2**256]
CONTRACT = b"\xc0" * 20
RULES = [dict(zip(("charge_fees", "check_balance"), each, strict=True)) for each in product((False, True), repeat=2)]
SPENDS_GAS = assemble("GASPRICE BASEFEE BLOBBASEFEE ADD ADD 0 SSTORE CALLVALUE 1 SSTORE")


def rich(**rules: bool) -> Fork:
    fork = Fork.empty(hardfork="osaka")
    fork.set_code(CONTRACT, SPENDS_GAS)
    fork.set_balance(ALICE, 2**256 - 1)
    fork.set_rules(**rules)
    return fork


Use = Callable[[Fork, Any], object]
SENT: dict[str, Use] = {
    "gas price": lambda fork, value: fork.send(CONTRACT, b"\1", sender=ALICE, gas_price=value),
    "priority fee": lambda fork, value: fork.send(CONTRACT, b"\1", sender=ALICE, gas_price=9, priority_fee=value),
    "both prices": lambda fork, value: fork.send(CONTRACT, b"", ALICE, gas_price=value, priority_fee=value),
    "gas": lambda fork, value: fork.send(CONTRACT, b"\1", sender=ALICE, gas=value, gas_price=2**64),
    "value": lambda fork, value: fork.send(CONTRACT, b"\1", sender=ALICE, value=value, gas_price=7),
    "value of the poor": lambda fork, value: fork.send(CONTRACT, b"\1", sender=BOB, value=value, gas_price=7),
    "value of a call": lambda fork, value: fork.call(CONTRACT, b"\1", sender=ALICE, value=value),
    "gas of a call": lambda fork, value: fork.call(CONTRACT, b"\1", sender=ALICE, gas=value),
    "gas of calls": lambda fork, value: fork.call_many(CONTRACT, [b"\1"] * 9, ALICE, gas=value),
    "value of a deployment": lambda fork, value: fork.deploy(b"", sender=ALICE, value=value),
    "gas of a deployment": lambda fork, value: fork.deploy(b"", sender=ALICE, gas=value),
    "value of a creation": lambda fork, value: fork.create_at(BOB, b"", sender=ALICE, value=value),
    "value of a trace": lambda fork, value: fork.trace(CONTRACT, b"\1", sender=ALICE, value=value),
    "gas of a trace": lambda fork, value: fork.trace(CONTRACT, b"\1", sender=ALICE, gas=value, commit=True),
}


def mine_on(fork: Fork, value: Any) -> None:
    for _ in range(3):
        fork.mine(value, value)


SET: dict[str, Use] = {
    "nonce": lambda fork, value: fork.set_nonce(ALICE, value),
    "balance": lambda fork, value: fork.set_balance(ALICE, value),
    "balance of the target": lambda fork, value: fork.set_balance(CONTRACT, value),
    "balance of the coinbase": lambda fork, value: fork.set_balance(b"\xcb" * 20, value),
    "slot": lambda fork, value: fork.set_storage(CONTRACT, value, value),
    "block number": lambda fork, value: fork.set_block(number=value),
    "timestamp": lambda fork, value: fork.set_block(timestamp=value),
    "base fee": lambda fork, value: fork.set_block(base_fee=value),
    "gas limit": lambda fork, value: fork.set_block(gas_limit=value),
    "excess blob gas": lambda fork, value: fork.set_block(excess_blob_gas=value),
    "blocks": lambda fork, value: fork.mine(value),
    "blocks and seconds": mine_on,
}


def attempted(use: Callable[[], object]) -> None:
    """Use a number; what it raises is an error of ours, and no excuse."""
    try:
        use()
    except MayaviError as error:
        message = str(error)
        if "panick" in message or ("overflow" in message.lower() and "OverflowPayment" not in message):
            raise


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("what", SENT)
def test_any_number_of_a_transaction_is_taken_or_refused(what: str, rules: dict[str, bool]) -> None:
    for value in EXTREMES:
        attempted(lambda value=value: SENT[what](rich(**rules), value))  # type: ignore[misc]
    for value in REFUSED:
        with pytest.raises(BadInteger):
            SENT[what](rich(**rules), value)


@pytest.mark.parametrize("what", SET)
def test_transactions_go_on_after_any_number_of_the_state_or_the_block(what: str) -> None:
    for value in EXTREMES:
        for rules in RULES:
            fork = rich(**rules)
            fork.set_block(coinbase=b"\xcb" * 20)
            attempted(lambda fork=fork, value=value: SET[what](fork, value))  # type: ignore[misc]
            attempted(lambda fork=fork: fork.send(CONTRACT, b"\1", sender=ALICE, value=1))  # type: ignore[misc]
            attempted(lambda fork=fork: fork.send(CONTRACT, b"", ALICE, gas_price=2**64, priority_fee=1))  # type: ignore[misc]
            attempted(lambda fork=fork: fork.deploy(b"", sender=ALICE))  # type: ignore[misc]
            attempted(lambda fork=fork: fork.call(CONTRACT, b"\1"))  # type: ignore[misc]
            assert fork.copy().digest() == fork.digest()
    for value in REFUSED:
        with pytest.raises(BadInteger):
            SET[what](rich(), value)


def test_a_price_that_no_account_could_pay_is_refused_with_what_to_do() -> None:
    fork = rich(charge_fees=True)
    before = fork.digest()
    with pytest.raises(
        TransactionInvalid, match=f"30000000 units of gas at {2**127} wei each cost more than"
    ) as failure:
        fork.send(CONTRACT, b"\1", sender=ALICE, gas_price=2**127)
    assert "gas_price=" in str(failure.value.hint)
    with pytest.raises(TransactionInvalid, match=rf"value {2**256 - 1} and 210000 wei for gas exceed 2\*\*256 - 1 wei"):
        fork.send(BOB, sender=ALICE, value=2**256 - 1, gas=21_000, gas_price=10)
    assert fork.digest() == before
    assert rich().send(CONTRACT, b"\1", sender=ALICE, gas_price=2**127).success, (
        "without fees it is a number as any other"
    )


def test_a_price_that_is_none_is_refused_by_its_name() -> None:
    fork = rich()
    for name, words in {"gas_price": "gas price", "priority_fee": "priority fee"}.items():
        for value in (-1, 2**128, 1.5, "7", True):
            with pytest.raises(BadInteger, match=words):
                fork.send(CONTRACT, sender=ALICE, **{name: value})  # type: ignore[arg-type]


def test_bundles_refuse_what_single_transactions_refuse() -> None:
    fork = rich()
    fork.set_code(CONTRACT, RETURN_42)
    with fork.paying(2**64 - 1, 2**64 - 1):
        fork.set_rules(check_balance=False)
        assert fork.attempt([(CONTRACT, b"\1", None)], ALICE) is not None
        assert fork.send(CONTRACT, b"\1", sender=ALICE).success


def test_numbers_of_a_program_are_taken_or_refused() -> None:
    fork = rich()
    made = Program()
    blocks, seconds, value = (made.input(name) for name in ("blocks", "seconds", "value"))
    made.advance(blocks, seconds)
    status, gas, _ = made.call(Template(CONTRACT, b"", sender=ALICE, value=value, gas=2**64 - 1))
    made.output("status", status)
    made.output("gas", gas)
    for number in EXTREMES:
        attempted(lambda number=number: Fleet(fork, 2).run(made, blocks=number, seconds=1, value=0))  # type: ignore[misc]
        attempted(lambda number=number: Fleet(fork, 2).run(made, blocks=0, seconds=number, value=0))  # type: ignore[misc]
        attempted(lambda number=number: Fleet(fork, 2).run(made, blocks=0, seconds=0, value=number))  # type: ignore[misc]
    for number in (-1, 2**64):
        with pytest.raises(OverflowError, match=f"gas {number} does not fit into 64 unsigned bits"):
            Template(CONTRACT, b"", gas=number)


def test_memory_that_no_machine_has_halts_the_call() -> None:
    fork = rich()
    fork.set_code(CONTRACT, assemble("1 0x8000000000 MSTORE"))  # half a terabyte
    for use in (
        lambda: fork.send(CONTRACT, b"\1", sender=ALICE, gas=2**64 - 1),
        lambda: fork.call(CONTRACT, b"\1", sender=ALICE, gas=2**64 - 1),
    ):
        with pytest.raises(MayaviError, match="halted: OutOfGas"):
            use()
