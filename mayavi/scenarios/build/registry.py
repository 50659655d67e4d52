"""Registry of agent kinds: maps the `kind` of a scenario's entry to its settings model and builder.

A package adds a kind in two steps. First a settings model and a builder:

    class Whale(AgentSettings):
        kind: Literal["whale"]
        pool: str

    @agent_kind(Whale)
    def build_whale(agents: AgentSet, name: str, model: Whale) -> list[Agent]:
        return [WhaleAgent(name, pool=agents.use_pool(model.pool))]

Then an entry point of the group `mayavi.agents`, named after the kind, that refers to the builder or its module:

    [project.entry-points."mayavi.agents"]
    whale = "my_package.whale:build_whale"

Entry points are read only if a scenario names a kind that Mayavi itself does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from mayavi.errors import SetupError, UnknownName

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.scenarios.build.agent_set import AgentSet
    from mayavi.scenarios.models.agents import AgentSettings

ENTRY_POINTS = "mayavi.agents"

_MODULES = ("lending", "oracle", "positions", "recorded", "trading")
_BUILT_IN = tuple(f"mayavi.scenarios.build.{each}" for each in _MODULES)

M = TypeVar("M", bound="AgentSettings")
Builder = Callable[["AgentSet", str, Any], "list[Agent]"]
"""Function `build(agents, name, settings)` that returns the agents of one entry of a scenario."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of agent: the model of its settings and its builder."""

    name: str
    model: type[AgentSettings]
    build: Builder
    last: bool = False
    """Build after all other kinds, because the builder reads their entries in the `AgentSet`."""


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
    """Return the kind called `name`, built in or from an installed package; raise `UnknownName` if there is none."""
    if name not in _kinds:
        for module in _BUILT_IN:
            import_module(module)
    found = _kinds.get(name) or find_plugin(name)
    if found is None:
        raise UnknownName.of("agent kind", name, _kinds, f"there are: {', '.join(sorted(_kinds))}")
    return found


def find_plugin(name: str) -> AgentKind | None:
    """Return the kind that an installed package registers under `name`; None if there is none."""
    if name in _kinds:
        return _kinds[name]
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            entry.load()
        except Exception as error:
            raise SetupError(
                f"the agent kind '{name}' of '{entry.value}' cannot be loaded: {error}", "repair or remove that package"
            ) from error
        if name not in _kinds:
            raise SetupError(
                f"'{entry.value}' does not register the agent kind '{name}'",
                f'declare `kind: Literal["{name}"]` in its model, and decorate the builder with `@agent_kind`',
            )
    return _kinds.get(name)
