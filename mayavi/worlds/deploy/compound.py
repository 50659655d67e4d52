"""Deploy Compound V3 on a replica: our own Comet at every market's address, with background positions.

The amounts come from the table. They are assumptions that make borrowing possible and rates plausible; no real position
is reproduced. A Comet account either lends or owes the base token, so the lender is `holder` and the borrower a second
account, `Mayavi.Borrower`.
"""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.errors import StateError
from mayavi.evm.address import to_address
from mayavi.worlds.deploy.deployment import Deployment, named_account
from mayavi.worlds.deploy.tokens import fund
from mayavi.worlds.tables.chain import Difference, Token
from mayavi.worlds.tables.compound import CometMarket, Compound

BORROWER = named_account("borrower")
"""Account of the background borrower."""

COMPOUND_DIFFERENCES = (
    Difference(
        "Compound code",
        "our own Comet, written from its public interface and tested against the real bytecode. It is at the proxy's "
        "address and includes the extension; no proxy, no Configurator, CometRewards or Bulker. Governor and "
        "pause guardian are addresses without code. Amounts, events and reverts are the same, gas is not",
    ),
    Difference(
        "Compound positions",
        "two accounts hold all positions: the market account lends, 'Mayavi.Borrower' has supplied half of each supply "
        "cap and borrowed to 90 % of the kink; reserves are 1 % of the lent amount. These amounts are assumptions",
    ),
)

_SUPPLY = "supply(address,uint256)"
_WITHDRAW = "withdraw(address,uint256)"


def deploy_compound(deployment: Deployment, compound: Compound, tokens: Mapping[str, Token], *, holder: bytes) -> None:
    """Deploy every market, labelled `CompoundV3.<key>`, and open the background positions."""
    deployment.label("Mayavi.Borrower", BORROWER)
    for market in compound.markets:
        deployment.place(
            market_label(market),
            "Comet",
            comet_configuration(market, governor=compound.governor),
            market.name,
            market.symbol,
            at=market.address,
        )
        fill_market(deployment, market, tokens, comet=deployment[market_label(market)], holder=holder)


def market_label(market: CometMarket) -> str:
    """Return the label of a market: `CompoundV3.cUSDCv3`."""
    return f"CompoundV3.{market.key}"


def compound_labels(compound: Compound) -> dict[str, str]:
    """Return the labels of all markets and of their extension contracts on the real chain."""
    labels = {market_label(market): market.address for market in compound.markets}
    return labels | {f"{market_label(market)}.Extension": market.extension for market in compound.markets}


def describe_compound(compound: Compound) -> str:
    """Describe the markets in one line."""
    markets = ", ".join(f"{market.key} with {len(market.assets)} collaterals" for market in compound.markets)
    return f"Compound V3: {markets}"


def comet_configuration(market: CometMarket, *, governor: str) -> tuple[object, ...]:
    """Return the first argument of Comet's constructor; its fields are Compound's configuration."""
    supply, borrow = market.supply_curve, market.borrow_curve
    return (
        governor,
        market.pause_guardian,
        market.base_token,
        market.base_price_feed,
        market.extension,
        supply.kink_wad,
        supply.slope_low_wad,
        supply.slope_high_wad,
        supply.base_wad,
        borrow.kink_wad,
        borrow.slope_low_wad,
        borrow.slope_high_wad,
        borrow.base_wad,
        market.store_front_price_factor_wad,
        market.tracking_index_scale,
        market.tracking_supply_speed,
        market.tracking_borrow_speed,
        market.minimum_for_rewards,
        market.minimum_borrow,
        market.target_reserves,
        [
            (
                asset.token,
                asset.price_feed,
                asset.decimals,
                asset.borrow_factor_wad,
                asset.liquidate_factor_wad,
                asset.liquidation_factor_wad,
                asset.supply_cap * 10**asset.decimals,
            )
            for asset in market.assets
        ],
    )


def fill_market(
    deployment: Deployment, market: CometMarket, tokens: Mapping[str, Token], *, comet: bytes, holder: bytes
) -> None:
    """Set the reserves, loans and debts of the table."""
    base, unit = symbol_of(tokens, market.base_token), 10**market.base_decimals
    fund(deployment, base, tokens[base], holder, (market.lent + market.reserves) * unit)
    deployment.send(base, "transfer(address,uint256)", comet, market.reserves * unit, sender=holder)
    _supply(deployment, comet, base, market.lent * unit, by=holder)
    for asset in market.assets:
        symbol, amount = symbol_of(tokens, asset.token), asset.supplied * 10**asset.decimals
        fund(deployment, symbol, tokens[symbol], BORROWER, amount)
        _supply(deployment, comet, symbol, amount, by=BORROWER)
    deployment.send(comet, _WITHDRAW, deployment[base], market.borrowed * unit, sender=BORROWER)


def symbol_of(tokens: Mapping[str, Token], address: str) -> str:
    """Return the table's symbol of the token at `address`."""
    for symbol, token in tokens.items():
        if to_address(token.address) == to_address(address):
            return symbol
    raise StateError(f"the table has no token at {address}", "add it where the facts of the table are generated")


def _supply(deployment: Deployment, comet: bytes, symbol: str, amount: int, *, by: bytes) -> None:
    deployment.send(symbol, "approve(address,uint256)", comet, amount, sender=by)
    deployment.send(comet, _SUPPLY, deployment[symbol], amount, sender=by)
