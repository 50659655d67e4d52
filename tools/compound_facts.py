"""The Compound V3 section of a chain's table: markets, their tokens and feeds, and sources.

No package publishes these figures. `compound_choices.py` holds them, read from public sources on the dates
named here. The holdings of the rest of the market and a few prices are assumptions, and the table says so.
"""

from __future__ import annotations

from typing import Any

import compound_choices as choices

COMET = "github.com/compound-finance/comet"

_CHAINS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "ethereum": (choices.ETHEREUM, choices.ETHEREUM_TOKENS, choices.ETHEREUM_FEEDS),
    "arbitrum": (choices.ARBITRUM, choices.ARBITRUM_TOKENS, choices.ARBITRUM_FEEDS),
    "polygon": (choices.POLYGON, choices.POLYGON_TOKENS, choices.POLYGON_FEEDS),
    "base": (choices.BASE, choices.BASE_TOKENS, choices.BASE_FEEDS),
}
_SOURCES = {
    "ethereum": [
        {
            "what": "Compound cUSDCv3: parameters",
            "from": "the contract's own views, implementation 0x9743591b… of block 19932703",
            "date": "2024-05-23",
        },
        {
            "what": "Compound cWETHv3: parameters",
            "from": f"{COMET}, deployments/mainnet/weth, commit b2d0b540; rETH from migration 1692063589",
            "date": "2023-01-13",
        },
        {
            "what": "Compound cWETHv3: price feeds and extension",
            "from": "public listings of the market's configuration that agree with each other",
        },
    ],
    "arbitrum": [
        {
            "what": "Compound cUSDCv3 and cUSDCev3: parameters",
            "from": f"{COMET}, deployments/arbitrum, usdc.n of 1d31ac2f and usdc.e of 02c035b2; migration 1686953660",
            "date": "2023-06-16",
        }
    ],
    "polygon": [
        {
            "what": "Compound cUSDCv3: parameters",
            "from": f"{COMET}, deployments/polygon/usdc, commit 30c58e59; MaticX from migration 1689168483",
            "date": "2023-07-12",
        }
    ],
    "base": [
        {
            "what": "Compound cUSDbCv3 and cWETHv3: parameters",
            "from": f"{COMET}, deployments/base, commits 0c530367 (usdbc), ef316b54 (weth)",
            "date": "2023-08-11",
        },
        {
            "what": "Compound cUSDCv3: parameters",
            "from": f"{COMET}, deployments/base/usdc, commit ddc9e3dc",
            "date": "2024-03-11",
        },
    ],
}
_DIFFERENCES = {
    "ethereum": "cUSDCv3 has the parameters of May 2024, cWETHv3 those of its launch in January 2023 and rETH as added "
    "later that year. Assumed prices: COMP 57.50 USD, cbETH 1.0566, wstETH 1.1529 and rETH 1.0953 ETH",
    "arbitrum": "parameters as the markets were opened in 2023; the market of USDC.e is called cUSDCev3, as it was "
    "later. Assumed prices: GMX 52 USD, one WBTC is one BTC",
    "polygon": "parameters as the market was opened in 2023, with MaticX and without stMATIC. Assumed price: one "
    "WBTC is one BTC",
    "base": "parameters as the markets were opened; cUSDCv3 opened in March 2024, after the block the replica stands "
    "at. Assumed price: cbETH 1.0566 ETH",
}


def make_compound(chain: str, packages: object) -> dict[str, Any] | None:
    """The Compound section of a table, or None for a chain without it. `packages` is not used yet."""
    if chain not in _CHAINS:
        return None
    section, tokens, feeds = _CHAINS[chain]
    return {
        "section": section,
        "tokens": tokens,
        "feeds": feeds,
        "sources": _SOURCES[chain],
        "differences": {"Compound parameters": _DIFFERENCES[chain]},
    }
