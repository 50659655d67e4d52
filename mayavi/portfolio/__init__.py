"""A portfolio of USDY, mETH and MI4: market model, environment, backtest and optimiser.

    from mayavi.portfolio import PPOYieldOptimizer, RWAModel, read_rwa

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
