"""The kernel's own types for the layers that work on state itself: block replay, batches, benchmarks.

Everyone else holds a `Fork`. These names are the kernel's; the import goes through here so that `mayavi.evm` stays the
only package that knows the extension.
"""

from __future__ import annotations

from mayavi._kernel import Block as Block
from mayavi._kernel import Evm as Evm
from mayavi._kernel import State as State


def open_evm(chain_id: int, hardfork: str) -> Evm:
    """An EVM that knows nothing yet: every fact must be learnt, what is not is an error."""
    return Evm(chain_id, hardfork, closed=False)
