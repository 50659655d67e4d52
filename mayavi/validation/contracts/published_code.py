"""Code that replicas take from npm unchanged, against the code of recorded blocks at the same addresses.

One address inside the code differs on purpose: mainnet's position manager asks a proxy for the picture of a position,
the replica's asks the implementation behind it.
"""

from __future__ import annotations

from mayavi.evm.address import to_address
from mayavi.evm.hashing import keccak256
from mayavi.validation.contracts.recorded import RecordedContract, RecordedContracts
from mayavi.validation.gate import Tally
from mayavi.worlds.source import WorldSource

CHAIN, PREFIX = "ethereum", "UniswapV3."
DESCRIPTOR_PROXY = to_address("0xEe6A57eC80ea46401049E92587E52f5Ec1c24785")
_PART = "Uniswap V3 code from npm"


def compare_code(recorded: RecordedContracts, tally: Tally) -> None:
    """Compare the replica's Uniswap contracts with every recorded contract at their addresses, byte for byte."""
    fork = WorldSource("replica", CHAIN).open()
    for label, contract in _found(recorded, {label: to_address(at) for label, at in fork.labels.items()}).items():
        ours = fork.code(label)
        mainnets = contract.code.replace(DESCRIPTOR_PROXY, fork.address_of("UniswapV3.PositionDescriptor"))
        hashes = [keccak256(code).hex() for code in (mainnets, ours)]
        tally.check(
            mainnets == ours, f"{label}: mainnet's code hashes to 0x{hashes[0]}, ours to 0x{hashes[1]}", part=_PART
        )


def _found(recorded: RecordedContracts, labels: dict[str, bytes]) -> dict[str, RecordedContract]:
    missing = {label: at for label, at in labels.items() if label.startswith(PREFIX)}
    found: dict[str, RecordedContract] = {}
    for block in reversed(recorded.blocks):
        for label in list(missing):
            contract = recorded.find(block, missing[label])
            if contract is not None:
                found[label] = contract
                del missing[label]
    return found
