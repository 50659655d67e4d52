"""Open a lending market by name."""

from __future__ import annotations

from mayavi.agents.lending.aave import AaveLending
from mayavi.agents.lending.market import LendingMarket
from mayavi.errors import UnknownName
from mayavi.evm.fork import Fork
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.spark import SparkLend
from mayavi.worlds.missing import hint_for_missing
from mayavi.worlds.tables.morpho_market import PREFIX as MORPHO

_ALIASES = {"aave": "AaveV3", "spark": "Spark", "compound": "CompoundV3.cUSDCv3"}


def lending_market(fork: Fork, name: str) -> LendingMarket:
    """Open a market by name: `AaveV3`, `Spark`, `AaveV2`, a Compound market `cUSDCv3`, or `Morpho.wstETH/USDC.86`.

    `aave`, `spark` and `compound` are accepted too. Raises `UnknownName` with the nearest names.
    """
    wanted = _ALIASES.get(name, name)
    if wanted == AaveV3.prefix:
        return AaveLending(AaveV3(fork))
    if wanted == SparkLend.prefix:
        return AaveLending(SparkLend(fork))
    return _other_market(fork, name, wanted)


def _other_market(fork: Fork, name: str, wanted: str) -> LendingMarket:
    """Open a market of Aave V2, Compound V3 or Morpho, whose modules are imported only for that."""
    from mayavi.agents.lending.aave_v2 import AaveV2Lending
    from mayavi.agents.lending.compound import CompoundLending
    from mayavi.protocols.aave_v2.market import AaveV2
    from mayavi.protocols.compound.market import PREFIX, CompoundV3, markets_of

    if wanted == AaveV2.prefix:
        return AaveV2Lending(AaveV2(fork))
    if wanted.startswith(MORPHO):
        from mayavi.agents.lending.morpho import MorphoLending
        from mayavi.protocols.morpho.blue import MorphoBlue

        return MorphoLending(MorphoBlue(fork).market(wanted))
    if wanted.removeprefix(PREFIX) in markets_of(fork):
        return CompoundLending(CompoundV3(fork, wanted.removeprefix(PREFIX)))
    known = [prefix for prefix in (AaveV3.prefix, SparkLend.prefix, AaveV2.prefix) if f"{prefix}.Pool" in fork.labels]
    known += [PREFIX + each for each in markets_of(fork)]
    known += [label for label in fork.labels if label.startswith(MORPHO) and "/" in label]
    hint = hint_for_missing(fork, f"this chain has {', '.join(known)}")
    raise UnknownName.of("lending market", name, known, hint)
