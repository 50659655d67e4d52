"""Readers of Morpho's figures: markets, and vaults over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mayavi.protocols.tokens import Erc20
from mayavi.sim.figure_table import Figure

if TYPE_CHECKING:
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.protocols.morpho.vault import MetaMorphoVault
    from mayavi.sim.world_state import WorldState

_E8 = 10**8


class MorphoFigures:
    """A Morpho market: what is lent and borrowed, utilisation, rates, and the prices of its oracle.

    The loan token counts as one: a dollar, or an ether for WETH.
    """

    def __init__(self, market: MorphoMarket) -> None:
        self.market, self.name = market, market.symbol

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures of the market, then those of its two tokens."""
        from mayavi.protocols.morpho.market import YEAR_SECONDS

        del worth
        market = self.market
        state, rates, unit = market.state(), market.rates(), f"e{market.loan.decimals}"
        quote = "eth_e8" if market.quote == "ETH" else "usd_e8"
        yield Figure(self.name, "supplied", state.supply_assets, unit)
        yield Figure(self.name, "borrowed", state.borrow_assets, unit)
        yield Figure(self.name, "available", state.liquidity, unit)
        yield Figure(self.name, "utilisation", rates.utilisation_wad, "wad")
        yield Figure(self.name, "supply_rate", rates.supply_per_second_wad * YEAR_SECONDS, "wad")
        yield Figure(self.name, "borrow_rate", rates.borrow_per_second_wad * YEAR_SECONDS, "wad")
        yield Figure(self.name, "tvl", market.value_e8(state.liquidity), quote)
        for token, price in ((market.collateral, market.price_e8()), (market.loan, _E8)):
            subject = f"{self.name}.{token.symbol}"
            held = Erc20(world.fork, token.address).balance_of(market.address)
            yield Figure(subject, "available", held, f"e{token.decimals}")
            yield Figure(subject, "price", price, quote)


class VaultFigures:
    """A MetaMorpho vault: price of a share, assets, and where they are."""

    def __init__(self, vault: MetaMorphoVault) -> None:
        self.vault = vault
        self.name = vault.fork.name(vault.address)

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures; `in_sDAI/USDC.96.5` is what the vault has in that market."""
        del world, worth
        vault, unit = self.vault, f"e{self.vault.asset.decimals}"
        yield Figure(self.name, "share_price", vault.share_price_wad, "wad")
        yield Figure(self.name, "total_assets", vault.total_assets, unit)
        for market, assets in vault.allocation().items():
            yield Figure(self.name, f"in_{market}", assets, unit)
