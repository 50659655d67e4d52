"""Other protocols of a chain in the table of its market of Aave V3.6: those of the chain's older table, at new prices.

Contracts, parameters and background amounts are the older table's. Pools and price feeds have the prices that the
market records; a price that it does not record stays as it is.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from uniswap_section import make_uniswap

E8, ONE = 10**8, 10**18
_SECTIONS = ("spark", "uniswap", "compound", "curve")

Table = dict[str, Any]


def with_older_protocols(table: Table, older: Table) -> Table:
    """Add the older table's other protocols to `table`, with the tokens and feeds that they need."""
    prices = usd_e8(table)
    feeds = _Feeds(older["feeds"], table["feeds"], prices)
    made: Table = {}
    if "spark" in older:
        reserves = [{**each, "feed": feeds.carry(each["feed"])} for each in older["spark"]["reserves"]]
        made["spark"] = {**older["spark"], "reserves": reserves}
    pools = [
        (each["base"], each["quote"], each["fee"], each["value_locked_usd"], each["profile"])
        for each in older["uniswap"]["pools"]
    ]
    dollars = {symbol: Decimal(price) / E8 for symbol, price in prices.items()}
    made["uniswap"] = make_uniswap(older["uniswap"]["addresses"], pools, older["tokens"], dollars)
    if "compound" in older:
        made["compound"] = older["compound"]
        wanted = {each.lower() for market in older["compound"]["markets"] for each in _feeds_of(market)}
        for name, feed in older["feeds"].items():
            if feed["address"].lower() in wanted:
                feeds.carry(name)
    if "curve" in older:
        made["curve"] = older["curve"]
    tokens = {**table["tokens"], **_missing_tokens(table["tokens"], older, made)}
    return {**table, "tokens": tokens, "feeds": {**table["feeds"], **feeds.new}, **made}


def usd_e8(table: Table) -> dict[str, int]:
    """Prices of the market's assets, and of the assets that its feeds are about, with eight decimals."""
    by_reserve = {each["symbol"]: int(each["price"]) for each in table["aave"]["reserves"]}
    by_feed = {each["feed"].removesuffix("/USD"): int(each["price"]) for each in table["aave"]["reserves"]}
    return by_feed | by_reserve


class _Feeds:
    """Older feeds at recorded prices; `new` are those whose addresses the market does not have."""

    def __init__(self, older: Table, there: Table, prices: dict[str, int]) -> None:
        self._older, self._there, self._prices = older, there, prices
        self._by_address = {feed["address"].lower(): name for name, feed in there.items()}
        self.new: Table = {}

    def carry(self, name: str) -> str:
        """Add the older feed `name`, unless its address has one, and what it follows; return its name here."""
        feed = self._older[name]
        address = feed["address"].lower()
        if address not in self._by_address:
            key = f"{name}.standard" if name in self._there else name
            self._by_address[address] = key
            self.new[key] = self._priced(name, feed)
        return self._by_address[address]

    def _priced(self, name: str, feed: Table) -> Table:
        asset, _, quote = name.partition("/")
        priced = {key: value for key, value in feed.items() if key not in ("round_id", "updated_at")}
        price = self._prices.get(asset)
        if "base" in feed:
            base = self.carry(feed["base"])
            answer = self._answer(base)
            ratio = -(-price * ONE // answer) if price and quote.endswith("USD") else feed["ratio_e18"]
            return priced | {"base": base, "ratio_e18": ratio}
        unit = E8 if quote == "USD" else self._prices.get(quote)
        if price is None or unit is None:
            return priced
        return priced | {"answer": price * int(10 ** feed.get("decimals", 8)) // unit}

    def _answer(self, name: str) -> int:
        feed = (self._there | self.new)[name]
        return self._answer(feed["base"]) * feed["ratio_e18"] // ONE if "base" in feed else int(feed["answer"])


def _feeds_of(market: Table) -> list[str]:
    return [market["base_price_feed"], *(asset["price_feed"] for asset in market["assets"])]


def _missing_tokens(tokens: Table, older: Table, made: Table) -> Table:
    """Tokens of Compound's markets that the market of Aave does not list."""
    there = {token["address"].lower() for token in tokens.values()}
    markets = made["compound"]["markets"] if "compound" in made else []
    used = {asset["token"].lower() for market in markets for asset in market["assets"]}
    missing = used - there
    spark = {each["symbol"] for each in made["spark"]["reserves"]} - tokens.keys() if "spark" in made else set()
    return {
        symbol: token
        for symbol, token in older["tokens"].items()
        if token["address"].lower() in missing or symbol in spark
    }
