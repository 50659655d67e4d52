"""Entry points of installed packages. Reading them imports nothing; a plugin is imported when it is used or listed.

[project.entry-points."mayavi.agents"]
whale = "my_package.whale:Whale"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
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
    from importlib.metadata import entry_points

    found = _unique(_plugin(each) for each in entry_points(group=group, name=name))
    if len(found) > 1:
        packages = " and ".join(each.package for each in found)
        raise SetupError(f"two packages offer the {found[0].noun} '{name}': {packages}", "remove one of them")
    return found[0] if found else None


def plugins(group: str) -> list[Plugin]:
    """Return all plugins of a group by name, without importing any."""
    from importlib.metadata import entry_points

    return sorted(
        _unique(_plugin(each) for each in entry_points(group=group)), key=lambda each: (each.name, each.package)
    )


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


def _plugin(entry: EntryPoint) -> Plugin:
    dist = entry.dist
    return Plugin(entry.group, entry.name, entry.value, dist.name if dist else "", dist.version if dist else "")


def _unique(found: Iterable[Plugin]) -> list[Plugin]:
    """Drop duplicates: a folder that is on the path twice is read twice."""
    return list(dict.fromkeys(found))
