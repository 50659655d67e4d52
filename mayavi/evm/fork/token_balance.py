"""Set token balances by writing the storage slot that the token reads."""

from __future__ import annotations

from mayavi.errors import BadInteger, ExecutionError, StateError, UsageError
from mayavi.evm.abi.erc20 import BALANCE_OF, TOTAL_SUPPLY
from mayavi.evm.fork.calls import ForkCalls

_SENTINEL = 0x6D61796176690123456789
"""An improbable balance: reading it back identifies the slot."""
_ONE_YEAR_S = 365 * 86_400


def deal(fork: ForkCalls, token: bytes, holder: bytes, amount: int) -> None:
    """Set `holder`'s balance of `token` to `amount` and change the total supply by the difference."""
    query = BALANCE_OF + holder.rjust(32, b"\0")
    before = _read(fork, token, query)
    if before is None:
        raise UsageError(
            f"{fork.name(token)} is not a token: it reports no balances", "`deal` takes ERC-20 tokens and ETH"
        )
    if before == amount:
        return
    place = fork.read_once(("slot behind", token, query), lambda: _slot_behind(fork, token, query))
    if place is None:
        raise StateError(
            f"the balances of {fork.name(token)} are not plain storage",
            "a token that computes balances cannot be dealt: buy, deposit or transfer it instead",
        )
    supply = _read(fork, token, TOTAL_SUPPLY)
    supply_place = _slot_behind(fork, token, TOTAL_SUPPLY) if supply is not None else None
    wanted = 0 if supply is None else max(0, supply + amount - before)
    if wanted >= 1 << 256:
        raise BadInteger(f"{amount} more of {fork.name(token)} would not fit into its total supply of {supply}")
    # Nothing can fail from here on, so balance and supply are written together or not at all.
    fork.set_storage(*place, amount)
    if supply_place is not None:
        fork.set_storage(*supply_place, wanted)
    elif supply is not None and fork.balance(token) == supply:
        # A wrapper of the native coin: its supply equals its native balance.
        fork.set_balance(token, wanted)


def balance_slot(fork: ForkCalls, token: bytes, holder: bytes) -> tuple[bytes, int]:
    """Account and slot that store `holder`'s balance of `token`; `StateError` if the balance is computed."""
    return slot_behind(fork, token, BALANCE_OF + holder.rjust(32, b"\0"))


def slot_behind(fork: ForkCalls, contract: bytes, query: bytes) -> tuple[bytes, int]:
    """Account and slot that store the answer to `query`; `StateError` if the answer is computed."""
    place = _slot_behind(fork, contract, query)
    if place is None:
        raise StateError(
            f"the answer of {fork.name(contract)} to 0x{query[:4].hex()} is not plain storage",
            "ask the contract itself",
        )
    return place


def _slot_behind(fork: ForkCalls, token: bytes, query: bytes) -> tuple[bytes, int] | None:
    """Account and slot whose value is always the answer to `query`, or None."""
    for address, slots in fork.touched(token, query):
        for slot in slots:
            with fork.snapshot():
                fork.set_storage(address, slot, _SENTINEL)
                if _read(fork, token, query) == _SENTINEL and not _is_computed(fork, token, address, query):
                    return address, slot
    return None


def _is_computed(fork: ForkCalls, token: bytes, holder: bytes, query: bytes) -> bool:
    """Whether the answer depends on more than the slot in `holder`, even if it equals the slot now.

    An interest-bearing balance equals the stored value only until interest accrues: it changes with time, or reads
    an index from another contract.
    """
    if holder == token:
        calls = fork.trace(token, query).walk()
        if any(call.kind != "DELEGATECALL" and call.to != token for call in calls):
            return True
    with fork.snapshot():
        fork.mine(1, _ONE_YEAR_S)
        return _read(fork, token, query) != _SENTINEL


def _read(fork: ForkCalls, token: bytes, query: bytes) -> int | None:
    """Answer to `query`, or None if the call fails: some tokens report no supply, and a sentinel may revert."""
    try:
        return int.from_bytes(fork.call(token, query)[:32], "big")
    except ExecutionError:
        return None
