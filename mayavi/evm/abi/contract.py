"""Contracts as Python objects: `pool.supply(asset, amount, user, 0, sender=user)`.

`Function`, `Event`, `Error` and `Interface` describe a contract; `Contract` binds one to an address and a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from mayavi.errors import AmbiguousName, BadArgument, CallReverted, UnknownAttribute, UnknownName, UsageError
from mayavi.evm.abi.interface import Error, Event, EventLog, Function, Interface, Log
from mayavi.evm.abi.reverts import decode_revert
from mayavi.evm.address import AddressLike, checksum, to_address

__all__ = ["BoundFunction", "Chain", "Contract", "Error", "Event", "EventLog", "Function", "Interface", "Log"]


_OPTIONS = frozenset({"sender", "value", "gas", "gas_price", "priority_fee", "check"})


class Chain(Protocol):
    """Chain that a contract is called on; `mayavi.evm.fork.Fork` is one."""

    @property
    def call(self) -> Callable[..., bytes]:
        """`call(to, data, **options)`: output of a call without effects; raises `CallReverted`."""

    @property
    def send(self) -> Callable[..., Any]:
        """`send(to, data, **options)`: receipt of a transaction; raises `CallReverted`."""

    def name(self, address: bytes, /) -> str:
        """Readable name of `address`."""


class Contract:
    """Contract at an address.

    Functions are attributes: `token.balanceOf(alice)` calls a `view` or `pure` function and returns its result; any
    other function is sent as a transaction, and `token.transfer(bob, 5, sender=alice)` returns the receipt. Options
    (`sender`, `value`, …) are passed to the fork. `token.transfer.call(…)` and `.send(…)` choose explicitly. Overloads
    are chosen by the number of arguments or by full signature: `token["mint(address,uint256)"](alice, 5)`.

    Only `address`, `interface`, `fork` and `events` are attributes of the object itself; every other name is a function
    of the ABI, such as ERC-20's `name()`. Square brackets reach every function, also one of those four names:
    `contract["fork"]()`.
    """

    def __init__(self, address: AddressLike, abi: Any, fork: Chain | None = None, *, name: str = "") -> None:
        self.address = to_address(address)
        self.interface = Interface.of(abi, name)
        self.fork = fork
        self.__label = name or self.interface.name  # mangled, as no function may be hidden by it
        self.__bound: dict[str, BoundFunction] = {}

    def __getattr__(self, name: str) -> BoundFunction:
        if name.startswith("__") or "interface" not in self.__dict__:  # not initialised yet, as while unpickling
            raise AttributeError(name)
        try:
            bound = self[name]
        except UnknownName as error:
            raise UnknownAttribute(error.message, error.hint) from None
        self.__dict__[name] = bound
        return bound

    def __getitem__(self, name: str) -> BoundFunction:
        bound = self.__bound.get(name)
        if bound is None:
            overloads = [self.interface.function(name)] if "(" in name else self.interface.overloads(name)
            bound = self.__bound[name] = BoundFunction(self, overloads)
        return bound

    def events(self, receipt: Any, name: str | None = None) -> list[EventLog]:
        """Decode the events that this contract emitted in `receipt`, in order; with `name`, only that event."""
        wanted = None if name is None else self.interface.event(name)
        own = (log for log in _logs_of(receipt) if log.address == self.address)
        if wanted is not None:
            matching = filter(wanted.matches, own)
            return [wanted.decode(log) for log in matching if self.interface.event_of(log) is wanted]
        return [log for log in map(self.interface.decode_log, own) if log is not None]

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *(function.name for function in self.interface.functions.values())}

    def __str__(self) -> str:
        """The contract's own name, else its name on the fork, else its address."""
        if self.__label:
            return self.__label
        return checksum(self.address) if self.fork is None else self.fork.name(self.address)

    def __repr__(self) -> str:
        return f"<contract {self.__label + ' ' if self.__label else ''}at {checksum(self.address)}>"


class BoundFunction:
    """Callable function of a contract."""

    __slots__ = ("_only", "contract", "overloads")

    def __init__(self, contract: Contract, overloads: list[Function]) -> None:
        self.contract, self.overloads = contract, overloads
        self._only = overloads[0] if len(overloads) == 1 else None

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call a `view` or `pure` function, send a transaction for any other."""
        if options and not options.keys() <= _OPTIONS:
            stray = min(options.keys() - _OPTIONS)
            raise BadArgument(
                f"'{stray}' is not an option of a call",
                f"arguments go by position; options are {', '.join(sorted(_OPTIONS))}",
            )
        function, contract = self._only or self._select(args), self.contract
        fork = contract.fork or self._fork
        try:
            if not function.reads:
                return fork.send(contract.address, function.encode(*args), **options)
            output = fork.call(contract.address, function.encode(*args), **options)
        except CallReverted as error:
            raise self._explained(error, function) from None
        return function.decode(output)

    def call(self, *args: Any, **options: Any) -> Any:
        """Call the function without effects and return its result."""
        return self._call(self._only or self._select(args), args, options)

    def send(self, *args: Any, **options: Any) -> Any:
        """Send the function as a transaction and return the receipt."""
        return self._send(self._only or self._select(args), args, options)

    def encode(self, *args: Any) -> bytes:
        """Return the calldata."""
        return (self._only or self._select(args)).encode(*args)

    @property
    def function(self) -> Function:
        """The `Function`; raises `AmbiguousName` if the name is overloaded."""
        return self._only or self.contract.interface.function(self.overloads[0].name)

    def _call(self, function: Function, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            output = self._fork.call(self.contract.address, function.encode(*args), **options)
        except CallReverted as error:
            raise self._explained(error, function) from None
        return function.decode(output)

    def _send(self, function: Function, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            return self._fork.send(self.contract.address, function.encode(*args), **options)
        except CallReverted as error:
            raise self._explained(error, function) from None

    @property
    def _fork(self) -> Chain:
        if self.contract.fork is None:
            raise UsageError(f"{self.contract!r} is bound to no fork", "give one: Contract(address, abi, fork)")
        return self.contract.fork

    def explained(self, error: CallReverted) -> CallReverted:
        """Return the error of a call that was encoded elsewhere, with its reason in the contract's words."""
        return self._explained(error, self.function)

    def _explained(self, error: CallReverted, function: Function) -> CallReverted:
        reason = decode_revert(error.output, [self.contract.interface])
        return CallReverted(
            f"{function.name} of {self.contract} reverted: {reason}",
            reason.hint or error.hint,
            reason=reason,
            output=error.output,
            gas_used=error.gas_used,
        )

    def _select(self, args: tuple[Any, ...]) -> Function:
        fitting = [each for each in self.overloads if len(each.signature.inputs) == len(args)]
        if len(fitting) == 1:
            return fitting[0]
        name = self.overloads[0].name
        texts = ", ".join(each.text for each in fitting or self.overloads)
        if not fitting:
            raise BadArgument(f"no function '{name}' takes {len(args)} arguments: {texts}")
        raise AmbiguousName(
            f"function '{name}' with {len(args)} arguments has {len(fitting)} signatures: {texts}",
            f'choose one by its full signature: contract["{fitting[0].text}"]',
        )

    def __repr__(self) -> str:
        return f"<{' | '.join(each.text for each in self.overloads)} of {self.contract!r}>"


def _logs_of(receipt: Any) -> Iterable[Log]:
    logs: Iterable[Log] = getattr(receipt, "logs", receipt)
    return logs
