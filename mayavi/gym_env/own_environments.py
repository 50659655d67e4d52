"""Environments of one's own: entry points of the group `mayavi.environments`, and import paths.

    [project.entry-points."mayavi.environments"]
    keeper = "my_package.keeper:KeeperRows"

The class is a `RowsEnv`. Without a `name` of its own it is called by the entry point or the import path. Its gymnasium
id is `mayavi/<name>-v0`; import paths have none.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from mayavi.errors import PluginError, UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.plugins import entry_points
from mayavi.plugins.import_path import import_object, is_import_path
from mayavi.plugins.permission import forbidden_hint, import_paths_allowed
from mayavi.plugins.provenance import Provenance, provenance_of

SCENARIO = "scenario:"
"""Prefix of environments over a scenario, which are not import paths."""


@dataclass(frozen=True, slots=True)
class OwnEnvironment:
    """An environment of an installed package, or of an import path."""

    name: str
    id: str
    """Its gymnasium id; empty for an import path."""
    home: str
    """`module:class` of its `RowsEnv`."""
    plugin: entry_points.Plugin | None = None

    def load(self) -> type[RowsEnv[Any]]:
        """Import the class of its rows; `SetupError` or `UsageError` if it is invalid."""
        if self.plugin is None:
            return _of_class(self.name, import_object(self.home))
        try:
            return _of_class(self.name, self.plugin.load())
        except PluginError as error:
            raise self.plugin.unusable(f"cannot be used: {error.message}", error.hint) from error

    def provenance(self) -> Provenance:
        """Describe where its code came from."""
        module = self.load().__module__
        return provenance_of(module) if self.plugin is None else self.plugin.provenance()


def find_own(name: str) -> OwnEnvironment | None:
    """Return an environment of one's own by name, gymnasium id or import path; None if there is none."""
    if is_import_path(name) and not name.startswith(SCENARIO):
        if not import_paths_allowed():
            raise UsageError(f"the import path '{name}' is not allowed here", forbidden_hint())
        return OwnEnvironment(name, "", name)
    called = name.removeprefix("mayavi/").removesuffix("-v0") if name.startswith("mayavi/") else name
    if not called or is_import_path(called):
        return None
    plugin = entry_points.find_plugin(entry_points.ENVIRONMENTS, called)
    return None if plugin is None else _environment(plugin)


def environment_plugins() -> list[OwnEnvironment]:
    """Return the environments of installed packages whose names can be ids, without importing any."""
    return [_environment(each) for each in entry_points.plugins(entry_points.ENVIRONMENTS) if each.is_named_well]


def tried_environments(built_in: Collection[str]) -> list[entry_points.Plugin]:
    """Return the environments of installed packages; those that cannot be used with the reason."""
    return entry_points.tried(entry_points.ENVIRONMENTS, built_in, lambda each: _environment(each).load())


def _environment(plugin: entry_points.Plugin) -> OwnEnvironment:
    return OwnEnvironment(plugin.name, f"mayavi/{plugin.name}-v0", plugin.value, plugin)


def _of_class(name: str, found: Any) -> type[RowsEnv[Any]]:
    """Return the environment class under `name`; raise `PluginError` if it is invalid."""
    if not isinstance(found, type) or not issubclass(found, RowsEnv):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginError(
            f"'{name}' is {what}, not a subclass of RowsEnv", "subclass mayavi.gym_env.rows.RowsEnv or ChainRowsEnv"
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise PluginError(f"'{name}' does not implement {missing}", "`mayavi new env` writes an example")
    if not hasattr(found, "config_type"):
        raise PluginError(f"'{name}' has no config_type", "set it to the class of its settings, an EnvConfig")
    own = getattr(found, "name", None)
    if own is None:
        return _named(found, name)
    if own != name:
        raise PluginError(f"'{name}' calls itself '{own}'", "leave `name` out of the class, or make both the same")
    return found


@cache
def _named(found: type[RowsEnv[Any]], name: str) -> type[RowsEnv[Any]]:
    """Return the class under another name: it is part of the RNG streams of its episodes."""
    facts = {"name": name, "__module__": found.__module__, "__doc__": found.__doc__, "__qualname__": found.__qualname__}
    return type(found.__name__, (found,), facts)
