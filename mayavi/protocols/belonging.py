"""What stands on which fork: adapters take a `Fork`, and no object of another one. A copy of a fork is another fork."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.evm.chains import chain

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def require_fork(fork: object, adapter: str) -> None:
    """Raise `UsageError` unless `fork` is one."""
    from mayavi.evm.fork import Fork

    if not isinstance(fork, Fork):
        raise UsageError(
            f"{adapter} stands on a Fork, and {fork!r} is of type {type(fork).__name__}",
            f'open one first: {adapter}(Fork.replica("ethereum"))',
        )


def require_own(fork: Fork, thing: object) -> None:
    """Raise `UsageError` where `thing` is an account, a pool, a position or a token of another fork."""
    home = getattr(thing, "fork", None) or getattr(getattr(thing, "market", None), "fork", None)
    if home is not None and home is not fork:
        raise UsageError(
            f"{thing!r} belongs to another fork",
            "a copy of a fork is a fork of its own: make the object anew on the one that is meant",
        )


def address_on(fork: Fork, thing: object) -> bytes:
    """The address of a name, of an address, or of an object of this fork that has one."""
    require_own(fork, thing)
    place: Any = getattr(thing, "address", thing)
    return fork.address_of(place)


def several(things: object, what: str) -> list[object]:
    """`things` as a list: of one thing that was given alone, or of each of many."""
    if isinstance(things, str | bytes) or hasattr(things, "address"):
        return [things]
    if not isinstance(things, Iterable):
        raise BadArgument(f"{things!r} is neither one of {what} nor several", "give one, or a list of them")
    return list(things)


def chain_name(fork: Fork) -> str:
    """What people call the chain that `fork` stands on."""
    try:
        return chain(fork.chain_id).name
    except UnknownName:
        return f"chain {fork.chain_id}"
