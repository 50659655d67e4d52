"""Compound V3 markets by chain, with tokens and price feeds that other sections of a table may lack.

`compound_facts.py` lists the sources. Borrowed amounts (`lent`) and prices are assumptions.
"""

from __future__ import annotations

from typing import Any

from compound_market import asset, feed, market, token

# -- Ethereum ---------------------------------------------------------------------------------------------------------

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
COMP = "0xc00e94Cb662C3520282E6f5717214004A7f26888"
ETHEREUM_GUARDIAN = "0xbbf3f1421D886E9b2c5D716B5192aC998af2012c"

ETHEREUM = {
    "governor": "0x6d903f6003cca6255D85CcA4D3B5E5146dC33925",
    "markets": [
        market(
            "cUSDCv3",
            "0xc3d688B66703497DAA19211EEdff47f25384cdc3",
            "0x285617313887d43256F852cAE0Ee4de4b68D45B0",
            (USDC, "0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6", 6),
            name="Compound USDC",
            guardian=ETHEREUM_GUARDIAN,
            supply="0.9 0.075 3.6 0",
            borrow="0.9 0.0833 4.3 0.015",
            store_front="0.6",
            tracking=(1_747_685_185_185, 821_759_259_259, 1_000_000 * 10**6),
            minimum_borrow=100 * 10**6,
            target_reserves=20_000_000,
            lent=450_000_000,
            assets=[
                asset(COMP, "0xdbd020CAeF83eFd542f4De03e3cF0C28A4428bd5", 18, "0.65 0.7 0.75", 900_000),
                asset(
                    "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
                    "0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c",
                    8,
                    "0.8 0.85 0.95",
                    18_000,
                ),
                asset(WETH, "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419", 18, "0.825 0.895 0.95", 500_000),
                asset(
                    "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
                    "0x553303d460EE0afB37EdFf9bE42922D8FF63220e",
                    18,
                    "0.73 0.79 0.83",
                    2_600_000,
                ),
                asset(
                    "0x514910771AF9Ca656af840dff83E8264EcF986CA",
                    "0x2c1d072e956AFFC0D435Cb7AC38EF18d24d9127c",
                    18,
                    "0.79 0.85 0.93",
                    4_000_000,
                ),
            ],
        ),
        market(
            "cWETHv3",
            "0xA17581A9E3356d9A858b789D68B4d866e593aE94",
            "0xe2C1F54aFF6b38fD9DF7a69F22cB5fd3ba09F030",
            (WETH, "0xD72ac1bCE9177CFe7aEb5d0516a38c88a64cE0AB", 18),
            name="Compound WETH",
            guardian=ETHEREUM_GUARDIAN,
            supply="0.9 0.0283824 0.6066567706 0",
            borrow="0.9 0.05171500002 0.5171500339 0.009945209674",
            store_front="0.5",
            tracking=(447_916_666_666, 0, 1_000 * 10**18),
            minimum_borrow=10**17,
            target_reserves=5_000,
            lent=45_000,
            assets=[
                asset(
                    "0xBe9895146f7AF43049ca1c1AE358B0541Ea49704",
                    "0x23a982b74a3236A5F2297856d4391B2edBBB5549",
                    18,
                    "0.9 0.93 0.95",
                    7_100,
                ),
                asset(
                    "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0",
                    "0x4F67e4d9BD67eFa28236013288737D39AeF48e79",
                    18,
                    "0.9 0.93 0.95",
                    64_500,
                ),
                asset(
                    "0xae78736Cd615f374D3085123A210448E74Fc6393",
                    "0xA3A7fB5963D1d69B95EEC4957f77678EF073Ba08",
                    18,
                    "0.9 0.93 0.975",
                    30_000,
                ),
            ],
        ),
    ],
}
ETHEREUM_TOKENS = {"COMP": token(COMP, "Compound")}
ETHEREUM_FEEDS = {
    "COMP/USD": feed("0xdbd020CAeF83eFd542f4De03e3cF0C28A4428bd5", "COMP / USD", answer="57.5"),
    "WETH/ETH": feed("0xD72ac1bCE9177CFe7aEb5d0516a38c88a64cE0AB", "WETH / ETH", operator="Compound", answer="1"),
    # The ratios of Aave's adapters at the replica's block, wstETH's times stETH/ETH as Compound's own feed does it.
    "cbETH/ETH": feed(
        "0x23a982b74a3236A5F2297856d4391B2edBBB5549", "CBETH / ETH", operator="Compound", answer="1.0566"
    ),
    "wstETH/ETH": feed(
        "0x4F67e4d9BD67eFa28236013288737D39AeF48e79", "wstETH / ETH", operator="Compound", answer="1.1529"
    ),
    "rETH/ETH": feed("0xA3A7fB5963D1d69B95EEC4957f77678EF073Ba08", "RETH / ETH", operator="Compound", answer="1.0953"),
}

