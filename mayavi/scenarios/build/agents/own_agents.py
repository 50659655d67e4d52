"""Agents of one's own in scenarios: from an `Agent` class with a model of its settings to its members.

    class Saver(Agent):
        class Settings(OwnAgentSettings):
            asset: Symbol
            amount: Distribution

        def __init__(self, name: str, *, asset: str, amount: float) -> None: ...

The constructor is called once for each of `count` members, with the name of the member and the settings as keyword
arguments. A distribution is drawn for all members from the RNG stream `<name of the entry>.<key>`, so that member i is
the same for every count. A class with a classmethod `build(agents, name, settings)` builds its members itself.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, MayaviError, PluginError
from mayavi.plugins.failures import last_line
from mayavi.scenarios.build.agents.agent_kind import AgentKind, numbered
from mayavi.scenarios.build.distributions import distribution
from mayavi.scenarios.models.agents.shared import AgentSettings, OwnAgentSettings
from mayavi.scenarios.models.values import distributions

if TYPE_CHECKING:
    from mayavi.scenarios.build.agents.agent_set import AgentSet

_SHARED = frozenset(OwnAgentSettings.model_fields)
_DISTRIBUTIONS = (
    distributions.Constant,
    distributions.Uniform,
    distributions.Normal,
    distributions.LogNormal,
    distributions.Pareto,
    distributions.Choice,
)


def kind_of_class(name: str, found: Any) -> AgentKind:
    """Return the agent kind of a class; raise `PluginError` if it is not a usable agent."""
    if not isinstance(found, type) or not issubclass(found, Agent):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginError(f"'{name}' is {what}, not a subclass of Agent", "subclass mayavi.agents.Agent")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise PluginError(f"'{name}' does not implement {missing}", "docs/how-to/write-an-agent.md has an example")
    model = getattr(found, "Settings", OwnAgentSettings)
    if not isinstance(model, type) or not issubclass(model, AgentSettings) or "kind" not in model.model_fields:
        raise PluginError(
            f"the settings of '{name}' are not OwnAgentSettings",
            "write `class Settings(OwnAgentSettings)`, from mayavi.scenarios.setting_types",
        )
    _check_kind(name, model)
    own = callable(getattr(found, "build", None))
    return AgentKind(name, model, partial(build_by_class if own else build_members, found))


def _check_kind(name: str, model: type[AgentSettings]) -> None:
    allowed = get_args(model.model_fields["kind"].annotation)
    if allowed and name not in allowed:
        raise PluginError(f"the settings of '{name}' declare the kind '{allowed[0]}'", "leave `kind` out of them")


def build_by_class(kind: type[Agent], agents: AgentSet, name: str, settings: AgentSettings) -> list[Agent]:
    """Let the class build its members, and check them."""
    try:
        members = list(kind.build(agents, name, settings))  # type: ignore[attr-defined]  # kind_of_class looked
    except MayaviError:
        raise
    except Exception as error:
        message = f"agents.{name}: {kind.__name__} cannot be built: {last_line(error)}"
        raise BadScenario(message, f"repair `build` of {kind.__name__}") from error
    for each in members:
        if not isinstance(each, Agent):
            message = f"agents.{name}: {kind.__name__}.build gives a {type(each).__name__}, not an agent"
            raise BadScenario(message, "return a list of agents")
    return members


def build_members(kind: type[Agent], agents: AgentSet, name: str, settings: AgentSettings) -> list[Agent]:
    """Build `count` agents of a class, each with its own draws."""
    from mayavi.sim.world_state import random_stream

    count = int(getattr(settings, "count", 1))
    values = {key: getattr(settings, key) for key in type(settings).model_fields if key not in _SHARED}
    drawn = {
        key: distribution(value).sample(count, random_stream(agents.seed, f"{name}.{key}"))
        for key, value in values.items()
        if isinstance(value, _DISTRIBUTIONS)
    }
    members = []
    for number in range(count):
        own = values | {key: float(draws[number]) for key, draws in drawn.items()}
        try:
            members.append(kind(numbered(name, number, count), **own))
        except MayaviError:
            raise
        except Exception as error:
            message = f"agents.{name}: {kind.__name__} cannot be made: {last_line(error)}"
            keys = ", ".join(values) or "none"
            raise BadScenario(message, f"its constructor is given the name, and as keywords: {keys}") from error
    return members
