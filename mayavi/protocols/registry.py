"""Protocol adapters of one's own, by the name of an entry point or by import path.

An adapter is a class that is made from a fork, `Vault(fork)`, and keeps no state. What a scenario can name also has

- `deploy(fork, settings)`, a classmethod or staticmethod that puts its contracts on the chain;
- `Settings`, optional: the model of the settings, a subclass of `OwnProtocolSettings`;
- `figures()`, optional: figures to record after every step, `{"assets": (10**18, "e18")}`.

    [project.entry-points."mayavi.protocols"]
    vault = "my_package.vault:Vault"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import PluginError, UnknownName
from mayavi.plugins import entry_points
from mayavi.plugins.import_path import import_object, is_import_path
from mayavi.plugins.permission import forbidden_hint, import_paths_allowed
from mayavi.plugins.provenance import Provenance, provenance_of

BUILT_IN = frozenset(
    {"aave_v2", "aave_v3", "chainlink", "compound_v3", "curve", "morpho", "pendle", "spark", "uniswap_v3", "uniswap_v4"}
)
"""Names of the protocols that Mayavi itself has."""


@dataclass(frozen=True, slots=True)
class OwnProtocol:
    """An adapter that a scenario can name, and where its code came from."""

    name: str
    adapter: type[Any]
    provenance: Provenance


_loaded: dict[str, OwnProtocol] = {}


def adapter(name: str) -> type[Any]:
    """Return an adapter class: `AaveV3` and the other built-in ones by name, or that of an installed package.

    `adapter("vault")(fork)` is the protocol on a chain.
    """
    import mayavi.protocols as built_in

    if name in dir(built_in) and name[:1].isupper():
        found: type[Any] = getattr(built_in, name)
        return found
    return find_protocol(name).adapter


def find_protocol(name: str) -> OwnProtocol:
    """Return the protocol of an entry point, or of an import path that was imported; `UnknownName` if there is none."""
    if name in _loaded:
        return _loaded[name]
    if is_import_path(name):
        return import_protocol(name)
    plugin = None if name in BUILT_IN else entry_points.find_plugin(entry_points.PROTOCOLS, name)
    if plugin is None:
        known = [each.name for each in entry_points.plugins(entry_points.PROTOCOLS) if each.name not in BUILT_IN]
        more = f"installed packages offer: {', '.join(known)}" if known else "no installed package offers a protocol"
        raise UnknownName.of("protocol", name, known, more)
    return load_plugin(plugin)


def is_loaded(name: str) -> bool:
    """Whether the protocol was loaded in this process."""
    return name in _loaded


def import_protocol(path: str, folder: Path | None = None) -> OwnProtocol:
    """Import the adapter that `path` names, from `folder` or an installed package; `PluginError` if it is invalid."""
    if not import_paths_allowed():
        raise PluginError(f"the import path '{path}' is not allowed here", forbidden_hint())
    found = checked_adapter(path, import_object(path, folder))
    _loaded[path] = OwnProtocol(path, found, provenance_of(found.__module__))
    return _loaded[path]


def load_plugin(plugin: entry_points.Plugin) -> OwnProtocol:
    """Import the adapter of an entry point; `SetupError` if it is invalid."""
    found = plugin.load()
    try:
        checked_adapter(plugin.name, found)
    except PluginError as error:
        raise plugin.unusable(f"cannot be used: {error.message}", error.hint) from error
    _loaded[plugin.name] = OwnProtocol(plugin.name, found, plugin.provenance())
    return _loaded[plugin.name]


def checked_adapter(name: str, found: Any) -> type[Any]:
    """Return `found`; raise `PluginError` unless it is a class with `deploy(fork, settings)`."""
    if not isinstance(found, type):
        raise PluginError(f"'{name}' is a {type(found).__name__}, not a class", "name the adapter class")
    if not callable(getattr(found, "deploy", None)):
        raise PluginError(
            f"'{name}' has no deploy(fork, settings)", "it puts the protocol's contracts on the chain of a scenario"
        )
    return found


def installed_protocols() -> list[entry_points.Plugin]:
    """Return the protocols of installed packages; those that cannot be used with the reason."""
    return entry_points.tried(entry_points.PROTOCOLS, BUILT_IN, load_plugin)
