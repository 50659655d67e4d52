"""Gate `quotes`: recorded on-chain quotes, asked again of rebuilt pools."""

from __future__ import annotations

from dataclasses import dataclass

from mayavi.replay.quotes import validate_quotes
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally


@dataclass(frozen=True, slots=True)
class QuotesGate:
    """Rebuild recorded pools and compare their quotes with the chain's."""

    name: str = "quotes"
    what: str = "quotes of rebuilt pools with those recorded on chain"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare every quote in `mainnet/quotes` of the cases."""
        report = validate_quotes(context.case_folder("mainnet", "quotes"), progress=progress)
        tally = Tally()
        for pool in report.pools:
            why = f"{pool.name} at block {pool.block}, {pool.problem or pool.first_difference}"
            tally.check(pool.exact, why, part=pool.protocol, cases=pool.quotes)
        return tally.report(self.what)
