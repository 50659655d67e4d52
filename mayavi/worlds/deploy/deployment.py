"""Deploy contracts on a chain and record their labels.

`Deployment` works on any object with the methods of `Chain`: a `Fork`, or a node behind a small adapter. On a fork
every contract is created at the address of its table; with `real_addresses=False` contracts get ordinary creation
addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from mayavi.errors import StateError, UnknownName
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import checksum, to_address
from mayavi.evm.hashing import keccak_text
from mayavi.worlds.artifacts import ArtifactStore


class ReplicaMismatchError(StateError):
    """Contract whose address differs from that on the real chain."""


class Chain(Protocol):
    """Chain interface needed by a deployment; `mayavi.evm.fork.Fork` implements it."""

    def call(self, to: bytes, data: bytes, /) -> bytes:
        """Execute without effect and return the output."""

    def send(self, to: bytes, data: bytes, /, *, sender: bytes, value: int = 0) -> object:
        """Execute a transaction; raise if it fails."""

    def deploy(self, initcode: bytes, /, *, sender: bytes) -> bytes:
        """Create a contract and return its address."""

    def create_at(self, address: bytes, initcode: bytes, /, *, sender: bytes) -> object:
        """Create a contract at a given address; only needed with `real_addresses`."""

    def set_balance(self, address: bytes, amount: int, /) -> None:
        """Set the native balance of an account."""

    def set_storage(self, address: bytes, slot: int, value: int, /) -> None:
        """Set a storage word; only needed for wrapped native coins other than WETH."""


def named_account(name: str) -> bytes:
    """Return the address of a replica's own account, unused on the real chain."""
    return keccak_text(f"mayavi.{name}")[-20:]


DEPLOYER = named_account("deployer")
"""Default deployer, owner of the price feeds and minter of the tokens."""

MARKET = named_account("market")
"""Account that holds the background positions and liquidity of a replica."""


class Deployment:
    """Chain under construction. `labels` names every contract placed so far."""

    def __init__(
        self,
        chain: Chain,
        artifacts: ArtifactStore | None = None,
        *,
        deployer: bytes = DEPLOYER,
        real_addresses: bool = True,
    ) -> None:
        self.chain = chain
        self.artifacts = artifacts or ArtifactStore()
        self.deployer = deployer
        self.real_addresses = real_addresses
        self.labels: dict[str, bytes] = {}

    def __getitem__(self, label: str) -> bytes:
        """Return the address of `label`."""
        if label not in self.labels:
            raise UnknownName.of("contract", label, self.labels)
        return self.labels[label]

    def __contains__(self, label: str) -> bool:
        return label in self.labels

    def place(
        self,
        label: str,
        contract: str,
        *arguments: object,
        at: str | None = None,
        libraries: Mapping[str, bytes] | None = None,
        sender: bytes | None = None,
    ) -> bytes:
        """Create and label `contract`, at the address `at` if real addresses are used. Returns its address."""
        initcode = self.artifacts.get(contract).initcode(arguments, libraries)
        creator = sender or self.deployer
        if self.real_addresses and at is not None:
            address = to_address(at)
            self.chain.create_at(address, initcode, sender=creator)
        else:
            address = self.chain.deploy(initcode, sender=creator)
        self.labels[label] = address
        return address

    def label(self, label: str, address: bytes, *, expected: str | None = None) -> bytes:
        """Label a contract created by another; with real addresses it must be at `expected`."""
        if self.real_addresses and expected is not None and address != to_address(expected):
            raise ReplicaMismatchError(f"{label} is at {checksum(address)} instead of {expected}")
        self.labels[label] = address
        return address

    def send(
        self, to: str | bytes, function: str, *arguments: object, sender: bytes | None = None, value: int = 0
    ) -> None:
        """Send a transaction to a label or an address; `function` is a signature such as `approve(address,uint256)`."""
        data = _function(function).encode(*arguments)
        self.chain.send(self._resolve(to), data, sender=sender or self.deployer, value=value)

    def view(self, to: str | bytes, function: str, *arguments: object) -> Any:
        """Call a view; `function` includes the types, such as `getPool()(address)`."""
        parsed = _function(function)
        return parsed.decode(self.chain.call(self._resolve(to), parsed.encode(*arguments)))

    def checksummed_labels(self) -> dict[str, str]:
        """Return all labels with checksummed addresses, sorted by label."""
        return {label: checksum(self.labels[label]) for label in sorted(self.labels)}

    def addresses(self, labels: Iterable[str]) -> list[bytes]:
        """Return the addresses of several labels."""
        return [self[label] for label in labels]

    def _resolve(self, to: str | bytes) -> bytes:
        return self[to] if isinstance(to, str) else to


@cache
def _function(text: str) -> Function:
    return Function.parse(text)
