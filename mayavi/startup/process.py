"""Settings of a short-lived process, whose time is mostly spent in imports."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from mayavi.startup.lazy_metadata import postpone_metadata

_OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""Python's default of 700 costs a tenth of a short command: imports create many objects and hardly any garbage."""


def prepare_process(kind: str | None) -> None:
    """Set up this process and its children for a fast start; `kind` names processes that import the same modules."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # the interpreter's last collection then has nothing to visit
    # Pydantic reads the metadata of every installed package to find plugins; none concerns our settings.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    postpone_metadata()
    if sys.dont_write_bytecode:
        from mayavi.startup.bytecode_cache import use_bytecode_cache

        use_bytecode_cache()
    if kind:
        from mayavi.startup.compiled_texts import use_compiled_texts

        use_compiled_texts(kind)
