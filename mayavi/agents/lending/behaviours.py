"""How borrowers behave: what one does at a health factor, and at a fall of its collateral's price.

A behaviour is a small value without state, so one of them serves a whole population. `bounds` says beyond what it may
act at all, which a population compares for all its members at once; `decide` is asked only then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD, format_units
from mayavi.protocols.health import NO_DEBT

NEVER_ABOVE = 2**64 - 1
"""The upper bound of who never acts on a high health factor; those of all without debt are not above it either."""
NEVER_DROPS = 2 * MILLION
"""The bound of who does not watch the price."""


class Bounds(NamedTuple):
    """A behaviour acts only below `low_wad`, above `high_wad` or after a fall of the price by `drop_ppm` or more."""

    low_wad: int = 0
    high_wad: int = NEVER_ABOVE
    drop_ppm: int = NEVER_DROPS


class Move(NamedTuple):
    """What a borrower wants: `repay` or `borrow` until the health factor is `target_wad`, or `exit` altogether.

    `sells_collateral` allows to sell collateral where cash does not reach; after an exit it means to sell what is left.
    """

    kind: Literal["repay", "borrow", "exit"]
    why: str
    target_wad: int = 0
    sells_collateral: bool = False


class Behaviour(Protocol):
    """How somebody with debt acts. `target_wad` is the health factor it opened with."""

    def bounds(self, target_wad: int) -> Bounds:
        """Between these it does nothing."""

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """What it does at this health factor and after this fall of the price since it opened; None is nothing."""


@dataclass(frozen=True, slots=True)
class Passive:
    """Never does anything: opens a position and forgets it."""

    def bounds(self, target_wad: int) -> Bounds:
        """Nothing makes it act."""
        del target_wad
        return Bounds()

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Nothing."""
        del health_factor_wad, drop_ppm, target_wad
        return None


@dataclass(frozen=True, slots=True)
class KeepsBand:
    """Repays below `low` and borrows above `high`, both times back to the health factor it opened with.

    Where that lies outside the band the nearer edge is what it goes back to. `deleverages`: where cash does not reach
    it sells collateral. With `around` the edges count in shares of the health factor it opened with: 0.9 and 1.2.
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
        """The edges of the band."""
        scale = target_wad if self.around else WAD
        high = NEVER_ABOVE if self.high is None else min(self.high_wad * scale // WAD, NEVER_ABOVE)
        return Bounds(self.low_wad * scale // WAD, high)

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Back to the target where the health factor has left the band."""
        del drop_ppm
        low, high, _ = self.bounds(target_wad)
        goal = min(max(target_wad, low), high)
        if health_factor_wad < low:
            why = f"health factor {shown(health_factor_wad)} is below {shown(low)}"
            return Move("repay", why, goal, self.deleverages)
        if high < health_factor_wad < NO_DEBT:
            return Move("borrow", f"health factor {shown(health_factor_wad)} is above {shown(high)}", goal)
        return None


@dataclass(frozen=True, slots=True)
class Panics:
    """Repays everything and leaves, below a health factor or after a fall of the collateral's price since it opened.

    Before that it does what `otherwise` does. With `sells` what it gets back is sold at once, for what it borrowed.
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
        """Whatever comes first, panic or what it does otherwise."""
        calm = self.otherwise.bounds(target_wad)
        return Bounds(max(self.below_wad, calm.low_wad), calm.high_wad, min(self.drop_ppm, calm.drop_ppm))

    def decide(self, health_factor_wad: int, drop_ppm: int, target_wad: int) -> Move | None:
        """Out, if it is bad enough; else what it does otherwise."""
        if health_factor_wad < self.below_wad:
            why = f"health factor {shown(health_factor_wad)} is below {shown(self.below_wad)}: panic"
            return Move("exit", why, sells_collateral=self.sells)
        if drop_ppm >= self.drop_ppm and health_factor_wad != NO_DEBT:
            why = f"the price fell by {drop_ppm / 10_000:.2f} % since it opened: panic"
            return Move("exit", why, sells_collateral=self.sells)
        return self.otherwise.decide(health_factor_wad, drop_ppm, target_wad)


def shown(health_factor_wad: int) -> str:
    """A health factor for people, to four places."""
    return "∞" if health_factor_wad == NO_DEBT else format_units(health_factor_wad, 18, 4)
