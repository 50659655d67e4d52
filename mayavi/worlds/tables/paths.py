"""Files of the chain tables. Apart from their types, which opening a built replica does not need.

`<chain>.json` is the table of a chain's default replica, `<chain>-<block>.json` that of another block, and
`markets/<market>@<month>.json` that of a market of Aave V3.6.
"""

from __future__ import annotations

import json
from pathlib import Path

from mayavi.errors import UsageError
from mayavi.evm.chains import unknown_chain

_TABLES = Path(__file__).parent
_LIST = "`mayavi world list` lists them"


def chain_names() -> list[str]:
    """Names of the chains that have a table, and so a replica."""
    return sorted(path.stem for path in _TABLES.glob("*.json") if "-" not in path.stem)


def dated_blocks(chain: str) -> list[int]:
    """Blocks with a replica of their own, beside the default one."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in _TABLES.glob(f"{chain}-*.json"))


def market_names() -> list[str]:
    """Names of the worlds of single markets: `ethereum-lido@2025-12`."""
    return sorted(path.stem for path in (_TABLES / "markets").glob("*.json"))


def market_path(name: str) -> Path:
    """Table of the market's world `name`, which `market_names` lists."""
    return _TABLES / "markets" / f"{name}.json"


def is_market(name: str) -> bool:
    """Whether `name` is the world of a single market, or short for one; `UnknownName` if it is not a world at all."""
    return name not in chain_names() and bool(market_name(name))


def market_chain(name: str) -> str:
    """Chain of a market's world: `ethereum` of `ethereum-lido@2025-12`."""
    return market_name(name).partition("@")[0].partition("-")[0]


def full_market_name(name: str) -> str:
    """`market_name`, where the name of a chain with an older world is not enough: the error names its markets."""
    if name in chain_names():
        markets = [each for each in market_names() if market_chain(each) == name]
        raise UsageError(f"'{name}' is the chain's own world, no market", f"its markets are: {', '.join(markets)}")
    return market_name(name)


def market_name(name: str) -> str:
    """Full name of a market's world: `plasma` is short for the newest `plasma@…`, because Plasma has no other world.

    Raises `UnknownName` with the nearest names of all worlds.
    """
    markets, chains = market_names(), chain_names()
    if name in markets:
        return name
    newest = {each.partition("@")[0]: each for each in markets}
    if name in newest and name not in chains:
        return newest[name]
    known = markets if "@" in name else sorted({*chains, *newest})
    known = [each for each in known if "-" in name or "-" not in each.partition("@")[0]]
    of_chain = [each for each in known if each.startswith(f"{name.partition('@')[0]}@")]
    raise unknown_chain(name, of_chain or known, _LIST, what="world")


def table_path(chain: str, block: int | None = None) -> Path:
    """Table of `chain` at `block`, by default its default block.

    Raises `UnknownName` with the nearest names for an unknown chain, `UsageError` for a block without a replica.
    """
    if chain not in chain_names():
        replica_block(chain, block)
        return market_path(market_name(chain))
    dated = replica_block(chain, block)
    return _TABLES / (f"{chain}.json" if dated is None else f"{chain}-{dated}.json")


def replica_block(chain: str, block: int | str | None) -> int | None:
    """Block of a dated replica, or None for the default one; `UsageError` names the blocks there are."""
    path = _TABLES / f"{chain}.json" if chain in chain_names() else market_path(market_name(chain))
    dated = dated_blocks(chain)
    if block is None or block in dated:
        return None if block is None else int(block)
    default = int(json.loads(path.read_bytes())["block"]["number"])
    if block == default:
        return None
    there = ", ".join(map(str, sorted([default, *dated])))
    raise UsageError(
        f"there is no replica of {chain} at block {block}",
        f"there are replicas at: {there}; any other block is read from a node, with the source rpc",
    )
