"""Kernel types for code that works on raw state: block replay, batches, benchmarks.

All other code uses `Fork`. The import goes through this module so that `mayavi.evm` stays the only package that imports
the extension.
"""

from __future__ import annotations

from mayavi._kernel import Block as Block
from mayavi._kernel import Evm as Evm
from mayavi._kernel import InvalidTransaction as InvalidTransaction
from mayavi._kernel import MissingState as MissingState
from mayavi._kernel import State as State
from mayavi._kernel import hardforks as hardforks
from mayavi._kernel import logs_hash as logs_hash
from mayavi.errors import UnknownName


def open_evm(chain_id: int, hardfork: str) -> Evm:
    """Create an EVM without state. State must be loaded first; reading anything else is an error."""
    return Evm(chain_id, hardfork, closed=False)


def known_hardfork(name: str) -> str:
    """Return `name` if it is the name of a hard fork; raise `UnknownName` with the nearest ones."""
    known = hardforks()
    if name not in known:
        raise UnknownName.of("hard fork", name, known, f"known: {', '.join(known)}")
    return name


def is_before(hardfork: str, later: str) -> bool:
    """Whether the rules of `hardfork` came before those of `later`."""
    known = hardforks()
    return known.index(known_hardfork(hardfork)) < known.index(known_hardfork(later))
