"""The tables of Ethereum, from Aave's configuration of 31 October 2023 and what is known of the day of each block."""

from __future__ import annotations

import csv
import gzip
import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

from common_choices import BORROWED_SHARE_OF_CAP, SUPPLIED_SHARE_OF_CAP, USAGE_SHARE_OF_OPTIMAL
from ethereum_choices import (
    ADAPTER_BASES,
    ADAPTERS,
    CONFIG_TIMESTAMP,
    CONTRACTS,
    LISTING_ORDER,
    POOLS,
)
from ethereum_days import Day
from npm_packages import Packages
from uniswap_section import make_uniswap, price_of

AAVE_CONFIG = "AaveV3Ethereum_config_20231031_after.json"

YEAR_SECONDS = 365 * 24 * 3600
WAD = 10**18


def make_ethereum(cases: Path, packages: Packages, day: Day) -> dict[str, Any]:
    """Build the table of a day."""
    config = json.loads((cases / "aave" / AAVE_CONFIG).read_text())
    reserves = {reserve["symbol"]: reserve for reserve in config["reserves"].values()}
    assert sorted(reserves) == sorted(LISTING_ORDER), "the configuration lists other reserves than expected"
    reserves = {symbol: reserves[symbol] | dict(day.reserves.get(symbol, {})) for symbol in day.listed}
    config["strategies"] |= day.strategies
    for symbol in day.spot:
        reserves[symbol]["oracleLatestAnswer"] = spot_open_e8(cases / "prices", symbol, day.block["timestamp"])
    feeds = make_feeds(reserves, cases / "market", packages.book("ChainlinkEthereum"), day)
    tokens = make_tokens(reserves, packages)
    return {
        "chain": "ethereum",
        "title": day.title,
        "chain_id": 1,
        "hardfork": "shanghai",
        "native": "ETH",
        "wrapped_native": "WETH",
        "block": dict(day.block),
        "sources": day.sources,
        "differences": [{"subject": subject, "text": text} for subject, text in day.differences.items()],
        "tokens": tokens,
        "feeds": feeds,
        "aave": make_aave(config, reserves, packages),
        "uniswap": make_uniswap(CONTRACTS, POOLS, tokens, pool_prices(feeds)),
    }


def make_tokens(reserves: dict[str, Any], packages: Packages) -> dict[str, Any]:
    """Every reserve's underlying token."""
    listed = packages.tokens(1)
    tokens: dict[str, Any] = {}
    for symbol in reserves:
        reserve = reserves[symbol]
        kind = {"WETH": "weth9", "USDT": "silent"}.get(symbol, "standard")
        tokens[symbol] = {
            "address": reserve["underlying"],
            "name": listed[reserve["underlying"]]["name"],
            "decimals": reserve["decimals"],
            "kind": kind,
        }
        if symbol == "USDC":
            tokens[symbol]["permit_version"] = "2"
    return tokens


def make_feeds(reserves: dict[str, Any], market: Path, chainlink: dict[str, str], day: Day) -> dict[str, Any]:
    """Chainlink's feeds, then the adapters that read them."""
    eth_round = round_at(market / "chainlink_ETH_USD_2023-04_2024-01.csv", day.block["timestamp"])
    steth_round = round_at(market / "chainlink_STETH_ETH_2022-01_2024-01.csv", day.block["timestamp"])
    chainlink_8 = {"operator": "Chainlink", "decimals": 8}
    feeds: dict[str, Any] = {
        "ETH/USD": {"address": chainlink["ETH__USD"], "description": "ETH / USD", **chainlink_8, **eth_round},
        "BTC/USD": {
            "address": chainlink["BTC__USD"],
            "description": "BTC / USD",
            **chainlink_8,
            "answer": hourly_open_e8(market / "BTCUSDT_1h_2022-10_2025-10.csv", day.btc_hour),
        },
        "stETH/ETH": {
            "address": chainlink["STETH__ETH"],
            "description": "STETH / ETH",
            "operator": "Chainlink",
            "decimals": 18,
            **steth_round,
        },
    }
    assert feeds["ETH/USD"]["address"] == reserves["WETH"]["oracle"]
    for symbol, reserve in reserves.items():
        if symbol == "WETH":
            continue
        if symbol not in ADAPTERS:
            feeds[f"{symbol}/USD"] = {
                "address": reserve["oracle"],
                "description": reserve.get("oracleDescription", f"{symbol} / USD"),
                "operator": "Aave" if symbol == "GHO" else "Chainlink",  # GHO's price is a constant of Aave's
                "decimals": reserve["oracleDecimals"],
                "answer": reserve["oracleLatestAnswer"],
            }
    for symbol, (base, growth) in ADAPTERS.items():
        if symbol not in reserves:
            continue
        elapsed = Decimal(day.block["timestamp"] - CONFIG_TIMESTAMP) / YEAR_SECONDS
        ratio = ratio_e18(symbol, reserves, feeds[base]["answer"], None if growth is None else growth * elapsed)
        default_name = f"{symbol}/{base}"
        feeds[f"{symbol}/USD"] = {
            "address": reserves[symbol]["oracle"],
            "description": reserves[symbol].get("oracleName")
            or reserves[symbol].get("oracleDescription", default_name),
            "operator": "Aave",
            "base": base,
            "ratio_e18": ratio,
        }
    return feeds


