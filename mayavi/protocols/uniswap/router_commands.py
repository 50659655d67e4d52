"""Commands of Uniswap's universal router, one byte each in the first argument of its `execute`."""

from __future__ import annotations

from itertools import groupby

COMMANDS = "commands"
"""Name of the argument that holds them."""
_ALLOW_FAILURE = 0x80
_NAMES = {
    0x00: "V3_SWAP_EXACT_IN",
    0x01: "V3_SWAP_EXACT_OUT",
    0x02: "PERMIT2_TRANSFER_FROM",
    0x03: "PERMIT2_PERMIT_BATCH",
    0x04: "SWEEP",
    0x05: "TRANSFER",
    0x06: "PAY_PORTION",
    0x08: "V2_SWAP_EXACT_IN",
    0x09: "V2_SWAP_EXACT_OUT",
    0x0A: "PERMIT2_PERMIT",
    0x0B: "WRAP_ETH",
    0x0C: "UNWRAP_WETH",
    0x0D: "PERMIT2_TRANSFER_FROM_BATCH",
}


def commands_text(commands: bytes) -> str:
    """Format commands by name, equal neighbours once; unknown ones in hex, a question mark where one may fail."""
    parts = []
    for command, group in groupby(commands):
        count = len(list(group))
        name = _NAMES.get(command & ~_ALLOW_FAILURE & 0x3F, f"{command:#04x}")
        times = f"{count} × " if count > 1 else ""
        parts.append(f"{times}{name}{'?' if command & _ALLOW_FAILURE else ''}")
    return f"[{', '.join(parts)}]"
