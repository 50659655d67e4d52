"""The EVM layer: `Fork`, snapshots, the ABI, batches, and the client of a node. The only layer that knows the kernel.

The names below are loaded when they are first used, so that importing one does not import all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract as Contract
    from mayavi.evm.abi.contract import Function as Function
    from mayavi.evm.fleet import Fleet as Fleet
    from mayavi.evm.fleet import Program as Program
    from mayavi.evm.fleet import Template as Template
    from mayavi.evm.fork import Fork as Fork
    from mayavi.evm.receipt import Receipt as Receipt
    from mayavi.evm.registry import Snapshot as Snapshot
    from mayavi.evm.registry import SnapshotRegistry as SnapshotRegistry

_HOMES = {
    "Contract": "abi.contract",
    "Fleet": "fleet",
    "Fork": "fork",
    "Function": "abi.contract",
    "Program": "fleet",
    "Receipt": "receipt",
    "Snapshot": "registry",
    "SnapshotRegistry": "registry",
    "Template": "fleet",
}

__all__ = [
    "Contract",
    "Fleet",
    "Fork",
    "Function",
    "Program",
    "Receipt",
    "Snapshot",
    "SnapshotRegistry",
    "Template",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.evm' has no attribute '{name}'")
    value = getattr(import_module(f"mayavi.evm.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
