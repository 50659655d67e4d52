"""Scenarios of installed packages: YAML files that entry points of the group `mayavi.scenarios` name.

    [project.entry-points."mayavi.scenarios"]
    crash = "my_package.scenarios"

An entry point refers to a module, beside which the file `<name>.yaml` lies, or to the path of a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from mayavi.errors import UnknownName, UsageError
from mayavi.plugins import entry_points
from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.registry import Entry, entries, entry
from mayavi.settings.document import Document


@dataclass(frozen=True, slots=True)
class InstalledScenario:
    """A scenario of an installed package."""

    name: str
    path: Path
    package: str
    """Name and version of the package."""
    title: str = ""
    chains: tuple[str, ...] = ()


def find_entry(name: str) -> Entry | InstalledScenario:
    """Return the scenario `name`, of the library or of an installed package.

    Raises `UnknownName` with the nearest names, `SetupError` if the package cannot be used.
    """
    try:
        return entry(name)
    except UnknownName:
        plugin = entry_points.find_plugin(entry_points.SCENARIOS, name)
        if plugin is None:
            raise
    return load_plugin(plugin)


def load_plugin(plugin: entry_points.Plugin) -> InstalledScenario:
    """Return the scenario of an entry point; `SetupError` if it names no file."""
    found = plugin.load()
    if isinstance(found, ModuleType):
        folder = Path(getattr(found, "__file__", None) or next(iter(found.__path__), ""))
        found = (folder if folder.is_dir() else folder.parent) / f"{plugin.name}.yaml"
    if not isinstance(found, str | os.PathLike):
        reason = f"is a {type(found).__name__}, neither a module nor the path of a YAML file"
        raise plugin.unusable(reason)
    path = Path(found)
    if not path.is_file():
        raise plugin.unusable(f"names the file '{path}', which does not exist")
    try:
        Document.open(path, kind=SCENARIO)
    except UsageError as error:
        raise plugin.unusable(f"is not a scenario: {error.message}", error.hint) from error
    return InstalledScenario(plugin.name, path, plugin.package)


def installed_scenarios() -> list[entry_points.Plugin]:
    """Return the scenarios of installed packages; those that cannot be used with the reason."""
    return entry_points.tried(entry_points.SCENARIOS, [each.name for each in entries()], load_plugin)


def described_scenarios() -> list[InstalledScenario]:
    """Return the usable scenarios of installed packages, with titles and chains."""
    usable = {each.name: each for each in installed_scenarios() if not each.error}
    found = []
    for plugin in usable.values():
        scenario = load_plugin(plugin)
        data = Document.open(scenario.path, kind=SCENARIO).data
        chains = list(data.get("chains") or ([data["chain"]] if "chain" in data else []))
        found.append(replace(scenario, title=str(data.get("title") or ""), chains=tuple(map(str, chains))))
    return found
