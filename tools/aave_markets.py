"""Write `mayavi/worlds/tables/markets/<market>@<month>.json`: what the worlds of Aave V3.6 are built from.

    python tools/aave_markets.py [--parameters ../shared/aave/markets-2025-12] [--packages DIR] [--check]

The folder of parameters holds one configuration snapshot per market, as Aave's upgrade tests write them, and a
README.md whose table names file, block, repository, path, commit and date of each. Addresses that a snapshot lacks, and
the tokens' names, come from the npm package `@aave-dao/aave-address-book`, fetched with `npm pack` unless `--packages`
names a folder that holds it, unpacked. What neither has is in `tools/facts/markets.py`.

`--check` writes nothing and fails if a committed table differs from its sources. `markets/SHA256SUMS` is written too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carried_protocols import with_older_protocols
from facts.markets import FLASH_LOAN_PREMIUM_BPS, HOUR_OF_DAY_UTC, MARKETS, MarketFacts
from market_feeds import Feeds, feed_names, make_feeds
from market_texts import ADDRESS_BOOK, assumed, differences, sources
from npm_packages import Packages, fetch_packages

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "mayavi" / "worlds" / "tables"
BPS_RAY = 10**23
_OWN_TOKENS = {
    ("AaveV3Ethereum", "AAVE"): {"a_token_contract": "ATokenWithDelegationInstance"},
    ("AaveV3Ethereum", "GHO"): {"variable_debt_token_contract": "VariableDebtTokenMainnetInstanceGHO"},
}


def main() -> int:
    """Write the tables, or compare them with their sources."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parameters", type=Path, default=ROOT.parent / "shared" / "aave" / "markets-2025-12")
    parser.add_argument("--packages", type=Path, help="folder with the npm package, unpacked under its name")
    parser.add_argument("--check", action="store_true", help="compare with the committed tables, write nothing")
    options = parser.parse_args()
    if not (options.parameters / "README.md").is_file():
        parser.error(f"there is no README.md in '{options.parameters}', the folder of parameter files")
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        packages = Packages(options.packages or fetch_packages(Path(scratch), (ADDRESS_BOOK,)))
        for table in make_tables(options.parameters, packages):
            failed |= differs(table) if options.check else write(table)
    if not options.check:
        write_sums()
    return 1 if failed else 0


def make_tables(folder: Path, packages: Packages) -> list[dict[str, Any]]:
    """Build the tables of all markets in the format of `mayavi.worlds.tables.market.MarketTable`."""
    tables: list[dict[str, Any]] = []
    feeds: dict[tuple[str, int], Feeds] = {}
    for entry in origins(folder):
        name = entry["file"].removesuffix(".json")
        facts, document = MARKETS[name], json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
        table = make_table(name, facts, document, entry, packages, feeds)
        feeds.setdefault((facts.chain, table["block"]["number"]), table["feeds"])
        tables.append(table)
    return tables


def origins(folder: Path) -> list[dict[str, str]]:
    """Rows of the table in the folder's README.md, by its column names."""
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    header, body = rows[0], [row for row in rows[2:] if row[0].endswith(".json")]
    return [dict(zip(header, row, strict=True)) for row in body]


def make_table(
    name: str,
    facts: MarketFacts,
    document: dict[str, Any],
    entry: dict[str, str],
    packages: Packages,
    feeds_of: dict[tuple[str, int], Feeds],
) -> dict[str, Any]:
    """Build one table."""
    day = datetime.strptime(entry["committed"], "%Y-%m-%d").replace(hour=HOUR_OF_DAY_UTC, tzinfo=UTC)
    stated = entry["block"].isdecimal()
    number = int(entry["block"]) if stated else facts.block
    assert number is not None, f"{name}: the block is neither stated nor chosen"
    timestamp = int(day.timestamp())
    older = older_table(facts.chain)
    reserves = by_symbol(document["reserves"], older["tokens"])
    names = feed_names(reserves)
    tokens = make_tokens(reserves, older["tokens"], packages.tokens(document["chainId"]), facts.wrapped)
    wrapped = next((symbol for symbol, token in tokens.items() if token.get("kind") == "weth9"), None)
    carried = facts.world == facts.chain and "uniswap" in older
    table = {
        "world": f"{facts.world}@{day:%Y-%m}",
        "chain": facts.chain,
        "title": f"{facts.title}, {day.day} {day:%B %Y}",
        "chain_id": document["chainId"],
        "hardfork": facts.hardfork,
        "native": facts.native,
        "wrapped_native": wrapped,
        "block": {
            "number": number,
            "timestamp": timestamp,
            "seconds": facts.seconds,
            "gas_limit": facts.gas_limit,
            "base_fee_wei": facts.base_fee_wei,
        },
        "sources": sources(entry),
        "assumed": assumed(facts, stated, carried),
        "differences": differences(document),
        "tokens": tokens,
        "feeds": make_feeds(
            reserves, names, timestamp, feeds_of.get((facts.chain, number), {}), dict(facts.same_price)
        ),
        "aave": make_market(name, facts, document, reserves, names, packages.book(name)),
    }
    return with_older_protocols(table, older) if carried else table


