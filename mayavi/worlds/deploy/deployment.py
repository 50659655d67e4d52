"""Putting contracts on a chain and remembering where they stand.

`Deployment` works on anything that has the few methods of `Chain`: a `Fork`, or a node behind a small adapter. On a
fork every contract is created at the address its table names; elsewhere (`real_addresses=False`) contracts get the
addresses ordinary creation gives them, and everything else stays the same.
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
    """A contract came to stand elsewhere than on the real chain."""


class Chain(Protocol):
    """What a deployment needs of a chain; `mayavi.evm.fork.Fork` has it."""

    def call(self, to: bytes, data: bytes, /) -> bytes:
        """Execute without effect and return the output."""

    def send(self, to: bytes, data: bytes, /, *, sender: bytes, value: int = 0) -> object:
        """Execute a transaction; raise when it fails."""

    def deploy(self, initcode: bytes, /, *, sender: bytes) -> bytes:
        """Create a contract and return its address."""

    def create_at(self, address: bytes, initcode: bytes, /, *, sender: bytes) -> object:
        """Create a contract at an address of choice; needed for `real_addresses` only."""

    def set_balance(self, address: bytes, amount: int, /) -> None:
        """Set the native coins of an account."""

    def set_storage(self, address: bytes, slot: int, value: int, /) -> None:
        """Set a word of a contract's storage; needed for wrapped native coins other than WETH only."""


def named_account(name: str) -> bytes:
    """The address of an account that belongs to the replica and to nobody on the real chain."""
    return keccak_text(f"mayavi.{name}")[-20:]


DEPLOYER = named_account("deployer")
"""Creates what has no creator of its own, owns the price feeds and mints the tokens."""

MARKET = named_account("market")
"""Stands for the rest of the market: it supplied, borrowed and pooled what the replica starts with."""


class Deployment:
    """A chain under construction. `labels` names every contract placed so far."""

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
        """The address of what is labelled `label`."""
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
        """Create `contract`, at the address `at` where real addresses are wanted, and label it. Gives its address."""
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
        """Label what another contract created; where real addresses are wanted it must stand at `expected`."""
        if self.real_addresses and expected is not None and address != to_address(expected):
            raise ReplicaMismatchError(f"{label} came to stand at {checksum(address)} instead of {expected}")
        self.labels[label] = address
        return address

    def send(
        self, to: str | bytes, function: str, *arguments: object, sender: bytes | None = None, value: int = 0
    ) -> None:
        """Send a transaction to a label or an address; `function` is a signature such as `approve(address,uint256)`."""
        data = _function(function).encode(*arguments)
        self.chain.send(self._resolve(to), data, sender=sender or self.deployer, value=value)

    def view(self, to: str | bytes, function: str, *arguments: object) -> Any:
        """What a read-only function returns; `function` names the types, such as `getPool()(address)`."""
        parsed = _function(function)
        return parsed.decode(self.chain.call(self._resolve(to), parsed.encode(*arguments)))

    def checksummed_labels(self) -> dict[str, str]:
        """All labels with their addresses as text, sorted by name."""
        return {label: checksum(self.labels[label]) for label in sorted(self.labels)}

    def addresses(self, labels: Iterable[str]) -> list[bytes]:
        """The addresses of several labels."""
        return [self[label] for label in labels]

    def _resolve(self, to: str | bytes) -> bytes:
        return self[to] if isinstance(to, str) else to


@cache
def _function(text: str) -> Function:
    return Function.parse(text)
