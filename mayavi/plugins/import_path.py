"""Import paths: `package.module:Name`, looked for in a folder and among the installed packages."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mayavi.errors import PluginError, did_you_mean
from mayavi.plugins.failures import last_line

_WORDS = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATH = re.compile(rf"({_WORDS}):({_WORDS})")


def is_import_path(name: str) -> bool:
    """Whether `name` is meant as an import path: names of our own have no colon."""
    return ":" in name


def import_object(path: str, folder: Path | None = None) -> Any:
    """Import the object that `path` names; raise `PluginError` with the last line of the traceback.

    Modules of `folder`, by default the current one, are found after installed packages, so that a file there never
    replaces a library. A module of `folder` that another one hides is an error.
    """
    matched = _PATH.fullmatch(path)
    if matched is None:
        raise PluginError(
            f"'{path}' is not a valid import path", "write it as package.module:Name, such as my_agents:Saver"
        )
    module = import_module(matched[1], (folder or Path.cwd()).absolute())
    found: Any = module
    owner = f"'{matched[1]}' ({_place(module)})"
    for word in matched[2].split("."):
        if not hasattr(found, word):
            names = [each for each in vars(found) if not each.startswith("_")]
            raise PluginError(f"{owner} has no '{word}'", did_you_mean(word, names) or _defined(found, names))
        found, owner = getattr(found, word), f"'{matched[1]}:{word}'"
    return found


def import_module(name: str, folder: Path) -> ModuleType:
    """Import the module `name`, which may lie in `folder`; raise `PluginError` if it cannot be imported."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # worker processes are given this path too
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _failed(name, error) from error
        modules = sorted(each.stem for each in folder.glob("*.py"))
        where = f"modules are looked for in '{folder}' and among the installed packages"
        hint = "  ".join(filter(None, (did_you_mean(error.name, modules), where)))
        raise PluginError(f"there is no module '{error.name}'", hint) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error
    _refuse_hidden(name, folder)
    return module


def _failed(name: str, error: BaseException) -> PluginError:
    return PluginError(f"'{name}' cannot be imported: {last_line(error)}", "repair that module")


def _refuse_hidden(name: str, folder: Path) -> None:
    """Raise `PluginError` if `folder` has a module of this name, and another one was imported."""
    top = name.partition(".")[0]
    beside = next((each for each in (folder / top / "__init__.py", folder / f"{top}.py") if each.is_file()), None)
    loaded = getattr(sys.modules[top], "__file__", None)
    if beside is not None and (loaded is None or Path(loaded).resolve() != beside.resolve()):
        message = f"the module '{top}' is '{_place(sys.modules[top])}', which hides '{beside}'"
        raise PluginError(message, "give your file another name")


def _place(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "built in"


def _defined(owner: Any, names: list[str]) -> str | None:
    own = [
        each for each in names if getattr(getattr(owner, each), "__module__", None) == getattr(owner, "__name__", "")
    ]
    return f"it defines {', '.join(own)}" if own else None
