"""Files of the chain tables. Apart from their types, which opening a built replica does not need."""

from __future__ import annotations

from pathlib import Path

from mayavi.evm.chains import unknown_chain

_TABLES = Path(__file__).parent


def chain_names() -> list[str]:
    """Names of the chains that have a table, and so a replica."""
    return sorted(path.stem for path in _TABLES.glob("*.json"))


def table_path(chain: str) -> Path:
    """Table of `chain`; `UnknownName` with the nearest names for any other."""
    known = chain_names()
    if chain not in known:
        raise unknown_chain(chain, known, "`mayavi world list` shows the replicas there are")
    return _TABLES / f"{chain}.json"
