"""Arbitrum One, 13 January 2024."""

from __future__ import annotations

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP, UNISWAP
from facts.forms import Adapter, ChainFacts, EMode, MarketFacts
from facts.said_alike import ASSUMED_PRICES, NATIVE_USDC, ROLLUP, UNISWAP_SOURCE

ARBITRUM = ChainFacts(
    chain="arbitrum",
    title="Arbitrum One, 13 January 2024",
    chain_id=42_161,
    hardfork="paris",
    native="ETH",
    wrapped_native="WETH",
    block={
        "number": 169_800_000,
        "timestamp": TIMESTAMP,
        "seconds": 1,
        "gas_limit": 30_000_000,
        "base_fee_wei": 10**8,
    },
    book="Arbitrum",
    deploy_market="arbitrum",
    pool_contract="L2Pool",
    aave=MarketFacts(
        implementations={
            "pool_implementation": "0xbCb167bDCF14a8F791d6f4A6EDd964aed2F8813B",
            "pool_configurator_implementation": "0x04a8D477eE202aDCE1682F5902e1160455205b12",
            "data_provider": "0x6b4E260b765B3cA1514e618C0215A6B7839fF93e",
            "a_token": "0x1Be1798b70aEe431c2986f7ff48d9D1fa350786a",
            "stable_debt_token": "0x0c2C95b24529664fE55D4437D7A31175CFE6c4f7",
            "variable_debt_token": "0x5E76E98E0963EcDC6A065d1435F84065b7523f39",
        },
        emodes=(EMode("Stablecoins", 9300, 9500, 10100), EMode("ETH correlated", 9000, 9300, 10200)),
        rates="""
name     address                                    optimal base slope1 slope2 stable_base stable1 stable2 stable_share
stable   0xA9F3C3caE095527061e6d270DBE163693e6fda9D      80    0      4     75           5     0.5      75           20
volatile 0x9b34E3e183c9b0d1a08fF57a8fb59c821616295f      45    0      7    300           9       0       0           20
usdc.e   0xd9d85499449f26d2A2c240defd75314f23920089      90    0    3.5     60         4.5     0.5      60           20
wbtc     0x8F183Ee74C790CB558232a141099b316D6C8Ba6E      45    0      4    300           6       0       0           20
weth     0x9a158802cD924747EF336cA3F9DE3bdb60Cf43D3      80    0    3.3     80         6.3       4      80           20
eurs     0xCbDC7D7984D7AD59434f0B1999D2006898C40f9A      80    0      6     75           7     0.5      75           20
wsteth   0x4b8D3277d49E114C8F2D6E0B2eD310e29226fe16      45 0.25    4.5     80         5.5       0       0           20
mai      0xA6459195d60A797D278f58Ffbd2BA62Fb3F7FA1E      80    0      4     75           5       4      75           20
reth     0xC82dF96432346cFb632473eB619Db3B8AC280234      45    0      7    300          10      13     300           20
lusd     0x07Fa3744FeC271F80c2EA97679823F65c13CCDf4      80    0      4     87           5       4      87           20
usdc     0xf6733B9842883BFE0e0a940eA2F572676af31bde      90    0    3.5     60         4.5       5      60           20
arb      0xD87974E8ED49AB16d5053ba793F4e17078Be0426      45    0      7    300           8       7     300           20
""",
        reserves="""
symbol book    ltv threshold bonus  fee factor supply_cap borrow_cap  ceiling emode flags rates    feed
DAI    DAI    7700      8200 10500 1000   1000   50000000   30000000        0     1 BI    stable   DAI/USD
LINK   LINK   7000      7750 11000 1000   2000    1450000     242249        0     0 B     volatile LINK/USD
USDC.e USDC   8100      8600 10500 1000   1000  150000000  100000000        0     1 BI    usdc.e   USDC/USD
WBTC   WBTC   7300      7800 10700 1000   2000       4200       1115        0     0 B     wbtc     BTC/USD
WETH   WETH   8250      8500 10500 1000   1500      70000      40000        0     2 B     weth     ETH/USD
USDT   USDT   7500      8000 10500 1000   1000   50000000   35000000  2500000     1 BI    stable   USDT/USD
AAVE   AAVE   5000      6500 11000 1000      0       1850          0        0     0 -     volatile AAVE/USD
EURS   EURS   6500      7000 10750 1000   1000      65000      65000    25000     1 B     eurs     EUR/USD
wstETH wstETH 7000      7900 10720 1000   1500      45000       2400        0     2 B     wsteth   wstETH/USD
MAI    MAI       0      8000 10500 1000   2000     325000     250000   100000     0 BF    mai      MIMATIC/USD
rETH   rETH   6700      7400 10750 1000   1500       3400        680        0     0 B     reth     rETH/USD
LUSD   LUSD      0         0     0    0   1000    2200000    1800000        0     0 B     lusd     LUSD/USD
USDC   USDCn  8100      8600 10500 1000   1000   41000000   41000000        0     1 BI    usdc     USDC/USD
FRAX   FRAX   7000      7500 10600 1000   1000    7000000    5500000  1000000     0 B     stable   FRAX/USD
ARB    ARB    5000      6000 11000 1000   2000   20000000   16500000 14000000     0 B     arb      ARB/USD
""",
    ),
    adapters={
        "wstETH/USD": Adapter("0x945fD405773973d286De54E44649cc0d9e264F78", "ETH/USD"),
        "rETH/USD": Adapter("0x04c28D6fE897859153eA753f986cc249Bf064f71", "ETH/USD"),
    },
    uniswap=UNISWAP,
    pools=(
        ("WETH", "USDC", 500, 40_000_000, "volatile"),
        ("WETH", "USDC.e", 500, 40_000_000, "volatile"),
        ("WBTC", "WETH", 500, 40_000_000, "volatile"),
        ("ARB", "WETH", 3000, 10_000_000, "volatile"),
        ("USDC", "USDC.e", 100, 5_000_000, "pegged"),
        ("wstETH", "WETH", 100, 20_000_000, "pegged"),
    ),
    tokens={"USDT": {"name": "Tether USD", "symbol": "USDT"}},
    sources=[
        {
            "what": "Aave V3 parameters, implementations, price adapters",
            "from": "configuration of Aave V3 Arbitrum, reports of bgd-labs/aave-helpers",
            "date": "2023-11-04",
        },
        {"what": "other addresses of Aave, token names, Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "market and provider ids, flash loan premiums", "from": DEPLOY_V3},
        ASSUMED_PRICES,
        UNISWAP_SOURCE,
    ],
    differences={
        "dates": "block and prices are of 13 January 2024, Aave's parameters of 4 November 2023. That day DAI, EURS, "
        "USDC.e and USDT were frozen and paused for an incident; here they are open, as they were again a week later",
        "USDC": NATIVE_USDC,
        **ROLLUP,
        "block number": "assumed, near what the chain had; BLOCKNUMBER is that of Arbitrum itself, not Ethereum's",
        "code": "no Stylus, no gas schedule of ArbOS: transactions cost what they cost on Ethereum",
    },
)
