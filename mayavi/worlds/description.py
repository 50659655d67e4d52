"""Contents and limits of a replica, for `mayavi world list` and `mayavi world info`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mayavi.worlds.cache import cached_replica
from mayavi.worlds.deploy.compound import COMPOUND_DIFFERENCES, describe_compound
from mayavi.worlds.deploy.curve import CURVE_DIFFERENCES, describe_curve
from mayavi.worlds.tables.chain import Aave, Block, Difference, Source, Uniswap
from mayavi.worlds.tables.market import Market, MarketTable, load_world


@dataclass(frozen=True, slots=True)
class WorldDescription:
    """Description of a replica. `snapshot` is its cached file, None if not built yet.

    `world` opens it (with the block, for a dated one of a chain), `aave` is the version of Aave's code. What a world of
    a market takes from no source is in `assumed`.
    """

    world: str
    aave: str
    chain: str
    title: str
    chain_id: int
    hardfork: str
    block: Block
    contents: tuple[str, ...]
    sources: tuple[Source, ...]
    differences: tuple[Difference, ...]
    snapshot: Path | None
    assumed: tuple[Difference, ...] = ()

    @property
    def date(self) -> str:
        """Day of the block, UTC: 2025-12-09."""
        return datetime.fromtimestamp(self.block.timestamp, UTC).date().isoformat()


def describe(chain: str, block: int | None = None) -> WorldDescription:
    """Describe the replica of `chain` at `block` without building it."""
    table = load_world(chain, block)
    market = table.aave if isinstance(table, MarketTable) else None
    return WorldDescription(
        world=table.world if isinstance(table, MarketTable) else table.chain,
        aave=market.version if market else "3.0",
        chain=table.chain,
        title=table.title,
        chain_id=table.chain_id,
        hardfork=table.hardfork,
        block=table.block,
        contents=(
            *((_describe_market(f"Aave V{market.version}", market), _describe_emodes(market)) if market else ()),
            *(_describe_market(_MARKETS[prefix], each) for prefix, each in table.lending_markets.items()),
            *([_describe_pools(table.uniswap)] if table.uniswap else []),
            *([describe_compound(table.compound)] if table.compound else []),
            *([describe_curve(table.curve)] if table.curve else []),
            f"{len(table.tokens)} tokens, {len(table.feeds)} price feeds",
        ),
        sources=table.sources,
        differences=(
            *table.differences,
            *(COMPOUND_DIFFERENCES if table.compound else ()),
            *(CURVE_DIFFERENCES if table.curve else ()),
            *_TOKENS_AND_FEEDS,
            *(_V36 if market else _V30),
            *(_UNISWAP if table.uniswap else _NO_UNISWAP),
            *_BLOCKS,
        ),
        snapshot=cached_replica(chain, block=block),
        assumed=table.assumed if isinstance(table, MarketTable) else (),
    )


def _describe_pools(uniswap: Uniswap) -> str:
    pools = ", ".join(f"{pool.base}/{pool.quote} {pool.fee / 10_000:g} %" for pool in uniswap.pools)
    return f"Uniswap V3: {pools}"


def _describe_emodes(market: Market) -> str:
    labels = ", ".join(each.label for each in market.emodes)
    return f"{len(market.emodes)} efficiency modes" + (f" ({labels})" if labels else "")


def _describe_market(name: str, market: Aave | Market) -> str:
    return f"{name}: {len(market.reserves)} reserves ({', '.join(reserve.symbol for reserve in market.reserves)})"


_MARKETS = {"AaveV3": "Aave V3", "Spark": "SparkLend"}

_TOKENS_AND_FEEDS = (
    Difference(
        "tokens",
        "the wrapped native token is the canonical source under a newer compiler; every other token is our own ERC-20 "
        "with the real address, name, symbol and decimals: no proxy, no blacklist, no wrapping, staking or redeeming. "
        "Behaviour is the same where ERC-20 says so, gas is not",
    ),
    Difference(
        "token balances",
        "only the replica's own account 'Mayavi.Market' and the contracts it used hold tokens",
    ),
    Difference(
        "price feeds",
        "one contract of ours replaces Chainlink's proxy and aggregator; its owner 'Mayavi.Deployer' posts answers. "
        "Price adapters multiply their base feed by a ratio set by the owner, instead of reading it from the token",
    ),
)
_V30 = (
    Difference(
        "Aave code",
        "@aave/core-v3 1.19.3, pool revision 1; the real chain had been upgraded within version 3.0 by then. Libraries "
        "have other addresses. No incentives controller, gateway, adapters or UI helpers; administrator and "
        "treasury are addresses without code",
    ),
    Difference(
        "Aave positions",
        "one account holds all positions: half of each supply cap is supplied; 90 % of optimal usage on Ethereum and "
        "60 % elsewhere is borrowed, or 90 % of the borrow cap where that is less. These amounts are assumptions",
    ),
)
_UNISWAP = (
    Difference(
        "Uniswap liquidity",
        "assumed value locked, in bands around the price (the table lists them); one account owns all positions, "
        "whose numbers start at 1. No past observations, so no time-weighted price until the pool has been used",
    ),
    Difference(
        "Uniswap routers", "SwapRouter02, UniversalRouter and Permit2 are not published on a registry and absent"
    ),
)
_V36 = (
    Difference(
        "Aave code",
        "V3.6 compiled from its published sources to the code on chain, whose addresses it has; provider, access "
        "control, oracle and proxies are @aave/core-v3 1.19.3. The rewards controller does nothing. No gateway, "
        "adapters, Umbrella or UI helpers; administrator and treasury are addresses without code",
    ),
    Difference(
        "Aave positions",
        "the account 'Mayavi.Market' holds all supply; what an aToken holds beyond its virtual balance was sent to it",
    ),
    Difference("frozen reserves", "a loan-to-value ratio that waits for a reserve to be unfrozen is not recorded"),
)
_NO_UNISWAP = (Difference("exchanges", "none, and no other protocol than Aave"),)
_BLOCKS = (
    Difference(
        "blocks",
        "the coinbase is not the real block's, nor the base fee unless the sources name it; block hashes are made up, "
        "the same in every run",
    ),
    Difference(
        "everything else", "other contracts and accounts of the real chain are absent; their addresses are empty"
    ),
)
