"""Bytecode cache of commands and workers, for environments where Python keeps none.

With `PYTHONDONTWRITEBYTECODE` set, Python compiles at every start what `make setup` or an installer has not compiled
ahead, which takes longer than most commands do. Such a process then keeps the compiled modules of this package, and
of no other, in Mayavi's cache directory. A module is compiled again when the time or size of its source changes.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from mayavi.startup.code_files import code_folder, read_code, write_code

_PACKAGE = str(Path(__file__).parents[1])


def use_bytecode_cache() -> None:
    """Load every further module of this package through the cache, unless Python has its bytecode."""
    if (root := code_folder()) is None:
        return
    folder = f"{root}{_PACKAGE}"

    class CachedLoader(SourceFileLoader):
        def source_to_code(self, data: Any, path: Any) -> CodeType:  # type: ignore[override]  # a method in SourceLoader
            """Return the code of a source without valid bytecode beside it."""
            source = self.path_stats(path)
            kept, key = f"{folder}/{self.name}", f"{source['mtime']} {source['size']}"
            found = read_code(kept, key)
            if isinstance(found, CodeType):
                return found
            code: CodeType = super().source_to_code(data, path)
            write_code(kept, code, key)
            return code

    finder = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (CachedLoader, SOURCE_SUFFIXES))

    def hook(path: str) -> FileFinder:
        if path != _PACKAGE and not path.startswith(_PACKAGE + os.sep):
            raise ImportError("not a folder of this package", path=path)
        return finder(path)  # type: ignore[return-value]

    sys.path_hooks.insert(0, hook)
    for path in [path for path in sys.path_importer_cache if path.startswith(_PACKAGE)]:
        del sys.path_importer_cache[path]
