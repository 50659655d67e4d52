"""The SparkLend section of Ethereum's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts.forms import rows
from facts.spark import (
    ADDRESSES,
    DIFFERENCES,
    FEEDS,
    IDENTITY,
    SAVINGS_DAI_FEED,
    SOURCES,
    SPARK,
    TOKENS,
)
from lending_section import make_lending, token_names


def make_spark(tokens: Mapping[str, Any], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Build the section, with tokens and feeds that the rest of the table lacks."""
    symbols = [line["symbol"] for line in rows(SPARK.reserves)]
    decimals = {symbol: token["decimals"] for symbol, token in {**tokens, **TOKENS}.items()}
    names = {symbol: token_names(f"Spark {symbol}", f"sp{symbol}", symbol) for symbol in symbols}
    savings_dai = {
        "address": SAVINGS_DAI_FEED,
        "description": "sDAI/DAI/USD",
        "operator": "Spark",
        "base": "DAI/USD.fixed",
        "ratio_e18": feeds["sDAI/USD"]["ratio_e18"],
    }
    return {
        "section": make_lending(SPARK, identity=IDENTITY, addresses=ADDRESSES, names=names, decimals=decimals),
        "tokens": TOKENS,
        "feeds": FEEDS | {"sDAI/DAI/USD": savings_dai},
        "sources": SOURCES,
        "differences": DIFFERENCES,
    }
