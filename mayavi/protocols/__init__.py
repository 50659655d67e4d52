"""Stateless protocol adapters over `Fork`. They know contracts and selectors.

    from mayavi.protocols import AaveV3

    market = AaveV3(fork)
    market.account(address).supply("WETH", 10**18)

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
