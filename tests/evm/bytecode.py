"""Small contracts in raw bytecode, for tests that want to know every opcode."""

from __future__ import annotations

RETURN_42 = bytes.fromhex("602a60005260206000f3")
"""Returns the word 42."""

STORE = bytes.fromhex("60203560003555")
"""Writes the second word of its calldata to the slot named by the first."""

LOAD = bytes.fromhex("6000355460005260206000f3")
"""Returns the slot named by its calldata."""

CALLER_REVERTS = bytes.fromhex("60aa60005260206000fd")
"""Reverts with the word 0xaa."""

INVALID = bytes.fromhex("fe")
"""Halts at once."""


LOGS = bytes.fromhex("602a600052600760206000a1")
"""Emits the word 42 with the topic 7."""

BLOCK_HASH = bytes.fromhex("6000354060005260206000f3")
"""Returns the hash of the block named by its calldata."""

TIMESTAMP_NUMBER = bytes.fromhex("426000524360205260406000f3")
"""Returns block time and number."""

EXTERNAL_CODE_SIZE = bytes.fromhex("303b60005260206000f3")
"""Returns the size of its own code as others see it."""

TRANSIENT = bytes.fromhex("60005c600052600160005d60206000f3")
"""Returns transient slot 0, then sets it to 1."""


def initcode(runtime: bytes) -> bytes:
    """A constructor that returns `runtime`."""
    length = len(runtime)
    assert length < 256
    return bytes([0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xF3]) + runtime


def forwarder(target: bytes) -> bytes:
    """Calls `target` with no data and returns its first word, or reverts with what it reverted with."""
    body = "60206000600060006000" + "73" + target.hex() + "5af1" + "60405760206000fd5b60206000f3"
    code = bytes.fromhex(body)
    at = code.index(b"\x5b")
    return code.replace(b"\x60\x40\x57", bytes([0x60, at, 0x57]))


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")
