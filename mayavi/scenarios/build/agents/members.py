"""Build the agents that a scenario describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import BadScenario, BadSeries, ExecutionError, UsageError
from mayavi.scenarios.build.agents.agent_set import AgentSet
from mayavi.scenarios.build.agents.registry import find_kind

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.build.portion import Portion


def build_agents(portion: Portion, fork: Fork, seed: int) -> AgentSet:
    """Build all agents of a run of `portion`; raise `BadScenario` where the world lacks what they need."""
    config = portion.config
    built = AgentSet(config, fork, portion, seed)
    kinds = {name: find_kind(model.kind) for name, model in config.agents.items()}
    for name in sorted(kinds, key=lambda each: kinds[each].last):  # stable: otherwise in the order of the file
        model = config.agents[name]
        try:
            built.agents[name] = kinds[name].build(built, name, model)
            for agent in built.agents[name]:
                agent.priority_fee_wei = model.priority_fee
        except (BadScenario, BadSeries):
            raise
        except (UsageError, ExecutionError) as error:
            raise BadScenario(f"agents.{name}: {error.message}", error.hint) from error
    built.agents = {name: built.agents[name] for name in config.agents}
    # The figures that are recorded must not depend on the order of agents in the file.
    built.borrower_groups = dict(sorted(built.borrower_groups.items()))
    built.pools.sort()
    built.curve_pools.sort()
    return built
