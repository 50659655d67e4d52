"""An evaluation of a market, role by role: one role's policy is replaced by a script, the other keeps its own.

What a policy earns in a market depends on everybody else. So a role is judged beside the other role as it was trained:
both games have the same episodes and the same others, and what differs between them is the role's policy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.market.config import ROLES
from mayavi.rl.evaluation.convergence import Settling, settle
from mayavi.rl.evaluation.evaluate import ROWS, Evaluation, EvaluationSettings, Say, are_pooled, conclude, each_pair
from mayavi.rl.evaluation.market_play import RolePlayer, TrainedRole, play_market, role_player
from mayavi.rl.evaluation.play import Played, Policy
from mayavi.rl.evaluation.strategies import OPTIMUM, RANDOM

if TYPE_CHECKING:
    from mayavi.gym_env.market.rows import AaveMarketRows

MakeMarket = Callable[[int], "AaveMarketRows"]
REFERENCES = {"borrower": "noop", "liquidator": "close_factor_max"}
"""Who plays the other role where nobody was trained."""


@dataclass(frozen=True, slots=True)
class TrainedMarket:
    """A policy for each role, trained together."""

    name: str
    policies: Mapping[str, Policy]

    def players(self, settings: EvaluationSettings) -> dict[str, RolePlayer]:
        """Both of them, ready to play."""
        return {role: TrainedRole(self.policies[role], settings.deterministic, settings.seed) for role in ROLES}

    def beside(self, name: str) -> str:
        """What a script is called that plays beside this training: `noop`, of several trainings `noop@3`."""
        _, at, seed = self.name.partition("@")
        return f"{name}{at}{seed}"


def names_by_role(market: type[AaveMarketRows], against: Sequence[str] | None) -> dict[str, list[str]]:
    """For each role whom it is compared with: those of `against` that it has, by default all its scripts."""
    known = {role: [*market.role_strategies[role], RANDOM] for role in ROLES}
    if against is None:
        return {role: list(market.role_strategies[role]) for role in ROLES}
    everybody = list(dict.fromkeys(name for names in known.values() for name in names))
    for name in against:
        if name == OPTIMUM:
            raise UsageError(
                "a market has no optimum: the best plan of one depends on what the others do",
                f"there are {', '.join(everybody)}",
            )
        if name not in everybody:
            told = "; ".join(f"{role}s have {', '.join(names)}" for role, names in known.items())
            raise UnknownName.of("strategy", name, everybody, told)
    return {role: [name for name in dict.fromkeys(against) if name in known[role]] for role in ROLES}


def evaluate_market(
    make: MakeMarket,
    subjects: Sequence[TrainedMarket],
    against: Sequence[str] | None,
    settings: EvaluationSettings,
    *,
    say: Say | None = None,
) -> dict[str, Evaluation]:
    """What every role's policy is worth. With no subject the scripts of a role are compared with each other, while
    the other role plays its reference; a role that nobody was named for is left out."""
    market = make(min(settings.episodes, ROWS))
    names = names_by_role(type(market), against)
    if not subjects and not any(names.values()):
        raise UsageError("nobody is to play", "name a run, or strategies with --against")
    played = _trained(market, subjects, names, settings, say) if subjects else _scripts(market, names, settings, say)
    own = [each.name for each in subjects]
    found = {}
    for role in ROLES:
        if not played[role]:
            continue
        pairs = [(each.name, each.beside(name)) for each in subjects for name in names[role]]
        pools = [[(each.name, each.beside(name)) for each in subjects] for name in names[role]]
        found[role] = conclude(
            market,
            settings,
            own,
            played[role],
            pairs if subjects else each_pair(names[role]),
            pools if are_pooled(own) else (),
        )
    return found


def settle_market(
    make: MakeMarket,
    checkpoints: Mapping[int, TrainedMarket],
    settings: EvaluationSettings,
    *,
    say: Say | None = None,
) -> dict[str, Settling]:
    """Where each role's outcome stopped moving, both policies being of one checkpoint, by its steps."""
    market, steps = make(min(settings.episodes, ROWS)), sorted(checkpoints)
    games = []
    for step in steps:
        progress = say(f"playing the checkpoint of step {step:,}") if say is not None else None
        players = checkpoints[step].players(settings)
        games.append(play_market(market, players, range(settings.episodes), name=f"step {step}", progress=progress))
    return {role: settle(steps, [game[role] for game in games], settings) for role in ROLES}


def _trained(
    market: AaveMarketRows,
    subjects: Sequence[TrainedMarket],
    names: Mapping[str, Sequence[str]],
    settings: EvaluationSettings,
    say: Say | None,
) -> dict[str, dict[str, Played]]:
    """By role and name what came of it: first everybody's own policies, then each script in the place of one."""
    own: dict[str, dict[str, Played]] = {role: {} for role in ROLES}
    replaced: dict[str, dict[str, Played]] = {role: {} for role in ROLES}
    for subject in subjects:
        players = subject.players(settings)
        for role, each in _game(market, players, subject.name, subject.name, settings, say).items():
            own[role][subject.name] = each
        for role in ROLES:
            for name in names[role]:
                scripted = {**players, role: role_player(market, role, name, seed=settings.seed)}
                known = subject.beside(name)
                told = f"{role}: {name}, beside {subject.name}"
                replaced[role][known] = _game(market, scripted, known, told, settings, say)[role]
    return {role: own[role] | replaced[role] for role in ROLES}


def _scripts(
    market: AaveMarketRows, names: Mapping[str, Sequence[str]], settings: EvaluationSettings, say: Say | None
) -> dict[str, dict[str, Played]]:
    others = {role: role_player(market, role, name) for role, name in REFERENCES.items()}
    found: dict[str, dict[str, Played]] = {role: {} for role in ROLES}
    for role in ROLES:
        for name in names[role]:
            players = {**others, role: role_player(market, role, name, seed=settings.seed)}
            found[role][name] = _game(market, players, name, f"{role}: {name}", settings, say)[role]
    return found


def _game(
    market: AaveMarketRows,
    players: Mapping[str, RolePlayer],
    name: str,
    told: str,
    settings: EvaluationSettings,
    say: Say | None,
) -> dict[str, Played]:
    progress = say(f"playing {told}") if say is not None else None
    return play_market(market, players, range(settings.episodes), name=name, progress=progress)
