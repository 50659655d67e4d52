"""Behaviours of borrowers that a scenario describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.scenarios.models.agents.shared import BehaviourName

if TYPE_CHECKING:
    from mayavi.agents.lending.behaviours import Behaviour
    from mayavi.scenarios.models.agents.lending import Borrower
    from mayavi.scenarios.models.agents.positions import Positions


def behaviours_of(model: Borrower | Positions) -> list[tuple[Behaviour, float]]:
    """Return the behaviours of a model with their weights."""
    from mayavi.agents.lending.behaviours import KeepsBand, Panics, Passive

    kinds: dict[BehaviourName, Behaviour] = {
        "hold": Passive(),
        "band": KeepsBand(model.band[0], model.band[1]),
        "panic": Panics(below=model.panic_below, sells=True),
    }
    if isinstance(model.behaviour, str):
        return [(kinds[model.behaviour], 1.0)]
    # In the order of `kinds`, so that the order of keys in the YAML file has no effect on the draws.
    return [(kinds[kind], float(model.behaviour[kind])) for kind in kinds if model.behaviour.get(kind)]
