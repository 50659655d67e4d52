"""Mayavi: economic agents on the real bytecode of DeFi protocols, in an in-process EVM.

    from mayavi import Fork

    fork = Fork.replica("ethereum")        # offline; built once, in seconds
    fork.deal("WETH", holder, 10**18)

Importing this package imports nothing else: each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi import errors as errors
    from mayavi.evm.fork import Fork as Fork

__version__ = "0.1.0"

# Where each public name lives. A name mapped to its own module is that module.
_HOMES = {
    "Fork": "mayavi.evm.fork",
    "errors": "mayavi.errors",
}

__all__ = ["Fork", "__version__", "errors"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mayavi' has no attribute '{name}'")
    module = import_module(home)
    if name == "Fork":
        import_module("mayavi.worlds")  # teaches `Fork.replica` to build worlds
    value = module if home == f"mayavi.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
