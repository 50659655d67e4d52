"""SparkLend on Ethereum after the executive vote of 10 January 2024.

Addresses are those of Spark's registry. Parameters come from the reports of its votes since April
2023; the rate curve of GNO, which cannot be borrowed, and its caps were not found.
"""

from __future__ import annotations

from facts.forms import EMode, MarketFacts

IDENTITY = {
    "market_id": "Spark Protocol",
    "provider_id": 1,
    "pool_contract": "Pool",
    "flash_loan_premium_bps": {"total": 0, "protocol": 0},
}
ADDRESSES = {
    "provider": "0x02C3eA4e34C0cBd694D2adFa2c690EECbC1793eE",
    "pool": "0xC13e21B648A5Ee794902342038FF3aDAB66BE987",
    "pool_configurator": "0x542DBa469bdE58FAeE189ffB60C6b49CE60E0738",
    "pool_implementation": "0xB40f6d584081ac2b0FD84C846dBa3C1417889304",
    "pool_configurator_implementation": "0xF7b656C95420194b79687fc86D965FB51DA4799F",
    "oracle": "0x8105f69D9C41644c6A0803fDA7D03Aa70996cFD9",
    "data_provider": "0xFc21d6d146E6086B8359705C8b28512a983db0cb",
    "acl_manager": "0xdA135Cd78A086025BcdC87B038a1C462032b510C",
    "acl_admin": "0x3300f198988e4C9C63F75dF86De36421f06af8c4",
    "registry": "0x03cFa0C4622FF84E50E75062683F44c9587e6Cc1",
    "treasury": "0xb137E7d16564c81ae2b0C8ee6B55De81dd46ECe5",
}
SPARK = MarketFacts(
    implementations={
        "a_token": "0x6175ddEc3B9b38c88157C10A01ed4A3fa8639cC6",
        "stable_debt_token": "0x026a5B6114431d8F3eF2fA0E1B2EDdDccA9c540E",
        "variable_debt_token": "0x86C71796CcDB31c3997F8Ec5C2E3dB3e9e40b985",
    },
    emodes=(EMode("ETH", 9000, 9300, 10100), EMode("USD", 9100, 9200, 10100)),
    rates="""
name   address                                    optimal  base slope1 slope2 stable_base stable1 stable2 stable_share
dai    0x7d8f2210FAD012E7d260C3ddBeCaCfd48277455F     100 5.379      0      0           0       0       0            0
sdai   0xeC4cf692c18E62159a39704Aa1Db82ca2306fF90     100     1      0      0           0       0       0            0
stable 0xbc8A68B0ab0617D7c90d15bb1601B25d795Dc4c8      95     0  4.479     20       4.479       0       0            0
weth   0xeCe550fB709C85CE9FC999A033447Ee2DF3ce55c      90     0    3.2    120         3.2       0       0            0
wsteth 0x0D56700c90a690D8795D6C148aCD94b12932f4E3      45  0.25    4.5     80         4.5       0       0            0
wbtc   0xf2812d7a07573322D4Db3C31239C837081D8294E      65     0      8    300           8       0       0            0
gno    0x554265A713D6746A62d86A797254590784D436AA     100     0      0      0           0       0       0            0
reth   0x995c1A1Ee993031B9f3F268dD2B5E2AD7FE2CFdc      45     0      7    300           7       0       0            0
""",
    reserves="""
symbol  ltv threshold bonus  fee factor supply_cap borrow_cap ceiling emode flags rates  feed
DAI       0         1 10450 2000      0          0          0       0     0 BI    dai    DAI/USD.fixed
sDAI   7400      7600 10450 2000   1000          0          0       0     2 -     sdai   sDAI/DAI/USD
USDC      0         0     0    0    500   60000000          0       0     2 BS    stable USDC/USD
WETH   8000      8250 10500 1000    500          0    1400000       0     1 B     weth   ETH/USD
wstETH 6850      7950 10700 1000   1500     800000       3000       0     1 B     wsteth wstETH/USD
WBTC   7000      7500 10625 1000   2000       3000        500       0     0 B     wbtc   WBTC/USD
GNO       0      2500 11000    0      0          0          0 5000000     0 F     gno    GNO/USD
rETH   6850      7950 10700 1000   1500      80000       2400       0     1 B     reth   rETH/USD
USDT      0         0     0    0    500   30000000          0       0     2 BS    stable USDT/USD
""",
    assumed={
        "DAI": (400_000_000, 200_000_000),
        "sDAI": (100_000_000, 0),
        "WETH": (300_000, 150_000),
        "GNO": (20_000, 0),
    },
)
TOKENS = {
    "GNO": {
        "address": "0x6810e776880C02933D47DB1b9fc05908e5386b96",
        "name": "Gnosis Token",
        "decimals": 18,
        "kind": "standard",
    }
}
FEEDS = {
    "DAI/USD.fixed": {
        "address": "0x42a03F81dd8A1cEcD746dc262e4d1CD9fD39F777",
        "description": "DAI / USD, always 1",
        "operator": "Spark",
        "decimals": 8,
        "answer": 100_000_000,
    },
    "GNO/USD": {
        "address": "0x4A7Ad931cb40b564A1C453545059131B126BC828",
        "description": "GNO / USD",
        "operator": "Spark",
        "decimals": 8,
        "answer": 21_500_000_000,
    },
}
SAVINGS_DAI_FEED = "0xb9E6DBFa4De19CCed908BcbFe1d015190678AB5f"
SOURCES = [
    {
        "what": "SparkLend parameters",
        "from": "reports of Spark's votes, marsfoundation/sparklend-deployments and marsfoundation/spark-spells; "
        "GNO from the executive vote that listed it",
        "date": "2024-01-10",
    },
    {"what": "SparkLend addresses", "from": "marsfoundation/spark-address-registry and the same reports"},
]
DIFFERENCES = {
    "SparkLend": "the code is Aave's, @aave/core-v3 1.19.3, as on Aave's market; Spark runs a fork of it. DAI's rate "
    "is a constant 5.379 %, the savings rate of that week and half a percent, where the real one follows Maker; GNO "
    "has no caps; a flash loan is free. Assumed prices: GNO 215 USD, sDAI by the rate of Aave's adapter",
    "SparkLend positions": "assumed: 400 and 200 million DAI are supplied and borrowed, 300,000 and 150,000 WETH, 100 "
    "million sDAI, 20,000 GNO, and of the rest half the cap; USDC and USDT, which are siloed, are not borrowed",
}
