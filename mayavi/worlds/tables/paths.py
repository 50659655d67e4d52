"""Files of the chain tables. Apart from their types, which opening a built replica does not need.

`<chain>.json` is the table of a chain's default replica, `<chain>-<block>.json` that of another block.
"""

from __future__ import annotations

import json
from pathlib import Path

from mayavi.errors import UsageError
from mayavi.evm.chains import unknown_chain

_TABLES = Path(__file__).parent


def chain_names() -> list[str]:
    """Names of the chains that have a table, and so a replica."""
    return sorted(path.stem for path in _TABLES.glob("*.json") if "-" not in path.stem)


def dated_blocks(chain: str) -> list[int]:
    """Blocks with a replica of their own, beside the default one."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in _TABLES.glob(f"{chain}-*.json"))


def table_path(chain: str, block: int | None = None) -> Path:
    """Table of `chain` at `block`, by default its default block.

    Raises `UnknownName` with the nearest names for an unknown chain, `UsageError` for a block without a replica.
    """
    known = chain_names()
    if chain not in known:
        raise unknown_chain(chain, known, "`mayavi world list` shows the replicas there are")
    dated = replica_block(chain, block)
    return _TABLES / (f"{chain}.json" if dated is None else f"{chain}-{dated}.json")


def replica_block(chain: str, block: int | str | None) -> int | None:
    """Block of a dated replica, or None for the default one; `UsageError` names the blocks there are."""
    dated = dated_blocks(chain)
    if block is None or block in dated:
        return None if block is None else int(block)
    default = int(json.loads((_TABLES / f"{chain}.json").read_bytes())["block"]["number"])
    if block == default:
        return None
    there = ", ".join(map(str, sorted([default, *dated])))
    raise UsageError(
        f"there is no replica of {chain} at block {block}",
        f"there are replicas at: {there}; any other block is read from a node, with the source rpc",
    )
