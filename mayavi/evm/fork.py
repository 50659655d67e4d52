"""`Fork`: the handle everyone holds on a chain, real or replica."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from mayavi import _kernel
from mayavi.errors import (
    BadInteger,
    ExecutionError,
    NoCode,
    SetupError,
    TransactionInvalid,
    UnknownName,
    UsageError,
)
from mayavi.evm import chains, failures, token_balance
from mayavi.evm.abi.contract import Contract
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum, to_address
from mayavi.evm.arguments import octets, u64, word
from mayavi.evm.receipt import CallFrame, Receipt, frame_tree
from mayavi.evm.registry import Snapshot, SnapshotRegistry
from mayavi.evm.rpc.missing_state import Learner
from mayavi.evm.sent import GasPrice, Sent

if TYPE_CHECKING:
    from mayavi.evm.clock import ClockedEvm
    from mayavi.evm.fleet import Words
    from mayavi.evm.rpc.header import Header
    from mayavi.evm.rpc.remote import RemoteState

T = TypeVar("T")

_replica_builder: Callable[[str], Fork] | None = None
_label_book: Callable[[int], dict[str, str]] | None = None


def register_replica_builder(
    builder: Callable[[str], Fork], labels: Callable[[int], dict[str, str]] | None = None
) -> None:
    """Tell `Fork` who builds replicas and who knows the names of a chain's contracts. `mayavi.worlds` does it."""
    global _replica_builder, _label_book
    _replica_builder, _label_book = builder, labels


