"""Price processes, historical series and distributions. NumPy only.

    from mayavi.markets import GeometricBrownianMotion, PricePaths, Step

    crash = Step(at=12, size=-0.25, then=GeometricBrownianMotion(volatility=0.8))
    prices = PricePaths.draw({"WETH": crash}, {"WETH": 2562.92}, steps=48, step_seconds=3600, seed=7)
    prices.usd_e8("WETH", 12)

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
