"""Derive the price feeds of a market of Aave V3.6 from the descriptions and answers in its parameter file.

A feed described as a ratio of another asset, or as a principal token's discount, becomes an adapter on the base feed of
the same market, or of another market of the same chain and block. Its ratio or rate is the one that gives the recorded
answer. Every other feed holds its recorded answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from facts.markets import RATIO_GROWTH_BPS

ONE = 10**18
YEAR = 365 * 86_400
_PRINCIPAL = re.compile(r"PT .*?(\w+)/USD linear discount (\d{2}[A-Z]{3}\d{4})")

Feeds = dict[str, dict[str, Any]]


def feed_names(reserves: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Name of each feed by its address: `ETH/USD`, `wstETH/USD`. Where two want one name, its own asset gets it."""
    wanted: dict[str, str] = {}
    own: dict[str, str] = {}
    for symbol, reserve in reserves.items():
        parts = _parts(reserve)
        about = symbol if parts is None else parts[0]
        wanted.setdefault(reserve["oracle"], f"{about}/USD")
        own.setdefault(reserve["oracle"], f"{symbol}/USD")
    names: dict[str, str] = {}
    for address in sorted(wanted, key=lambda each: wanted[each] != own[each]):
        names[address] = wanted[address] if wanted[address] not in names.values() else own[address]
    assert len(set(names.values())) == len(names), f"two feeds have one name: {sorted(names.values())}"
    return names


def make_feeds(
    reserves: Mapping[str, dict[str, Any]],
    names: Mapping[str, str],
    timestamp: int,
    more: Feeds,
    same_price: Mapping[str, str],
) -> Feeds:
    """Build the feeds of a table.

    A base that the market lacks is that of a reserve with the same price, or taken from `more`, the feeds of another
    market.
    """
    plain: Feeds = {}
    followers: Feeds = {}
    for symbol, reserve in reserves.items():
        name, answer = names[reserve["oracle"]], int(reserve["oracleLatestAnswer"])
        if name in plain or name in followers:
            continue
        assert reserve["oracleDecimals"] == 8, f"the feed of {symbol} has {reserve['oracleDecimals']} decimals"
        about = {"address": reserve["oracle"], "description": _description(reserve) or f"{symbol} / USD"}
        base = _base(reserve)
        if base is None:
            operator = "Chainlink" if re.fullmatch(r"[\w.]+ / \w+", _description(reserve)) else "Aave"
            plain[name] = {**about, "operator": operator, "answer": answer}
        else:
            followers[name] = {**about, "operator": "Aave", "base": base, "answer": answer}
    priced = {**reserves, **{asset: reserves[symbol] for asset, symbol in same_price.items()}}
    return plain | _follow(followers, plain, priced, names, timestamp, more)


def _follow(
    followers: Feeds,
    plain: Feeds,
    reserves: Mapping[str, dict[str, Any]],
    names: Mapping[str, str],
    timestamp: int,
    more: Feeds,
) -> Feeds:
    found: Feeds = {}
    for name, feed in followers.items():
        answer = feed.pop("answer")
        base = _find(feed["base"], plain, reserves, names)
        if base is None and f"{feed['base']}/USD" in more:
            base = f"{feed['base']}/USD"
            plain[base] = more[base]
        if base is None:
            found[name] = {key: value for key, value in feed.items() if key != "base"} | {"answer": answer}
            continue
        rule = _rule(feed["description"], answer, plain[base]["answer"], timestamp)
        found[name] = {**feed, "base": base, **rule}
    return found


def _rule(description: str, answer: int, base: int, timestamp: int) -> dict[str, int]:
    """Ratio or discount that gives `answer` at `timestamp`."""
    if matched := _PRINCIPAL.fullmatch(description):
        maturity = int(datetime.strptime(matched[2], "%d%b%Y").replace(tzinfo=UTC).timestamp())
        if maturity <= timestamp:
            assert answer == base, f"'{description}' is past its maturity and answers {answer}, not {base}"
            return {"maturity": maturity, "discount_e18": 0}
        # The discount lies between those that round to the answer: any rate in the middle of them does.
        discount = ONE - (2 * answer + 1) * ONE // (2 * base)
        rate = discount * YEAR // (maturity - timestamp)
        assert base * (ONE - (maturity - timestamp) * rate // YEAR) // ONE == answer, description
        return {"maturity": maturity, "discount_e18": rate}
    ratio = -(-answer * ONE // base)
    assert base * ratio // ONE == answer, description
    return (
        {"ratio_e18": ratio, "growth_bps": RATIO_GROWTH_BPS}
        if description.startswith("Capped")
        else {"ratio_e18": ratio}
    )


def _find(asset: str, plain: Feeds, reserves: Mapping[str, dict[str, Any]], names: Mapping[str, str]) -> str | None:
    """Feed of an asset: by its name, or that of the reserve of that symbol."""
    if f"{asset}/USD" in plain:
        return f"{asset}/USD"
    reserve = reserves.get(asset)
    return names[reserve["oracle"]] if reserve and names[reserve["oracle"]] in plain else None


def _base(reserve: dict[str, Any]) -> str | None:
    """Asset whose price an adapter multiplies or discounts."""
    if matched := _PRINCIPAL.fullmatch(_description(reserve)):
        return matched[1]
    parts = _parts(reserve)
    return parts[-2] if parts is not None and len(parts) > 2 else None


def _description(reserve: dict[str, Any]) -> str:
    return str(reserve.get("oracleDescription") or reserve.get("oracleName") or "")


def _parts(reserve: dict[str, Any]) -> list[str] | None:
    """Assets of `Capped wstETH / stETH(ETH) / USD`: wstETH, ETH, USD; of a constant or unnamed price None."""
    text = _description(reserve)
    if "/" not in text or text.startswith(("PT ", "Fixed ")):
        return None
    parts = [part.strip() for part in text.removeprefix("Capped ").split("/")]
    return [matched[1] if (matched := re.search(r"\((\w+)\)$", part)) else part for part in parts]
