"""Base, 13 January 2024."""

from __future__ import annotations

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP
from facts.forms import Adapter, ChainFacts, EMode, MarketFacts
from facts.said_alike import ASSUMED_PRICES, ROLLUP, UNISWAP_SOURCE

GENESIS_TIMESTAMP = 1_686_789_347

BASE = ChainFacts(
    chain="base",
    title="Base, 13 January 2024",
    chain_id=8453,
    hardfork="shanghai",
    native="ETH",
    wrapped_native="WETH",
    block={
        "number": (TIMESTAMP - GENESIS_TIMESTAMP) // 2,
        "timestamp": TIMESTAMP,
        "seconds": 2,
        "gas_limit": 30_000_000,
        "base_fee_wei": 10**6,
    },
    book="Base",
    deploy_market="base",
    pool_contract="L2Pool",
    aave=MarketFacts(
        implementations={
            "pool_implementation": "0xdC9BafE7b1Df4F7Af863FCaDA6827E488D06BB20",
            "pool_configurator_implementation": "0x5456C510ACb8bD0b9a65B4B632dB2925690D3237",
            "data_provider": "0x2d8A3C5677189723C4cB8873CfC9C8976FDF38Ac",
            "a_token": "0x98F409Fc4A42F34AE3c326c7f48ED01ae8cAeC69",
            "stable_debt_token": "0xe0b9B4f959fa8B52B7228c8D78875482b8813349",
            "variable_debt_token": "0x2425A746911128c2eAA7bEBDc9Bc452eE52208a1",
        },
        emodes=(EMode("ETH correlated", 9000, 9300, 10200),),
        rates="""
name   address                                    optimal base slope1 slope2 stable_base stable1 stable2 stable_share
weth   0xC1F6588f4A1145D0B7F94c86a773bB47F0eC0759      80    0    3.8     80         6.8       4      80           20
cbeth  0x05295489b6aE0d97ae7C49a42989497294F7F428      45    0      7    300          10       4     300           20
usdbc  0xDBea12F69D3Fcb4Be9FD14dd450AAe2B2a3d4de7      90    0      7     80           8     0.5      60           20
wsteth 0x2f51b00eC4912874DFDBd8dC3C8e390c21e77aF9      45    0      7    300          10      13     300           20
usdc   0x50eC656Ba67885D0937b5f549f3104ea15E75588      90    0      5     60           5       5     300            0
""",
        reserves="""
symbol book    ltv threshold bonus  fee factor supply_cap borrow_cap ceiling emode flags rates  feed
WETH   WETH   8000      8300 10500 1000   1500       5000       4000       0     1 B     weth   ETH/USD
cbETH  cbETH  6700      7400 10750 1000   1500       1000        100       0     1 B     cbeth  cbETH/USD
USDbC  USDbC  7700      8000 10500 1000   2000    2000000    2000000       0     0 BI    usdbc  USDC/USD
wstETH wstETH 7100      7600 10600 1000   1500       4000        400       0     1 B     wsteth wstETH/USD
USDC   USDC   7700      8000 10500 1000   1000   10000000    9000000       0     0 B     usdc   USDC/USD
""",
    ),
    adapters={
        "cbETH/USD": Adapter("0x80f2c02224a2E548FC67c0bF705eBFA825dd5439", "ETH/USD"),
        "wstETH/USD": Adapter("0x945fD405773973d286De54E44649cc0d9e264F78", "ETH/USD"),
    },
    uniswap={
        "factory": "0x33128a8fC17869897dcE68Ed026d694621f6FDfD",
        "quoter_v2": "0x3d4e44Eb1374240CE5F1B871ab261CD16335B76a",
        "position_manager": "0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1",
        "position_descriptor": "0x4f225937EDc33EFD6109c4ceF7b560B2D6401009",
        "nft_descriptor": "0xF9d1077fd35670d4ACbD27af82652a8d84577d9F",
        "tick_lens": "0x0CdeE061c75D43c82520eD998C23ac2991c9ac6d",
        "interface_multicall": "0x091e99cb1C49331a94dD62755D168E941AbD0693",
    },
    pools=(
        ("WETH", "USDC", 500, 20_000_000, "volatile"),
        ("WETH", "USDbC", 500, 10_000_000, "volatile"),
        ("cbETH", "WETH", 500, 5_000_000, "pegged"),
        ("wstETH", "WETH", 100, 5_000_000, "pegged"),
    ),
    sources=[
        {
            "what": "Aave V3 parameters of WETH and cbETH, implementations",
            "from": "report of the market's activation, bgd-labs/aave-v3-basenet-proposal",
            "date": "2023-08",
        },
        {
            "what": "Aave V3 parameters of wstETH, USDC and USDbC",
            "from": "reports of their listings and of what changed with them, bgd-labs/aave-proposals-v3",
            "date": "late 2023",
        },
        {"what": "other addresses of Aave, token names, Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "market and provider ids, flash loan premiums", "from": DEPLOY_V3},
        {"what": "block number", "from": "a block every 2 seconds since the genesis of 15 June 2023"},
        ASSUMED_PRICES,
        UNISWAP_SOURCE,
    ],
    differences={
        "dates": "block and prices are of 13 January 2024; Aave's parameters are those of each asset's listing between "
        "August and December 2023, those of USDbC since native USDC came. Changes of caps in between are left out",
        "USDC": "'USDC' is Circle's native one, 'USDbC' the bridged one",
        **ROLLUP,
        "first SwapRouter": "Uniswap never deployed its first SwapRouter or Quoter on Base: the replica has both at "
        "addresses of its own, and a fork of the real chain does not have them",
    },
)
