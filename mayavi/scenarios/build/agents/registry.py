"""Registry of agent kinds: maps the `kind` of a scenario's entry to its settings model and builder.

A kind of one's own is an `Agent` with a model of its settings; see `own_agents.py` beside it. A scenario names
it by an import path, `kind: my_agents:Saver`, or by the name of an entry point of an installed package:

    [project.entry-points."mayavi.agents"]
    saver = "my_package.saver:Saver"

A kind that builds agents in another way than one object per member has a builder, and its entry point refers to it:

    class Whale(AgentSettings):
        kind: Literal["whale"]
        pool: str

    @agent_kind(Whale)
    def build_whale(agents: AgentSet, name: str, model: Whale) -> list[Agent]:
        return [WhaleAgent(name, pool=agents.use_pool(model.pool))]

Entry points are read only if a scenario names a kind that Mayavi itself does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from mayavi.errors import PluginError, SetupError, UnknownName
from mayavi.plugins import entry_points
from mayavi.plugins.import_path import import_object, is_import_path
from mayavi.plugins.permission import forbidden_hint, import_paths_allowed
from mayavi.plugins.provenance import provenance_of
from mayavi.scenarios.build.agents.agent_kind import AgentKind as AgentKind
from mayavi.scenarios.build.agents.agent_kind import Builder as Builder
from mayavi.scenarios.build.agents.own_agents import kind_of_class

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.scenarios.build.agents.agent_set import AgentSet
    from mayavi.scenarios.models.agents.shared import AgentSettings

_MODULES = ("lending", "oracle", "positions", "recorded", "trading")
_BUILT_IN = tuple(f"mayavi.scenarios.build.agents.{each}" for each in _MODULES)

M = TypeVar("M", bound="AgentSettings")

_kinds: dict[str, AgentKind] = {}


def agent_kind(
    model: type[M], *, last: bool = False
) -> Callable[[Callable[[AgentSet, str, M], list[Agent]]], Callable[[AgentSet, str, M], list[Agent]]]:
    """Register the decorated function as the builder of the kind that `model` declares as `kind: Literal["…"]`."""
    (name,) = get_args(model.model_fields["kind"].annotation)

    def register(build: Callable[[AgentSet, str, M], list[Agent]]) -> Callable[[AgentSet, str, M], list[Agent]]:
        known = _kinds.get(name)
        if known is not None and known.build.__module__ != build.__module__:
            raise SetupError(
                f"two packages register the agent kind '{name}': {known.build.__module__} and {build.__module__}",
                "rename one of them",
            )
        _kinds[name] = AgentKind(name, model, build, last)
        return build

    return register


def find_kind(name: str) -> AgentKind:
    """Return the kind called `name`: built in, of an installed package, or an import path.

    Raises `UnknownName` if there is none.
    """
    for module in () if is_import_path(name) else _BUILT_IN:  # no more of them than it takes
        if name in _kinds:
            break
        import_module(module)
    found = _kinds.get(name) or find_plugin(name)
    if found is None and is_import_path(name):  # in a worker process, of a scenario that was loaded elsewhere
        found = import_kind(name)
    if found is None:
        raise UnknownName.of("agent kind", name, _kinds, f"there are: {', '.join(sorted(_kinds))}")
    return found


def built_in_kinds() -> frozenset[str]:
    """Import the builders of all built-in kinds, and return their names."""
    for module in _BUILT_IN:
        import_module(module)
    return frozenset(name for name, each in _kinds.items() if each.provenance is None and _is_ours(each))


def _is_ours(kind: AgentKind) -> bool:
    return getattr(kind.build, "__module__", "") in _BUILT_IN


def import_kind(path: str, folder: Path | None = None) -> AgentKind:
    """Import the agent class named by `path`, from `folder` or an installed package; `PluginError` if it is invalid."""
    if not import_paths_allowed():
        raise PluginError(f"the import path '{path}' is not allowed here", forbidden_hint())
    found = import_object(path, folder)
    made = kind_of_class(path, found)
    _kinds[path] = replace(made, provenance=provenance_of(found.__module__))
    return _kinds[path]


def find_plugin(name: str) -> AgentKind | None:
    """Return the kind that an installed package registers under `name`; None if there is none."""
    if name in _kinds:
        return _kinds[name]
    if is_import_path(name):
        return None
    plugin = entry_points.find_plugin(entry_points.AGENTS, name)
    return None if plugin is None else load_plugin(plugin)


def load_plugin(plugin: entry_points.Plugin) -> AgentKind:
    """Import the agent kind of an entry point: an agent class, or whatever registers a builder; `SetupError`."""
    from mayavi.agents.base import Agent

    loaded, name = plugin.load(), plugin.name
    if isinstance(loaded, type) and issubclass(loaded, Agent):
        try:
            _kinds[name] = kind_of_class(name, loaded)
        except PluginError as error:
            raise plugin.unusable(f"cannot be used: {error.message}", error.hint) from error
    if name not in _kinds:
        raise SetupError(
            f"'{plugin.value}' does not register the agent kind '{name}'",
            f'refer to an agent class; or declare `kind: Literal["{name}"]` and decorate a builder with `@agent_kind`',
        )
    _kinds[name] = replace(_kinds[name], provenance=plugin.provenance())
    return _kinds[name]


def installed_kinds() -> list[entry_points.Plugin]:
    """Return the agent kinds of installed packages; those that cannot be used with the reason."""
    if not entry_points.plugins(entry_points.AGENTS):
        return []
    return entry_points.tried(entry_points.AGENTS, built_in_kinds(), load_plugin)
