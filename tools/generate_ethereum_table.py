"""Write `mayavi/worlds/tables/ethereum.json`: the facts the Ethereum replica is built from.

    python tools/generate_ethereum_table.py [--cases ../shared] [--packages DIR] [--check]

Reads three sources and takes addresses, parameters and prices from them, nothing else:

- the configuration of Aave V3 Ethereum of 31 October 2023 (`<cases>/aave`),
- the Chainlink rounds and hourly prices around block 19,000,000 (`<cases>/market`),
- the npm packages `@aave-dao/aave-address-book` and `@aave/deploy-v3`, fetched with `npm pack` unless `--packages`
  names a folder that holds both, unpacked.

`--check` writes nothing and fails when the committed table differs from what the sources give.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from decimal import ROUND_DOWN, Decimal, localcontext
from pathlib import Path
from typing import Any

from ethereum_choices import (
    ADAPTER_BASES,
    ADAPTERS,
    ADDRESS_BOOK,
    BLOCK,
    BORROWED_SHARE_OF_CAP,
    CONFIG_TIMESTAMP,
    DEPLOY_V3,
    DIFFERENCES,
    LISTING_ORDER,
    POOLS,
    PROFILES,
    SOURCES,
    SUPPLIED_SHARE_OF_CAP,
    UNISWAP,
    USAGE_SHARE_OF_OPTIMAL,
)

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "mayavi" / "worlds" / "tables" / "ethereum.json"
AAVE_CONFIG = "AaveV3Ethereum_config_20231031_after.json"

YEAR_SECONDS = 365 * 24 * 3600
WAD = 10**18


def main() -> int:
    """Write the table, or compare it with its sources."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=Path, default=ROOT.parent / "shared", help="folder with aave/ and market/")
    parser.add_argument("--packages", type=Path, help="folder with the two npm packages, unpacked under their names")
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        packages = options.packages or fetch_packages(Path(scratch))
        text = json.dumps(make_table(options.cases, packages), indent=1, ensure_ascii=False) + "\n"
    if options.check:
        if TABLE.read_text(encoding="utf-8") == text:
            return 0
        print(f"error: {TABLE.relative_to(ROOT)} differs from its sources\n  run this script without --check")
        return 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"wrote {TABLE.relative_to(ROOT)}")
    return 0


def fetch_packages(folder: Path) -> Path:
    """Unpack the two npm packages below `folder`, under their names."""
    for package in (ADDRESS_BOOK, DEPLOY_V3):
        command = ["npm", "pack", "--silent", package]
        archive = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
        target = folder / package.rpartition("@")[0]
        with tarfile.open(folder / archive) as tar:
            tar.extractall(folder / "unpacked", filter="data")
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / "unpacked" / "package").rename(target)
    return folder


def make_table(cases: Path, packages: Path) -> dict[str, Any]:
    """The whole table, in the form `mayavi.worlds.table.ChainTable` reads."""
    config = json.loads((cases / "aave" / AAVE_CONFIG).read_text())
    book = packages / "@aave-dao" / "aave-address-book"
    reserves = {reserve["symbol"]: reserve for reserve in config["reserves"].values()}
    assert sorted(reserves) == sorted(LISTING_ORDER), "the configuration lists other reserves than expected"
    feeds = make_feeds(reserves, cases / "market", solidity_constants(book / "src" / "ChainlinkEthereum.sol"))
    return {
        "chain": "ethereum",
        "title": "Ethereum mainnet, 13 January 2024",
        "chain_id": 1,
        "hardfork": "shanghai",
        "native": "ETH",
        "wrapped_native": "WETH",
        "block": BLOCK,
        "sources": SOURCES,
        "differences": [{"subject": subject, "text": text} for subject, text in DIFFERENCES.items()],
        "tokens": make_tokens(reserves, book),
        "feeds": feeds,
        "aave": make_aave(config, reserves, book, packages / "@aave" / "deploy-v3"),
        "uniswap": make_uniswap(feeds),
    }


def make_tokens(reserves: dict[str, Any], book: Path) -> dict[str, Any]:
    """Every reserve's underlying token."""
    listed = json.loads((book / "tokenlist.json").read_text())["tokens"]
    names = {token["address"]: token["name"] for token in listed if token["chainId"] == 1}
    tokens: dict[str, Any] = {}
    for symbol in LISTING_ORDER:
        reserve = reserves[symbol]
        kind = {"WETH": "weth9", "USDT": "silent"}.get(symbol, "standard")
        tokens[symbol] = {
            "address": reserve["underlying"],
            "name": names[reserve["underlying"]],
            "decimals": reserve["decimals"],
            "kind": kind,
        }
        if symbol == "USDC":
            tokens[symbol]["permit_version"] = "2"
    return tokens


