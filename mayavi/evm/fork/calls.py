"""Calls and transactions on a fork. A base of `Fork`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from mayavi import _kernel
from mayavi.errors import CallHalted, CallReverted, ExecutionError, MissingStateError, TransactionInvalid
from mayavi.evm import failures
from mayavi.evm.address import AddressLike, are_addresses
from mayavi.evm.arguments import to_bytes, u64, u128, word
from mayavi.evm.fork.watching import ForkWatching
from mayavi.evm.receipt import CallFrame, Receipt, frame_tree

if TYPE_CHECKING:
    from mayavi.evm.fork.grid import Grid
    from mayavi.evm.words import Words


FEW_CALLS = 6
"""Largest batch that is executed as single calls."""
Step = tuple[bytes, bytes, tuple[bytes, bytes] | None]
"""Target, calldata and, for a read, inclusive bounds of the first output word, 32 bytes each; else None."""
_MOST_REMEMBERED = 1 << 14
"""Most call outputs cached for one state."""


class ForkCalls(ForkWatching):
    """Calls, batches of calls, transactions and traces."""

    # -- reading ------------------------------------------------------------------------------------------------------

    def call(
        self, to: AddressLike, data: bytes, sender: AddressLike | None = None, value: int = 0, gas: int | None = None
    ) -> bytes:
        """Execute `data` at `to` and return the output, without effects. The default sender is the zero address."""
        # Hot path: bytes in, bytes out, straight through the kernel. `_call_checked` explains what fails here.
        if type(to) is bytes and (sender is None or type(sender) is bytes):
            known, key = None, None
            if self._remembers and type(data) is bytes:
                marker, known = self._reads
                if marker != self._snapshots.marker:
                    known = self._known_reads()
                key = (to, data) if sender is None and not value and gas is None else (to, data, sender, value, gas)
                remembered: bytes | None = known.get(key)
                if remembered is not None:
                    return remembered
            try:
                output = self._evm.call(to, data, sender, value, gas)
            except (_kernel.Reverted, _kernel.Halted) as error:
                raise failures.located(failures.explained(error), f"call of {self.name(to)}", data) from None
            except (_kernel.MissingState, _kernel.InvalidTransaction, TypeError, ValueError, OverflowError):
                pass
            else:
                if output or (data and self._evm.has_code(to)):
                    if known is not None and len(known) < _MOST_REMEMBERED:
                        known[key] = output
                    return output
        return self._call_checked(self.address_of(to), data, sender, value, gas)

    def call_if_any(self, to: bytes, data: bytes) -> bytes | None:
        """Execute a call like `call`, but return None if it reverts or halts, as when the function is missing."""
        try:
            if output := self._evm.call(to, data, None, 0, None):
                return output
        except (_kernel.Reverted, _kernel.Halted):
            return None
        except (_kernel.MissingState, _kernel.InvalidTransaction):
            pass
        try:
            return self.call(to, data)  # fetches missing state, and raises if there is no code
        except (CallReverted, CallHalted):
            return None

    def _call_checked(self, to: bytes, data: bytes, sender: AddressLike | None, value: int, gas: int | None) -> bytes:
        data, origin = to_bytes(data), self._sender(sender)
        value, gas = word(value), gas_limit(gas)
        try:
            output = self._fetcher.run(lambda: self._evm.call(to, data, origin, value, gas), (to, data, origin, value))
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
        device: str | None = None,
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
        device: str | None = None,
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
        device: str | None = None,
    ) -> Sequence[bytes | None]:
        """Execute each of `datas` at `to` on the current state, in one batch and without effects.

        Outputs equal those of `call`, at many times the speed. A failed call raises with its index, or with
        `check=False` gives `None`. `threads` defaults to the cores of this process; results do not depend on it.
        `verify` computes everything a second time, call by call, and compares. `device="cuda"` computes calls
        on recorded paths on a GPU; the processor executes the others. For one state a GPU is slower; `grid` is for
        many.
        """
        from mayavi.evm.fork import views

        place, origin = self.address_of(to), self._sender(sender)
        if device is not None and not isinstance(datas, bytes | bytearray | memoryview) and datas:
            from mayavi.evm.fork.grid import call_many_on

            given = [to_bytes(each) for each in datas]
            return call_many_on(self, place, given, origin, gas_limit(gas), device, check=check, threads=threads)
        if self._remembers and gas is threads is None and not verify and type(datas) is list:
            few = self._each(place, datas, sender) if 0 < len(datas) <= FEW_CALLS and not self.fetches_missing else None
            if few is not None:
                return few
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
        device: str | None = None,
    ) -> list[Words]:
        """`call_many` for arrays: one call for each row of `holes`, whose columns go into `data` at their byte offsets.

        A column is anything that `Fleet.run` takes: integers, addresses, words, or one value for all rows. Returns the
        first `returns` words of the outputs as columns. With `check=False` a failed call gives zeros. `device="cuda"`
        computes calls on recorded paths on a GPU; the processor executes the others. For one state a GPU is slower;
        `grid` is for many.

            collateral, debt = fork.call_words(pool, calldata, {4: accounts}, returns=2)
        """
        from mayavi.evm.fork import views

        if device is not None:
            return self.grid(to, data, holes, returns, sender=sender, gas=gas).run(device=device, check=check)
        place, origin = self.address_of(to), self._sender(sender)
        if gas is None and not verify and (few := self._call_few(place, to_bytes(data), holes, returns, sender)):
            return few
        return views.call_words(
            self, place, data, holes, returns, origin, gas, check=check, threads=threads, verify=verify
        )

    def _call_few(
        self, to: bytes, data: bytes, holes: Mapping[int, Any], returns: int, sender: AddressLike | None
    ) -> list[Words] | None:
        """Execute a few calls one by one, which is cheaper than a batch; None if that is not possible."""
        if len(holes) != 1 or type(returns) is not int or returns < 1 or self._fetcher.remote is not None:
            return None  # a batch fetches the state of all calls from the node together
        ((offset, accounts),) = holes.items()
        if type(accounts) not in (list, tuple) or not 0 < len(accounts) <= FEW_CALLS or not are_addresses(accounts):
            return None
        if type(offset) is not int or not 0 <= offset <= len(data) - 32:
            return None
        from mayavi.evm.fork import views

        before, after = data[:offset] + bytes(12), data[offset + 32 :]
        outputs = self._each(to, [before + account + after for account in accounts], sender)
        return None if outputs is None else views.columns_of(outputs, returns)

    def _each(self, to: bytes, datas: Sequence[bytes], sender: AddressLike | None) -> list[bytes] | None:
        """Execute a few calls one by one; None if one fails, since the batch then reports its index."""
        try:
            return [self.call(to, data, sender) for data in datas]
        except ExecutionError:
            return None

    def grid(
        self,
        to: AddressLike,
        data: bytes,
        holes: Mapping[int, Any],
        returns: int,
        slots: Sequence[tuple[AddressLike, int]] = (),
        sender: AddressLike | None = None,
        *,
        timestamp: bool = False,
        gas: int | None = None,
    ) -> Grid:
        """Prepare the calls of `call_words` for many states that differ in `slots`, and in block time if `timestamp`.

            grid = fork.grid(pool, calldata, {4: accounts}, returns=6, slots=[(feed, 1)])
            columns = grid.run([prices], device="cuda")

        `device=None` runs on the processor. `grid.totals` sums measures over the calls.
        """
        from mayavi.evm.fork.grid import Grid

        place, origin = self.address_of(to), self._sender(sender)
        named = [(self.address_of(each), word(slot)) for each, slot in slots]
        return Grid(self, place, to_bytes(data), holes, returns, named, origin, timestamp=timestamp, gas=gas)

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
        """Execute and return the call tree with gas, logs and decoded reverts. A failure does not raise."""
        place, origin, payload = None if to is None else self.address_of(to), self._sender(sender), to_bytes(data)
        value, gas = word(value), gas_limit(gas)
        _, frames = self._fetcher.run(lambda: self._evm.trace(place, payload, origin, value, gas, commit))
        if commit:
            self._snapshots.record_write()
        if not frames:
            raise TransactionInvalid("the transaction ended before its first call", "give it more gas")
        return frame_tree(frames)

    def touched(self, to: AddressLike, data: bytes, sender: AddressLike | None = None) -> list[tuple[bytes, list[int]]]:
        """Accounts and slots that a call touches, sorted."""
        place, origin, payload = self.address_of(to), self._sender(sender), to_bytes(data)
        return self._fetcher.run(lambda: self._evm.touched(place, payload, origin))

    # -- sending ------------------------------------------------------------------------------------------------------

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
        """Execute a transaction and keep its effects. The default sender is the zero address.

        A failed transaction raises; with `check=False` its receipt reports the failure. As on a chain, it changes the
        sender's nonce alone. Fees are charged only after `set_rules(charge_fees=True)`.
        """
        # Hot path: arguments of the usual form are not checked again.
        if type(to) is not bytes or len(to) != 20:
            to = self.address_of(to)
        origin = sender if type(sender) is bytes and len(sender) == 20 else self._sender(sender)
        if type(data) is not bytes:
            data = to_bytes(data)
        if value or gas is not None or type(value) is not int:
            value, gas = word(value), gas_limit(gas)
        if gas_price or priority_fee is not None or type(gas_price) is not int:
            gas_price = u128(gas_price, "gas price")
            priority_fee = None if priority_fee is None else u128(priority_fee, "priority fee")
        elif self._gas_price is not None:
            gas_price, priority_fee = self._price_for(origin)
        if data:
            self._require_code(to, "transaction to")
        try:
            done = self._evm.transact(to, data, origin, value, gas, gas_price, priority_fee)
        except (_kernel.MissingState, _kernel.InvalidTransaction, RuntimeError):  # fetches state, or explains the error
            done = self._fetcher.run(
                lambda: self._evm.transact(to, data, origin, value, gas, gas_price, priority_fee),
                (to, data, origin, value),
            )
        receipt = Receipt(done)
        self._sent(to, origin, receipt, gas_price, priority_fee)
        if check and not receipt.success:
            raise failures.failure(receipt, f"transaction to {self.name(to)}", data)
        return receipt

    def attempt(self, steps: Sequence[Step], sender: bytes) -> list[Receipt] | None:
        """Send the transactions among `steps` in one kernel call, with reads between them; return their receipts.

        Return None and change nothing if a read is out of bounds, a target has no code, a transaction fails or returns
        false, or the fork fetches state from a node. Call `send` for each transaction then: its error says why.
        """
        if self._fetcher.remote is not None:
            return None
        gas_price, priority_fee = self._price_for(sender)
        try:
            done = self._evm.attempt(steps, sender, gas_price, priority_fee)
        except (_kernel.MissingState, _kernel.InvalidTransaction, RuntimeError):  # invents block hashes
            try:
                done = self._fetcher.run(lambda: self._evm.attempt(steps, sender, gas_price, priority_fee))
            except (MissingStateError, TransactionInvalid):
                return None
        if done is None:
            return None
        receipts, left = [], iter(done)
        for to, _, bounds in steps:
            if bounds is None:
                receipt = Receipt(next(left))
                self._sent(to, sender, receipt, gas_price, priority_fee)
                receipts.append(receipt)
        return receipts


def gas_limit(gas: int | None) -> int | None:
    """Return the gas limit; raise `BadInteger` unless it fits into 64 bits."""
    return None if gas is None else u64(gas, "gas")
