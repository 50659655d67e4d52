"""OpenZeppelin's VestingWallet: tokens released linearly or at a cliff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import ActionRefused
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import u64
from mayavi.protocols.tokens import Erc20, atomic

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ABI = [
    "beneficiary() view returns (address)",
    "start() view returns (uint256)",
    "duration() view returns (uint256)",
    "released(address token) view returns (uint256)",
    "releasable(address token) view returns (uint256)",
    "vestedAmount(address token, uint64 timestamp) view returns (uint256)",
    "release(address token)",
]


class VestingWallet:
    """VestingWallet by address; `VestingWallet.place` deploys one on a fork.

    Its balance vests linearly from `start` over `duration` seconds; tokens received later vest as if they had been
    there from the start. A cliff is a duration of one second that ends at the cliff: with a duration of zero the
    contract divides by zero in the second of the start.
    """

    def __init__(self, fork: Fork, wallet: AddressLike) -> None:
        self.fork = fork
        self.contract = fork.contract(wallet, _ABI)
        self.address = self.contract.address

    @classmethod
    def place(
        cls, fork: Fork, at: AddressLike, *, beneficiary: AddressLike, start: int, duration: int
    ) -> VestingWallet:
        """Deploy a wallet at the unused address `at`; `start` is a Unix time, `duration` in seconds."""
        from mayavi.worlds.artifacts import ArtifactStore

        arguments = fork.address_of(beneficiary), u64(start, "start"), u64(duration, "duration")
        fork.create_at(at, ArtifactStore().get("VestingWallet").initcode(arguments))
        return cls(fork, at)

    @property
    def beneficiary(self) -> bytes:
        """Receiver of released tokens."""
        address: bytes = self.contract.beneficiary()
        return address

    @property
    def start(self) -> int:
        """Start of vesting, a Unix time."""
        return int(self.contract.start())

    @property
    def duration(self) -> int:
        """Length of vesting in seconds."""
        return int(self.contract.duration())

    def vested(self, token: AddressLike, timestamp: int | None = None) -> int:
        """Amount of `token` vested by `timestamp` (default: now), released or not."""
        when = self.fork.timestamp if timestamp is None else u64(timestamp, "timestamp")
        return int(self.contract.vestedAmount(self.fork.address_of(token), when))

    def released(self, token: AddressLike) -> int:
        """Amount of `token` released so far."""
        return int(self.contract.released(self.fork.address_of(token)))

    def releasable(self, token: AddressLike) -> int:
        """Amount of `token` vested and not yet released."""
        return int(self.contract.releasable(self.fork.address_of(token)))

    def release(self, token: AddressLike, *, sender: AddressLike | None = None) -> int:
        """Release the releasable amount to the beneficiary and return it. Any account may call it."""
        place, amount = self.fork.address_of(token), self.releasable(token)
        if not amount:
            name = Erc20(self.fork, place).symbol
            raise ActionRefused(f"no {name} is releasable from {checksum(self.address)}", "`vested` tells when some is")
        with atomic(self.fork):
            self.contract.release(place, sender=self.beneficiary if sender is None else self.fork.address_of(sender))
        return amount

    def __repr__(self) -> str:
        return f"<VestingWallet {checksum(self.address)}>"
