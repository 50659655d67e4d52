"""`importlib.metadata`, imported on use.

Pydantic imports it to look for plugins, which `prepare_process` turns off. The import takes as long as 40 modules of
ours, since it needs `email`, `socket` and `zipfile`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_NAME = "importlib.metadata"


class LazyMetadata(ModuleType):
    """Stand-in that imports the module when a name of it is used; `entry_points` may be imported before."""

    @staticmethod
    def entry_points(**selection: Any) -> Any:
        """Call the function of the module."""
        return _load().entry_points(**selection)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system, of every module
            raise AttributeError(name)
        return getattr(_load(), name)


def postpone_metadata() -> None:
    """Put the stand-in where `import` looks, unless the module is there already."""
    if _NAME not in sys.modules:
        sys.modules[_NAME] = importlib.metadata = LazyMetadata(_NAME)


def _load() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), LazyMetadata):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)
