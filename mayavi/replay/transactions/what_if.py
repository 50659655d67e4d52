"""Execute a replayed transaction again with changed inputs, and compare the effects.

| override | meaning |
|---|---|
| `value=1.5 ether` | ether sent with the transaction |
| `gas=500000` | gas limit |
| `sender=0x…` | account that sends it |
| `data=0x…` | whole calldata |
| `arg.amount=5`, `arg.2=5 USDC`, `arg.params.amountIn=5` | one argument, by name or position; needs a known function |
| `word.3=5` | the fourth 32-byte word behind the selector |
| `balance.0x…=2 ether` | native balance of an account |
| `balance.TOKEN.0x…=5` | token balance, in smallest units or as `5.5 USDC` |
| `price.FEED=1873.41` | answer of a Chainlink-compatible price feed, by label or address |
| `storage.0x….SLOT=5` | one storage slot |
| `block.timestamp=…`, `block.number`, `block.base_fee`, `block.coinbase` | environment of the block |
| `call.CONTRACT=setFee(uint256) 5 from 0x…` | a transaction before it, such as one that sets a parameter |

`sender` stands for the account that sent the transaction, and labels such as `AaveV3.Pool` for their addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mayavi.errors import BadArgument, MayaviError, MissingStateError, UnknownName, UsageError
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import checksum, to_address
from mayavi.evm.chains import chain
from mayavi.evm.fork import Fork
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.evm.units import to_units
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.replay.case_state import BEYOND_CASE
from mayavi.replay.chain_block import BlockTransaction
from mayavi.replay.transactions.calldata_argument import with_argument
from mayavi.replay.transactions.decoding import SignatureBook, signature_book
from mayavi.replay.transactions.names import Names, known_decimals
from mayavi.replay.transactions.override_values import (
    NATIVE_UNITS,
    WORD_BYTES,
    hex_bytes,
    integer,
    parse_argument,
    split_amount,
    wei,
    word_of,
)
from mayavi.replay.transactions.transaction import Outcome, TransactionReplay, execute_traced
from mayavi.worlds.labels import labels_of

KINDS = ("value", "gas", "sender", "data", "arg", "word", "balance", "price", "storage", "block", "call")
_CALL = re.compile(r"^(?P<function>\w+\([^)]*\))(?P<arguments>.*?)\s+from\s+(?P<sender>\S+)$")


@dataclass(frozen=True, slots=True)
class Override:
    """One change: kind, path below it, and new value."""

    kind: str
    path: tuple[str, ...]
    value: str
    text: str

    @classmethod
    def parse(cls, text: str) -> Override:
        """Parse `kind.path=value`; raise `UsageError` for an unknown kind or a missing part."""
        key, equals, value = text.partition("=")
        kind, *path = key.strip().split(".")
        if not equals or not value.strip():
            raise UsageError(f"'{text}' changes nothing", "write KEY=VALUE, such as value=1.5 ether")
        if kind not in KINDS:
            raise UsageError(f"unknown override '{kind}' in '{text}'", f"known: {', '.join(KINDS)}")
        # Labels have dots in them.
        if kind in ("price", "call") and path:
            path = [".".join(path)]
        elif kind in ("balance", "storage") and len(path) > 1:
            path = [".".join(path[:-1]), path[-1]]
        return cls(kind, tuple(path), value.strip(), text)

    def part(self, at: int, what: str) -> str:
        """Return a part of the path; raise `UsageError` that names what is missing."""
        if len(self.path) <= at:
            raise UsageError(f"'{self.text}' names no {what}", "`mayavi replay tx --help` lists the forms")
        return self.path[at]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Effects of a transaction with overrides, beside those of the original."""

    overrides: tuple[Override, ...]
    transaction: BlockTransaction
    original: Outcome
    changed: Outcome

    @property
    def note(self) -> str:
        """What to do about a transaction that its overrides make invalid; empty if nothing is to be said."""
        if "lack of funds" not in self.changed.reason:
            return ""
        sender = checksum(self.transaction.sender)
        return f"the sender pays value and fees as on the chain; balance.{sender}=10 ether gives it more"


def run_what_if(replay: TransactionReplay, texts: Sequence[str], book: SignatureBook | None = None) -> WhatIf:
    """Execute the transaction of `replay` with overrides, on the same state."""
    overrides = tuple(map(Override.parse, texts))
    evm = replay.state.evm.copy()
    source = {"kind": "replay", "chain_id": replay.block.chain_id, "block": replay.block.number - 1}
    transaction = replay.transaction
    labels = {**labels_of(replay.block.chain_id), "sender": checksum(transaction.sender)}
    fork = Fork.of_evm(evm, replay.remote, labels, source)
    for each in overrides:
        try:
            if each.kind in _ON_TRANSACTION:
                transaction = _ON_TRANSACTION[each.kind](transaction, each, Context(fork, book or signature_book()))
            else:
                _ON_STATE[each.kind](fork, each)
        except MayaviError as error:
            if isinstance(error, MissingStateError) and replay.remote is None:
                error.hint = BEYOND_CASE
            if isinstance(error, UnknownName) and "fork.labels" in (error.hint or ""):
                error.hint = f"{_names_hint(fork)}; an address starts with 0x"
            error.message = f"--what-if '{each.text}': {error.message}"
            error.args = (error.message,)
            raise
    changed = execute_traced(replay.state, evm, replay.transaction.index, transaction)
    return WhatIf(overrides, transaction, replay.outcome, changed)


