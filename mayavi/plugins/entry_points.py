"""Entry points of installed packages. Reading them imports nothing; a plugin is imported when it is used or listed.

```toml
[project.entry-points."mayavi.agents"]
whale = "my_package.whale:Whale"
```
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from mayavi.errors import MayaviError, SetupError
from mayavi.plugins.failures import last_line
from mayavi.plugins.provenance import Provenance, provenance_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

AGENTS, SCENARIOS = "mayavi.agents", "mayavi.scenarios"
PROTOCOLS, ENVIRONMENTS = "mayavi.protocols", "mayavi.environments"
NOUNS = {AGENTS: "agent kind", SCENARIOS: "scenario", PROTOCOLS: "protocol", ENVIRONMENTS: "environment"}
"""Noun for what an entry point of each group provides."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """Entry point of a Mayavi group. `error` says why it cannot be used; empty if it can, or was not loaded yet."""

    group: str
    name: str
    value: str
    """Object that the entry point refers to: `my_package.whale:Whale`."""
    distribution: str = ""
    version: str = ""
    error: str = ""

    @property
    def noun(self) -> str:
        """Kind of plugin: an agent kind, a scenario, a protocol or an environment."""
        return NOUNS[self.group]

    @property
    def is_named_well(self) -> bool:
        """Whether the name can be used in commands, scenarios and ids."""
        return re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", self.name) is not None

    @property
    def package(self) -> str:
        """Name and version of the package it comes from."""
        return f"{self.distribution} {self.version}".strip() or self.value

    def load(self) -> Any:
        """Import what it refers to; raise `SetupError` with the last line of the traceback."""
        from importlib.metadata import EntryPoint

        try:
            return EntryPoint(self.name, self.value, self.group).load()
        except (Exception, SystemExit) as error:
            reason = str(error) if isinstance(error, MayaviError) else last_line(error)
            raise self.unusable(f"cannot be loaded: {reason}") from error

    def unusable(self, reason: str, hint: str | None = None) -> SetupError:
        """Error that says why the plugin cannot be used."""
        message = f"the {self.noun} '{self.name}' of '{self.value}' {reason}"
        return SetupError(message, hint or f"repair or remove the package {self.package}")

    def provenance(self) -> Provenance:
        """Describe the code of a loaded plugin."""
        module = self.value.partition("[")[0].partition(":")[0].strip()
        return provenance_of(module, self.distribution, self.version)

    def to_json(self) -> dict[str, str]:
        """Return the plugin as JSON data."""
        names = ("group", "name", "value", "distribution", "version", "error")
        return {each: getattr(self, each) for each in names} | {"status": "broken" if self.error else "ok"}


def find_plugin(group: str, name: str) -> Plugin | None:
    """Return the plugin `name`; None if there is none, `SetupError` if two packages offer one of that name."""
    found = [each for each in _installed(_folders())[group] if each.name == name]
    if len(found) > 1:
        packages = " and ".join(each.package for each in found)
        raise SetupError(f"two packages offer the {found[0].noun} '{name}': {packages}", "remove one of them")
    return found[0] if found else None


def plugins(group: str) -> list[Plugin]:
    """Return all plugins of a group by name, without importing any."""
    return sorted(_installed(_folders())[group], key=lambda each: (each.name, each.package))


def tried(group: str, built_in: Collection[str], use: Callable[[Plugin], object]) -> list[Plugin]:
    """Load all plugins of a group with `use`; return them, with an `error` where that fails or the name is taken."""
    found = plugins(group)
    listed = []
    for each in found:
        error = ""
        others = [other.package for other in found if other.name == each.name and other is not each]
        if not each.is_named_well:
            error = f"'{each.name}' cannot be a name; rename the entry point: letters, digits, '-', '_' and '.'"
        elif each.name in built_in:
            error = f"'{each.name}' is the name of a built-in {each.noun}; rename the entry point"
        elif others:
            error = f"{' and '.join(others)} offers the {each.noun} '{each.name}' too; remove one of them"
        else:
            try:
                use(each)
            except MayaviError as problem:
                error = problem.message
            except Exception as problem:
                error = last_line(problem)
        listed.append(replace(each, error=error))
    return listed


Folder = tuple[str, int]
"""Folder of `sys.path`, and when something was last added to it or removed; 0 where there is none."""


def _folders() -> tuple[Folder, ...]:
    return tuple((each, _changed_ns(each or ".")) for each in sys.path)


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 (pathlib takes twice as long)
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _installed(folders: tuple[Folder, ...]) -> Mapping[str, list[Plugin]]:
    """Return the plugins of all groups; scan the packages again only if a folder of `sys.path` has changed."""
    del folders
    from importlib.metadata import entry_points

    found = entry_points()
    return {group: _unique(_plugin(each) for each in found.select(group=group)) for group in NOUNS}


def _plugin(entry: EntryPoint) -> Plugin:
    dist = entry.dist
    return Plugin(entry.group, entry.name, entry.value, dist.name if dist else "", dist.version if dist else "")


def _unique(found: Iterable[Plugin]) -> list[Plugin]:
    """Drop duplicates: a folder that is on the path twice is read twice."""
    return list(dict.fromkeys(found))
