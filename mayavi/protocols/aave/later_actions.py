"""Actions that V3.3 and later added: deficits, position managers, and several calls in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mayavi.errors import ActionRefused, BadArgument
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.tokens import atomic

if TYPE_CHECKING:
    from mayavi.evm.address import AddressLike
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.account import AaveAccount
    from mayavi.protocols.aave.market import AaveV3


class LaterActions:
    """Actions of an account on a pool of V3.3 or later; an older pool refuses them with `BadArgument`."""

    market: AaveV3
    address: bytes

    def eliminate_deficit(self, asset: AddressLike, amount: int | None = None) -> Receipt:
        """Cover `amount` of the deficit in `asset`, or all of it, with this account's aTokens, which are burnt.

        Only `market.umbrella` may do so.
        """
        self._require("deficits", "3.3", self.market.generation.deficits)
        token, there = self.market.address_of(asset), self.market.deficit(asset) or 0
        units = there if amount is None else require_positive(amount, "a covered deficit")
        if not there:
            raise ActionRefused(f"{self.market.token(token).symbol} has no deficit: there is nothing to cover")
        with atomic(self.market.fork):
            return self._send("eliminateReserveDeficit", token, units)

    def approve_position_manager(self, manager: AddressLike | AaveAccount, approve: bool = True) -> Receipt:
        """Let `manager` choose collateral and eMode of this account, or end that."""
        self._require("position managers", "3.4", self.market.generation.position_managers)
        with atomic(self.market.fork):
            return self._send("approvePositionManager", address_on(self.market.fork, manager), approve)

    def is_position_manager_of(self, account: AddressLike | AaveAccount) -> bool:
        """Whether this account may choose collateral and eMode of `account`."""
        if not self.market.generation.position_managers:
            return False
        holder = address_on(self.market.fork, account)
        found: bool = self.market.pool.isApprovedPositionManager(holder, self.address)
        return found

    def set_collateral_of(self, account: AddressLike | AaveAccount, asset: AddressLike, use: bool = True) -> Receipt:
        """Enable or disable the supplied `asset` of `account` as collateral, as its position manager."""
        self._require("position managers", "3.4", self.market.generation.position_managers)
        token, holder = self.market.address_of(asset), address_on(self.market.fork, account)
        with atomic(self.market.fork):
            return self._send("setUserUseReserveAsCollateralOnBehalfOf", token, use, holder)

    def set_emode_of(self, account: AddressLike | AaveAccount, category: int) -> Receipt:
        """Choose the efficiency mode of `account`, as its position manager."""
        self._require("position managers", "3.4", self.market.generation.position_managers)
        with atomic(self.market.fork):
            return self._send("setUserEModeOnBehalfOf", category, address_on(self.market.fork, account))

    def multicall(self, calls: Any) -> Receipt:
        """Make several calls of the pool in one transaction, all or none: `[market.pool.setUserEMode.encode(1), …]`.

        Tokens that the calls take have to be approved before.
        """
        self._require("multicall", "3.4", self.market.generation.position_managers)
        if isinstance(calls, bytes | str) or not calls:
            raise BadArgument(
                f"the calls are {calls!r}, not a list of calldata", "give a list: [market.pool.setUserEMode.encode(1)]"
            )
        with atomic(self.market.fork):
            return self._send("multicall", list(calls))

    def _require(self, what: str, version: str, there: bool) -> None:
        if not there:
            own = self.market.generation.version
            raise BadArgument(
                f"{self.market.title} has no {what} here: its code is of version {own}", f"they came with {version}"
            )

    def _send(self, function: str, *arguments: Any) -> Receipt:
        raise NotImplementedError
