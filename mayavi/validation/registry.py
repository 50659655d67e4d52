"""Registry of validation gates. A new one is a file in `gates/` and a line here."""

from __future__ import annotations

from importlib import import_module

from mayavi.errors import UnknownName
from mayavi.validation.gate import Gate

_HERE = "mayavi.validation.gates"
GATES = {
    "blocks": f"{_HERE}.blocks:BlocksGate",
    "witness": f"{_HERE}.witness:WitnessGate",
    "official": f"{_HERE}.official:OfficialGate",
    "quotes": f"{_HERE}.quotes:QuotesGate",
    "quoter": f"{_HERE}.quoter:QuoterGate",
    "determinism": f"{_HERE}.determinism:DeterminismGate",
    "cache": f"{_HERE}.cache:CacheGate",
    "contracts": f"{_HERE}.contracts:ContractsGate",
    "envs": f"{_HERE}.envs:EnvsGate",
    "artifacts": f"{_HERE}.artifacts:ArtifactsGate",
}
"""Name of each gate and `module:class`, in the order in which they run."""


def gate(name: str) -> Gate:
    """Make the gate `name` with its defaults; raise `UnknownName` with the nearest names."""
    if name not in GATES:
        raise UnknownName.of("gate", name, GATES, f"there are {', '.join(GATES)}")
    module, _, kind = GATES[name].partition(":")
    made: Gate = getattr(import_module(module), kind)()
    return made