def older_table(chain: str) -> dict[str, Any]:
    """The chain's table of Aave V3.0, whose names of tokens are kept; empty if there is none."""
    path = TABLES / f"{chain}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"tokens": {}}
    return found


def by_symbol(reserves: dict[str, dict[str, Any]], older: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Reserves by the name of their token, in the order of their ids: the older world's name, or the symbol."""
    known = {token["address"].lower(): symbol for symbol, token in older.items()}
    found: dict[str, dict[str, Any]] = {}
    for reserve in sorted(reserves.values(), key=lambda each: int(each["id"])):
        symbol = known.get(reserve["underlying"].lower()) or reserve["symbol"].replace("₮", "T")
        assert symbol not in found, f"two tokens are called {symbol}"
        found[symbol] = reserve
    assert [each["id"] for each in found.values()] == list(range(len(found))), "the ids of the reserves have gaps"
    return found


def make_tokens(
    reserves: dict[str, dict[str, Any]],
    older: dict[str, dict[str, Any]],
    listed: dict[str, dict[str, Any]],
    wrapped: str | None,
) -> dict[str, Any]:
    """Build the tokens of the market."""
    found = {}
    for symbol, reserve in reserves.items():
        token = {"address": reserve["underlying"], "name": listed[reserve["underlying"]]["name"]}
        token |= {"decimals": reserve["decimals"]}
        kind = "weth9" if wrapped == reserve["symbol"] else older.get(symbol, {}).get("kind", "standard")
        token |= {"kind": kind}
        if version := older.get(symbol, {}).get("permit_version"):
            token["permit_version"] = version
        found[symbol] = token | ({} if symbol == reserve["symbol"] else {"symbol": reserve["symbol"]})
    return found


def make_market(
    name: str,
    facts: MarketFacts,
    document: dict[str, Any],
    reserves: dict[str, dict[str, Any]],
    names: dict[str, str],
    book: dict[str, str],
) -> dict[str, Any]:
    """Build the section of the market."""
    pool = document["poolConfig"]
    (strategy,) = {reserve["interestRateStrategy"] for reserve in reserves.values()}
    older = older_table(facts.chain).get("aave") if facts.world == facts.chain else None
    return {
        "version": "3.6",
        "market_id": older["market_id"] if older else f"Aave V3 {facts.title}",
        "provider_id": older["provider_id"] if older else document["chainId"],
        "pool_contract": "L2PoolInstance" if "L2_ENCODER" in book or name in LAYER_TWO else "PoolInstance",
        "addresses": {
            "provider": pool["poolAddressesProvider"],
            "pool": pool["pool"],
            "pool_configurator": pool["poolConfigurator"],
            "oracle": pool["oracle"],
            "data_provider": pool["protocolDataProvider"],
            "acl_manager": book["ACL_MANAGER"],
            "acl_admin": book["ACL_ADMIN"],
            "registry": book["POOL_ADDRESSES_PROVIDER_REGISTRY"],
            "treasury": book["COLLECTOR"],
            "rewards_controller": book["DEFAULT_INCENTIVES_CONTROLLER"],
            "rate_strategy": strategy,
        },
        "flash_loan_premium_bps": FLASH_LOAN_PREMIUM_BPS,
        "emodes": [make_emode(each, list(reserves)) for each in sorted(document["eModes"].values(), key=_category)],
        "reserves": [
            make_reserve(name, symbol, reserve, names, document["strategies"][reserve["underlying"]])
            for symbol, reserve in reserves.items()
        ],
    }


LAYER_TWO = ("AaveV3Linea", "AaveV3Soneium")
"""Markets on the pool for rollups that the address book lists without an encoder, known by their implementation."""


def make_emode(category: dict[str, Any], symbols: list[str]) -> dict[str, Any]:
    """Build an efficiency mode; V3.6's new bitmap, of collateral without borrowing power, is empty until it is set."""

    def members(bitmap: str) -> list[str]:
        assert int(bitmap) >> len(symbols) == 0, f"{category['label']} has bits of no reserve"
        return [symbol for number, symbol in enumerate(symbols) if int(bitmap) >> number & 1]

    return {
        "id": category["eModeCategory"],
        "label": category["label"],
        "ltv_bps": category["ltv"],
        "liquidation_threshold_bps": category["liquidationThreshold"],
        "liquidation_bonus_bps": category["liquidationBonus"],
        "collateral": members(category["collateralBitmap"]),
        "borrowable": members(category["borrowableBitmap"]),
        "ltvzero": [],
    }


def make_reserve(
    market: str, symbol: str, reserve: dict[str, Any], names: dict[str, str], curve: dict[str, str]
) -> dict[str, Any]:
    """Build a reserve."""
    contracts = {"a_token_contract": "ATokenInstance", "variable_debt_token_contract": "VariableDebtTokenInstance"}
    return {
        "symbol": symbol,
        "decimals": reserve["decimals"],
        "a_token": reserve["aToken"],
        "variable_debt_token": reserve["variableDebtToken"],
        **contracts,
        **_OWN_TOKENS.get((market, symbol), {}),
        "a_token_name": reserve["aTokenName"],
        "a_token_symbol": reserve["aTokenSymbol"],
        "variable_debt_token_name": reserve["variableDebtTokenName"],
        "variable_debt_token_symbol": reserve["variableDebtTokenSymbol"],
        "feed": names[reserve["oracle"]],
        "price": int(reserve["oracleLatestAnswer"]),
        "ltv_bps": reserve["ltv"],
        "liquidation_threshold_bps": reserve["liquidationThreshold"],
        "liquidation_bonus_bps": reserve["liquidationBonus"],
        "liquidation_protocol_fee_bps": reserve["liquidationProtocolFee"],
        "reserve_factor_bps": reserve["reserveFactor"],
        "supply_cap": reserve["supplyCap"],
        "borrow_cap": reserve["borrowCap"],
        "debt_ceiling_cents": reserve["debtCeiling"],
        "borrowing": reserve["borrowingEnabled"],
        "borrowable_in_isolation": reserve["isBorrowableInIsolation"],
        "siloed": reserve["isSiloed"],
        "flash_loans": reserve["isFlashloanable"],
        "active": reserve["isActive"],
        "frozen": reserve["isFrozen"],
        "paused": reserve["isPaused"],
        "optimal_usage_bps": _bps(curve["optimalUsageRatio"]),
        "base_rate_bps": _bps(curve["baseVariableBorrowRate"]),
        "slope1_bps": _bps(curve["variableRateSlope1"]),
        "slope2_bps": _bps(curve["variableRateSlope2"]),
        "virtual_balance": int(reserve["virtualBalance"]),
        "a_token_balance": int(reserve["aTokenUnderlyingBalance"]),
    }


def write(table: dict[str, Any]) -> bool:
    """Write a table; return False, as `differs` does for an equal one."""
    path = TABLES / "markets" / f"{table['world']}.json"
    path.write_text(text_of(table), encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return False


def differs(table: dict[str, Any]) -> bool:
    """Whether the committed table differs from its sources; print an error if so."""
    path = TABLES / "markets" / f"{table['world']}.json"
    if path.exists() and path.read_text(encoding="utf-8") == text_of(table):
        return False
    print(f"error: {path.relative_to(ROOT)} differs from its sources\n  run this script without --check")
    return True


def write_sums() -> None:
    """Write the checksum of every market's table in the format of `sha256sum`."""
    tables = sorted((TABLES / "markets").glob("*.json"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in tables]
    (TABLES / "markets" / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def text_of(table: dict[str, Any]) -> str:
    """Text of a table as committed."""
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _category(category: dict[str, Any]) -> int:
    return int(category["eModeCategory"])


def _bps(ray: str) -> int:
    whole, rest = divmod(int(ray), BPS_RAY)
    assert rest == 0, f"the rate {ray} is no number of basis points"
    return whole


if __name__ == "__main__":
    sys.exit(main())
