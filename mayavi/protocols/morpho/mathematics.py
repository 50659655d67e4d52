"""Morpho's arithmetic: shares, interest and liquidation, with its directions of rounding."""

from __future__ import annotations

from typing import NamedTuple

from mayavi.evm.units import WAD

PRICE_SCALE = 10**36
VIRTUAL_SHARES = 10**6
VIRTUAL_ASSETS = 1
LIQUIDATION_CURSOR_WAD = 3 * 10**17
MOST_INCENTIVE_WAD = 115 * 10**16


class MarketState(NamedTuple):
    """Totals of a market. `supply` and `borrow` shares are claims on, and parts of, the assets of their side."""

    supply_assets: int
    supply_shares: int
    borrow_assets: int
    borrow_shares: int
    last_update: int
    fee_wad: int
    """Share of interest that goes to the fee recipient."""

    @property
    def liquidity(self) -> int:
        """Loan tokens that can be withdrawn or borrowed."""
        return self.supply_assets - self.borrow_assets

    @property
    def utilisation_wad(self) -> int:
        """Share of supplied assets that is borrowed."""
        return self.borrow_assets * WAD // self.supply_assets if self.supply_assets else 0

    def supplied(self, shares: int) -> int:
        """Return what supply shares are worth, rounded down as in a withdrawal."""
        return assets_down(shares, self.supply_assets, self.supply_shares)

    def owed(self, shares: int) -> int:
        """Return what borrow shares owe, rounded up as in a repayment."""
        return assets_up(shares, self.borrow_assets, self.borrow_shares)

    def shares_repaid(self, assets: int) -> int:
        """Return the borrow shares that repaying `assets` removes, rounded down."""
        return shares_down(assets, self.borrow_assets, self.borrow_shares)

    def accrued(self, rate_wad: int, now: int) -> MarketState:
        """Return the state with the interest of `rate_wad` a second up to the time `now`."""
        elapsed = now - self.last_update
        if elapsed <= 0:
            return self
        interest = self.borrow_assets * compounded(rate_wad, elapsed) // WAD
        supply, fee_shares = self.supply_assets + interest, 0
        if self.fee_wad:
            fee = interest * self.fee_wad // WAD
            fee_shares = shares_down(fee, supply - fee, self.supply_shares)
        return self._replace(
            supply_assets=supply,
            supply_shares=self.supply_shares + fee_shares,
            borrow_assets=self.borrow_assets + interest,
            last_update=now,
        )


def shares_down(assets: int, total_assets: int, total_shares: int) -> int:
    """Return assets in shares, rounded down."""
    return assets * (total_shares + VIRTUAL_SHARES) // (total_assets + VIRTUAL_ASSETS)


def shares_up(assets: int, total_assets: int, total_shares: int) -> int:
    """Return assets in shares, rounded up."""
    return -(-assets * (total_shares + VIRTUAL_SHARES) // (total_assets + VIRTUAL_ASSETS))


def assets_down(shares: int, total_assets: int, total_shares: int) -> int:
    """Return shares in assets, rounded down."""
    return shares * (total_assets + VIRTUAL_ASSETS) // (total_shares + VIRTUAL_SHARES)


def assets_up(shares: int, total_assets: int, total_shares: int) -> int:
    """Return shares in assets, rounded up."""
    return -(-shares * (total_assets + VIRTUAL_ASSETS) // (total_shares + VIRTUAL_SHARES))


def compounded(rate_wad: int, seconds: int) -> int:
    """Return the growth by interest: three terms of exp(rate · seconds) − 1."""
    first = rate_wad * seconds
    second = first * first // (2 * WAD)
    return first + second + second * first // (3 * WAD)


def incentive_factor_wad(lltv_wad: int) -> int:
    """Return the value of collateral that a liquidator takes for each unit of debt it repays."""
    return min(MOST_INCENTIVE_WAD, WAD * WAD // (WAD - LIQUIDATION_CURSOR_WAD * (WAD - lltv_wad) // WAD))


def most_debt(collateral: int, price_e36: int, lltv_wad: int) -> int:
    """Return the largest debt that `collateral` carries without liquidation."""
    return collateral * price_e36 // PRICE_SCALE * lltv_wad // WAD


def seized_for(state: MarketState, repaid_shares: int, price_e36: int, lltv_wad: int) -> int:
    """Return the collateral that repaying `repaid_shares` of a debt takes."""
    repaid = assets_down(repaid_shares, state.borrow_assets, state.borrow_shares)
    return repaid * incentive_factor_wad(lltv_wad) // WAD * PRICE_SCALE // price_e36 if price_e36 else 2**256


def shares_for(state: MarketState, seized: int, price_e36: int, lltv_wad: int) -> int:
    """Return the shares of a debt that taking `seized` of collateral repays."""
    quoted = -(-seized * price_e36 // PRICE_SCALE)
    repaid = -(-quoted * WAD // incentive_factor_wad(lltv_wad))
    return shares_up(repaid, state.borrow_assets, state.borrow_shares)
