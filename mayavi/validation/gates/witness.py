"""Gate `witness`: blocks on pre-states proven from trie nodes, executed up to the state root."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mayavi.replay.witness import validate_witnesses
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally


@dataclass(frozen=True, slots=True)
class WitnessGate:
    """Prove the pre-state of every witness, execute its block and compare everything up to the state root."""

    name: str = "witness"
    what: str = "blocks on proven pre-states: receipts root and post-state root"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare every witness in `mainnet/witness` of the cases."""
        reports = validate_witnesses([context.case_folder("mainnet", "witness")], progress=progress)
        tally = Tally()
        for each in reports.witnesses:
            why = f"{Path(each.path).name}, {each.first_difference}"
            tally.check(each.exact, why, part=each.hardfork, cases=max(each.transactions, 1))
        return tally.report(self.what)
