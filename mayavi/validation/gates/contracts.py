"""Gate `contracts`: our own contracts in lockstep with the real bytecode that they replace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mayavi.validation.contracts.feeds import compare_feeds
from mayavi.validation.contracts.lockstep import compare_comet, compare_stableswap
from mayavi.validation.contracts.published_code import compare_code
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.contracts.recorded_exchange import compare_exchanges
from mayavi.validation.contracts.tokens import compare_tokens
from mayavi.validation.gate import GateContext, GateReport, GateSkipped, Progress, Tally

Part = Callable[[RecordedContracts, Tally], None]


@dataclass(frozen=True, slots=True)
class ContractsGate:
    """Run random operations on our contracts and on mainnet's bytecode, and compare everything visible."""

    operations: int = 250
    """Random operations on each contract."""
    name: str = "contracts"
    what: str = "our contracts with mainnet's bytecode, operation by operation"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare all contracts that have recorded bytecode; a part without it is noted."""
        recorded, tally = RecordedContracts(context.case_folder("mainnet", "blocks")), Tally()
        parts: list[Part] = [
            lambda found, counted: compare_stableswap(found, self.operations, counted),
            lambda found, counted: compare_comet(found, self.operations, counted),
            lambda found, counted: compare_tokens(found, self.operations, counted),
            compare_exchanges,
            compare_feeds,
            compare_code,
        ]
        for done, part in enumerate(parts):
            progress(done, len(parts))
            try:
                part(recorded, tally)
            except GateSkipped as skipped:
                tally.notes.append(f"not compared: {skipped}")
        progress(len(parts), len(parts))
        return tally.report(self.what)
