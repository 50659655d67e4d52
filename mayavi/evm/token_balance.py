"""Give an account a token balance by writing where the token itself reads it from."""

from __future__ import annotations

from mayavi.errors import BadInteger, ExecutionError, StateError, UsageError
from mayavi.evm.abi.erc20 import BALANCE_OF, TOTAL_SUPPLY
from mayavi.evm.fork_calls import ForkCalls

_SENTINEL = 0x6D61796176690123456789
"""A value no balance has by chance: where it comes back, the slot is found."""
_A_LONG_TIME_S = 365 * 86_400


def deal(fork: ForkCalls, token: bytes, holder: bytes, amount: int) -> None:
    """Set `holder`'s balance of `token` to `amount`; the total supply moves by the difference."""
    query = BALANCE_OF + holder.rjust(32, b"\0")
    before = _read(fork, token, query)
    if before is None:
        raise UsageError(
            f"{fork.name(token)} is not a token: it does not tell balances", "`deal` takes ERC-20 tokens and ETH"
        )
    if before == amount:
        return
    place = _slot_behind(fork, token, query)
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
    # Everything that can fail is behind us: either all of it is written or nothing was.
    fork.set_storage(*place, amount)
    if supply_place is not None:
        fork.set_storage(*supply_place, wanted)
    elif supply is not None and fork.balance(token) == supply:
        # A wrapper of the native coin: its supply is what it holds.
        fork.set_balance(token, wanted)


def balance_slot(fork: ForkCalls, token: bytes, holder: bytes) -> tuple[bytes, int]:
    """The account and the slot whose whole value is `holder`'s balance of `token`; `StateError` where there is none."""
    return slot_behind(fork, token, BALANCE_OF + holder.rjust(32, b"\0"))


def slot_behind(fork: ForkCalls, contract: bytes, query: bytes) -> tuple[bytes, int]:
    """The account and the slot that hold what `query` returns, now and ever; `StateError` where it is computed."""
    place = _slot_behind(fork, contract, query)
    if place is None:
        raise StateError(
            f"what {fork.name(contract)} answers to 0x{query[:4].hex()} is not plain storage", "ask the contract itself"
        )
    return place


def _slot_behind(fork: ForkCalls, token: bytes, query: bytes) -> tuple[bytes, int] | None:
    """The slot whose whole value is what `query` returns, now and ever."""
    for address, slots in fork.touched(token, query):
        for slot in slots:
            with fork.snapshot():
                fork.set_storage(address, slot, _SENTINEL)
                if _read(fork, token, query) == _SENTINEL and not _computes(fork, token, address, query):
                    return address, slot
    return None


def _computes(fork: ForkCalls, token: bytes, holder: bytes, query: bytes) -> bool:
    """Whether the answer is made of more than the slot in `holder`, though it equals it at this moment.

    Balances that bear interest equal what is stored while no interest has accrued yet: they change with time, or ask
    another contract for the index.
    """
    if holder == token:
        calls = fork.trace(token, query).walk()
        if any(call.kind != "DELEGATECALL" and call.to != token for call in calls):
            return True
    with fork.snapshot():
        fork.mine(1, _A_LONG_TIME_S)
        return _read(fork, token, query) != _SENTINEL


def _read(fork: ForkCalls, token: bytes, query: bytes) -> int | None:
    """What `query` returns, or None where it fails: not every token tells its supply, and a sentinel may break one."""
    try:
        return int.from_bytes(fork.call(token, query)[:32], "big")
    except ExecutionError:
        return None
