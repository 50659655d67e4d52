"""Polygon PoS, 13 January 2024."""

from __future__ import annotations

from decimal import Decimal

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP, UNISWAP
from facts.forms import Adapter, ChainFacts, EMode, MarketFacts
from facts.said_alike import ASSUMED_PRICES, NATIVE_USDC, NOT_ETHEREUM, UNISWAP_SOURCE

POLYGON = ChainFacts(
    chain="polygon",
    title="Polygon PoS, 13 January 2024",
    chain_id=137,
    hardfork="shanghai",
    native="MATIC",
    wrapped_native="WMATIC",
    block={
        "number": 52_300_000,
        "timestamp": TIMESTAMP,
        "seconds": 2,
        "gas_limit": 30_000_000,
        "base_fee_wei": 50 * 10**9,
    },
    book="Polygon",
    deploy_market="polygon",
    pool_contract="Pool",
    aave=MarketFacts(
        implementations={
            "pool_implementation": "0xb77fc84a549ecc0b410d6fa15159C2df207545a3",
            "pool_configurator_implementation": "0xADf86b537eF08591c2777E144322E8b0Ca7E82a7",
            "data_provider": "0x9441B65EE553F70df9C77d45d3283B6BC24F222d",
            "a_token": "0xCf85FF1c37c594a10195F7A9Ab85CBb0a03f69dE",
            "stable_debt_token": "0x50ddd0Cd4266299527d25De9CBb55fE0EB8dAc30",
            "variable_debt_token": "0x79b5e91037AE441dE0d9e6fd3Fd85b96B83d4E93",
        },
        emodes=(
            EMode("Stablecoins", 9300, 9500, 10100),
            EMode("MATIC correlated", 9250, 9500, 10100),
            EMode("ETH correlated", 9000, 9300, 10100),
        ),
        rates="""
name     address                                    optimal base slope1 slope2 stable_base stable1 stable2 stable_share
stable   0xA9F3C3caE095527061e6d270DBE163693e6fda9D      80    0      4     75           5     0.5      75           20
volatile 0x03733F4E008d36f2e37F0080fF1c8DF756622E6F      45    0      7    300           9       0       0           20
usdc.e   0x588b62C84533232E3A881e096E5D639Fa754F093      90    0      7     80           8     0.5      60           20
weth     0x27eFE5db315b71753b2a38ED3d5dd7E9362ba93F      80    1    3.8     80         6.8       4      80           20
wmatic   0xFB0898dCFb69DF9E01DBE625A5988D6542e5BdC5      75    0    6.1    100         8.1       0       0           20
crv      0xBefcd01681224555b74eAC87207eaF9Bc3361F59      70    3     14    300          17       8     300           20
bal      0x4b8D3277d49E114C8F2D6E0B2eD310e29226fe16      80    3     14    150          16       0       0           20
jeur     0x41B66b4b6b4c9dab039d96528D1b88f7BAF8C5A4      90    0      4     60           5     0.5      60           20
maticx   0x6B434652E4C4e3e972f9F267982F05ae0fcc24b6      45 0.25      4    150           6     0.5     150           20
wsteth   0xA6459195d60A797D278f58Ffbd2BA62Fb3F7FA1E      45 0.25    4.5     80         5.5     4.5      80           20
usdc     0x53b13a6D43F647D788411Abfd28D229C274AfBF9      90    0      5     60           5       5      60            0
""",
        reserves="""
symbol  book     ltv threshold bonus  fee factor supply_cap borrow_cap ceiling emode flags rates    feed
DAI     DAI     7500      8000 10500 1000   1000   45000000   30000000       0     1 BI    stable   DAI/USD
LINK    LINK    5000      6500 10750 1000   2000     297640     163702       0     0 B     volatile LINK/USD
USDC.e  USDC    7700      8000 10500 1000   2000   40000000   36000000       0     1 BI    usdc.e   USDC/USD
WBTC    WBTC    7000      7500 10650 1000   2000       1548        851       0     0 B     volatile BTC/USD
WETH    WETH    8000      8250 10500 1000   1500      50000      14795       0     3 B     weth     ETH/USD
USDT    USDT0   7500      8000 10500 1000   1000   45000000   30000000 5000000     1 BI    stable   USDT/USD
AAVE    AAVE    6000      7000 10750 1000      0      70000          0       0     0 -     volatile AAVE/USD
WMATIC  WPOL    6500      7000 11000 1000   2000   47000000   39950000       0     2 B     wmatic   MATIC/USD
CRV     CRV     7500      8000 10500 1000   2000    1125240     900190       0     0 B     crv      CRV/USD
SUSHI   SUSHI   2000      4500 11000 1000   2000     299320     102484       0     0 B     volatile SUSHI/USD
GHST    GHST       0      4500 11500 1000   3500    4650000     220000       0     0 -     volatile GHST/USD
BAL     BAL     2000      4500 11000 1000   2000     361000     256140       0     0 B     bal      BAL/USD
DPI     DPI     2000      4500 11000 1000   3500       1417        779       0     0 B     volatile DPI/USD
EURS    EURS    6500      7000 10750 1000   1000    4000000     947000 5000000     1 B     stable   EUR/USD
jEUR    jEUR       0         0     0 1000   2000          0          0       0     1 BF    jeur     EUR/USD
agEUR   EURA       0         0     0 1000   2000          0          0       0     1 -     stable   EUR/USD
miMATIC miMATIC 7500      8000 10500 1000   2000    2200000    1200000 2000000     1 B     stable   MIMATIC/USD
stMATIC stMATIC 5000      6500 11000 2000   2000   21000000          0       0     2 -     volatile stMATIC/USD
MaticX  MaticX  5800      6700 11000 1000   2000   17200000    5200000       0     2 B     maticx   MaticX/USD
wstETH  wstETH  7000      7900 10720 1000   1500       1800        285       0     3 B     wsteth   wstETH/USD
USDC    USDCn   7700      8000 10500 1000   1000   50000000   45000000       0     1 B     usdc     USDC/USD
""",
    ),
    adapters={
        "stMATIC/USD": Adapter(
            "0x97371dF4492605486e23Da797fA68e55Fc38a13f", "MATIC/USD", Decimal("1.102"), operator="Chainlink"
        ),
        "MaticX/USD": Adapter(
            "0x5d37E4b374E6907de8Fc7fb33EE3b0af403C7403", "MATIC/USD", Decimal("1.098"), operator="Chainlink"
        ),
        "wstETH/USD": Adapter("0xA2508729b1282Cc70dd33Ed311d4A9A37383035b", "ETH/USD"),
    },
    uniswap=UNISWAP,
    pools=(
        ("WETH", "USDC", 500, 8_000_000, "volatile"),
        ("WETH", "USDC.e", 500, 10_000_000, "volatile"),
        ("WBTC", "WETH", 500, 15_000_000, "volatile"),
        ("WMATIC", "USDC", 500, 4_000_000, "volatile"),
        ("WMATIC", "WETH", 500, 8_000_000, "volatile"),
        ("USDC", "USDC.e", 100, 3_000_000, "pegged"),
    ),
    feeds={
        "CRV/USD": "0x336584C8E6Dc19637A5b36206B1c79923111b405",
        "SUSHI/USD": "0x49B0c695039243BBfEb8EcD054EB70061fd54aa0",
        "GHST/USD": "0xDD229Ce42f11D8Ee7fFf29bDB71C7b81352e11be",
        "BAL/USD": "0xD106B538F2A868c28Ca1Ec7E298C3325E0251d66",
        "DPI/USD": "0x2e48b7924FBe04d575BA229A59b64547d9da16e9",
    },
    tokens={
        "WMATIC": {"name": "Wrapped Matic", "symbol": "WMATIC"},
        "agEUR": {"name": "agEUR", "symbol": "agEUR"},
    },
    sources=[
        {
            "what": "Aave V3 parameters of the first nineteen reserves, implementations, price feeds",
            "from": "configuration of Aave V3 Polygon, reports of bgd-labs/proposal-3.0.2-upgrade",
            "date": "2023-04",
        },
        {
            "what": "Aave V3 parameters of wstETH and USDC, of USDC.e, and the efficiency modes",
            "from": "reports of their listings and changes, bgd-labs/aave-proposals and aave-proposals-v3",
            "date": "2023",
        },
        {"what": "other addresses of Aave, token names, Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "market and provider ids, flash loan premiums", "from": DEPLOY_V3},
        ASSUMED_PRICES,
        UNISWAP_SOURCE,
    ],
    differences={
        "dates": "block and prices are of 13 January 2024; Aave's parameters are of April 2023, those of reserves "
        "listed later of their listing. Other changes of caps and rates in between are left out",
        "USDC": NATIVE_USDC,
        "MATIC": "the native coin and its tokens have the names they had before the change to POL",
        **NOT_ETHEREUM,
        "staked MATIC": "the rates of stMATIC and MaticX are those of April 2023 grown by 4.5 % a year",
        "block number": "assumed, near what the chain had",
        "system contracts": "no bridge, no state receiver, no validators; fees are not burnt on Ethereum",
    },
)