def make_feeds(reserves: dict[str, Any], market: Path, chainlink: dict[str, str]) -> dict[str, Any]:
    """Chainlink's feeds, then the adapters that read them."""
    eth_round = round_at(market / "chainlink_ETH_USD_2023-04_2024-01.csv", BLOCK["timestamp"])
    steth_round = round_at(market / "chainlink_STETH_ETH_2022-01_2024-01.csv", BLOCK["timestamp"])
    chainlink_8 = {"operator": "Chainlink", "decimals": 8}
    feeds: dict[str, Any] = {
        "ETH/USD": {"address": chainlink["ETH__USD"], "description": "ETH / USD", **chainlink_8, **eth_round},
        "BTC/USD": {
            "address": chainlink["BTC__USD"],
            "description": "BTC / USD",
            **chainlink_8,
            "answer": hourly_open_e8(market / "BTCUSDT_1h_2022-10_2025-10.csv", "2024-01-13 19:00:00"),
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
    for symbol in LISTING_ORDER:
        reserve = reserves[symbol]
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
        ratio = ratio_e18(symbol, reserves, feeds[base]["answer"], growth)
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
    """What one unit of `symbol` is worth in the asset of its base feed, at the block of the replica."""
    if symbol == "WBTC":
        return WAD
    answer = Decimal(reserves[symbol]["oracleLatestAnswer"])
    with localcontext(prec=60):
        if growth is None:  # its price in USD stays what it was
            return int(answer * WAD / base_answer)
        base_then = Decimal(reserves[ADAPTER_BASES[ADAPTERS[symbol][0]]]["oracleLatestAnswer"])
        elapsed = Decimal(BLOCK["timestamp"] - CONFIG_TIMESTAMP) / YEAR_SECONDS
        return int(answer / base_then * (1 + growth * elapsed) * WAD)


def make_aave(config: dict[str, Any], reserves: dict[str, Any], book: Path, deploy: Path) -> dict[str, Any]:
    """Aave's contracts, curves and reserves."""
    constants = solidity_constants(book / "src" / "AaveV3Ethereum.sol")
    pool = config["poolConfig"]
    for ours, theirs in (("pool", "POOL"), ("oracle", "ORACLE"), ("poolConfigurator", "POOL_CONFIGURATOR")):
        assert pool[ours] == constants[theirs], f"the two sources disagree on {ours}"
    premium = re.search(
        r"FlashLoanPremiums: \{\s*total: ([\d.e]+),\s*protocol: ([\d.e]+)",
        (deploy / "dist" / "markets" / "aave" / "commons.js").read_text(),
    )
    assert premium, "no flash loan premiums in the deployment package"
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
        "flash_loan_premium_bps": {"total": int(float(premium[1])), "protocol": int(float(premium[2]))},
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
        "reserves": [make_reserve(reserves[symbol], config["strategies"]) for symbol in LISTING_ORDER],
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
    """One reserve, with what the rest of the market holds of it."""
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


def make_uniswap(feeds: dict[str, Any]) -> dict[str, Any]:
    """Uniswap's contracts, and its pools at the prices of the feeds."""
    prices = {"WETH": price_of("ETH/USD", feeds)}
    prices |= {symbol: price_of(f"{symbol}/USD", feeds) for symbol in ("USDC", "DAI", "WBTC", "wstETH")}
    # On the market wstETH trades at its rate times the price of stETH in ETH; Aave's oracle takes the rate alone.
    prices["wstETH"] = prices["wstETH"] * feeds["stETH/ETH"]["answer"] / WAD
    pools = []
    for base, quote, fee, address, value_usd, profile in POOLS:
        with localcontext(prec=60):
            price = (prices[base] / prices[quote]).quantize(Decimal(10) ** -12, ROUND_DOWN)
        pools.append(
            {
                "base": base,
                "quote": quote,
                "fee": fee,
                "address": address,
                "price": str(price),
                "value_locked_usd": value_usd,
                "base_price_usd": str(prices[base].quantize(Decimal(10) ** -8, ROUND_DOWN)),
                "profile": profile,
            }
        )
    return {"addresses": UNISWAP, "profiles": PROFILES, "pools": pools}


def price_of(name: str, feeds: dict[str, Any]) -> Decimal:
    """The answer of a feed, adapters resolved."""
    feed = feeds[name]
    if "base" in feed:
        return price_of(feed["base"], feeds) * int(feed["ratio_e18"]) / WAD
    return Decimal(feed["answer"]).scaleb(-int(feed["decimals"]))


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


def solidity_constants(path: Path) -> dict[str, str]:
    """`NAME -> 0x…` of every address constant in a Solidity library of the address book."""
    found = re.findall(r"constant\s+(\w+)\s*=\s*(?:\w+\(\s*)?(0x[0-9a-fA-F]{40})", path.read_text())
    return dict(found)


if __name__ == "__main__":
    sys.exit(main())
