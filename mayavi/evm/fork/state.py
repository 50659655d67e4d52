"""State of a fork: names, accounts, storage and snapshots. The base of `Fork`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from mayavi import _kernel
from mayavi.errors import NoCode, UnknownName
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum, to_address
from mayavi.evm.arguments import to_bytes, u64, word
from mayavi.evm.fork.registry import Snapshot, SnapshotRegistry
from mayavi.evm.rpc.missing_state import StateFetcher
from mayavi.evm.sent import GasPrice, Sent
from mayavi.evm.specialise import Specialised, chosen_specialise

if TYPE_CHECKING:
    from mayavi.evm.rpc.remote import RemoteState

T = TypeVar("T")
_UNREAD: Any = object()


class ForkState:
    """Accounts, storage and snapshots of a chain, with names for its contracts."""

    labels: dict[str, str]
    """Contract names and their checksummed addresses: "WETH", "AaveV3.Pool" … Kept in snapshots."""
    abis: dict[str, Any]
    """ABIs of the contracts that were deployed with a label. Kept in snapshots."""
    source: dict[str, Any]
    """Origin of the state: kind, chain, block, block hash, digest."""
    threads: int | None
    """Threads for batch reads, unless a call names its own; None is all cores. Results do not depend on it."""

    def _adopt(
        self, evm: _kernel.Evm, remote: RemoteState | None, labels: dict[str, str], source: dict[str, Any]
    ) -> None:
        self._evm = evm
        evm.specialise = chosen_specialise()
        self._fetcher = StateFetcher(evm, remote, source)
        self._snapshots = SnapshotRegistry(evm)
        self.labels = labels
        self.abis = {}
        self.source = source
        self.threads = None
        self._watchers: tuple[Callable[[Sent], None], ...] = ()
        self._gas_price: GasPrice | None = None
        self._charges_fees = self._checks_balance = False
        self._reads: tuple[int, dict[Hashable, Any]] = (-1, {})
        self._remembers = False

    @property
    def specialise(self) -> str:
        """Mode of specialised execution of reads: `off`, `on`, or `check`, which verifies every replay.

        Results are the same. The default is the environment variable `MAYAVI_SPECIALISE`, or `on`.
        """
        return self._evm.specialise

    @specialise.setter
    def specialise(self, mode: str) -> None:
        self._evm.specialise = chosen_specialise(mode)

    def read_within(self, work: Specialised, *, seed: int, counted: bool = True) -> None:
        """Use the mode of `work` for reads and sends, and count replays there.

        With `on`, outputs of single calls are cached until the state changes. `seed` decides which replays are also
        interpreted. Counts cover all forks of a world, so set `counted` for one of them only.
        """
        self.specialise = work.mode
        self._evm.seed_self_check(seed)
        self._remembers = work.mode == "on"
        if counted:
            work.watch(self, self._evm)

    def share_outcomes(self) -> None:
        """Reuse outcomes of calls and transactions of other sharing forks of this world that read the same values.

        Worth it for many forks that do nearly the same. Copies of this fork do not share.
        """
        self._evm.shares = True

    def statistics(self) -> list[dict[str, Any]]:
        """Return the counts of each call site of reads, of all forks of this world: calls, hits, misses by guard."""
        return self._evm.statistics()

    def finish_compiling(self) -> None:
        """Wait until every path of reads that is hot by now is machine code; for benchmarks and tests."""
        self._evm.finish_compiling()

    # -- names --------------------------------------------------------------------------------------------------------

    def address_of(self, name: AddressLike) -> bytes:
        """Address of a name in `labels`; addresses pass through. Methods that take an address take a name too."""
        if type(name) is bytes and len(name) == 20:
            return name
        if isinstance(name, str) and name[:2] not in ("0x", "0X"):
            if name not in self.labels:
                more = "`fork.labels` lists the names of this world; an address starts with 0x"
                raise UnknownName.of("address or contract", name, self.labels, more)
            return to_address(self.labels[name])
        return to_address(name)

    def _sender(self, sender: AddressLike | None) -> bytes:
        return ZERO_ADDRESS if sender is None else self.address_of(sender)

    def name(self, address: AddressLike) -> str:
        """Name of an address in `labels`, else its checksummed text."""
        text = checksum(address)
        try:
            at = [*self.labels.values()].index(text)  # ten times faster than a loop over hundreds of labels
        except ValueError:
            return text
        return next(islice(self.labels, at, None))

    def _require_code(self, to: bytes, what: str) -> None:
        # In the EVM, a call of an account without code succeeds. Precompiles, at the lowest addresses, have none.
        try:
            there = self._evm.has_code(to)
        except (_kernel.MissingState, RuntimeError):
            there = self._fetcher.run(lambda: self._evm.has_code(to))
        if not there and any(to[:18]):
            raise NoCode(f"{what} {self.name(to)}: no contract stands there", "check the address and the chain")

    # -- accounts -----------------------------------------------------------------------------------------------------

    def balance(self, address: AddressLike) -> int:
        """Native balance of an account, in wei."""
        place = self.address_of(address)
        return self._fetcher.run(lambda: self._evm.balance(place))

    def nonce(self, address: AddressLike) -> int:
        """Number of transactions sent, or contracts created, by an account."""
        place = self.address_of(address)
        return self._fetcher.run(lambda: self._evm.nonce(place))

    def code(self, address: AddressLike) -> bytes:
        """Runtime code of an account; empty if it is not a contract."""
        place = self.address_of(address)
        return self._fetcher.run(lambda: self._evm.code(place))

    def storage(self, address: AddressLike, slot: int) -> int:
        """One storage slot of a contract."""
        place = self.address_of(address)
        slot = word(slot, "slot")
        return self._fetcher.run(lambda: self._evm.storage(place, slot))

    def set_balance(self, address: AddressLike, amount: int) -> None:
        """Set the native balance of an account, in wei."""
        place = self.address_of(address)
        amount = word(amount)
        self._fetcher.run(lambda: self._evm.set_balance(place, amount))
        self._snapshots.record_write()

    def set_nonce(self, address: AddressLike, nonce: int) -> None:
        """Set the nonce of an account."""
        place = self.address_of(address)
        nonce = u64(nonce, "nonce")
        self._fetcher.run(lambda: self._evm.set_nonce(place, nonce))
        self._snapshots.record_write()

    def set_code(self, address: AddressLike, code: bytes) -> None:
        """Replace the runtime code at an address; its storage stays."""
        place, content = self.address_of(address), to_bytes(code, "code")
        self._fetcher.run(lambda: self._evm.set_code(place, content))
        self._snapshots.record_write()

    def set_storage(self, address: AddressLike, slot: int, value: int) -> None:
        """Write one storage slot of a contract."""
        place = self.address_of(address)
        slot = word(slot, "slot")
        value = word(value, "value")
        self._fetcher.run(lambda: self._evm.set_storage(place, slot, value))
        self._snapshots.record_write()

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Take a snapshot; snapshots nest. `with fork.snapshot():` reverts at the end."""
        return self._snapshots.take()

    def revert(self, snapshot: Snapshot) -> None:
        """Revert to `snapshot`, which closes it and all later ones."""
        self._snapshots.revert(snapshot)

    @property
    def marker(self) -> int:
        """Version number of the state: every write changes it, and reverting to a snapshot restores it."""
        return self._snapshots.marker

    def read_once(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return `read()`, and the same object again for `key` as long as the state does not change."""
        known = self._known_reads()
        found: T = known.get(key, _UNREAD)
        if found is _UNREAD:
            found = known[key] = read()
        return found

    def _known_reads(self) -> dict[Hashable, Any]:
        """What was read since the state changed last."""
        if self._reads[0] != self._snapshots.marker:
            self._reads = (self._snapshots.marker, {})
        return self._reads[1]

    def digest(self) -> str:
        """SHA-256 of the canonical bytes of the current state."""
        # A node adds to the state without a write.
        return self._evm.digest() if self._fetcher.remote else self.read_once("digest", self._evm.digest)

    # -- measurements -------------------------------------------------------------------------------------------------

    @property
    def kernel_seconds(self) -> float:
        """Seconds this fork has spent in the kernel; a copy starts at zero."""
        return self._evm.seconds

    @property
    def requests(self) -> int:
        """Number of requests made to the node."""
        return self._fetcher.remote.requests if self._fetcher.remote else 0

    @property
    def fetches_missing(self) -> bool:
        """Whether missing state is fetched from a node. If not, reading it raises `MissingStateError`."""
        return self._fetcher.remote is not None

    @property
    def items_fetched(self) -> int:
        """Number of accounts, slots and block hashes fetched so far, from the node or its cache."""
        return self._fetcher.remote.asked if self._fetcher.remote else 0
