"""Morpho Blue: isolated markets, each of one collateral and one loan token, in a single contract.

    blue = MorphoBlue(fork)
    market = blue.market("wstETH/USDC.86")          # or an id, "0xb323…", or `MarketParameters`
    bob = market.account(address)
    bob.supply_collateral(10**18)
    bob.borrow(1_000 * 10**6)
    print(bob.health_factor, market.rates().borrow_rate)

Amounts are integers in a token's smallest unit, shares those of the contract. Ratios have 18 decimals (`_wad`). A price
is that of one unit of collateral in units of the loan token, times 10**36 (`_e36`), as Morpho's oracles give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum
from mayavi.protocols.arguments import address_on, chain_name, require_contract, require_fork
from mayavi.protocols.morpho.abi import BLUE
from mayavi.protocols.morpho.market import MorphoMarket
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import atomic
from mayavi.worlds.tables.morpho import BLUE as ADDRESS
from mayavi.worlds.tables.morpho_market import BLUE_LABEL, IRM_LABEL, PREFIX, VAULTS, MarketName, MarketParameters

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.flash_loan import Call
    from mayavi.protocols.morpho.vault import MetaMorphoVault


class MorphoBlue:
    """Morpho Blue on the fork's chain. Stateless: every value is read on use."""

    def __init__(self, fork: Fork, address: AddressLike | None = None) -> None:
        require_fork(fork, "MorphoBlue")
        self.fork = fork
        self.contract = fork.contract(address or fork.labels.get(BLUE_LABEL, ADDRESS), BLUE)
        self.address = self.contract.address
        if address is None and not fork.code(self.address):
            raise UnknownName(
                f"there is no Morpho on {chain_name(fork)} here",
                "put it there with `add_morpho(fork)` of mayavi.protocols, or the key `morpho` of a scenario",
            )
        require_contract(fork, self.address, "Morpho Blue contract", self.contract.owner, self.contract.feeRecipient)

    # -- markets ------------------------------------------------------------------------------------------------------

    @property
    def markets(self) -> list[str]:
        """Names of the labelled markets: `wstETH/USDC.86` …"""
        return market_names(self.fork)

    def market(self, market: str | bytes | MarketParameters) -> MorphoMarket:
        """Return a market by name, id or parameters; raise `UnknownName` if it was never created."""
        if isinstance(market, MarketParameters):
            parameters = market
            if self.contract.idToMarketParams(parameters.id).loanToken == ZERO_ADDRESS:
                raise UnknownName(
                    f"no market has these parameters: its id would be 0x{parameters.id.hex()}",
                    "`create_market(parameters, sender=…)` creates it",
                )
            return MorphoMarket(self, parameters)
        if isinstance(market, str) and not market.startswith(("0x", "0X")):
            return self.market(self._named(market.removeprefix(PREFIX)))
        found = self.contract.idToMarketParams(_id(market))
        if found.loanToken == ZERO_ADDRESS:
            known = ", ".join(self.markets)
            raise UnknownName(
                f"Morpho has no market with the id 0x{_id(market).hex()} on {chain_name(self.fork)}",
                f"an id is the hash of a market's parameters; labelled markets here: {known or 'none'}",
            )
        return MorphoMarket(self, MarketParameters(*found))

    def create_market(self, parameters: MarketParameters, *, sender: AddressLike) -> MorphoMarket:
        """Create a market. Its LLTV and interest rate model must be enabled; any account may call this."""
        with atomic(self.fork):
            try:
                self.contract.createMarket(parameters, sender=address_on(self.fork, sender))
            except CallReverted as error:
                raise with_context(error, what=f"createMarket with the id 0x{parameters.id.hex()}") from None
        return MorphoMarket(self, parameters)

    def _named(self, name: str) -> MarketParameters:
        parts, label = MarketName.parse(name), PREFIX + name
        if parts is None or label not in self.fork.labels:
            known = self.markets
            more = f"markets here: {', '.join(known)}" if known else "no market is labelled here; give an id, 0x…"
            raise UnknownName.of("Morpho market", name, known, more)
        return MarketParameters(
            self.fork.address_of(parts.loan),
            self.fork.address_of(parts.collateral),
            self.fork.address_of(label),
            self.fork.address_of(IRM_LABEL),
            parts.lltv_wad,
        )

    # -- vaults and authorisations ------------------------------------------------------------------------------------

    @property
    def vaults(self) -> list[str]:
        """Names of the labelled vaults: `steakUSDC` …"""
        return vault_names(self.fork)

    def vault(self, vault: AddressLike) -> MetaMorphoVault:
        """Return a MetaMorpho vault by name or address."""
        from mayavi.protocols.morpho.vault import MetaMorphoVault

        return MetaMorphoVault(self, vault)

    def is_authorised(self, owner: AddressLike, manager: AddressLike) -> bool:
        """Whether `manager` may borrow and withdraw for `owner`, in every market."""
        places = address_on(self.fork, owner), address_on(self.fork, manager)
        return bool(self.contract.isAuthorized(*places))

    def authorise(self, manager: AddressLike, *, allowed: bool = True, sender: AddressLike) -> None:
        """Let `manager` borrow and withdraw for `sender`, or no longer. Nothing is sent if it is so already."""
        if self.is_authorised(sender, manager) != allowed:
            owner = address_on(self.fork, sender)
            self.contract.setAuthorization(address_on(self.fork, manager), allowed, sender=owner)

    def flash_loan(
        self,
        token: AddressLike,
        amount: int,
        calls: Sequence[Call],
        *,
        sender: AddressLike,
        sweep: Sequence[AddressLike] = (),
        most_paid: int | None = None,
    ) -> Receipt:
        """Borrow any token of Morpho for one transaction, without a fee, and make `calls` with it.

        Calls are pairs of target and calldata, made by a helper contract that holds the loan. What they leave of it and
        of the tokens in `sweep` goes to `sender`, which pays what is missing, at most `most_paid`.
        """
        from mayavi.protocols.morpho.flash_loan import take_flash_loan

        return take_flash_loan(self, token, amount, calls, sender=sender, sweep=sweep, most_paid=most_paid)

    def __repr__(self) -> str:
        return f"<Morpho Blue at {checksum(self.address)}>"


def market_names(fork: Fork) -> list[str]:
    """Return the names of the labelled markets on `fork`."""
    names = (label.removeprefix(PREFIX) for label in fork.labels if label.startswith(PREFIX))
    return [name for name in names if MarketName.parse(name)]


def vault_names(fork: Fork) -> list[str]:
    """Return the names of the labelled vaults on `fork`."""
    return [label.removeprefix(VAULTS) for label in fork.labels if label.startswith(VAULTS)]


def _id(market: str | bytes) -> bytes:
    """Return the 32 bytes of a market's id."""
    try:
        found = bytes.fromhex(market[2:]) if isinstance(market, str) else bytes(market)
    except (ValueError, TypeError):
        found = b""
    if len(found) != 32:
        raise BadArgument(f"{market!r} is not a market id", "an id has 32 bytes: 0x and 64 hexadecimal digits")
    return found
