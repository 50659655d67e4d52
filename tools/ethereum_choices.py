"""What of the Ethereum replica is chosen or assumed rather than read from a source, and what is said about it.

`ethereum_table.py` combines it with the sources. docs/concepts/replica.md explains the assumptions.
"""

from __future__ import annotations

from decimal import Decimal

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP, UNISWAP

BLOCK = {
    "number": 19_000_000,
    "timestamp": TIMESTAMP,
    "seconds": 12,
    "gas_limit": 30_000_000,
    "base_fee_wei": 20 * 10**9,  # assumed; two days earlier it was 17.4 gwei
}
CONFIG_TIMESTAMP = 1698710400  # 2023-10-31 00:00:00 UTC, the day of Aave's configuration

# The order in which mainnet listed them: token proxies are numbered by it, so their addresses depend on it.
LISTING_ORDER = (
    *("WETH", "wstETH", "WBTC", "USDC", "DAI", "LINK", "AAVE", "cbETH", "USDT", "rETH", "LUSD", "CRV", "MKR", "SNX"),
    *("BAL", "UNI", "LDO", "ENS", "1INCH", "FRAX", "GHO", "RPL", "sDAI", "STG", "KNC"),
)

# Tokens priced through an adapter: its base feed, and by how much a year its rate to the base has grown since the
# configuration was taken (the staking or savings rate of those months).
ADAPTERS = {
    "wstETH": ("ETH/USD", Decimal("0.038")),
    "rETH": ("ETH/USD", Decimal("0.032")),
    "cbETH": ("ETH/USD", Decimal("0.033")),
    "sDAI": ("DAI/USD", Decimal("0.05")),
    "LDO": ("ETH/USD", None),
    "WBTC": ("BTC/USD", None),
}
ADAPTER_BASES = {"ETH/USD": "WETH", "DAI/USD": "DAI"}

CONTRACTS = {
    "factory": UNISWAP["factory"],
    "factory_owner": "0x1a9C8182C09F50C8318d769245beA52c32BE35BC",
    **UNISWAP,
}

# (base, quote, fee in millionths, assumed value locked in USD, liquidity profile)
POOLS = (
    ("WETH", "USDC", 500, 150_000_000, "volatile"),
    ("WETH", "USDC", 3000, 90_000_000, "volatile"),
    ("WBTC", "WETH", 3000, 150_000_000, "volatile"),
    ("DAI", "USDC", 100, 60_000_000, "pegged"),
    ("wstETH", "WETH", 100, 60_000_000, "pegged"),
)

SOURCES = [
    {"what": "Aave V3 parameters and addresses", "from": "configuration of Aave V3 Ethereum", "date": "2023-10-31"},
    {"what": "Aave treasury, administrator, registry; token names; Chainlink addresses", "from": ADDRESS_BOOK},
    {"what": "flash loan premiums", "from": DEPLOY_V3},
    {
        "what": "ETH/USD, stETH/ETH",
        "from": "the Chainlink rounds that stood at the block",
        "date": "2024-01-13",
    },
    {"what": "BTC/USD", "from": "BTCUSDT, open of the hour 19:00 UTC", "date": "2024-01-13"},
    {"what": "all other prices", "from": "the oracle answers in the configuration of Aave", "date": "2023-10-31"},
    {"what": "block timestamp", "from": "Ethereum mainnet, block 19,000,000", "date": "2024-01-13"},
    {"what": "Uniswap V3 addresses", "from": "Uniswap's deployment documentation and the pools' creation"},
]

# Where this replica is not like Ethereum; what holds of every replica is in `mayavi/worlds/description.py`.
DIFFERENCES = {
    "dates": "block and ETH, BTC and stETH prices are of 13 January 2024, Aave's parameters of 31 October 2023",
    "other prices": "tokens not tied to ETH, BTC or DAI keep their price in USD of 31 October 2023; the rates of "
    "wstETH, rETH, cbETH and sDAI are those of that day grown by 3.8, 3.2, 3.3 and 5 % a year; WBTC is priced as BTC",
    "GHO": "Aave's GHO contracts are not published on a registry: GHO is a plain token, its reserve has ordinary "
    "aToken and debt token code, and the 35 million that may be borrowed are supplied by the market account. Unlike "
    "on mainnet it can be supplied, there is no discount for stkAAVE, and its rate strategy reports an optimal usage "
    "of 100 % instead of 0 (its rate is the same constant 3 %)",
    "UNI": "its aToken has the delegation-aware code it has on mainnet, but our token has no votes to delegate",
    "permit": "all tokens but WETH have EIP-2612 permit; DAI's own form of it and tokens without it are not modelled",
}
