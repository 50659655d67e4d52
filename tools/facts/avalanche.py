"""Avalanche C-Chain, 13 January 2024."""

from __future__ import annotations

from decimal import Decimal

from common_choices import ADDRESS_BOOK, DEPLOY_V3, TIMESTAMP
from facts.forms import Adapter, ChainFacts, EMode, MarketFacts
from facts.said_alike import ASSUMED_PRICES, NOT_ETHEREUM, UNISWAP_SOURCE

AVALANCHE = ChainFacts(
    chain="avalanche",
    title="Avalanche C-Chain, 13 January 2024",
    chain_id=43_114,
    hardfork="london",
    native="AVAX",
    wrapped_native="WAVAX",
    block={
        "number": 40_300_000,
        "timestamp": TIMESTAMP,
        "seconds": 2,
        "gas_limit": 15_000_000,
        "base_fee_wei": 25 * 10**9,
    },
    book="Avalanche",
    deploy_market="avalanche",
    pool_contract="Pool",
    aave=MarketFacts(
        implementations={
            "pool_implementation": "0xCf85FF1c37c594a10195F7A9Ab85CBb0a03f69dE",
            "pool_configurator_implementation": "0x79b5e91037AE441dE0d9e6fd3Fd85b96B83d4E93",
            "data_provider": "0x50ddd0Cd4266299527d25De9CBb55fE0EB8dAc30",
            "a_token": "0x1E81af09001aD208BDa68FF022544dB2102A752d",
            "stable_debt_token": "0x893411580e590D62dDBca8a703d61Cc4A8c7b2b9",
            "variable_debt_token": "0xa0d9C1E9E48Ca30c8d8C3B5D69FF5dc1f6DFfC24",
        },
        emodes=(EMode("Stablecoins", 9700, 9750, 10100), EMode("AVAX correlated", 9250, 9500, 10100)),
        rates="""
name     address                                    optimal base slope1 slope2 stable_base stable1 stable2 stable_share
dai      0xfab05a6aF585da2F96e21452F91E812452996BD3      80    0      4     75           5     0.5      75           20
stable   0xf4a0039F2d4a2EaD5216AbB6Ae4C4C3AA2dB9b82      90    0      4     60           5     0.5      60           20
volatile 0x79a906e8c998d2fb5C5D66d23c4c5416Fe0168D6      45    0      7    300           9       0       0           20
wavax    0xc76EF342898f1AE7E6C4632627Df683FAD8563DD      65    1   4.72 144.28        8.72    4.72  144.28           20
""",
        reserves="""
symbol book   ltv threshold bonus  fee factor supply_cap borrow_cap ceiling emode flags rates    feed
DAI    DAIe  7500      8200 10500 1000   1000   30000000   20000000       0     1 BI    dai      DAI/USD
LINK   LINKe 5300      6800 10750 1000   2000     440000     220000       0     0 B     volatile LINK/USD
USDC   USDC  8250      8625 10400 1000   1000  250000000  175000000       0     1 BI    stable   USDC/USD
WBTC   WBTCe 7000      7500 10625 1000   2000       2000       1100       0     0 B     volatile BTC/USD
WETH   WETHe 8000      8250 10500 1000   1000      38000      20500       0     0 B     volatile ETH/USD
USDT   USDt  7500      8100 10500 1000   1000  200000000  140000000 5000000     1 BI    stable   USDT/USD
AAVE   AAVEe 6000      7130 10750 1000      0       5800          0       0     0 -     volatile AAVE/USD
WAVAX  WAVAX 6800      7300 11000 1000   2000    3800000    1200000       0     2 B     wavax    AVAX/USD
sAVAX  sAVAX 2000      3000 11000 1000   1000    2000000          0       0     2 -     volatile sAVAX/USD
FRAX   FRAX  7500      8000 10500 1000   1000    1500000    1000000 1000000     1 B     stable   FRAX/USD
MAI    MAI   7500      8000 10500 1000   1000     700000     460000 2000000     1 B     stable   MIMATIC/USD
BTC.b  BTCb  7000      7500 10650 1000   2000       3500       1900       0     0 B     volatile BTC/USD
""",
    ),
    adapters={"sAVAX/USD": Adapter("0xc9245871D69BF4c36c6F2D15E0D68Ffa883FE1A7", "AVAX/USD", Decimal("1.121"))},
    uniswap={
        "factory": "0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD",
        "quoter_v2": "0xbe0F5544EC67e9B3b2D979aaA43f18Fd87E6257F",
        "position_manager": "0x655C406EBFa14EE2006250925e54ec43AD184f8B",
        "tick_lens": "0xEB9fFC8bf81b4fFd11fb6A63a6B0f098c6e21950",
        "interface_multicall": "0x0139141Cd4Ee88dF3Cdb65881D411bAE271Ef0C2",
    },
    pools=(
        ("WETH", "USDC", 500, 3_000_000, "volatile"),
        ("WAVAX", "USDC", 500, 8_000_000, "volatile"),
        ("WETH", "WAVAX", 3000, 2_000_000, "volatile"),
        ("BTC.b", "USDC", 3000, 2_000_000, "volatile"),
    ),
    sources=[
        {
            "what": "Aave V3 parameters, implementations, price feeds",
            "from": "configuration of Aave V3 Avalanche, reports of bgd-labs/proposal-3.0.2-upgrade",
            "date": "2023-04",
        },
        {"what": "other addresses of Aave, token names, Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "market and provider ids, flash loan premiums", "from": DEPLOY_V3},
        ASSUMED_PRICES,
        UNISWAP_SOURCE,
    ],
    differences={
        "dates": "block and prices are of 13 January 2024, Aave's parameters of April 2023",
        "names": "bridged tokens are called as Aave calls them, without the suffix: 'WETH' is WETH.e, as are 'DAI', "
        "'LINK', 'WBTC' and 'AAVE'; 'USDT' is USDt. Their contracts say the real symbols",
        **NOT_ETHEREUM,
        "staked AVAX": "the rate of sAVAX is that of April 2023 grown by 5.5 % a year",
        "block number": "assumed, near what the chain had",
        "first SwapRouter": "Uniswap never deployed its first SwapRouter or Quoter on Avalanche: the replica has both, "
        "and the contracts that describe positions, at addresses of its own; a fork of the real chain has them not",
        "system contracts": "no atomic transactions with other chains, no precompiles of Avalanche",
    },
)
