"""Chainlink's real contracts, recorded with a mainnet block."""

from __future__ import annotations

from pathlib import Path

from mayavi import Fork
from mayavi.replay.case import read_bytecodes, read_pre_state

PROXY = "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419"
"""ETH/USD on mainnet: a proxy in its fifth phase, in front of an OCR aggregator."""

AGGREGATOR = "0x37bC7498f4FF12C19678ee8fE19d713b87F6a9e6"
"""Aggregator behind the proxy in October 2022."""

_BLOCK = 15752489
_PHASE_FIVE = 0x4CDE762EF08B6B6C5DED8E8C4C0B3F4E5C9AD7342C88FCC93681B4588B73F05  # the proxy's aggregator of that phase
_LATEST_ROUND_DATA = bytes.fromhex("feaf968c")


def at_block(cases: Path, codes: dict[str, bytes], number: int) -> Fork:
    """Mainnet before a block, as far as recorded."""
    evm = read_pre_state(cases / "mainnet" / "blocks", number, 1, "shanghai", codes)
    fork = Fork.from_state(evm.freeze(), labels={}, source={"kind": "recorded", "block": number - 1})
    fork.set_block(number=number, timestamp=1_720_000_000)
    return fork


def eth_usd(cases: Path, codes: dict[str, bytes] | None = None) -> Fork:
    """Chainlink's ETH/USD in October 2022.

    No old round was read in that block, so the proxy's mapping of phases is not recorded: its fifth entry is written
    here.
    """
    fork = at_block(cases, codes or read_bytecodes(cases / "mainnet" / "blocks"), _BLOCK)
    fork.set_storage(PROXY, _PHASE_FIVE, int(AGGREGATOR, 16))
    return fork


def put_real_feed(fork: Fork, recorded: Fork) -> None:
    """Replace a replica's ETH/USD by the real feed."""
    for address in (PROXY, AGGREGATOR):
        fork.set_code(address, recorded.code(address))
    fork.set_storage(PROXY, _PHASE_FIVE, int(AGGREGATOR, 16))
    for place, slots in recorded.touched(PROXY, _LATEST_ROUND_DATA):
        for slot in slots:
            fork.set_storage(place, slot, recorded.storage(place, slot))
