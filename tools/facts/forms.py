"""Types for chain facts: small dataclasses, and text tables with a header line."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from common_choices import USAGE_SHARE_OF_OPTIMAL_ELSEWHERE

ZERO_ADDRESS = "0x" + "0" * 40


@dataclass(frozen=True)
class EMode:
    """An efficiency mode category, numbered by its place from 1. Ratios are in basis points, as in Aave."""

    label: str
    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int


@dataclass(frozen=True)
class MarketFacts:
    """A market of Aave V3's code.

    `rates` has a line for each interest rate curve: name, address, then in percent the optimal usage, base rate and
    two slopes of variable borrowing, base rate and two slopes of stable borrowing, the optimal stable share.

    `reserves` has a line for each reserve, in the order of their listing, without gaps: the name it has here, the name
    it has in the address book, loan to value, liquidation threshold, liquidation bonus, protocol fee on it and reserve
    factor in hundredths of a percent, supply and borrow cap in whole tokens, debt ceiling in US dollars, efficiency
    mode, flags, rate curve, price feed. Flags: B may be borrowed, I also against isolated collateral, S by those only
    who borrow nothing else, F is frozen.

    `usage_share_of_optimal` is how much of the optimal usage the market account borrows; `assumed` says what is
    supplied and borrowed, in whole tokens, where no cap says how much there may be.
    """

    implementations: dict[str, str]
    emodes: tuple[EMode, ...]
    rates: str
    reserves: str
    usage_share_of_optimal: Decimal = USAGE_SHARE_OF_OPTIMAL_ELSEWHERE
    assumed: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapter:
    """A price feed that multiplies another by a ratio. Without `ratio` it takes that of the same feed on Ethereum."""

    address: str
    base: str
    ratio: Decimal | None = None
    operator: str = "Aave"


@dataclass(frozen=True)
class ChainFacts:
    """All facts of one chain.

    `pools` are as in `uniswap_section.py`; `feeds` are the addresses of feeds that the address book does not have any
    more; `tokens` says what of a token is not as the address book's token list has it today.
    """

    chain: str
    title: str
    chain_id: int
    hardfork: str
    native: str
    wrapped_native: str
    block: dict[str, int]
    book: str
    deploy_market: str
    pool_contract: str
    aave: MarketFacts
    adapters: dict[str, Adapter]
    uniswap: dict[str, str]
    pools: tuple[tuple[str, str, int, int, str], ...]
    sources: list[dict[str, str]]
    differences: dict[str, str]
    feeds: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)


def rows(text: str) -> list[dict[str, str]]:
    """Rows of a text table as dictionaries keyed by the header line."""
    head, *lines = (line.split() for line in text.strip().splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]
