"""A world of small contracts for fleets."""

from __future__ import annotations

from mayavi.evm.fork import Fork
from tests.evm.bytecode import CALLER_REVERTS, INVALID, LOAD, RETURN_42, STORE, TIMESTAMP_NUMBER, initcode

ALICE = b"\xa1" * 20
STORER, LOADER, ANSWER, REVERTER, HALTER, CLOCK = (bytes([n]) * 20 for n in range(0x31, 0x37))
RUNTIMES = {
    STORER: STORE,
    LOADER: LOAD,
    ANSWER: RETURN_42,
    REVERTER: CALLER_REVERTS,
    HALTER: INVALID,
    CLOCK: TIMESTAMP_NUMBER,
}


def fleet_world() -> Fork:
    """A fork with the small contracts at their places, frozen."""
    fork = Fork.empty()
    fork.set_block(number=1_000, timestamp=50_000)
    for place, runtime in RUNTIMES.items():
        fork.create_at(place, initcode(runtime), sender=ALICE)
    return Fork.from_state(fork.freeze(), labels={}, source={})