class Context(NamedTuple):
    """State and signatures that changes of a transaction refer to."""

    fork: Fork
    book: SignatureBook

    def amount(self, text: str) -> int:
        """Parse an amount: smallest units, of the native coin (`1.5 ether`), or of a named token (`5000 USDC`)."""
        number, unit = split_amount(text)
        if not unit and "." in number:
            remedy = f"write {number} ether, {number} USDC or another token's symbol, or smallest units"
            raise UsageError(f"'{number}' is not a whole number of smallest units", remedy)
        if unit.lower() in NATIVE_UNITS:
            return wei(text)
        if unit not in self.fork.labels:
            raise UsageError(
                f"'{unit}' is neither a unit of the native coin nor a token with a name",
                f"wei, gwei, ether, a symbol such as USDC, or smallest units; {_names_hint(self.fork)}",
            )
        return _token_units(self.fork, self.fork.address_of(unit), number)


def _names_hint(fork: Fork) -> str:
    return f"`mayavi world info {chain(fork.chain_id).name} --names` lists the names"


def _token_units(fork: Fork, token: bytes, number: str) -> int:
    decimals = Names(fork, table=known_decimals(fork.chain_id)).token(token).decimals
    if decimals is None:
        raise UsageError(f"the decimals of {fork.name(token)} are not known", "give the amount in smallest units")
    return to_units(number, decimals)


# -- changes of the transaction ---------------------------------------------------------------------------------------


def _set_value(transaction: BlockTransaction, each: Override, _: Context) -> BlockTransaction:
    return replace(transaction, value=wei(each.value))


def _set_gas(transaction: BlockTransaction, each: Override, _: Context) -> BlockTransaction:
    return replace(transaction, gas_limit=integer(each.value))


def _set_sender(transaction: BlockTransaction, each: Override, _: Context) -> BlockTransaction:
    return replace(transaction, sender=to_address(each.value))


def _set_data(transaction: BlockTransaction, each: Override, _: Context) -> BlockTransaction:
    return replace(transaction, input=hex_bytes(each.value))


def _set_word(transaction: BlockTransaction, each: Override, _: Context) -> BlockTransaction:
    at = 4 + WORD_BYTES * integer(each.part(0, "word"))
    content = transaction.input
    if at + WORD_BYTES > len(content):
        words = max(0, (len(content) - 4) // WORD_BYTES)
        raise UsageError(f"the calldata has {words} words", f"word.0 to word.{words - 1}" if words else None)
    word = word_of(each.value)
    return replace(transaction, input=content[:at] + word + content[at + WORD_BYTES :])


def _set_argument(transaction: BlockTransaction, each: Override, context: Context) -> BlockTransaction:
    function = context.book.function(transaction.input)
    if function is None or transaction.to is None:
        name = "0x" + transaction.input[:4].hex()
        raise UsageError(f"the function {name} is not known", "change the calldata by word.N=… instead")
    each.part(0, "argument")
    return replace(transaction, input=with_argument(function, transaction.input, each.path, each.value, context.amount))


# -- changes of the state ---------------------------------------------------------------------------------------------


def _set_balance(fork: Fork, each: Override) -> None:
    if len(each.path) == 1:
        fork.set_balance(each.path[0], wei(each.value))
        return
    token, holder = fork.address_of(each.part(0, "token")), fork.address_of(each.part(1, "account"))
    number, symbol = split_amount(each.value)
    if not symbol and "." in number:
        known = Names(fork).token(token).symbol
        raise UsageError(f"'{number}' is not a whole number of smallest units", f"write {number} {known}")
    amount = _token_units(fork, token, number) if symbol else integer(number)
    fork.set_storage(*balance_slot(fork, token, holder), amount)


def _set_price(fork: Fork, each: Override) -> None:
    PriceFeed(fork, each.part(0, "feed")).set_price(each.value.replace("_", "").replace(",", ""))


def _set_storage(fork: Fork, each: Override) -> None:
    place, slot = each.part(0, "contract"), each.part(1, "slot")
    fork.set_storage(place, integer(slot), int.from_bytes(word_of(each.value)))


def _set_block(fork: Fork, each: Override) -> None:
    field = each.part(0, "field")
    if field == "coinbase":
        fork.set_block(coinbase=each.value)
    elif field in ("number", "timestamp", "base_fee", "gas_limit"):
        fork.set_block(**{field: integer(each.value)})  # type: ignore[arg-type]
    else:
        raise UsageError(
            f"a block has no field '{field}' to change", "number, timestamp, base_fee, gas_limit, coinbase"
        )


def _send_call(fork: Fork, each: Override) -> None:
    target, found = each.part(0, "contract"), _CALL.match(each.value)
    if found is None:
        raise UsageError(f"'{each.value}' is not a call", "write it as `setFee(uint256) 5 from 0x…`")
    function = Function.parse(found["function"])
    given = [part for part in re.split(r"[\s,]+", found["arguments"].strip()) if part]
    kinds = [parameter.type.canonical for parameter in function.signature.inputs]
    if len(given) != len(kinds):
        raise BadArgument(f"{function.text} takes {len(kinds)} arguments, got {len(given)}")
    values = [parse_argument(text, kind) for text, kind in zip(given, kinds, strict=True)]
    fork.send(target, function.encode(*values), sender=found["sender"])


_Transform = Callable[[BlockTransaction, Override, Context], BlockTransaction]
_ON_TRANSACTION: dict[str, _Transform] = {
    "value": _set_value,
    "gas": _set_gas,
    "sender": _set_sender,
    "data": _set_data,
    "word": _set_word,
    "arg": _set_argument,
}
_ON_STATE: dict[str, Callable[[Fork, Override], None]] = {
    "balance": _set_balance,
    "price": _set_price,
    "storage": _set_storage,
    "block": _set_block,
    "call": _send_call,
}
