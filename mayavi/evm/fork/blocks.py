"""Block environment and transaction rules of a fork. A base of `Fork`."""

from __future__ import annotations

from typing import Any

from mayavi.errors import BadInteger, UnknownName, UsageError
from mayavi.evm import chains
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import u64
from mayavi.evm.fork.state import ForkState
from mayavi.evm.state import known_hardfork


class ForkBlocks(ForkState):
    """Block number, time, fees and the checks that transactions undergo."""

    def mine(self, blocks: int = 1, seconds: int | None = None) -> None:
        """Advance by `blocks`, and by `seconds` (default: the chain's usual time for that many blocks)."""
        blocks = u64(blocks, "blocks")
        seconds = blocks * self._block_seconds() if seconds is None else seconds
        self._evm.advance(blocks, u64(seconds, "seconds"))
        self._snapshots.record_write()

    def _block_seconds(self) -> int:
        try:
            return chains.chain(self.chain_id).block_seconds
        except UnknownName as error:
            raise UsageError(
                f"the block time of chain {self.chain_id} is not known", "give mine(…, seconds=…)"
            ) from error

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
        """Set fields of the block environment; fields not named stay."""
        if prevrandao is not None and len(prevrandao) != 32:
            raise UsageError(f"prevrandao has {len(prevrandao)} bytes, not 32")
        timestamp = None if timestamp is None else u64(timestamp, "timestamp")
        at = self.timestamp if timestamp is None else timestamp
        fraction = chains.blob_fee_fraction_at(self.chain_id, at, self.hardfork)
        try:
            self._evm.set_block(
                number=None if number is None else u64(number, "block number"),
                timestamp=timestamp,
                coinbase=None if coinbase is None else self.address_of(coinbase),
                base_fee=None if base_fee is None else u64(base_fee, "base fee"),
                gas_limit=None if gas_limit is None else u64(gas_limit, "gas limit"),
                prevrandao=prevrandao,
                excess_blob_gas=None if excess_blob_gas is None else u64(excess_blob_gas, "excess blob gas"),
                blob_fee_fraction=fraction,
            )
        except ValueError as error:
            raise BadInteger(str(error)) from None
        self._snapshots.record_write()

    def set_rules(
        self,
        *,
        charge_fees: bool | None = None,
        check_balance: bool | None = None,
        check_nonce: bool | None = None,
        check_base_fee: bool | None = None,
    ) -> None:
        """Switch the checks of transactions on or off; checks not named stay. All are off at first."""
        self._evm.set_rules(
            charge_fees=charge_fees, check_balance=check_balance, check_nonce=check_nonce, check_base_fee=check_base_fee
        )
        self._charges_fees = self._charges_fees if charge_fees is None else charge_fees
        self._checks_balance = self._checks_balance if check_balance is None else check_balance

    def set_hardfork(self, hardfork: str) -> None:
        """Run later calls and transactions under the rules of another hard fork."""
        self._evm.hardfork = known_hardfork(hardfork)
        self._snapshots.record_write()

    @property
    def block(self) -> dict[str, Any]:
        """Block environment of calls and transactions."""
        return self._evm.block()

    @property
    def block_number(self) -> int:
        """Number of the current block."""
        return self._evm.block_number

    @property
    def timestamp(self) -> int:
        """Timestamp of the current block, in seconds since 1970."""
        return self._evm.timestamp

    @property
    def chain_id(self) -> int:
        """Chain id."""
        return self._evm.chain_id

    @property
    def hardfork(self) -> str:
        """Hard fork whose rules apply."""
        return self._evm.hardfork
