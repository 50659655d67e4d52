"""Facts of the markets of Aave V3.6 that their parameter files do not hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarketFacts:
    """World and chain of a parameter file. `wrapped` is the symbol of WETH9's like, None where there is none."""

    world: str
    chain: str
    title: str
    native: str
    wrapped: str | None
    seconds: int
    hardfork: str = "cancun"
    gas_limit: int = 30_000_000
    base_fee_wei: int = 1_000_000
    block: int | None = None
    """Stands for the block where the parameter files state none."""
    same_price: tuple[tuple[str, str], ...] = ()
    """(asset, reserve with the same price): bases of adapters whose own feed the market does not list."""


# Rules: those of `mayavi.evm.chains` at the date; elsewhere Cancun's, which the code of V3.6 needs.
MARKETS = {
    "AaveV3Ethereum": MarketFacts("ethereum", "ethereum", "Ethereum", "ETH", "WETH", 12, "osaka", 60_000_000, 10**9),
    "AaveV3EthereumLido": MarketFacts(
        "ethereum-lido", "ethereum", "Ethereum, Lido's market", "ETH", "WETH", 12, "osaka", 60_000_000, 10**9
    ),
    "AaveV3EthereumEtherFi": MarketFacts(
        "ethereum-etherfi", "ethereum", "Ethereum, EtherFi's market", "ETH", "WETH", 12, "osaka", 60_000_000, 10**9
    ),
    "AaveV3Optimism": MarketFacts("optimism", "optimism", "Optimism", "ETH", "WETH", 2, "prague"),
    "AaveV3Gnosis": MarketFacts("gnosis", "gnosis", "Gnosis", "xDAI", "WXDAI", 5, same_price=(("DAI", "WXDAI"),)),
    "AaveV3Metis": MarketFacts("metis", "metis", "Metis", "METIS", None, 2),
    "AaveV3Polygon": MarketFacts("polygon", "polygon", "Polygon", "POL", "WPOL", 2, "prague"),
    "AaveV3Sonic": MarketFacts("sonic", "sonic", "Sonic", "S", "wS", 1),
    "AaveV3Soneium": MarketFacts("soneium", "soneium", "Soneium", "ETH", "WETH", 2),
    "AaveV3Arbitrum": MarketFacts("arbitrum", "arbitrum", "Arbitrum", "ETH", "WETH", 1, "prague"),
    "AaveV3Celo": MarketFacts("celo", "celo", "Celo", "CELO", None, 1),
    "AaveV3Avalanche": MarketFacts("avalanche", "avalanche", "Avalanche", "AVAX", "WAVAX", 2),
    "AaveV3Scroll": MarketFacts("scroll", "scroll", "Scroll", "ETH", "WETH", 3),
    "AaveV3BNB": MarketFacts("bnb", "bnb", "BNB Chain", "BNB", "WBNB", 1),
    "AaveV3InkWhitelabel": MarketFacts("ink", "ink", "Ink", "ETH", "WETH", 1),
    "AaveV3Linea": MarketFacts("linea", "linea", "Linea", "ETH", "WETH", 2),
    "AaveV3Base": MarketFacts("base", "base", "Base", "ETH", "WETH", 2, "prague"),
    "AaveV3Plasma": MarketFacts("plasma", "plasma", "Plasma", "XPL", "WXPL", 1),
    "AaveV3Mantle": MarketFacts("mantle", "mantle", "Mantle", "MNT", "WMNT", 2, block=1),
    "AaveV3MegaEth": MarketFacts("megaeth", "megaeth", "MegaETH", "ETH", "WETH", 1, block=1),
}

FLASH_LOAN_PREMIUM_BPS = 5
RATIO_GROWTH_BPS = 1_000
HOUR_OF_DAY_UTC = 12
