"""Decode calls and events by the ABIs of known contracts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from mayavi.errors import BadAbi, BadCalldata, MayaviError, SetupError, UnknownName
from mayavi.evm.abi.interface import Event, EventLog, Function, Interface, Log
from mayavi.evm.abi.record import Record
from mayavi.evm.receipt import CallFrame
from mayavi.protocols.compound.abi import COMET
from mayavi.protocols.curve.abi import pool_abi
from mayavi.protocols.signatures import EVERYTHING
from mayavi.protocols.uniswap.router_commands import COMMANDS, commands_text

PACKAGED = (
    *("UniswapV3Pool", "UniswapV3Factory", "SwapRouter", "NonfungiblePositionManager", "QuoterV2"),
    *("Pool", "L2Pool", "PoolConfigurator", "AToken", "VariableDebtToken", "StableDebtToken", "AaveOracle"),
    *("AaveProtocolDataProvider", "ACLManager", "PoolAddressesProvider", "DefaultReserveInterestRateStrategy"),
    *("WETH9", "VestingWallet"),
)
"""Contracts of the installed packages whose ABIs name calls and events."""
LONGEST = 66
"""Longest text of one value; longer ones are cut."""
MOST_ITEMS = 6
_FIXED_POINT = ("X96", "X128")
_LARGEST = {2**bits - 1: f"2**{bits}-1" for bits in (256, 160, 128)}
"""Largest integers of their types, which stand for "no limit"."""


class DecodedCall(NamedTuple):
    """Name and arguments of a call, and what it returned."""

    function: Function
    arguments: tuple[Any, ...]
    returned: Any


class SignatureBook:
    """Functions by selector and events by topic. The first description of a selector wins."""

    def __init__(self, abis: list[Any]) -> None:
        self.functions: dict[bytes, Function] = {}
        self.events: dict[bytes, list[Event]] = {}
        for abi in abis:
            self.add(abi)

    def add(self, abi: Any) -> None:
        """Add the functions and events of an ABI."""
        interface = Interface.of(abi)
        for function in interface.functions.values():
            self.functions.setdefault(function.selector, function)
        for event in interface.events.values():
            if event.topic is not None:
                self.events.setdefault(event.topic, []).append(event)

    def function(self, calldata: bytes) -> Function | None:
        """Return the function that `calldata` calls, if known."""
        return self.functions.get(calldata[:4]) if len(calldata) >= 4 else None

    def call(self, frame: CallFrame) -> DecodedCall | None:
        """Decode a call; None for an unknown function or calldata of another form."""
        if frame.kind.startswith("CREATE") or not any(frame.to[:19]):  # precompiles have no functions
            return None
        function = self.function(frame.input)
        if function is None:
            return None
        try:
            arguments = function.inputs.decode(frame.input[4:], strict=False)
        except BadCalldata:
            return None
        try:
            returned = function.decode(frame.output) if frame.success and frame.output else None
        except BadCalldata:
            returned = None
        return DecodedCall(function, arguments, returned)

    def event(self, log: Log) -> EventLog | None:
        """Decode a log; None for an unknown event."""
        for event in self.events.get(log.topics[0], []) if log.topics else []:
            if event.matches(log):
                try:
                    return event.decode(log)
                except BadCalldata:
                    continue
        return None


@cache
def signature_book() -> SignatureBook:
    """Signatures of the installed contract packages, of our adapters and of widely used contracts."""
    book = SignatureBook([EVERYTHING, COMET, *(pool_abi(coins) for coins in (2, 3, 4))])
    for abi in _packaged():
        try:
            book.add(abi)
        except (BadAbi, UnknownName):
            continue
    return book


def _packaged() -> list[Any]:
    from mayavi.worlds.artifacts import ArtifactStore

    store = ArtifactStore()
    if store.folder.missing_packages():
        return []  # decoding must not install anything
    found = []
    for name in PACKAGED:
        try:
            found.append(list(store.get(name).abi))
        except (SetupError, MayaviError):
            continue
    return found


def show_value(value: Any, name: Callable[[bytes], str]) -> str:
    """Format a decoded value: addresses by name, integers with separators, long values cut."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value in _LARGEST:
            return _LARGEST[value]
        return f"{value:,}" if abs(value) < 10**30 else (f"{value:#x}" if value > 0 else str(value))
    if isinstance(value, bytes):
        return name(value) if len(value) == 20 else _cut("0x" + value.hex())
    if isinstance(value, Record):
        return show_arguments(value._fields, tuple(value), name)
    if isinstance(value, list | tuple):
        shown = [show_value(each, name) for each in value[:MOST_ITEMS]]
        more = [f"… {len(value) - MOST_ITEMS} more"] if len(value) > MOST_ITEMS else []
        return f"[{', '.join(shown + more)}]"
    return _cut(str(value))


def show_arguments(names: tuple[str, ...], values: tuple[Any, ...], name: Callable[[bytes], str]) -> str:
    """Format arguments as `(to: Alice, amount: 5)`."""
    pairs = zip(names, values, strict=True)
    inside = [f"{key}: {_show_named(key, value, name)}" if key else show_value(value, name) for key, value in pairs]
    return f"({', '.join(inside)})"


def _show_named(key: str, value: Any, name: Callable[[bytes], str]) -> str:
    if isinstance(value, int) and key.endswith(_FIXED_POINT):
        return f"{value:,}"
    return _cut(commands_text(value)) if key == COMMANDS and isinstance(value, bytes) else show_value(value, name)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 12]}…{text[-8:]}"
