"""Mayavi: economic agents on the real bytecode of DeFi protocols, in an in-process EVM.

    from mayavi import Fork, ether

    fork = Fork.replica("ethereum")        # offline; built at first use
    fork.deal("WETH", holder, ether(1))

Importing this package imports nothing else: each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi import errors as errors
    from mayavi.evm.abi import Contract as Contract
    from mayavi.evm.abi import Function as Function
    from mayavi.evm.address import checksum as checksum
    from mayavi.evm.address import to_address as to_address
    from mayavi.evm.fleet import Fleet as Fleet
    from mayavi.evm.fleet import Program as Program
    from mayavi.evm.fleet import Template as Template
    from mayavi.evm.fork import Fork as Fork
    from mayavi.evm.receipt import CallFrame as CallFrame
    from mayavi.evm.receipt import Receipt as Receipt
    from mayavi.evm.registry import Snapshot as Snapshot
    from mayavi.evm.registry import SnapshotRegistry as SnapshotRegistry
    from mayavi.evm.units import ether as ether
    from mayavi.evm.units import format_units as format_units
    from mayavi.evm.units import gwei as gwei
    from mayavi.evm.units import to_units as to_units

__version__ = "0.1.0"

_HOMES = {
    "CallFrame": "mayavi.evm.receipt",
    "Contract": "mayavi.evm.abi",
    "Fleet": "mayavi.evm.fleet",
    "Fork": "mayavi.evm.fork",
    "Function": "mayavi.evm.abi",
    "Program": "mayavi.evm.fleet",
    "Receipt": "mayavi.evm.receipt",
    "Snapshot": "mayavi.evm.registry",
    "SnapshotRegistry": "mayavi.evm.registry",
    "Template": "mayavi.evm.fleet",
    "checksum": "mayavi.evm.address",
    "ether": "mayavi.evm.units",
    "format_units": "mayavi.evm.units",
    "gwei": "mayavi.evm.units",
    "to_address": "mayavi.evm.address",
    "to_units": "mayavi.evm.units",
}

__all__ = [
    "CallFrame",
    "Contract",
    "Fleet",
    "Fork",
    "Function",
    "Program",
    "Receipt",
    "Snapshot",
    "SnapshotRegistry",
    "Template",
    "__version__",
    "checksum",
    "errors",
    "ether",
    "format_units",
    "gwei",
    "to_address",
    "to_units",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("mayavi.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    if name == "Fork":
        import_module("mayavi.worlds")  # teaches `Fork.replica` to build worlds
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