# -- Arbitrum ---------------------------------------------------------------------------------------------------------

ARBITRUM_EXTENSION = "0x1B2E88cC7365d90e7E81392432482925BD8437E9"
ARBITRUM_GUARDIAN = "0x78E6317DD6D43DdbDa00Dce32C2CbaFc99361a9d"
ARBITRUM_USDC_FEED = "0x50834F3163758fcC1Df9973b6e91f0F0F0434aD3"
ARBITRUM_ASSETS = [
    asset(
        "0x912CE59144191C1204E64559FE8253a0e49E6548",
        "0xb2A824043730FE05F3DA2efaFa1CBbe83fa548D6",
        18,
        "0.55 0.6 0.93",
        4_000_000,
    ),
    asset(
        "0xfc5A1A6EB076a2C7aD06eD22C90d7E710E35ad0a",
        "0xDB98056FecFff59D032aB628337A4887110df3dB",
        18,
        "0.4 0.45 0.93",
        50_000,
    ),
    asset(
        "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
        "0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612",
        18,
        "0.78 0.85 0.95",
        5_000,
    ),
    asset(
        "0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f",
        "0xd0C7101eACbB49F3deCcCc166d238410D6D46d57",
        8,
        "0.7 0.77 0.95",
        300,
    ),
]
ARBITRUM = {
    "governor": "0x3fB4d38ea7EC20D91917c09591490Eeda38Cf88A",
    "markets": [
        market(
            "cUSDCv3",
            "0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf",
            ARBITRUM_EXTENSION,
            ("0xaf88d065e77c8cC2239327C5EDb3A432268e5831", ARBITRUM_USDC_FEED, 6),
            name="Compound USDC",
            guardian=ARBITRUM_GUARDIAN,
            supply="0.8 0.0325 0.4 0",
            borrow="0.8 0.035 0.25 0.015",
            store_front="0.8",
            tracking=(115_740_740_740, 0, 10_000 * 10**6),
            minimum_borrow=10 * 10**6,
            target_reserves=5_000_000,
            lent=12_000_000,
            assets=ARBITRUM_ASSETS,
        ),
        market(
            "cUSDCev3",
            "0xA5EDBDD9646f8dFF606d7448e414884C7d905dCA",
            ARBITRUM_EXTENSION,
            ("0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8", ARBITRUM_USDC_FEED, 6),
            name="Compound USDC",
            symbol="cUSDCv3",  # as it called itself then; both markets shared the contract that answers it
            guardian=ARBITRUM_GUARDIAN,
            supply="0.8 0.0325 0.4 0",
            borrow="0.8 0.035 0.25 0.015",
            store_front="0.8",
            tracking=(0, 0, 10_000 * 10**6),
            minimum_borrow=100 * 10**6,
            target_reserves=5_000_000,
            lent=10_000_000,
            assets=ARBITRUM_ASSETS,
        ),
    ],
}
ARBITRUM_TOKENS = {"GMX": token("0xfc5A1A6EB076a2C7aD06eD22C90d7E710E35ad0a", "GMX")}
ARBITRUM_FEEDS = {
    "GMX/USD": feed("0xDB98056FecFff59D032aB628337A4887110df3dB", "GMX / USD", answer="52"),
    "WBTC/USD": feed("0xd0C7101eACbB49F3deCcCc166d238410D6D46d57", "WBTC / USD", base="BTC/USD", ratio="1"),
}

# -- Polygon ----------------------------------------------------------------------------------------------------------

POLYGON = {
    "governor": "0xCC3E7c85Bb0EE4f09380e041fee95a0caeDD4a02",
    "markets": [
        market(
            "cUSDCv3",
            "0xF25212E676D1F7F89Cd72fFEe66158f541246445",
            "0xbdE8F31D2DdDA895264e27DD990faB3DC87b372d",
            ("0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", "0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7", 6),
            name="Compound USDC",
            guardian="0x8Ab717CAC3CbC4934E63825B88442F5810aAF6e5",
            supply="0.8 0.0325 0.4 0",
            borrow="0.8 0.035 0.25 0.015",
            store_front="0.6",
            tracking=(0, 402_083_333_333, 1_000_000 * 10**6),
            minimum_borrow=100 * 10**6,
            target_reserves=5_000_000,
            lent=20_000_000,
            assets=[
                asset(
                    "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619",
                    "0xF9680D99D6C9589e2a93a78A04A279e509205945",
                    18,
                    "0.775 0.825 0.95",
                    11_000,
                ),
                asset(
                    "0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6",
                    "0xDE31F8bFBD8c84b5360CFACCa3539B938dd78ae6",
                    8,
                    "0.7 0.75 0.95",
                    400,
                ),
                asset(
                    "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270",
                    "0xAB594600376Ec9fD91F8e885dADF0CE036862dE0",
                    18,
                    "0.65 0.7 0.93",
                    10_000_000,
                ),
                asset(
                    "0xfa68FB4628DFF1028CFEc22b4162FCcd0d45efb6",
                    "0x5d37E4b374E6907de8Fc7fb33EE3b0af403C7403",
                    18,
                    "0.55 0.6 0.93",
                    6_000_000,
                ),
            ],
        ),
    ],
}
POLYGON_TOKENS: dict[str, Any] = {}
POLYGON_FEEDS = {
    "WBTC/USD": feed("0xDE31F8bFBD8c84b5360CFACCa3539B938dd78ae6", "WBTC / USD", base="BTC/USD", ratio="1"),
}

