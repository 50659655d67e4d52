"""Mayavi: economic agents on the real bytecode of DeFi protocols, in an in-process EVM.

    from mayavi import Fork, ether

    fork = Fork.replica("ethereum")        # offline; built at first use
    fork.deal("WETH", holder, ether(1))

    run = mayavi.run("depeg_cascade", chain="base", seed=7)
    run.kpis, run.actions.df()

Importing this package imports nothing else: each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi import errors as errors
    from mayavi.errors import SetupError
    from mayavi.evm.abi.contract import Contract as Contract
    from mayavi.evm.abi.contract import Function as Function
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
    from mayavi.scenarios.run.run import run as run
    from mayavi.scenarios.run.sweep import sweep as sweep
    from mayavi.sim.store import Store as Store

__version__ = "0.1.0"

_HOMES = {
    "CallFrame": "mayavi.evm.receipt",
    "Contract": "mayavi.evm.abi.contract",
    "Fleet": "mayavi.evm.fleet",
    "Fork": "mayavi.evm.fork",
    "Function": "mayavi.evm.abi.contract",
    "Program": "mayavi.evm.fleet",
    "Receipt": "mayavi.evm.receipt",
    "Snapshot": "mayavi.evm.registry",
    "SnapshotRegistry": "mayavi.evm.registry",
    "Store": "mayavi.sim.store",
    "Template": "mayavi.evm.fleet",
    "checksum": "mayavi.evm.address",
    "ether": "mayavi.evm.units",
    "format_units": "mayavi.evm.units",
    "gwei": "mayavi.evm.units",
    "run": "mayavi.scenarios.run.run",
    "sweep": "mayavi.scenarios.run.sweep",
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
    "Store",
    "Template",
    "__version__",
    "checksum",
    "errors",
    "ether",
    "format_units",
    "gwei",
    "run",
    "sweep",
    "to_address",
    "to_units",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("mayavi.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi' has no attribute '{name}'")
    try:
        value: object = getattr(import_module(_HOMES[name]), name)
        if name == "Fork":
            import_module("mayavi.worlds")  # teaches `Fork.replica` to build worlds
    except ImportError as error:
        fault = setup_fault(error)
        if fault is None:
            raise
        raise fault from error
    globals()[name] = value
    return value


_OF_RL = {
    "gymnasium",
    "matplotlib",
    "modal",
    "ray",
    "sb3_contrib",
    "scipy",
    "stable_baselines3",
    "tensorboard",
    "torch",
}
"""What the extra `rl` installs, and `make setup` does not."""


def setup_fault(error: ImportError) -> SetupError | None:
    """What `error` says of the set-up, with the command that mends it; None when it is a fault of the code.

    That is a kernel which is not built or does not load, or a Python package which is not installed.
    """
    from mayavi.errors import SetupError

    package = (error.name or "").partition(".")[0]
    ours = error.name in {"mayavi._kernel", "_kernel"}  # the second is how the system's loader calls it
    if ours and not isinstance(error, ModuleNotFoundError):
        return SetupError(f"the Rust kernel does not load: {error}", "run `make clean setup`, which builds it anew")
    if ours or (error.name == "mayavi" and "'_kernel'" in str(error)):
        return SetupError("the Rust kernel is not built", "run `make setup`, which builds it")
    if isinstance(error, ModuleNotFoundError) and package not in {"", "mayavi"}:
        way = (
            "`pip install 'mayavi-sim[rl]'` installs it" if package in _OF_RL else "run `make setup`, which installs it"
        )
        return SetupError(f"the Python package '{package}' is not installed", way)
    return None


def __dir__() -> list[str]:
    return sorted(__all__)
