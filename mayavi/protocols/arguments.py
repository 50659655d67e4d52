"""Checks of adapter arguments: forks, contracts, addresses and amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadCalldata,
    ExecutionError,
    MissingStateError,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.evm.chains import chain
from mayavi.evm.fork import Fork


def require_fork(fork: object, adapter: str) -> None:
    """Raise `UsageError` unless `fork` is a `Fork`."""
    if not isinstance(fork, Fork):
        name = fork if isinstance(fork, str) else "ethereum"
        raise UsageError(
            f"{fork!r} is not a fork, which {adapter} needs", f'open one first: `fork = Fork.replica("{name}")`'
        )


def require_contract(fork: Fork, contract: AddressLike, what: str, *questions: Callable[[], Any]) -> None:
    """Raise unless `contract` has code and answers `questions`, the views of a `what`.

    Missing state (a recorded world that never read the contract) passes: it proves nothing.
    """

    def ask() -> None:
        if not fork.code(contract):
            raise NoCode(f"no contract stands at {name()}", f"check the address and the chain of the {what}")
        for question in questions:
            question()

    def name() -> str:
        if isinstance(contract, str) and contract[:2] not in ("0x", "0X"):
            return contract
        return fork.name(fork.address_of(contract))

    try:
        fork.read_once(("answers", contract, what), ask)
    except NoCode:
        raise
    except MissingStateError:
        return
    except (ExecutionError, BadCalldata):
        raise UsageError(f"{name()} is not a {what}", "`fork.labels` lists the names of this world") from None


def address_on(fork: Fork, who: Any) -> bytes:
    """Resolve an address, a label or an account object to an address.

    Raises `UsageError` for an account object of another fork.
    """
    if isinstance(who, str | bytes):
        return fork.address_of(who)
    home = getattr(who, "fork", None) or getattr(getattr(who, "market", None), "fork", None)
    if home is not None and home is not fork:
        raise UsageError(
            f"{who!r} belongs to another fork",
            "a copy is another fork too: make it anew on this one, such as `market.account(other.address)`",
        )
    return fork.address_of(getattr(who, "address", who))


def require_positive(amount: int, action: str) -> int:
    """Return `amount` as an integer; raise `ActionRefused` if it is zero."""
    number = word(amount)
    if not number:
        raise ActionRefused(f"{action} of 0 does nothing", "give an amount above zero, in smallest units")
    return number


def as_list(things: object, what: str) -> list[Any]:
    """Return `things` as a list; a single address or account becomes a list of one."""
    if isinstance(things, str | bytes) or hasattr(things, "address"):
        return [things]
    if not isinstance(things, Iterable):
        raise BadArgument(f"{things!r} is neither one of {what} nor several", "give one, or a list of them")
    return list(things)


def amount_list(amounts: object) -> list[int]:
    """Return `amounts` as a list; raise `BadArgument` for a single amount."""
    if not isinstance(amounts, Iterable) or isinstance(amounts, str | bytes):
        raise BadArgument(f"{amounts!r} are not several amounts", "give a list, or ask for one quote")
    return list(amounts)


def chain_name(fork: Fork) -> str:
    """Return the name of the fork's chain, or `chain <id>` if the id is unknown."""
    try:
        return chain(fork.chain_id).name
    except UnknownName:
        return f"chain {fork.chain_id}"
