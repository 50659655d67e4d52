"""Calls on many forks at once."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi import _kernel
from mayavi.evm.fork.fork import Fork


def call_each(forks: Sequence[Fork], calls: Sequence[tuple[bytes, bytes]]) -> list[list[bytes | None]]:
    """Return the outputs of all `calls`, each an address and calldata, on each fork, in one call of the kernel.

    None stands for a call that fails or lacks state; `Fork.call` says why, or fetches it.
    """
    return _kernel.call_each([fork._evm for fork in forks], list(calls))
