"""Dated replicas of Ethereum: block, listed reserves, parameters and prices of a day, each with its source.

A day is described by how it differs from Aave's configuration of 31 October 2023. A parameter has the value of the last
proposal payload before the day, else the value that the first payload after it replaced, else that of October.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from common_choices import ADDRESS_BOOK, DEPLOY_V3
from ethereum_choices import BLOCK, DIFFERENCES, LISTING_ORDER, SOURCES

RAY_PERCENT = 10**25
PAYLOADS = "bgd-labs/aave-proposals at e84af002, diffs of the payloads on Aave V3 Ethereum"
LISTINGS = "bgd-labs/aave-v3-ethereum-proposal at 2898f8a4, report of the first configuration"
SPOT = ("LINK", "AAVE", "CRV", "LDO", "MKR", "UNI")
"""Tokens with hourly spot prices in the cases."""


@dataclass(frozen=True, slots=True)
class Day:
    """Block of a replica and what is known of that day."""

    block: Mapping[str, int]
    title: str
    btc_hour: str
    """Hour of the BTC price, as in the file of the cases."""
    sources: list[dict[str, str]]
    differences: Mapping[str, str]
    listed: tuple[str, ...] = LISTING_ORDER
    spot: tuple[str, ...] = ()
    """Tokens whose price is the open of the block's hour on Binance spot; the rest keep October's oracle answer."""
    reserves: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters unlike October's, by reserve, under the names of Aave's configuration."""
    strategies: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Interest rate curves that October's configuration lacks, by address."""


def _curve(optimal: str, base: str, slope1: str, slope2: str, stable_base: str, stable1: str) -> dict[str, int]:
    """Build a curve from percentages; the slope of stable debt above the optimal usage is that of variable debt."""
    return {
        "optimalUsageRatio": _ray(optimal),
        "baseVariableBorrowRate": _ray(base),
        "variableRateSlope1": _ray(slope1),
        "variableRateSlope2": _ray(slope2),
        "baseStableBorrowRate": _ray(stable_base),
        "stableRateSlope1": _ray(stable1),
        "stableRateSlope2": _ray(slope2),
        "optimalStableToTotalDebtRatio": _ray("20"),
    }


def _ray(percent: str) -> int:
    return int(Decimal(percent) * RAY_PERCENT)


def _block(number: int, *, timestamp: int, base_fee_wei: int) -> dict[str, int]:
    return {
        "number": number,
        "timestamp": timestamp,
        "seconds": 12,
        "gas_limit": 30_000_000,
        "base_fee_wei": base_fee_wei,
    }


def _sources(date: str, hour: str, header: str) -> list[dict[str, str]]:
    return [
        {"what": "Aave V3 addresses", "from": "configuration of Aave V3 Ethereum", "date": "2023-10-31"},
        {"what": "Aave V3 parameters", "from": f"that configuration, taken back by {PAYLOADS}", "date": date},
        {"what": "first rate curves of WETH and DAI", "from": LISTINGS, "date": "2023-01-27"},
        {"what": "Aave treasury, administrator, registry; token names; Chainlink addresses", "from": ADDRESS_BOOK},
        {"what": "flash loan premiums", "from": DEPLOY_V3},
        {"what": "ETH/USD, stETH/ETH", "from": "the Chainlink rounds that stood at the block", "date": date},
        {"what": "BTC/USD", "from": f"BTCUSDT, open of the hour {hour} UTC", "date": date},
        {"what": ", ".join(SPOT), "from": f"Binance spot against USDT, open of the hour {hour} UTC", "date": date},
        {"what": "all other prices", "from": "the oracle answers in the configuration of Aave", "date": "2023-10-31"},
        {"what": "block number, timestamp and base fee", "from": f"header of Ethereum mainnet block {header}"},
        {"what": "Uniswap V3 addresses", "from": "Uniswap's deployment documentation and the pools' creation"},
    ]


_OTHER_PRICES = (
    "ETH, stETH, BTC, LINK, AAVE, CRV, LDO, MKR and UNI have prices of the day; all others keep their price in USD of "
    "31 October 2023. The rates of wstETH, rETH, cbETH and sDAI are those of that day taken back by 3.8, 3.2, 3.3 and "
    "5 % a year; WBTC is priced as BTC"
)
_PROTOCOLS = "only Aave V3 and Uniswap V3: of Spark, Compound V3 and Curve no parameters of this day are at hand"


def _differences(*, dates: str, listings: str, **reserves: str) -> dict[str, str]:
    """Differences from the chain: those of the day, those of some reserves, and those of all days."""
    return {
        "dates": dates,
        "listings": listings,
        "other prices": _OTHER_PRICES,
        "protocols": _PROTOCOLS,
        **reserves,
        "UNI": DIFFERENCES["UNI"],
        "permit": DIFFERENCES["permit"],
    }


_USDT_NO_COLLATERAL = {
    "usageAsCollateralEnabled": False,
    "ltv": 0,
    "liquidationThreshold": 0,
    "liquidationBonus": 0,
    "liquidationProtocolFee": 0,
    "supplyCap": 300_000_000,  # until the payload of 28 September 2023
}
_BEFORE_AUGUST_28 = {"ltv": 6700, "liquidationThreshold": 7400}  # rETH and cbETH, payload of 28 August 2023
_DAI_BEFORE_AUGUST_28 = {"ltv": 6700, "liquidationBonus": 10400}  # payloads of 29 May and 28 August 2023

