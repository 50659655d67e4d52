"""Store of runs: a DuckDB database, segment files beside it, and one view over both.

`SegmentRecorder` writes a run, `Store` reads what was written, `new_run_id` names a run.

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
