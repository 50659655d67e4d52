"""What the table of a market of Aave V3.6 says of itself: sources, assumptions, differences."""

from __future__ import annotations

from typing import Any

from facts.markets import FLASH_LOAN_PREMIUM_BPS, HOUR_OF_DAY_UTC, RATIO_GROWTH_BPS, MarketFacts

ADDRESS_BOOK = "@aave-dao/aave-address-book@4.46.0"  # the last that lists V3.6's implementations


def sources(entry: dict[str, str]) -> list[dict[str, str]]:
    """Where the facts of a table come from."""
    snapshot = f"{entry['path'].partition(' ')[0]} of github.com/{entry['repository']}, commit {entry['commit']}"
    what = "reserves, efficiency modes, rates, caps, prices, liquidity, addresses of contracts, tokens and feeds"
    return [
        {"what": what, "from": snapshot, "date": entry["committed"]},
        {"what": "access control, administrator, treasury, rewards controller, token names", "from": ADDRESS_BOOK},
        {
            "what": "code of Aave V3.6",
            "from": "@aave-dao/aave-v3-origin@3.6.0; provider, access control, oracle and proxies @aave/core-v3@1.19.3",
        },
    ]


def assumed(facts: MarketFacts, stated: bool, carried: bool) -> list[dict[str, str]]:
    """What is in none of the sources."""
    texts = {
        "debt": "total debt, total supply, indexes and accounts are not recorded: one account has supplied exactly the "
        "recorded liquidity, nobody has borrowed, and every rate starts from there",
        "ratio caps": f"a capped ratio starts at the recorded one and may grow by {RATIO_GROWTH_BPS / 100:g} % a year; "
        "the real snapshots and rates are not recorded. Of stablecoins' price caps only the answer is",
        "principal tokens": "the yearly discount is the one that gives the recorded price; maturity is midnight UTC",
        "time": f"{HOUR_OF_DAY_UTC}:00 UTC of the day of the record, base fee and gas limit"
        + ("" if stated else f", and the block number {facts.block}, which the record does not state"),
        "flash loans": f"a premium of {FLASH_LOAN_PREMIUM_BPS / 100:g} %",
        "names": "the provider's number, and its market's name where no older world has it",
    }
    if carried:
        texts["other protocols"] = (
            f"contracts, parameters and amounts are those of the older world '{facts.chain}', at recorded prices; a "
            "price that the market does not record is that world's. Their feeds are apart from Aave's where Aave reads "
            "others: `ETH/USD.standard`"
        )
    return [{"subject": subject, "text": text} for subject, text in texts.items()]


def differences(document: dict[str, Any]) -> list[dict[str, str]]:
    """How the market differs from the real one, beside what is assumed."""
    if int(document["poolConfig"]["priceOracleSentinel"], 16):
        text = "no sequencer, uptime feed or price oracle sentinel: Aave acts as if the sequencer never stopped"
        return [{"subject": "sequencer", "text": text}]
    return []
