"""Whether the steps of a scenario are short enough for its prices.

Agents see a price once a step. If it falls by several percent in between, accounts that would have been liquidated on
the way are found far below a health factor of one, and the run overstates bad debt. Five percent is the distance at
which Aave lets liquidators close a whole position instead of half of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mayavi.evm.units import WAD
from mayavi.scenarios.models.prices import Price, RampPrice, StepPrice

if TYPE_CHECKING:
    from mayavi.markets.price_paths import PricePaths
    from mayavi.scenarios.models.config import ScenarioConfig

COARSE_WAD = -WAD // 20
"""Change of a collateral's price in one step below which the step is too long."""
_STEP_TIMES = (12, 30, 60, 120, 300, 600, 900, 1_800, 3_600)


class LargestFall(NamedTuple):
    """Largest fall of a price in one step, jumps that the scenario asks for left out."""

    change_wad: int
    step_needed: int
    """Seconds a step may last for falls of at most five percent; 0 if the steps are short enough."""
    jump_wad: int
    """Largest fall among the jumps that the scenario asks for; 0 without one."""


def largest_falls(
    config: ScenarioConfig, prices: PricePaths | None, symbols: Iterable[str], step_seconds: int
) -> dict[str, LargestFall]:
    """Return the largest fall of each of `symbols` that has a price process."""
    found = {}
    for symbol in symbols:
        if prices is None or symbol not in prices:
            continue
        path = [prices.usd_e8(symbol, step) for step in range(config.steps)]
        wanted = set(_jumps(config.prices[symbol]))
        changes = {at: (path[at] - path[at - 1]) * WAD // path[at - 1] for at in range(1, len(path))}
        change = min((each for at, each in changes.items() if at not in wanted), default=0)
        jump = min((each for at, each in changes.items() if at in wanted), default=0)
        found[symbol] = LargestFall(min(change, 0), _step_needed(change, step_seconds), min(jump, 0))
    return found


def _jumps(price: Price | None, start: int = 0) -> Iterable[int]:
    """Yield the steps at which a price jumps because the scenario says so."""
    if isinstance(price, StepPrice):
        yield start + price.at
        yield from _jumps(price.then, start + price.at)
    elif isinstance(price, RampPrice):
        yield from _jumps(price.then, start + price.at + price.steps)


def _step_needed(change_wad: int, step_seconds: int) -> int:
    if change_wad >= COARSE_WAD:
        return 0
    longest = step_seconds * COARSE_WAD // change_wad
    return max((each for each in _STEP_TIMES if each <= longest), default=_STEP_TIMES[0])