# -- Base -------------------------------------------------------------------------------------------------------------

BASE_GUARDIAN = "0x3cb4653F3B45F448D9100b118B75a1503281d2ee"
BASE_WETH = "0x4200000000000000000000000000000000000006"
BASE_CBETH = "0x2Ae3F1Ec7F1F5012CFEab0185bfc7aa3cf0DEc22"
BASE_ETH_FEED = "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70"
BASE_USDC_FEED = "0x7e860098F58bBFC8648a4311b374B1D669a2bc6B"
BASE_CBETH_FEED = "0x4687670f5f01716fAA382E2356C103BaD776752C"
BASE = {
    "governor": "0xCC3E7c85Bb0EE4f09380e041fee95a0caeDD4a02",
    "markets": [
        market(
            "cUSDCv3",
            "0xb125E6687d4313864e53df431d5425969c15Eb2F",
            "0x3bac64185786922292266AA92a58cf870D694E2a",
            ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", BASE_USDC_FEED, 6),
            name="Compound USDC",
            guardian=BASE_GUARDIAN,
            supply="0.85 0.048 1.6 0",
            borrow="0.85 0.053 1.8 0.015",
            store_front="0.6",
            tracking=(231_481_481_481, 92_592_592_592, 1_000 * 10**6),
            minimum_borrow=1,
            target_reserves=5_000_000,
            lent=15_000_000,
            assets=[
                asset(BASE_CBETH, BASE_CBETH_FEED, 18, "0.75 0.8 0.85", 7_500),
                asset(BASE_WETH, BASE_ETH_FEED, 18, "0.8 0.9 0.95", 11_000),
            ],
        ),
        market(
            "cUSDbCv3",
            "0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf",
            "0x2F9E3953b2Ef89fA265f2a32ed9F80D00229125B",
            ("0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA", BASE_USDC_FEED, 6),
            name="Compound USDbC",
            guardian=BASE_GUARDIAN,
            supply="0.8 0.0325 0.4 0",
            borrow="0.8 0.035 0.25 0.015",
            store_front="0.6",
            tracking=(347_222_222_222, 173_611_111_111, 1_000 * 10**6),
            minimum_borrow=1,
            target_reserves=5_000_000,
            lent=15_000_000,
            assets=[
                asset(BASE_CBETH, BASE_CBETH_FEED, 18, "0.75 0.8 0.93", 7_500),
                asset(BASE_WETH, BASE_ETH_FEED, 18, "0.79 0.84 0.95", 11_000),
            ],
        ),
        market(
            "cWETHv3",
            "0x46e6b214b524310239732D51387075E0e70970bf",
            "0x88bB8C109640778D3fB1074bB10a66e31F2c9c17",
            (BASE_WETH, "0x9f485610E26B9c0140439f88Dc0C7742903Bd1CF", 18),
            name="Compound WETH",
            guardian=BASE_GUARDIAN,
            supply="0.9 0.0283824 0.6066567706 0",
            borrow="0.9 0.037 0.5171500339 0.009945209674",
            store_front="1",
            tracking=(231_481_481_481, 0, 100 * 10**18),
            minimum_borrow=1,
            target_reserves=5_000,
            lent=3_500,
            assets=[asset(BASE_CBETH, "0x59e242D352ae13166B4987aE5c990C232f7f7CD6", 18, "0.9 0.93 0.975", 7_500)],
        ),
    ],
}
BASE_TOKENS: dict[str, Any] = {}
BASE_FEEDS = {
    "cbETH/ETH/USD": feed(BASE_CBETH_FEED, "cbETH / ETH / USD", operator="Compound", base="ETH/USD", ratio="1.0566"),
    "WETH/ETH": feed("0x9f485610E26B9c0140439f88Dc0C7742903Bd1CF", "WETH / ETH", operator="Compound", answer="1"),
    "cbETH/ETH": feed(
        "0x59e242D352ae13166B4987aE5c990C232f7f7CD6", "CBETH / ETH", operator="Compound", answer="1.0566"
    ),
}