class Fork:
    """A chain at a block, to read from and to act on. Nothing done here ever reaches a real chain.

    Open one with `Fork.replica("ethereum")` (offline), `Fork.from_rpc(url, block)` (a node, through a cache),
    `Fork.load_snapshot(path)` or `Fork.empty(...)`. `Fork(rpc_url=..., fork_block=...)` is `from_rpc`.

    Reads (`call`, `balance`, `storage` …) change nothing; `send`, `deploy`, `deal` and setters do, on this fork alone.
    Addresses are 20 bytes or checksummed text; amounts are exact integers in the token's smallest unit. A call that
    fails raises with its decoded reason. State that is not there raises `MissingStateError`, never reads as zero.

        fork = Fork.replica("ethereum")
        fork.deal("WETH", alice, 10**18)
        with fork.snapshot():
            fork.send(pool, calldata, sender=alice)
    """

    labels: dict[str, str]
    """Names of contracts and their checksummed addresses: "WETH", "AaveV3.Pool" … Kept in snapshots."""
    source: dict[str, Any]
    """Where this world came from: kind, chain, block, block hash, digest."""
    threads: int | None
    """How many threads batch reads use where a call names none; None is all cores. Results do not depend on it."""

    def __init__(self, rpc_url: str | None = None, fork_block: int | str | None = None, **options: Any) -> None:
        opened = Fork.from_rpc(rpc_url, fork_block, **options)
        self._adopt(opened._evm, opened._learner.remote, opened.labels, opened.source)

    # -- opening ------------------------------------------------------------------------------------------------------

    @classmethod
    def replica(cls, chain: str = "ethereum") -> Fork:
        """The offline replica of `chain`, with the protocols' own code at their real addresses."""
        if _replica_builder is None:
            raise SetupError(
                "no replica builder is registered", "import Fork from `mayavi`, or import `mayavi.worlds` first"
            )
        if not isinstance(chain, str):
            raise UsageError(f"{chain!r} is not the name of a chain", "`mayavi world list` shows those there are")
        return _replica_builder(chain)

    @classmethod
    def from_rpc(
        cls,
        url: str | None = None,
        block: int | str | None = None,
        *,
        chain: str | int | None = None,
        hardfork: str | None = None,
        **options: Any,
    ) -> Fork:
        """The state behind a node after `block`: a number, a block hash or "latest" (the default).

        Without `url` it is read from `MAYAVI_RPC_URL_<CHAIN>`, `MAYAVI_RPC_URL` or `ALCHEMY_RPC_URL`. `chain` names the
        chain the node must serve; `hardfork` overrides the rules that follow from chain and block. What is read is kept
        in a cache, so opening the same block again makes no request. Other `options` go to `RemoteState.open`.
        """
        from mayavi.evm.rpc.remote import RemoteState, url_from_environment

        expected = chains.chain(chain) if chain is not None else None
        url = url or url_from_environment(expected.name if expected else None)
        expected_id = expected.chain_id if expected else None
        remote = RemoteState.open(url, "latest" if block is None else block, chain_id=expected_id, **options)
        header = remote.header
        rules = hardfork or _rules(remote.chain_id, header)
        evm = _new_evm(remote.chain_id, rules, closed=False)
        evm.set_block(
            number=header.number,
            timestamp=header.timestamp,
            coinbase=header.coinbase,
            gas_limit=header.gas_limit,
            difficulty=header.difficulty,
            base_fee=header.base_fee,
            prevrandao=header.prevrandao,
            excess_blob_gas=header.excess_blob_gas,
            blob_fee_fraction=chains.blob_fee_fraction_at(remote.chain_id, header.timestamp, rules),
        )
        evm.learn_block_hash(header.number, header.hash)
        evm.probe = True
        source = {
            "kind": "rpc",
            "chain_id": remote.chain_id,
            "block": header.number,
            "block_hash": "0x" + header.hash.hex(),
        }
        return cls._of(evm, remote, _labels_of(remote.chain_id), source)

    @classmethod
    def load_snapshot(cls, path: str | Path) -> Fork:
        """The fork written to `path` by `dump_snapshot`. Opens with no network."""
        from mayavi.evm.snapshot import read_snapshot

        state, metadata = read_snapshot(Path(path))
        return cls.from_state(state, labels=metadata.get("labels", {}), source=metadata.get("source", {}))

    @classmethod
    def from_state(cls, state: _kernel.State, *, labels: dict[str, str], source: dict[str, Any]) -> Fork:
        """A fork that stands on a frozen world."""
        return cls._of(_kernel.Evm.from_state(state), None, dict(labels), dict(source))

    @classmethod
    def empty(cls, *, chain_id: int = 1, hardfork: str = "shanghai") -> Fork:
        """A chain with nothing on it: every account is empty, and known to be."""
        chain_id = u64(chain_id, "chain id")
        source = {"kind": "empty", "chain_id": chain_id}
        return cls._of(_new_evm(chain_id, hardfork, closed=True), None, {}, source)

    @classmethod
    def _of(cls, evm: _kernel.Evm, remote: RemoteState | None, labels: dict[str, str], source: dict[str, Any]) -> Fork:
        fork = object.__new__(cls)
        fork._adopt(evm, remote, labels, source)
        return fork

    def _adopt(
        self, evm: _kernel.Evm, remote: RemoteState | None, labels: dict[str, str], source: dict[str, Any]
    ) -> None:
        self._evm = evm
        self._learner = Learner(evm, remote, source)
        self._snapshots = SnapshotRegistry(evm)
        self.labels = labels
        self.source = source
        self.threads = None
        self._watchers: tuple[Callable[[Sent], None], ...] = ()
        self._gas_price: GasPrice | None = None
        self._charges_fees = self._checks_balance = False

    # -- acting -------------------------------------------------------------------------------------------------------

    def call(
        self, to: AddressLike, data: bytes, sender: AddressLike | None = None, value: int = 0, gas: int | None = None
    ) -> bytes:
        """Execute `data` at `to` and return the output; nothing is kept. Without `sender` the zero address calls."""
        # The hot path: bytes in, bytes out, straight through the kernel. What fails is looked at more closely below.
        if type(to) is bytes and (sender is None or type(sender) is bytes):
            try:
                output = self._evm.call(to, data, sender, value, gas)
            except (_kernel.Reverted, _kernel.Halted) as error:
                raise failures.located(failures.explained(error), f"call of {self.name(to)}", data) from None
            except (_kernel.MissingState, _kernel.InvalidTransaction, TypeError, ValueError, OverflowError):
                pass
            else:
                if output or (data and self._evm.has_code(to)):
                    return output
        return self._call_checked(self.address_of(to), data, sender, value, gas)

    def _call_checked(self, to: bytes, data: bytes, sender: AddressLike | None, value: int, gas: int | None) -> bytes:
        data, origin = octets(data), self._sender(sender)
        value, gas = word(value), _gas(gas)
        try:
            output = self._learner.run(lambda: self._evm.call(to, data, origin, value, gas), (to, data, origin, value))
        except ExecutionError as error:
            raise failures.located(error, f"call of {self.name(to)}", data) from None
        if not output and data:
            self._require_code(to, "call of")
        return output

    @overload
    def call_many(
        self,
        to: AddressLike,
        datas: Sequence[bytes],
        sender: AddressLike | None = None,
        *,
        gas: int | None = None,
        check: Literal[True] = True,
        threads: int | None = None,
        verify: bool = False,
    ) -> list[bytes]: ...

    @overload
    def call_many(
        self,
        to: AddressLike,
        datas: Sequence[bytes],
        sender: AddressLike | None = None,
        *,
        gas: int | None = None,
        check: bool,
        threads: int | None = None,
        verify: bool = False,
    ) -> list[bytes | None]: ...

    def call_many(
        self,
        to: AddressLike,
        datas: Sequence[bytes],
        sender: AddressLike | None = None,
        *,
        gas: int | None = None,
        check: bool = True,
        threads: int | None = None,
        verify: bool = False,
    ) -> Sequence[bytes | None]:
        """Execute each of `datas` at `to` on the state as it stands, in one go; nothing is kept.

        Every output is what `call` gives, many times as fast. A call that fails raises and says which it was; with
        `check=False` it is `None` instead. `threads` is by default the number of cores this process may use; results do
        not depend on it. `verify` computes everything twice, the second time call by call, and compares.
        """
        from mayavi.evm import views

        place, origin = self.address_of(to), self._sender(sender)
        return views.call_many(self, place, datas, origin, gas, check=check, threads=threads, verify=verify)

    def call_words(
        self,
        to: AddressLike,
        data: bytes,
        holes: Mapping[int, Any],
        returns: int,
        sender: AddressLike | None = None,
        *,
        gas: int | None = None,
        check: bool = True,
        threads: int | None = None,
        verify: bool = False,
    ) -> list[Words]:
        """`call_many` for arrays: one call for each row of `holes`, whose columns go into `data` at their byte offsets.

        A column is what `Fleet.run` takes: integers, addresses, words, or one of these for all rows. Comes back as
        `returns` columns of words. With `check=False` a call that fails gives zeros.

            collateral, debt = fork.call_words(pool, calldata, {4: accounts}, returns=2)
        """
        from mayavi.evm import views

        place, origin = self.address_of(to), self._sender(sender)
        return views.call_words(
            self, place, data, holes, returns, origin, gas, check=check, threads=threads, verify=verify
        )

    def send(
        self,
        to: AddressLike,
        data: bytes = b"",
        sender: AddressLike | None = None,
        value: int = 0,
        gas: int | None = None,
        *,
        gas_price: int = 0,
        priority_fee: int | None = None,
        check: bool = True,
    ) -> Receipt:
        """Execute a transaction and keep its effects. Without `sender` it comes from the zero address.

        A failed one raises, unless `check` is false: then its receipt says so. As on a chain, a failed transaction
        leaves no trace but the sender's nonce. Fees are charged only after `set_rules(charge_fees=True)`.
        """
        to, data, origin = self.address_of(to), octets(data), self._sender(sender)
        value, gas = word(value), _gas(gas)
        if data:
            self._require_code(to, "transaction to")
        if self._gas_price is not None and not gas_price and priority_fee is None:
            gas_price, priority_fee = self._price_for(origin)
        receipt = Receipt.of(
            self._learner.run(
                lambda: self._evm.transact(to, data, origin, value, gas, gas_price, priority_fee),
                (to, data, origin, value),
            )
        )
        self._sent(to, origin, receipt, gas_price, priority_fee)
        if check and not receipt.success:
            raise failures.failure(receipt, f"transaction to {self.name(to)}", data)
        return receipt

    def _require_code(self, to: bytes, what: str) -> None:
        # The EVM itself takes such a call for a success. Precompiles live at the lowest addresses and have no code.
        if not self._learner.run(lambda: self._evm.has_code(to)) and any(to[:18]):
            raise NoCode(f"{what} {self.name(to)}: no contract stands there", "check the address and the chain")

    def deploy(
        self, initcode: bytes, sender: AddressLike | None = None, value: int = 0, gas: int | None = None
    ) -> bytes:
        """Create a contract and return its address, which follows from the sender and its nonce."""
        origin, code = self._sender(sender), octets(initcode, "initcode")
        value, gas = word(value), _gas(gas)
        price, tip = self._price_for(origin)
        receipt = Receipt.of(self._learner.run(lambda: self._evm.transact(None, code, origin, value, gas, price, tip)))
        self._sent(None, origin, receipt, price, tip)
        if not receipt.success or receipt.created is None:
            raise failures.failure(receipt, "deployment", b"")
        return receipt.created

    def create_at(
        self, address: AddressLike, initcode: bytes, sender: AddressLike | None = None, value: int = 0
    ) -> Receipt:
        """Run a constructor so that its contract comes to stand at `address`, which must be free."""
        place, origin, code = self.address_of(address), self._sender(sender), octets(initcode, "initcode")
        value = word(value)
        receipt = Receipt.of(self._learner.run(lambda: self._evm.create_at(place, code, origin, value)))
        self._snapshots.wrote()
        if not receipt.success:
            raise failures.failure(receipt, f"creation at {self.name(place)}", b"")
        return receipt

    def trace(
        self,
        to: AddressLike | None,
        data: bytes = b"",
        sender: AddressLike | None = None,
        value: int = 0,
        gas: int | None = None,
        *,
        commit: bool = False,
    ) -> CallFrame:
        """Execute and return the tree of calls with gas, logs and decoded reverts. A failure does not raise."""
        place, origin, payload = None if to is None else self.address_of(to), self._sender(sender), octets(data)
        value, gas = word(value), _gas(gas)
        _, frames = self._learner.run(lambda: self._evm.trace(place, payload, origin, value, gas, commit))
        if commit:
            self._snapshots.wrote()
        if not frames:
            raise TransactionInvalid("the transaction ended before its first call", "give it more gas")
        return frame_tree(frames)

    def deal(self, token: AddressLike, holder: AddressLike, amount: int) -> None:
        """Give `holder` exactly `amount` of `token`: a name of `labels`, an address, or "ETH" for the native coin.

        The balance is written into the token's storage; its total supply moves by the difference, so sums stay right.
        """
        place = self.address_of(holder)
        amount = word(amount)
        if isinstance(token, str) and token.upper() == "ETH":
            self.set_balance(place, amount)
        else:
            token_balance.deal(self, self.address_of(token), place, amount)

    # -- watching -----------------------------------------------------------------------------------------------------

    def watch(self, sent: Callable[[Sent], None], undone: Callable[[int], None] | None = None) -> Callable[[], None]:
        """Tell `sent` of every transaction right after it was executed, failed ones included; call the result to stop.

        `undone` is told the marker that a snapshot went back to: whatever was sent with a higher one is gone.
        """
        snapshots = self._snapshots
        self._watchers += (sent,)
        snapshots.reverted += (undone,) if undone else ()

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not sent)
            snapshots.reverted = tuple(each for each in snapshots.reverted if each is not undone)

        return stop

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """What is done inside is undone at the end, pays no gas, and no watcher is told of it."""
        watchers, price = self._watchers, self._gas_price
        self._watchers, self._gas_price = (), None
        try:
            with self.snapshot():
                yield
        finally:
            self._watchers, self._gas_price = watchers, price

    @contextmanager
    def paying(
        self, base_fee_wei: int, priority_fee_wei: int = 0, payers: Container[bytes] | None = None
    ) -> Iterator[None]:
        """Inside, transactions that name no price pay this one for their gas, from the sender's native coins.

        The base fee, which becomes the block's, is burned; the tip goes to the block's coinbase. Where `payers` are
        named, only they pay. As on a chain, a sender must hold the price of all the gas it allows, by default 30
        million units; what is not used is not taken.
        """
        price = GasPrice(u64(base_fee_wei, "base fee"), u64(priority_fee_wei, "priority fee"), payers)
        before, rules = self._gas_price, (self._charges_fees, self._checks_balance)
        if self._evm.block()["base_fee"] != price.base_fee_wei:
            self.set_block(base_fee=price.base_fee_wei)
        self.set_rules(charge_fees=True, check_balance=True)
        self._gas_price = price
        try:
            yield
        finally:
            self._gas_price = before
            self.set_rules(charge_fees=rules[0], check_balance=rules[1])

    def clock(self) -> ClockedEvm:
        """Time what this fork does inside the kernel from now on: `.seconds` of the result."""
        from mayavi.evm.clock import clocked

        clock = clocked(self._evm)
        self._evm = self._snapshots._evm = cast("_kernel.Evm", clock)
        return clock

    @property
    def marker(self) -> int:
        """A number for this moment: it changes with whatever is written, and comes back with a snapshot."""
        return self._snapshots.marker

    def _price_for(self, sender: bytes) -> tuple[int, int | None]:
        price = self._gas_price
        if price is None or (price.payers is not None and sender not in price.payers):
            return 0, None
        return price.wei, price.priority_fee_wei

    def _sent(
        self, to: bytes | None, sender: bytes, receipt: Receipt, gas_price: int, priority_fee: int | None
    ) -> None:
        marker = self._snapshots.wrote()
        if self._watchers:
            if priority_fee is not None and (self._gas_price is None or gas_price != self._gas_price.wei):
                gas_price = min(gas_price, self._evm.block()["base_fee"] + priority_fee)
            fee = receipt.gas_used * gas_price if self._charges_fees else 0
            told = Sent(to, sender, receipt, fee, marker)
            for watcher in self._watchers:
                watcher(told)

    # -- state --------------------------------------------------------------------------------------------------------

    def balance(self, address: AddressLike) -> int:
        """Native coins of an account, in wei."""
        place = self.address_of(address)
        return self._learner.run(lambda: self._evm.balance(place))

    def nonce(self, address: AddressLike) -> int:
        """Transactions sent, or contracts created, by an account."""
        place = self.address_of(address)
        return self._learner.run(lambda: self._evm.nonce(place))

    def code(self, address: AddressLike) -> bytes:
        """The runtime code of an account; empty where no contract stands."""
        place = self.address_of(address)
        return self._learner.run(lambda: self._evm.code(place))

    def storage(self, address: AddressLike, slot: int) -> int:
        """One storage slot of a contract."""
        place = self.address_of(address)
        slot = word(slot, "slot")
        return self._learner.run(lambda: self._evm.storage(place, slot))

    def set_balance(self, address: AddressLike, amount: int) -> None:
        """Set the native coins of an account, in wei."""
        place = self.address_of(address)
        amount = word(amount)
        self._learner.run(lambda: self._evm.set_balance(place, amount))
        self._snapshots.wrote()

    def set_nonce(self, address: AddressLike, nonce: int) -> None:
        """Set the nonce of an account."""
        place = self.address_of(address)
        nonce = u64(nonce, "nonce")
        self._learner.run(lambda: self._evm.set_nonce(place, nonce))
        self._snapshots.wrote()

    def set_code(self, address: AddressLike, code: bytes) -> None:
        """Put runtime code at an address; its storage stays."""
        place, content = self.address_of(address), octets(code, "code")
        self._learner.run(lambda: self._evm.set_code(place, content))
        self._snapshots.wrote()

    def set_storage(self, address: AddressLike, slot: int, value: int) -> None:
        """Write one storage slot of a contract."""
        place = self.address_of(address)
        slot = word(slot, "slot")
        value = word(value, "value")
        self._learner.run(lambda: self._evm.set_storage(place, slot, value))
        self._snapshots.wrote()

    def touched(self, to: AddressLike, data: bytes, sender: AddressLike | None = None) -> list[tuple[bytes, list[int]]]:
        """The accounts and slots a call reads, sorted."""
        place, origin, payload = self.address_of(to), self._sender(sender), octets(data)
        return self._learner.run(lambda: self._evm.touched(place, payload, origin))

    # -- time ---------------------------------------------------------------------------------------------------------

    def mine(self, blocks: int = 1, seconds: int | None = None) -> None:
        """Move on by `blocks`, and by `seconds` (default: the chain's usual time for so many blocks)."""
        blocks = u64(blocks, "blocks")
        self._evm.advance(blocks, blocks * self._block_seconds() if seconds is None else u64(seconds, "seconds"))
        self._snapshots.wrote()

    def _block_seconds(self) -> int:
        try:
            return chains.chain(self.chain_id).block_seconds
        except UnknownName as error:
            raise UsageError(f"the pace of chain {self.chain_id} is not known", "give mine(…, seconds=…)") from error

    def set_block(
        self,
        *,
        number: int | None = None,
        timestamp: int | None = None,
        coinbase: AddressLike | None = None,
        base_fee: int | None = None,
        gas_limit: int | None = None,
        prevrandao: bytes | None = None,
        excess_blob_gas: int | None = None,
    ) -> None:
        """Set fields of the block environment; the ones not named stay as they are."""
        if prevrandao is not None and len(prevrandao) != 32:
            raise UsageError(f"prevrandao has {len(prevrandao)} bytes, not 32")
        fraction = chains.blob_fee_fraction_at(self.chain_id, timestamp or self.timestamp, self.hardfork)
        try:
            self._evm.set_block(
                number=None if number is None else u64(number, "block number"),
                timestamp=None if timestamp is None else u64(timestamp, "timestamp"),
                coinbase=None if coinbase is None else self.address_of(coinbase),
                base_fee=None if base_fee is None else u64(base_fee, "base fee"),
                gas_limit=None if gas_limit is None else u64(gas_limit, "gas limit"),
                prevrandao=prevrandao,
                excess_blob_gas=None if excess_blob_gas is None else u64(excess_blob_gas, "excess blob gas"),
                blob_fee_fraction=fraction,
            )
        except ValueError as error:
            raise BadInteger(str(error)) from None
        self._snapshots.wrote()

    def set_rules(
        self,
        *,
        charge_fees: bool | None = None,
        check_balance: bool | None = None,
        check_nonce: bool | None = None,
        check_base_fee: bool | None = None,
    ) -> None:
        """Switch a transaction's checks on or off; the ones not named stay as they are. All are off at first."""
        self._evm.set_rules(
            charge_fees=charge_fees, check_balance=check_balance, check_nonce=check_nonce, check_base_fee=check_base_fee
        )
        self._charges_fees = self._charges_fees if charge_fees is None else charge_fees
        self._checks_balance = self._checks_balance if check_balance is None else check_balance

    @property
    def block(self) -> dict[str, Any]:
        """The block environment calls run in."""
        return self._evm.block()

    @property
    def block_number(self) -> int:
        """The number of the current block."""
        return int(self._evm.block()["number"])

    @property
    def timestamp(self) -> int:
        """The time of the current block, in seconds since 1970."""
        return int(self._evm.block()["timestamp"])

    @property
    def chain_id(self) -> int:
        """The chain's id."""
        return self._evm.chain_id

    @property
    def hardfork(self) -> str:
        """The hard fork whose rules apply."""
        return self._evm.hardfork

    # -- moments and copies -------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Open a snapshot of this moment; snapshots nest. `with fork.snapshot():` goes back at the end."""
        return self._snapshots.take()

    def revert(self, snapshot: Snapshot) -> None:
        """Go back to `snapshot`; it and all later ones are closed."""
        self._snapshots.revert(snapshot)

    def copy(self) -> Fork:
        """An independent twin; costs what was written so far, not what the world holds."""
        twin = Fork._of(self._evm.copy(), self._learner.remote, dict(self.labels), dict(self.source))
        twin.threads, twin._charges_fees, twin._checks_balance = self.threads, self._charges_fees, self._checks_balance
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Fork:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker process gets the state as it stands. A fork of a node travels without it, and knows what it has read.
        return _restored, (self._evm.dump(), self.labels, self.source)

    def frozen(self) -> Fork:
        """A twin on a frozen world of its own: copies and fleet rows of it cost only what they write themselves."""
        return Fork.from_state(self._evm.freeze(), labels=self.labels, source=self.source)

    def freeze(self) -> _kernel.State:
        """Everything that stands now, as a frozen world for `Fleet`s and other forks to stand on."""
        return self._evm.freeze()

    def digest(self) -> str:
        """The identity of the state as it stands: SHA-256 of its canonical bytes."""
        return self._evm.digest()

    def dump_snapshot(self, path: str | Path) -> str:
        """Write everything this fork has read or written to `path`, and return its digest.

        The file opens with no network and gives the same results, or refuses with the slot it lacks. The old file at
        `path` stays intact until the new one is complete.
        """
        from mayavi import __version__
        from mayavi.evm.snapshot import write_snapshot

        metadata = {
            "labels": self.labels,
            "source": self.source,
            "chain_id": self.chain_id,
            "block": self.block_number,
            "hardfork": self.hardfork,
            "written_by": __version__,
        }
        return write_snapshot(Path(path), self._evm.dump(), metadata)

    # -- names --------------------------------------------------------------------------------------------------------

    def address_of(self, name: AddressLike) -> bytes:
        """The address of a name of `labels`; addresses pass through. Where a fork takes an address, a name will do."""
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
        """The name of an address in `labels`, or its checksummed text."""
        text = checksum(address)
        for label, known in self.labels.items():
            if known == text:
                return label
        return text

    def contract(self, address: AddressLike, abi: Any) -> Contract:
        """A contract to call by method names, from its ABI (JSON entries, an artifact, or signatures)."""
        return Contract(self.address_of(address), abi, self)

    @property
    def requests(self) -> int:
        """How many requests this fork has made to its node."""
        return self._learner.remote.requests if self._learner.remote else 0

    @property
    def learns(self) -> bool:
        """Whether state that is missing is read from a node; where not, reading it is an error."""
        return self._learner.remote is not None

    @property
    def facts_read(self) -> int:
        """How many accounts, slots and block hashes were asked for so far, of the node or of its cache."""
        return self._learner.remote.asked if self._learner.remote else 0

    def close(self) -> None:
        """Let go of the connection to the node and of the cache. What was read can still be used."""
        if self._learner.remote is not None:
            self._learner.remote.close()

    def __repr__(self) -> str:
        return f"<Fork {self.source.get('kind', '?')} chain {self.chain_id} block {self.block_number} {self.hardfork}>"


def _restored(dump: bytes, labels: dict[str, str], source: dict[str, Any]) -> Fork:
    return Fork.from_state(_kernel.State.load(dump), labels=labels, source=source)


def _new_evm(chain_id: int, hardfork: str, *, closed: bool) -> _kernel.Evm:
    if hardfork not in _kernel.hardforks():
        raise UnknownName.of("hard fork", hardfork, _kernel.hardforks(), f"known: {', '.join(_kernel.hardforks())}")
    return _kernel.Evm(chain_id, hardfork, closed=closed)


def _rules(chain_id: int, header: Header) -> str:
    """The hard fork a block follows: by the chain's schedule, on development nodes by the form of its header."""
    scheduled = chains.hardfork_at(chain_id, header.number, header.timestamp)
    return header.form if chains.chain(chain_id).dev else scheduled


def _labels_of(chain_id: int) -> dict[str, str]:
    return _label_book(chain_id) if _label_book else {}


def _gas(gas: int | None) -> int | None:
    return None if gas is None else u64(gas, "gas")