JULY_2023 = Day(
    block=_block(17_666_333, timestamp=1689029411, base_fee_wei=14_677_335_454),
    title="Ethereum mainnet, 10 July 2023",
    btc_hour="2023-07-10 22:00:00",
    sources=_sources("2023-07-10", "22:00", "17,666,333"),
    differences=_differences(
        dates="block and prices are of 10 July 2023. No payload was written between 18 June and 19 July 2023, so "
        "every recorded parameter is of that day; parameters that no payload names are of 31 October 2023",
        listings="the reserves up to FRAX, which were listed before GHO of 15 July 2023",
    ),
    listed=LISTING_ORDER[: LISTING_ORDER.index("GHO")],
    spot=SPOT,
    reserves={
        "WETH": {"interestRateStrategy": "0x53F57eAAD604307889D87b747Fc67ea9DE430B01"},  # until 17 August 2023
        "wstETH": {"supplyCap": 450_000, "borrowCap": 12_000, "ltv": 6900, "liquidationThreshold": 8000},
        "USDC": {"liquidationThreshold": 7900},  # payload of 29 May 2023
        "DAI": {**_DAI_BEFORE_AUGUST_28, "interestRateStrategy": "0x694d4cFdaeE639239df949b6E24Ff8576A00d1f2"},
        "cbETH": {**_BEFORE_AUGUST_28, "borrowCap": 1_200},
        "USDT": {**_USDT_NO_COLLATERAL, "borrowCap": 185_000_000},
        "rETH": {**_BEFORE_AUGUST_28, "supplyCap": 40_000, "borrowCap": 2_400},
        "LUSD": {
            **_USDT_NO_COLLATERAL,
            "supplyCap": 12_000_000,  # collateral since the payload of 11 August 2023
            "borrowCap": 4_000_000,
        },
        "CRV": {"borrowingEnabled": True},  # until the payload of 5 August 2023
        "MKR": {"supplyCap": 6_000, "borrowCap": 1_500, "debtCeiling": 250_000_000},
        "UNI": {"supplyCap": 2_000_000},
    },
    strategies={"0x53F57eAAD604307889D87b747Fc67ea9DE430B01": _curve("80", "1", "3.8", "80", "6.8", "4")},
)

SEPTEMBER_2023 = Day(
    block=_block(18_085_863, timestamp=1694105579, base_fee_wei=21_738_310_146),
    title="Ethereum mainnet, 7 September 2023",
    btc_hour="2023-09-07 16:00:00",
    sources=_sources("2023-09-07", "16:00", "18,085,863"),
    differences=_differences(
        dates="block and prices are of 7 September 2023. A payload has the date on which it was written: caps of "
        "the risk steward hold from that day on, what governance votes on from 14 days later. So the thresholds of "
        "wstETH, cbETH, rETH and DAI of 28 August and GHO's rate of 4 September do not hold yet; on chain they may "
        "have. Parameters that no payload names are of 31 October 2023",
        listings="the reserves up to sDAI; STG and KNC were proposed on 8 October 2023",
        GHO=DIFFERENCES["GHO"].replace("3 %", "1.5 %") + ". It was paused in these weeks, and is open here",
    ),
    listed=LISTING_ORDER[: LISTING_ORDER.index("STG")],
    spot=SPOT,
    reserves={
        "WETH": {"interestRateStrategy": "0xb02381b1d27aA9845e5012083CA288c1818884f0"},  # payload of 17 August 2023
        "wstETH": {"supplyCap": 750_000, "ltv": 6900, "liquidationThreshold": 8000},
        "USDC": {"liquidationThreshold": 7900},
        "DAI": _DAI_BEFORE_AUGUST_28,
        "cbETH": _BEFORE_AUGUST_28,
        "USDT": {**_USDT_NO_COLLATERAL, "borrowCap": 250_000_000},
        "rETH": {**_BEFORE_AUGUST_28, "supplyCap": 40_000},
        "LUSD": {"supplyCap": 12_000_000},
        "MKR": {"debtCeiling": 250_000_000},
        "GHO": {"interestRateStrategy": "0x16E77D8a7192b65fEd49B3374417885Ff4421A74"},  # until 4 September 2023
        "RPL": {"borrowCap": 160_000},
    },
    strategies={
        "0xb02381b1d27aA9845e5012083CA288c1818884f0": _curve("90", "0", "3.8", "80", "6.8", "4"),
        "0x16E77D8a7192b65fEd49B3374417885Ff4421A74": {
            **_curve("0", "1.5", "0", "0", "0", "0"),
            "optimalStableToTotalDebtRatio": 0,
        },
    },
)

JANUARY_2024 = Day(
    block=BLOCK,
    title="Ethereum mainnet, 13 January 2024",
    btc_hour="2024-01-13 19:00:00",
    sources=SOURCES,
    differences=DIFFERENCES,
)
"""The default replica."""

DATED = (JULY_2023, SEPTEMBER_2023)