def ratio_e18(symbol: str, reserves: dict[str, Any], base_answer: int, growth: Decimal | None) -> int:
    """Price of one unit of `symbol` in the asset of its base feed, which has grown since the configuration."""
    if symbol == "WBTC":
        return WAD
    answer = Decimal(reserves[symbol]["oracleLatestAnswer"])
    with localcontext(prec=60):
        if growth is None:  # its price in USD is known
            return int(answer * WAD / base_answer)
        base_then = Decimal(reserves[ADAPTER_BASES[ADAPTERS[symbol][0]]]["oracleLatestAnswer"])
        return int(answer / base_then * (1 + growth) * WAD)


def make_aave(config: dict[str, Any], reserves: dict[str, Any], packages: Packages) -> dict[str, Any]:
    """Aave's contracts, curves and reserves."""
    constants = packages.book("AaveV3Ethereum")
    pool = config["poolConfig"]
    for ours, theirs in (("pool", "POOL"), ("oracle", "ORACLE"), ("poolConfigurator", "POOL_CONFIGURATOR")):
        assert pool[ours] == constants[theirs], f"the two sources disagree on {ours}"
    used = {reserve["interestRateStrategy"] for reserve in reserves.values()}
    return {
        "market_id": "Aave Ethereum Market",
        "provider_id": 30,
        "pool_contract": "Pool",
        "addresses": {
            "provider": pool["poolAddressesProvider"],
            "pool": pool["pool"],
            "pool_configurator": pool["poolConfigurator"],
            "pool_implementation": pool["poolImpl"],
            "pool_configurator_implementation": pool["poolConfiguratorImpl"],
            "oracle": pool["oracle"],
            "data_provider": pool["protocolDataProvider"],
            "acl_manager": constants["ACL_MANAGER"],
            "acl_admin": constants["ACL_ADMIN"],
            "registry": constants["POOL_ADDRESSES_PROVIDER_REGISTRY"],
            "treasury": constants["COLLECTOR"],
        },
        "flash_loan_premium_bps": packages.flash_loan_premium_bps,
        "emodes": [
            {
                "id": category["eModeCategory"],
                "label": category["label"],
                "ltv_bps": category["ltv"],
                "liquidation_threshold_bps": category["liquidationThreshold"],
                "liquidation_bonus_bps": category["liquidationBonus"],
                "price_source": category["priceSource"],
            }
            for category in config["eModes"].values()
        ],
        "rate_strategies": {
            address: make_strategy(strategy) for address, strategy in config["strategies"].items() if address in used
        },
        "reserves": [make_reserve(reserve, config["strategies"]) for reserve in reserves.values()],
    }


def make_strategy(strategy: dict[str, int]) -> dict[str, int]:
    """One interest rate curve."""
    return {
        "optimal_usage_ray": strategy["optimalUsageRatio"],
        "base_variable_rate_ray": strategy["baseVariableBorrowRate"],
        "variable_slope1_ray": strategy["variableRateSlope1"],
        "variable_slope2_ray": strategy["variableRateSlope2"],
        "base_stable_rate_ray": strategy["baseStableBorrowRate"],
        "stable_slope1_ray": strategy["stableRateSlope1"],
        "stable_slope2_ray": strategy["stableRateSlope2"],
        "optimal_stable_share_ray": strategy["optimalStableToTotalDebtRatio"],
    }


