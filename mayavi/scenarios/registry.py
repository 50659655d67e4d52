"""Registry of the scenarios that come with Mayavi. A new one is a YAML file in `library/` and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import ScenarioParked, UnknownName, did_you_mean

LIBRARY = Path(__file__).with_name("library")


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario of the library. `parked` says why it cannot be run; empty if it can."""

    name: str
    title: str
    chains: tuple[str, ...]
    parked: str = ""
    instead: str = ""

    @property
    def path(self) -> Path:
        """Path of its YAML file."""
        return LIBRARY / f"{self.name}.yaml"


_SIX = ("ethereum", "arbitrum", "optimism", "polygon", "base", "avalanche")
_FOUR = ("ethereum", "arbitrum", "polygon", "base")

_ENTRIES = (
    Entry("aave_borrower", "one borrower on Aave V3: supply, borrow, and what four long steps do to it", _SIX),
    Entry("learning_borrower", "a borrower on Aave V3 whose actions a policy chooses", _SIX),
    Entry("spark_borrower", "the same borrower on SparkLend", ("ethereum",)),
    Entry("compound_v3_borrower", "a borrower on Compound V3 whose collateral loses value", _FOUR),
    Entry("depeg_cascade", "a shock to the collateral of many borrowers, liquidators, and what debt goes bad", _SIX),
    Entry("steth_depeg", "wstETH falls against ETH under leveraged stakers in Aave's eMode", ("ethereum",)),
    Entry("morpho_depeg", "a collateral on Morpho loses its peg, and depositors of a vault bear it", ("ethereum",)),
    Entry("curve_depeg", "a stablecoin loses its peg in a Curve pool", ("ethereum",)),
    Entry("vesting_cliff", "an unlock from a VestingWallet, sold into a Uniswap V3 pool", _SIX),
    Entry("multi_cohort", "investors, team and community unlock and sell, each in its own way", _SIX),
    Entry("launch_replay", "a recorded token launch replayed against the real pool code, and what if", _SIX),
    Entry(
        "svm_launch_replay",
        "a recorded launch on Solana",
        (),
        parked="it needs a Solana machine, and Mayavi has an EVM",
        instead="`mayavi run launch_replay` replays a launch on Uniswap V3",
    ),
)

_BY_NAME = {entry.name: entry for entry in _ENTRIES}


def entries() -> tuple[Entry, ...]:
    """Return all scenarios of the library, parked ones included."""
    return _ENTRIES


def names() -> list[str]:
    """Return the names of the scenarios that can be run."""
    return [entry.name for entry in _ENTRIES if not entry.parked]


def entry(name: str) -> Entry:
    """Return the scenario `name`; raise `UnknownName` with the nearest names, `ScenarioParked` if it cannot be run."""
    found = _BY_NAME.get(name)
    if found is None:
        more = "`mayavi scenarios list` shows all; give the path of your own file"
        meant = None if did_you_mean(name, _BY_NAME) else next((each for each in _BY_NAME if name in each), None)
        raise UnknownName.of("scenario", name, _BY_NAME, more, meant=meant)
    if found.parked:
        raise ScenarioParked(f"the scenario '{name}' is parked: {found.parked}", found.instead)
    return found
