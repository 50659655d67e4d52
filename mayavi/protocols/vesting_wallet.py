"""OpenZeppelin's VestingWallet: tokens that become its beneficiary's little by little, or all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import ActionRefused
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import u64
from mayavi.protocols.tokens import Erc20, undone_on_failure

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
    """A wallet by its address; `VestingWallet.place` puts one on a fork.

    From `start`, over `duration` seconds, what it was given vests in a straight line. Whatever it receives later vests
    as if it had been there from the beginning. A cliff is a duration of one second that ends at the cliff: with a
    duration of zero the contract divides by it in the very second of the start, and answers nothing then.
    """

    def __init__(self, fork: Fork, wallet: AddressLike) -> None:
        self.fork = fork
        self.contract = fork.contract(wallet, _ABI)
        self.address = self.contract.address

    @classmethod
    def place(
        cls, fork: Fork, at: AddressLike, *, beneficiary: AddressLike, start: int, duration: int
    ) -> VestingWallet:
        """Put a wallet at `at`, which must be free: times are seconds, `start` since 1970."""
        from mayavi.worlds.artifacts import ArtifactStore

        arguments = fork.address_of(beneficiary), u64(start, "start"), u64(duration, "duration")
        fork.create_at(at, ArtifactStore().get("VestingWallet").initcode(arguments))
        return cls(fork, at)

    @property
    def beneficiary(self) -> bytes:
        """Who gets what is released."""
        address: bytes = self.contract.beneficiary()
        return address

    @property
    def start(self) -> int:
        """When vesting begins, in seconds since 1970."""
        return int(self.contract.start())

    @property
    def duration(self) -> int:
        """How many seconds it takes."""
        return int(self.contract.duration())

    def vested(self, token: AddressLike, timestamp: int | None = None) -> int:
        """What has vested of `token` until `timestamp`, or now, whether released or not."""
        when = self.fork.timestamp if timestamp is None else u64(timestamp, "timestamp")
        return int(self.contract.vestedAmount(self.fork.address_of(token), when))

    def released(self, token: AddressLike) -> int:
        """What was released of `token` so far."""
        return int(self.contract.released(self.fork.address_of(token)))

    def releasable(self, token: AddressLike) -> int:
        """What has vested of `token` and was not released yet."""
        return int(self.contract.releasable(self.fork.address_of(token)))

    def release(self, token: AddressLike, *, sender: AddressLike | None = None) -> int:
        """Send what is releasable to the beneficiary, and give how much it was. Anybody may."""
        place, amount = self.fork.address_of(token), self.releasable(token)
        if not amount:
            name = Erc20(self.fork, place).symbol
            raise ActionRefused(f"no {name} is releasable from {checksum(self.address)}", "`vested` tells when some is")
        with undone_on_failure(self.fork):
            self.contract.release(place, sender=self.beneficiary if sender is None else self.fork.address_of(sender))
        return amount

    def __repr__(self) -> str:
        return f"<VestingWallet {checksum(self.address)}>"
