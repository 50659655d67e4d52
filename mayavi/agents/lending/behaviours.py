"""Borrower behaviours: reactions to a health factor and to a fall of the collateral's price.

A behaviour is stateless, so one instance serves a whole population. `bounds` says outside of what it may act at all,
which a population checks for all members at once; `decide` is called only then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD, format_units
from mayavi.protocols.health import NO_DEBT

NEVER_ABOVE = 2**64 - 1
"""Upper bound that no health factor exceeds, not even without debt."""
NEVER_DROPS = 2 * MILLION
"""Bound that no fall of the price reaches."""


class Bounds(NamedTuple):
    """Thresholds: acts only below `low_wad`, above `high_wad` or after a fall of the price by `drop_ppm` or more."""

    low_wad: int = 0
    high_wad: int = NEVER_ABOVE
    drop_ppm: int = NEVER_DROPS


class Move(NamedTuple):
    """Decision of a borrower: `repay` or `borrow` until the health factor is `target_wad`, or `exit` entirely.

    `sells_collateral` allows selling collateral if cash is short; after an exit it means selling what is left.
    """

    kind: Literal["repay", "borrow", "exit"]
    reason: str
    target_wad: int = 0
    sells_collateral: bool = False


class Behaviour(Protocol):
    """Behaviour of a borrower. `target_wad` is the health factor at opening."""

    def bounds(self, target_wad: int) -> Bounds:
        """Return the thresholds within which it does nothing."""

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Return the reaction to this health factor and this fall of the price since opening; None is no action."""


@dataclass(frozen=True, slots=True)
class Passive:
    """Never acts after opening the position."""

    def bounds(self, target_wad: int) -> Bounds:
        """Return thresholds that are never reached."""
        del target_wad
        return Bounds()

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Return None."""
        del health_factor_wad, drop_ppm, target_wad
        return None


@dataclass(frozen=True, slots=True)
class KeepsBand:
    """Repays below `low` and borrows above `high`, back to the health factor at opening.

    If that is outside the band, the nearer edge is the target. `deleverages`: sells collateral if cash is short. With
    `around` the edges are relative to the health factor at opening: 0.9 and 1.2.
    """

    low: Number
    high: Number | None = None
    deleverages: bool = True
    around: bool = False
    low_wad: int = field(init=False, repr=False)
    high_wad: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low = as_wad(self.low)
        high = NEVER_ABOVE if self.high is None else as_wad(self.high)
        if low > high:
            raise BadArgument(f"a band from {self.low} to {self.high} is empty", "give the lower edge first")
        object.__setattr__(self, "low_wad", low)
        object.__setattr__(self, "high_wad", high)

    def bounds(self, target_wad: int) -> Bounds:
        """Return the edges of the band."""
        scale = target_wad if self.around else WAD
        high = NEVER_ABOVE if self.high is None else min(self.high_wad * scale // WAD, NEVER_ABOVE)
        return Bounds(self.low_wad * scale // WAD, high)

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Return to the target if the health factor has left the band."""
        del drop_ppm
        low, high, _ = self.bounds(target_wad)
        goal = min(max(target_wad, low), high)
        if health_factor_wad < low:
            reason = f"health factor {format_health(health_factor_wad)} is below {format_health(low)}"
            return Move("repay", reason, goal, self.deleverages)
        if high < health_factor_wad < NO_DEBT:
            return Move(
                "borrow", f"health factor {format_health(health_factor_wad)} is above {format_health(high)}", goal
            )
        return None


@dataclass(frozen=True, slots=True)
class Panics:
    """Repays everything and exits below a health factor, or after a fall of the collateral's price since opening.

    Until then it follows `otherwise`. With `sells` the withdrawn collateral is sold at once for the borrowed asset.
    """

    below: Number | None = None
    on_drop: Number | None = None
    otherwise: Behaviour = field(default_factory=Passive)
    sells: bool = False
    below_wad: int = field(init=False, repr=False)
    drop_ppm: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.below is None and self.on_drop is None:
            raise BadArgument(
                "nothing makes it panic", "give `below`, a health factor, or `on_drop`, a share such as 0.2"
            )
        object.__setattr__(self, "below_wad", 0 if self.below is None else as_wad(self.below))
        drop = NEVER_DROPS if self.on_drop is None else as_ppm(self.on_drop, "a fall of a price")
        object.__setattr__(self, "drop_ppm", drop)

    def bounds(self, target_wad: int) -> Bounds:
        """Return the tighter thresholds of the panic and of `otherwise`."""
        calm = self.otherwise.bounds(target_wad)
        return Bounds(max(self.below_wad, calm.low_wad), calm.high_wad, min(self.drop_ppm, calm.drop_ppm))

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Exit if a threshold is reached, else follow `otherwise`."""
        if health_factor_wad < self.below_wad:
            reason = f"health factor {format_health(health_factor_wad)} is below {format_health(self.below_wad)}: panic"
            return Move("exit", reason, sells_collateral=self.sells)
        if drop_ppm >= self.drop_ppm and health_factor_wad != NO_DEBT:
            reason = f"the price fell by {drop_ppm / 10_000:.2f} % since it opened: panic"
            return Move("exit", reason, sells_collateral=self.sells)
        return self.otherwise.decide(health_factor_wad, drop_ppm, target_wad)


def format_health(health_factor_wad: int) -> str:
    """Format a health factor to four places."""
    return "∞" if health_factor_wad == NO_DEBT else format_units(health_factor_wad, 18, 4)
