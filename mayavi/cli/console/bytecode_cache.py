"""Bytecode cache of the command line, for environments where Python keeps none.

With `PYTHONDONTWRITEBYTECODE` set, Python compiles this package's sources at every start, which takes longer than most
commands do. The command line then keeps the compiled modules of this package, and of no other, in Mayavi's cache
directory. A module is compiled again when the time or size of its source changes.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

from mayavi.cache_directory import default_cache_dir

_PACKAGE = str(Path(__file__).parents[2])


def use_bytecode_cache() -> None:
    """Load every further module of this package through the cache."""
    try:
        folder = f"{default_cache_dir()}/bytecode/{sys.implementation.cache_tag}-{sys.flags.optimize}{_PACKAGE}"
    except RuntimeError:  # no home directory
        return

    class CachedLoader(SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType | None:
            return _cached_code(self, fullname, f"{folder}/{fullname}")

    finder = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (CachedLoader, SOURCE_SUFFIXES))

    def hook(path: str) -> FileFinder:
        if path != _PACKAGE and not path.startswith(_PACKAGE + os.sep):
            raise ImportError("not a folder of this package", path=path)
        return finder(path)  # type: ignore[return-value]

    sys.path_hooks.insert(0, hook)
    for path in [path for path in sys.path_importer_cache if path.startswith(_PACKAGE)]:
        del sys.path_importer_cache[path]


def _cached_code(loader: SourceFileLoader, name: str, kept: str) -> CodeType:
    path = loader.get_filename(name)
    source = loader.path_stats(path)
    key = MAGIC_NUMBER + f"{source['mtime']} {source['size']}\n".encode()
    try:
        with open(kept, "rb") as file:
            content = file.read()
        if content.startswith(key):
            code = marshal.loads(content[len(key) :])
            if isinstance(code, CodeType):
                return code
    except (OSError, EOFError, ValueError, TypeError):
        pass  # not kept yet, or damaged
    code = loader.source_to_code(loader.get_data(path), path)
    part = f"{kept}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(kept), exist_ok=True)  # noqa: PTH103, PTH120 (pathlib is slower, and this runs often)
        with open(part, "wb") as file:
            file.write(key + marshal.dumps(code))
        os.replace(part, kept)
    except OSError:
        pass  # a cache that cannot be written costs time, nothing else
    return code
