"""OP Mainnet, 13 January 2024."""

from __future__ import annotations

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP, UNISWAP
from facts.forms import Adapter, ChainFacts, EMode, MarketFacts
from facts.said_alike import ASSUMED_PRICES, NATIVE_USDC, ROLLUP, UNISWAP_SOURCE

BEDROCK_BLOCK, BEDROCK_TIMESTAMP = 105_235_063, 1_686_068_903

OPTIMISM = ChainFacts(
    chain="optimism",
    title="OP Mainnet, 13 January 2024",
    chain_id=10,
    hardfork="shanghai",
    native="ETH",
    wrapped_native="WETH",
    block={
        "number": BEDROCK_BLOCK + (TIMESTAMP - BEDROCK_TIMESTAMP) // 2,
        "timestamp": TIMESTAMP,
        "seconds": 2,
        "gas_limit": 30_000_000,
        "base_fee_wei": 10**6,
    },
    book="Optimism",
    deploy_market="optimistic",
    pool_contract="L2Pool",
    aave=MarketFacts(
        implementations={
            "pool_implementation": "0x764594F8e9757edE877B75716f8077162B251460",
            "pool_configurator_implementation": "0x29081f7aB5a644716EfcDC10D5c926c5fEe9F72B",
            "data_provider": "0xd9Ca4878dd38B021583c1B669905592EAe76E044",
            "a_token": "0xbCb167bDCF14a8F791d6f4A6EDd964aed2F8813B",
            "stable_debt_token": "0x6b4E260b765B3cA1514e618C0215A6B7839fF93e",
            "variable_debt_token": "0x04a8D477eE202aDCE1682F5902e1160455205b12",
        },
        emodes=(EMode("Stablecoins", 9300, 9500, 10100), EMode("ETH correlated", 9000, 9300, 10100)),
        rates="""
name     address                                    optimal base slope1 slope2 stable_base stable1 stable2 stable_share
stable   0xA9F3C3caE095527061e6d270DBE163693e6fda9D      80    0      4     75           5     0.5      75           20
volatile 0xeE1BAc9355EaAfCD1B68d272d640d870bC9b4b5C      45    0      7    300           9       0       0           20
usdc.e   0x41B66b4b6b4c9dab039d96528D1b88f7BAF8C5A4      90    0      4     60           5     0.5      60           20
weth     0xc76EF342898f1AE7E6C4632627Df683FAD8563DD      80    1    3.8     80         6.8       4      80           20
wsteth   0x6BA97468e2e6a3711a6DD05F0075d48E878c910e      45 0.25    4.5     80         5.5     4.5      80           20
lusd     0x271f5f8325051f22caDa18FfedD4a805584a232A      80    0      4     87           5       4      87           20
mai      0xD624AFA34614B4fe7FEe7e1751a2E5E04fb47398      80    0      4     75           5       4      75           20
reth     0x3B57B081dA6Af5e2759A57bD3211932Cb6176997      45    0      7    300          10      13     300           20
usdc     0x6D6D3b7FC50999bf20dE5CC8e0F63AFD18B95f0e      90    0    3.5     60         4.5     3.5      60           20
""",
        reserves="""
symbol book    ltv threshold bonus  fee factor supply_cap borrow_cap ceiling emode flags rates    feed
DAI    DAI    7500      8000 10500 1000   1000   25000000   16000000       0     1 BI    stable   DAI/USD
LINK   LINK   7000      7500 11000 1000   2000     160000      84000       0     0 B     volatile LINK/USD
USDC.e USDC   8000      8500 10500 1000   2000   25000000   20000000       0     1 BI    usdc.e   USDC/USD
WBTC   WBTC   7000      7500 10940 1000   2000        620        250       0     0 B     volatile BTC/USD
WETH   WETH   8000      8250 10500 1000   1500      35900      19745       0     2 B     weth     ETH/USD
USDT   USDT   7500      8000 10500 1000   1000   25000000   16000000 5000000     1 BI    stable   USDT/USD
AAVE   AAVE   5000      6500 11000 1000      0      45000          0       0     0 -     volatile AAVE/USD
sUSD   sUSD   6000      7500 10540 1000   1000   20000000   13000000       0     1 B     stable   SUSD/USD
OP     OP     3000      4000 11000 1000   2000   20000000          0 2000000     0 -     volatile OP/USD
wstETH wstETH 7000      7900 10720 1000   1500       6000        940       0     2 B     wsteth   wstETH/USD
LUSD   LUSD      0         0     0    0   1000    3000000    1210000       0     0 B     lusd     LUSD/USD
MAI    MAI    7500      8000 10500 1000   2000     650000     525000  130000     0 B     mai      MIMATIC/USD
rETH   rETH   6700      7400 10750 1000   1500       6000        720       0     2 B     reth     rETH/USD
USDC   USDCn  8000      8500 10500 1000   1000   25000000   20000000       0     1 BI    usdc     USDC/USD
""",
    ),
    adapters={
        "wstETH/USD": Adapter("0x698B585CbC4407e2D54aa898B2600B53C68958f7", "ETH/USD", operator="Chainlink"),
        "rETH/USD": Adapter("0x52d5F9f884CA21C27E2100735d793C6771eAB793", "ETH/USD"),
    },
    uniswap=UNISWAP,
    pools=(
        ("WETH", "USDC", 500, 10_000_000, "volatile"),
        ("WETH", "USDC.e", 500, 15_000_000, "volatile"),
        ("WBTC", "WETH", 500, 8_000_000, "volatile"),
        ("OP", "WETH", 3000, 10_000_000, "volatile"),
        ("USDC", "USDC.e", 100, 3_000_000, "pegged"),
        ("wstETH", "WETH", 100, 10_000_000, "pegged"),
    ),
    sources=[
        {
            "what": "Aave V3 parameters of the first eleven reserves, implementations",
            "from": "configuration of Aave V3 Optimism, reports of bgd-labs/proposal-3.0.2-upgrade",
            "date": "2023-04",
        },
        {
            "what": "Aave V3 parameters of MAI, rETH and USDC, of USDC.e, and the efficiency modes",
            "from": "reports of their listings and changes, bgd-labs/aave-proposals and aave-proposals-v3",
            "date": "2023",
        },
        {"what": "other addresses of Aave, token names, Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "market and provider ids, flash loan premiums", "from": DEPLOY_V3},
        {"what": "block number", "from": "a block every 2 seconds since Bedrock, block 105,235,063"},
        ASSUMED_PRICES,
        UNISWAP_SOURCE,
    ],
    differences={
        "dates": "block and prices are of 13 January 2024; Aave's parameters are of April 2023, those of reserves "
        "listed later of their listing. Other changes of caps and rates in between are left out",
        "USDC": NATIVE_USDC,
        **ROLLUP,
    },
)
