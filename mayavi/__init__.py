"""Mayavi: economic agents on the real bytecode of DeFi protocols, in an in-process EVM.

    from mayavi import Fork, ether

    fork = Fork.replica("ethereum")        # offline; built at first use
    fork.deal("WETH", holder, ether(1))

    run = mayavi.run("depeg_cascade", chain="base", seed=7)
    run.kpis, run.actions.df()

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

from importlib import import_module

import lazy_loader

__version__ = "0.1.0"

_load, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted([*__all__, "__version__"])


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'mayavi' has no attribute '{name}'")
    try:
        value = _load(name)
        if name == "Fork":
            import_module("mayavi.worlds")  # registers the builder of `Fork.replica`
    except ImportError as error:
        from mayavi.setup_errors import setup_fault

        fault = setup_fault(error)
        if fault is None:
            raise
        raise fault from error
    return value


def __dir__() -> list[str]:
    return list(__all__)