def make_reserve(reserve: dict[str, Any], strategies: dict[str, dict[str, int]]) -> dict[str, Any]:
    """One reserve, with the holdings of the rest of the market."""
    optimal = Decimal(strategies[reserve["interestRateStrategy"]]["optimalUsageRatio"]) / 10**27
    borrow_cap = Decimal(reserve["borrowCap"])
    if reserve["supplyCap"]:
        supplied = reserve["supplyCap"] * SUPPLIED_SHARE_OF_CAP
        borrowed = min(supplied * optimal * USAGE_SHARE_OF_OPTIMAL, borrow_cap * BORROWED_SHARE_OF_CAP)
    else:  # GHO: minted against its borrow cap, not supplied
        supplied, borrowed = borrow_cap, borrow_cap * BORROWED_SHARE_OF_CAP
    return {
        "symbol": reserve["symbol"],
        "decimals": reserve["decimals"],
        "a_token": reserve["aToken"],
        "stable_debt_token": reserve["stableDebtToken"],
        "variable_debt_token": reserve["variableDebtToken"],
        "a_token_implementation": reserve["aTokenImpl"],
        "stable_debt_token_implementation": reserve["stableDebtTokenImpl"],
        "variable_debt_token_implementation": reserve["variableDebtTokenImpl"],
        "a_token_contract": "DelegationAwareAToken" if reserve["symbol"] == "UNI" else "AToken",
        "a_token_name": reserve["aTokenName"],
        "a_token_symbol": reserve["aTokenSymbol"],
        "stable_debt_token_name": reserve["stableDebtTokenName"],
        "stable_debt_token_symbol": reserve["stableDebtTokenSymbol"],
        "variable_debt_token_name": reserve["variableDebtTokenName"],
        "variable_debt_token_symbol": reserve["variableDebtTokenSymbol"],
        "rate_strategy": reserve["interestRateStrategy"],
        "feed": "ETH/USD" if reserve["symbol"] == "WETH" else f"{reserve['symbol']}/USD",
        "ltv_bps": reserve["ltv"],
        "liquidation_threshold_bps": reserve["liquidationThreshold"],
        "liquidation_bonus_bps": reserve["liquidationBonus"],
        "liquidation_protocol_fee_bps": reserve["liquidationProtocolFee"],
        "reserve_factor_bps": reserve["reserveFactor"],
        "supply_cap": reserve["supplyCap"],
        "borrow_cap": reserve["borrowCap"],
        "debt_ceiling_cents": reserve["debtCeiling"],
        "emode": reserve["eModeCategory"],
        "collateral": reserve["usageAsCollateralEnabled"],
        "borrowing": reserve["borrowingEnabled"],
        "stable_borrowing": reserve["stableBorrowRateEnabled"],
        "borrowable_in_isolation": reserve["isBorrowableInIsolation"],
        "siloed": reserve["isSiloed"],
        "flash_loans": reserve["isFlashloanable"],
        "active": reserve["isActive"],
        "frozen": reserve["isFrozen"],
        "paused": reserve["isPaused"],
        "supplied": int(supplied),
        "borrowed": int(borrowed) if reserve["borrowingEnabled"] else 0,
    }


def pool_prices(feeds: dict[str, Any]) -> dict[str, Decimal]:
    """Market price in USD of each pool token."""
    prices = {"WETH": price_of("ETH/USD", feeds)}
    prices |= {symbol: price_of(f"{symbol}/USD", feeds) for symbol in ("USDC", "DAI", "WBTC", "wstETH")}
    # On the market wstETH trades at its rate times the price of stETH in ETH; Aave's oracle takes the rate alone.
    prices["wstETH"] = prices["wstETH"] * feeds["stETH/ETH"]["answer"] / WAD
    return prices


def round_at(path: Path, timestamp: int) -> dict[str, int]:
    """The newest round of a Chainlink feed that was posted at or before `timestamp`."""
    with path.open(newline="") as lines:
        rounds = [row for row in csv.DictReader(lines) if int(row["update"]) <= timestamp]
    newest = max(rounds, key=lambda row: int(row["update"]))
    return {"answer": int(newest["answer"]), "round_id": int(newest["round"]), "updated_at": int(newest["update"])}


def hourly_open_e8(path: Path, hour: str) -> int:
    """The opening price of an hour, with eight decimals."""
    with path.open(newline="") as lines:
        for row in csv.reader(lines):
            if row[0] == hour:
                return int(Decimal(row[1]) * 10**8)
    raise SystemExit(f"error: no hour '{hour}' in {path.name}")


def spot_open_e8(folder: Path, symbol: str, timestamp: int) -> int:
    """The opening price against USDT of the hour of `timestamp` on Binance spot, with eight decimals."""
    path = folder / f"2021-04_2023-12_{symbol}USDT_spot_1h.csv.gz"
    with gzip.open(path, "rt", newline="") as lines:
        for row in csv.DictReader(lines):
            if int(row["unix_time"]) == timestamp // 3600 * 3600:
                return int(Decimal(row["open"]) * 10**8)
    raise SystemExit(f"error: no bar of {timestamp} in {path.name}")
