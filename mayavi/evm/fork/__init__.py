"""`Fork`: a writable, local copy of a chain at one block, with its accounts, blocks, calls and snapshots.

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
