"""Gate `determinism`: every scenario of the library, repeated in ways that must change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.registry import names
from mayavi.scenarios.run.determinism import check_determinism, run_elsewhere
from mayavi.sim.world_state import checked_seed
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally

SMALLER: Mapping[str, Sequence[str]] = {
    "curve_depeg": ["steps=5", "prices.USDC.steps=2", "agents.holders.count=5", "agents.savers.count=5"],
    "depeg_cascade": ["agents.borrowers.count=25"],
    "morpho_depeg": ["steps=6", "agents.loopers.count=6", "agents.stakers.count=3"],
    "steth_depeg": ["agents.stakers.count=10", "agents.others.count=4"],
}
"""Overrides that shorten the runs of large scenarios; `mayavi validate determinism SCENARIO` checks the whole."""


@dataclass(frozen=True, slots=True)
class DeterminismGate:
    """Run each scenario again, on two threads, with agents reversed and in another process, and compare digests."""

    scenarios: Sequence[str] = ()
    """Names or files; by default the whole library."""
    name: str = "determinism"
    what: str = "digests of repeated runs: threads, agent order, process, seed"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare the runs of every scenario with its first run."""
        chosen, tally = list(self.scenarios or names()), Tally()
        scenarios = [load_scenario(name, overrides=SMALLER.get(name, ())) for name in chosen]
        runs = [(each.world(), each.text, checked_seed(each.config.seed)) for each in scenarios]
        with closing(run_elsewhere(runs)) as outcomes:
            for done, (name, scenario, (world, _, seed)) in enumerate(zip(chosen, scenarios, runs, strict=True)):
                progress(done, len(chosen))
                found = check_determinism(scenario, world, seed, elsewhere=lambda: next(outcomes)[1])
                for each in found.comparisons:
                    tally.check(each.passed, f"{name}, {each.name}: {each.difference}", part=name)
        progress(len(chosen), len(chosen))
        return tally.report(self.what)
