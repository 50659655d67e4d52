"""Generations of Aave V3's code: what a pool has and which rules it follows, by its revision."""

from __future__ import annotations

from dataclasses import dataclass

from mayavi.protocols.aave.rules.v30 import RulesV30
from mayavi.protocols.aave.rules.v36 import RulesV33, RulesV36

_VERSIONS = {4: "3.1", 5: "3.2", 6: "3.2", 7: "3.3", 8: "3.4", 9: "3.5", 10: "3.6", 11: "3.7"}
"""By `POOL_REVISION` of the deployed pools: revision 6 has the errors of V3.2, revision 7 deficits and no `multicall`,
which came with revision 8. Of these versions npm has V3.6 alone."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Version of a pool's code. V3.0 has revisions 1 to 3; every later version has a higher one."""

    revision: int

    @property
    def version(self) -> str:
        """Version as Aave names it, such as `3.6`; that of a newer revision than we know ends with `+`."""
        newest = max(_VERSIONS)
        return f"{_VERSIONS[newest]}+" if self.revision > newest else _VERSIONS.get(self.revision, "3.0")

    @property
    def rules(self) -> RulesV30:
        """Arithmetic and liquidation rules."""
        if self.revision >= 9:
            return RulesV36()
        return RulesV33() if self.revision >= 7 else RulesV30()

    @property
    def virtual_balance(self) -> bool:
        """Whether liquidity is counted by the pool: tokens sent to it do not add to it. Since V3.1."""
        return self.revision >= 4

    @property
    def emode_bitmaps(self) -> bool:
        """Whether a mode lists its assets, collateral and debts apart, instead of assets naming a mode. Since V3.2."""
        return self.revision >= 5

    @property
    def deficits(self) -> bool:
        """Whether debt without collateral is burnt and kept as the reserve's deficit. Since V3.3."""
        return self.revision >= 7

    @property
    def position_managers(self) -> bool:
        """Whether accounts may name position managers, and transactions bundle calls. Since V3.4."""
        return self.revision >= 8

    @property
    def ltvzero_bitmaps(self) -> bool:
        """Whether a mode may count an asset as collateral without borrowing power. Since V3.6."""
        return self.revision >= 10

    @property
    def isolation(self) -> bool:
        """Whether there are isolated and siloed assets, debt ceilings and a price sentinel. Until V3.6."""
        return self.revision <= 10
