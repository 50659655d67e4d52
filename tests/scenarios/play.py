"""Runs a scenario in a test: loaded, built on a replica, stepped to its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mayavi import Fork
from mayavi.evm.specialise import chosen_specialise
from mayavi.scenarios.build.build import Built, build
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.sim.hooks import Hook
from mayavi.sim.rows import ActionRow, SnapshotRow

FEW = {
    "aave_borrower": [],
    "spark_borrower": [],
    "compound_v3_borrower": ["prices.WETH={process: step, at: 2, size: -30%, then: {process: gbm, volatility: 30%}}"],
    "depeg_cascade": ["agents.borrowers.count=12"],
    "steth_depeg": [
        "prices.wstETH={process: step, at: 2, size: -6%}",
        "agents.stakers.count=8",
        "agents.others.count=3",
    ],
    "morpho_depeg": [
        "agents.loopers.count=6",
        "agents.stakers.count=2",
        "prices.sDAI={process: step, at: 2, size: -10%}",
    ],
    "curve_depeg": [
        "step_time=3m",
        "prices.USDC={process: step, at: 1, size: -10%}",
        "agents.holders.count=10",
        "agents.savers.count=4",
        "agents.loopers.count=2",
    ],
    "vesting_cliff": ["agents.investors.cliff=6h"],
    "multi_cohort": ["agents.investors.cliff=1d"],
    "launch_replay": [],
}
"""Overrides that make each scenario of the library small, with something happening in its first steps."""


@dataclass
class Played:
    """A run that is over."""

    built: Built
    actions: list[ActionRow]
    snapshots: list[SnapshotRow]
    kpis: dict[str, int] = field(default_factory=dict)

    def details(self, kind: str, status: str = "success") -> list[dict[str, Any]]:
        return [json.loads(row.details) for row in self.actions if row.kind == kind and row.status == status]

    @property
    def broken(self) -> list[ActionRow]:
        return [row for row in self.actions if row.status == "raised"]


@cache
def _world(chain: str) -> Fork:
    return Fork.replica(chain).frozen()


def play(
    scenario: str,
    *,
    chain: str | None = None,
    steps: int | None = None,
    seed: int = 7,
    threads: int = 1,
    overrides: Iterable[str] = (),
    hooks: Sequence[Hook] = (),
    text: str | None = None,
) -> Played:
    options: dict[str, Any] = {"chain": chain, "steps": steps, "overrides": list(overrides)}
    loaded = load_scenario(scenario, **options) if text is None else load_text(text, **options)
    fork = _world(loaded.config.chain).copy()
    fork.specialise = chosen_specialise()
    built = build(loaded.config, fork, seed, threads)
    built.scheduler.hooks += tuple(hooks)
    played = Played(built, [], [])
    for _ in range(built.steps):
        actions, snapshots = built.scheduler.tick()
        played.actions += actions
        played.snapshots += snapshots
    played.kpis = {row.name: int(row.value) for row in built.kpis(built.world)}
    return played
