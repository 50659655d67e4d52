"""Gate `blocks`: recorded mainnet blocks, re-executed."""

from __future__ import annotations

from dataclasses import dataclass

from mayavi.replay.blocks import validate
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally


@dataclass(frozen=True, slots=True)
class BlocksGate:
    """Re-execute every recorded block and compare receipts and block fields with the chain's."""

    name: str = "blocks"
    what: str = "transactions of mainnet blocks: status, gas, logs, receipts root"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare every block in `mainnet/blocks` of the cases."""
        folder = context.case_folder("mainnet", "blocks")
        report = validate(folder, progress=lambda _, done, total: progress(done, total))
        tally = Tally()
        for block in report.blocks:
            tally.check(
                block.exact,
                f"block {block.number}, {block.first_difference}",
                part=block.hardfork,
                cases=block.transactions,
            )
        totals = report.to_json()
        exact = f"{totals['exact_transactions']:,} of {totals['transactions']:,} transactions exact"
        tally.notes.append(f"{exact} in {totals['blocks']} blocks, {totals['gas_used']:,} gas")
        return tally.report(self.what)
