"""Answers of the prestate tracer: the accounts and slots that each transaction of a block reads."""

from __future__ import annotations

from mayavi.evm.rpc.answers import BadValue, data, fields, quantity
from mayavi.evm.rpc.remote import Facts

PRESTATE = {"tracer": "prestateTracer"}
"""Options of `debug_traceBlockByHash` and `debug_traceBlockByNumber`."""


def read_prestates(answer: object, count: int) -> list[Facts]:
    """Parse one prestate for each of `count` transactions; raise `BadValue` for anything else."""
    if not isinstance(answer, list) or len(answer) != count:
        raise BadValue(f"the tracer did not answer for {count} transactions")
    return [read_prestate(fields(each).get("result")) for each in answer]


def read_prestate(answer: object) -> Facts:
    """Parse {address: {"balance", "nonce", "code", "storage"}}; absent fields are zero."""
    facts = Facts()
    for text, content in fields(answer).items():
        address, account = data(text, 20), fields(content)
        facts.accounts[address] = (_number(account.get("balance")), _number(account.get("nonce"), 64), _code(account))
        storage = fields(account.get("storage") or {})
        if storage:
            facts.slots[address] = {quantity(slot): quantity(value) for slot, value in storage.items()}
    return facts


def _number(value: object, bits: int = 256) -> int:
    """Parse a number, which nodes write as JSON number, hex text, or not at all for zero."""
    if value is None:
        return 0
    if type(value) is int and 0 <= value < 1 << bits:
        return value
    return quantity(value, bits)


def _code(account: dict[str, object]) -> bytes:
    code = account.get("code")
    return b"" if code is None else data(code)
