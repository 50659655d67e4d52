"""`Control`: let a policy choose the actions of one account of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.errors import UnknownName, UsageError
from mayavi.scenario_env.learner_account import MILLION, LearnerAccount
from mayavi.scenarios.models.learner import HOLD, SCRIPTED, VERBS, ActionChoice
from mayavi.sim.world_state import WorldState

MOST_NAMED = 5


class Chosen(NamedTuple):
    """An action and the part of its full size, in millionths."""

    action: ActionChoice
    part_ppm: int = MILLION


PLAY_SCRIPT = Chosen(ActionChoice(do=SCRIPTED))


class Control:
    """Replaces the actions of one account by those that a policy chooses; the agent acts for its other accounts.

    `choose` sets what the account does in its next step. Actions other than `scripted` are carried out once a step, by
    an agent that acts in every block too.
    """

    def __init__(self, agent: Agent, account: str, learner_account: LearnerAccount) -> None:
        self.agent, self.account, self.learner_account = agent, account, learner_account
        self.script = agent.step
        self._shares = len(accounts_of(agent)) > 1
        self._chosen: Sequence[Chosen] = ()
        self._acted = -1
        agent.step = self.step  # type: ignore[method-assign]  # of this one object

    def choose(self, chosen: Sequence[Chosen]) -> None:
        """Set the actions of the next step; an empty sequence does nothing."""
        self._chosen = chosen

    def step(self, world: World, step_idx: int) -> StepResult:
        """Return the intents of the chosen actions."""
        if any(each.action.do == SCRIPTED for each in self._chosen):
            return self.script(world, step_idx)
        intents: list[Intent] = []
        waits = False
        if self._shares:
            answer = self.script(world, step_idx)
            intents += [each for each in answer.intents if (each.account or self.agent.name) != self.account]
            waits = answer.waits
        if self._acted != world.step:
            self._acted = world.step
            for action, part_ppm in self._chosen:
                intents += self._intents(world, action, part_ppm)
        names = ", ".join(each.action.label for each in self._chosen)
        return StepResult(tuple(intents), f"the learner chose: {names or HOLD}", waits)

    def _intents(self, world: World, action: ActionChoice, part_ppm: int) -> Sequence[Intent]:
        if action.do not in VERBS:
            share_ppm = int(action.share * MILLION) * part_ppm // MILLION
            return self.agent.act(world, action.do, share_ppm).intents
        intent = self.learner_account.intent(action, part_ppm)
        return [] if intent is None else [intent]


def check_actions(agent: Agent, actions: Sequence[ActionChoice], learner_account: LearnerAccount) -> None:
    """Raise `UnknownName` or `UsageError` for an action that the agent, its market or its tokens do not allow."""
    known = [*VERBS, SCRIPTED, *agent.learner_actions]
    for action in actions:
        if action.do not in known:
            raise UnknownName.of("action", action.do, known, f"there are: {', '.join(known)}")
        if action.do in VERBS:
            learner_account.check(action)
        if action.opposite is not None:
            check_actions(agent, [action.opposite], learner_account)


def find_agent(world: WorldState, name: str) -> tuple[Agent, str]:
    """Find the agent and the account that `name` means; raise `UsageError` if it means several or none."""
    for agent in world.agents:
        accounts = accounts_of(agent)
        if agent.name == name and (name in accounts or len(accounts) == 1):
            return agent, name if name in accounts else accounts[0]
        if name in accounts:
            return agent, name
        if agent.name == name:
            raise UsageError(
                f"'{name}' acts for {len(accounts):,} accounts, and a learner is one of them",
                f"name it: learner.agent: {accounts[0]}",
            )
    several = [agent.name for agent in world.agents if agent.name.rpartition("-")[0] == name]
    if several:
        raise UsageError(f"there are {len(several)} agents '{name}', and a learner is one of them",
                         f"name it: learner.agent: {several[0]}")  # fmt: skip
    names = [agent.name for agent in world.agents]
    shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    raise UnknownName.of("learner", name, names, f"agents are: {shown}")


def accounts_of(agent: Agent) -> tuple[str, ...]:
    """Accounts that an agent acts for; by default the one of its name."""
    accounts = getattr(agent, "accounts", None)
    return tuple(accounts) if isinstance(accounts, tuple | list) and accounts else (agent.name,)


def block_of(blocks: Sequence[object], agent: Agent) -> str:
    """Name of the first agent block that has the agent; raise `UsageError` if none has."""
    for block in blocks:
        if any(each is agent for each in block.agents):  # type: ignore[attr-defined]
            return str(block.name)  # type: ignore[attr-defined]
    raise UsageError(f"the learner '{agent.name}' is in no agent block and would never act", "add it to `blocks`")
