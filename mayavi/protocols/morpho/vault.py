"""MetaMorpho vaults: deposits that a curator spreads over markets of Morpho Blue, up to a cap in each.

    vault = MorphoBlue(fork).vault("steakUSDC")
    vault.deposit(1_000 * 10**6, sender=alice)
    print(vault.share_price, vault.allocation())

A vault's shares are worth what its markets owe it. Bad debt of a market lowers the price of a share at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import CallReverted, UnknownName
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.units import from_units
from mayavi.protocols.arguments import address_on, require_contract, require_positive
from mayavi.protocols.morpho.abi import ALLOCATOR, VAULT
from mayavi.protocols.morpho.market import MorphoMarket
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20, atomic, spending
from mayavi.worlds.tables.morpho import PUBLIC_ALLOCATOR
from mayavi.worlds.tables.morpho_market import ALLOCATOR_LABEL, VAULTS, MarketParameters

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.blue import MorphoBlue

MarketLike = str | bytes | MarketParameters | MorphoMarket
ALL = 2**256 - 1
"""Amount in `reallocate` for what the other markets give up."""


class FlowCaps(NamedTuple):
    """Most that the public allocator may move into and out of a market of a vault."""

    most_in: int
    most_out: int


class MetaMorphoVault:
    """MetaMorpho vault, by label or address. A failed action leaves the fork unchanged."""

    def __init__(self, blue: MorphoBlue, vault: AddressLike) -> None:
        self.blue, self.fork = blue, blue.fork
        self.contract = self.fork.contract(_address(blue, vault), VAULT)
        self.address = self.contract.address
        require_contract(self.fork, self.address, "MetaMorpho vault", self.contract.MORPHO, self.contract.timelock)
        self.asset = Erc20(self.fork, self.contract.asset())

    @property
    def name(self) -> str:
        """Label without the prefix, else its symbol: `steakUSDC`."""
        name = self.fork.name(self.address)
        return name.removeprefix(VAULTS) if not name.startswith("0x") else str(self.contract.symbol())

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def total_assets(self) -> int:
        """Assets in all markets of the withdraw queue, interest included."""
        return int(self.contract.totalAssets())

    @property
    def total_supply(self) -> int:
        """Shares there are."""
        return int(self.contract.totalSupply())

    @property
    def share_price_wad(self) -> int:
        """Whole assets for a whole share, with 18 decimals, after the vault's fee."""
        shares = 10 ** (int(self.contract.decimals()) + 18)
        return int(self.contract.convertToAssets(shares)) // int(10**self.asset.decimals)

    @property
    def share_price(self) -> Decimal:
        """Whole assets for a whole share."""
        return from_units(self.share_price_wad, 18)

    @property
    def fee_wad(self) -> int:
        """Share of interest that goes to the vault's fee recipient."""
        return int(self.contract.fee())

    @property
    def timelock(self) -> int:
        """Seconds between a higher cap and its acceptance."""
        return int(self.contract.timelock())

    def supply_queue(self) -> list[MorphoMarket]:
        """Return the markets that deposits go to, in order."""
        return [self._market(self.contract.supplyQueue(at)) for at in range(self.contract.supplyQueueLength())]

    def withdraw_queue(self) -> list[MorphoMarket]:
        """Return the markets that withdrawals come from, in order: all that the vault uses."""
        return [self._market(self.contract.withdrawQueue(at)) for at in range(self.contract.withdrawQueueLength())]

    def cap(self, market: MarketLike) -> int:
        """Return the most that deposits may bring into a market."""
        return int(self.contract.config(self._resolve(market).id).cap)

    def caps(self) -> dict[str, int]:
        """Return the cap of each market, by name."""
        return {market.name: self.cap(market) for market in self.withdraw_queue()}

    def allocation(self) -> dict[str, int]:
        """Return the vault's assets in each market, by name, interest included."""
        return {market.name: market.account(self.address).supplied for market in self.withdraw_queue()}

    def balance_of(self, holder: AddressLike) -> int:
        """Return the shares of `holder`."""
        return int(self.contract.balanceOf(address_on(self.fork, holder)))

    def assets_of(self, holder: AddressLike) -> int:
        """Return what the shares of `holder` are worth."""
        return int(self.contract.convertToAssets(self.balance_of(holder)))

    def most_withdrawable(self, holder: AddressLike) -> int:
        """Return what `holder` can withdraw now: what it owns, at most what its markets have not lent."""
        return int(self.contract.maxWithdraw(address_on(self.fork, holder)))

    # -- depositors ---------------------------------------------------------------------------------------------------

    def deposit(self, assets: int, *, sender: AddressLike, receiver: AddressLike | None = None) -> Receipt:
        """Deposit `assets`; the shares go to `receiver`, by default `sender`."""
        owner, amount = address_on(self.fork, sender), require_positive(assets, "a deposit")
        place = owner if receiver is None else address_on(self.fork, receiver)
        with spending(self.fork, self.asset.address, self.address, amount, owner):
            return self._send("deposit", amount, place, sender=owner)

    def withdraw(self, assets: int | None = None, *, sender: AddressLike) -> Receipt:
        """Withdraw `assets`, or redeem all shares."""
        owner = address_on(self.fork, sender)
        if assets is None:
            shares = require_positive(self.balance_of(owner), "a withdrawal")
            return self._send("redeem", shares, owner, owner, sender=owner)
        return self._send("withdraw", require_positive(assets, "a withdrawal"), owner, owner, sender=owner)

    # -- curator and allocator ----------------------------------------------------------------------------------------

    def submit_cap(self, market: MarketLike, cap: int, *, sender: AddressLike) -> None:
        """Set a cap. A lower one holds at once, a higher one after `accept_cap`, when the timelock has passed."""
        self._send("submitCap", self._resolve(market).parameters, cap, sender=address_on(self.fork, sender))

    def accept_cap(self, market: MarketLike, *, sender: AddressLike) -> None:
        """Accept a submitted cap."""
        self._send("acceptCap", self._resolve(market).parameters, sender=address_on(self.fork, sender))

    def set_supply_queue(self, markets: Sequence[MarketLike], *, sender: AddressLike) -> None:
        """Set the markets that deposits go to, in order."""
        ids = [self._resolve(market).id for market in markets]
        self._send("setSupplyQueue", ids, sender=address_on(self.fork, sender))

    def set_withdraw_queue(self, markets: Sequence[MarketLike], *, sender: AddressLike) -> None:
        """Set the order of withdrawals. A market that is left out has to be empty, with a cap of zero."""
        order = {market.id: at for at, market in enumerate(self.withdraw_queue())}
        wanted = [self._resolve(market) for market in markets]
        for market in wanted:
            if market.id not in order:
                raise UnknownName.of("market of this vault", market.name, [each.name for each in self.withdraw_queue()])
        indexes = [order[market.id] for market in wanted]
        self._send("updateWithdrawQueue", indexes, sender=address_on(self.fork, sender))

    def reallocate(self, allocation: Mapping[MarketLike, int], *, sender: AddressLike) -> Receipt:
        """Move assets so that each market has as much as given; markets that give come first.

        `ALL` for the last one takes what the others gave up.
        """
        wanted = [(self._resolve(market).parameters, assets) for market, assets in allocation.items()]
        return self._send("reallocate", wanted, sender=address_on(self.fork, sender))

    # -- public allocator ---------------------------------------------------------------------------------------------

    def flow_caps(self, market: MarketLike) -> FlowCaps:
        """Return what the public allocator may still move into and out of a market."""
        return FlowCaps(*self._allocator.flowCaps(self.address, self._resolve(market).id))

    def set_flow_caps(self, caps: Mapping[MarketLike, tuple[int, int]], *, sender: AddressLike) -> None:
        """Set what the public allocator may move, as pairs of most in and most out."""
        config = [(self._resolve(market).id, tuple(pair)) for market, pair in caps.items()]
        self._allocate("setFlowCaps", self.address, config, sender=address_on(self.fork, sender))

    def reallocate_to(
        self, market: MarketLike, withdrawals: Mapping[MarketLike, int], *, sender: AddressLike
    ) -> Receipt:
        """Move assets from other markets to `market`, within the flow caps. Any account may call this."""
        # The contract takes withdrawals in the order of their ids.
        taken = sorted(
            ((self._resolve(each), amount) for each, amount in withdrawals.items()), key=lambda pair: pair[0].id
        )
        wanted = [(each.parameters, amount) for each, amount in taken]
        target = self._resolve(market).parameters
        fee = int(self._allocator.fee(self.address))
        return self._allocate(
            "reallocateTo", self.address, wanted, target, sender=address_on(self.fork, sender), value=fee
        )

    # -- internals ----------------------------------------------------------------------------------------------------

    @property
    def _allocator(self) -> Contract:
        return self.fork.contract(self.fork.labels.get(ALLOCATOR_LABEL, PUBLIC_ALLOCATOR), ALLOCATOR)

    def _market(self, identifier: bytes) -> MorphoMarket:
        return self.blue.market(identifier)

    def _resolve(self, market: MarketLike) -> MorphoMarket:
        return market if isinstance(market, MorphoMarket) else self.blue.market(market)

    def _send(self, function: str, *arguments: object, sender: bytes) -> Receipt:
        with atomic(self.fork):
            try:
                receipt: Receipt = self.contract[function](*arguments, sender=sender)
            except CallReverted as error:
                raise with_context(error, what=f"{function} of the vault {self.name}") from None
        return receipt

    def _allocate(self, function: str, *arguments: object, sender: bytes, value: int = 0) -> Receipt:
        with atomic(self.fork):
            try:
                receipt: Receipt = self._allocator[function](*arguments, sender=sender, value=value)
            except CallReverted as error:
                raise with_context(error, what=f"{function} of the public allocator") from None
        return receipt

    def __repr__(self) -> str:
        return f"<MetaMorpho vault {self.name} at {checksum(self.address)}>"


def _address(blue: MorphoBlue, vault: AddressLike) -> bytes:
    if not isinstance(vault, str) or vault.startswith(("0x", "0X")):
        return address_on(blue.fork, vault)
    label = VAULTS + vault.removeprefix(VAULTS)
    if label not in blue.fork.labels:
        known = blue.vaults
        more = f"vaults here: {', '.join(known)}" if known else "no vault is labelled here; give its address"
        raise UnknownName.of("MetaMorpho vault", vault, known, more)
    return blue.fork.address_of(label)
