"""Bytecode as text: `assemble("4 CALLDATALOAD @odd JUMPI STOP :odd 0 0 REVERT")`.

Only what the standard library has, since reproductions contain this file.
"""

from __future__ import annotations

_ROWS = {
    0x00: "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND",
    0x10: "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ",
    0x20: "KECCAK256",
    0x30: "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE"
    " EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH",
    0x40: "BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE",
    0x50: "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0",
    0x80: " ".join(f"DUP{depth}" for depth in range(1, 17)),
    0x90: " ".join(f"SWAP{depth}" for depth in range(1, 17)),
    0xA0: "LOG0 LOG1 LOG2 LOG3 LOG4",
    0xF0: "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2",
    0xFA: "STATICCALL",
    0xFD: "REVERT INVALID SELFDESTRUCT",
}
OPCODES = {name: first + index for first, row in _ROWS.items() for index, name in enumerate(row.split())}


def assemble(text: str) -> bytes:
    """Return the bytecode of `text`; raise `ValueError` for a word that means nothing.

    A number is pushed with as few bytes as hold it, `0x…` with the bytes that are written. `:name` is a jump
    destination, `@name` pushes its place, `.21` is a plain byte, and `PC*9` repeats an opcode.
    """
    code, places, wanted = bytearray(), {}, []
    for word in text.split():
        if word.startswith(":"):
            places[word[1:]] = len(code)
            code.append(OPCODES["JUMPDEST"])
        elif word.startswith("@"):
            wanted.append((len(code) + 1, word[1:]))
            code += b"\x61\0\0"
        elif word.startswith("."):
            code += bytes.fromhex(word[1:])
        elif word.startswith("0x"):
            code += _pushed(bytes.fromhex(word[2:]))
        elif word.isdigit():
            number = int(word)
            code += _pushed(number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big"))
        else:
            name, _, times = word.partition("*")
            if name not in OPCODES:
                raise ValueError(f"'{word}' is no opcode")
            code += bytes([OPCODES[name]]) * int(times or 1)
    for at, name in wanted:
        if name not in places:
            raise ValueError(f"there is no destination ':{name}'")
        code[at : at + 2] = places[name].to_bytes(2, "big")
    return bytes(code)


def _pushed(value: bytes) -> bytes:
    if not 1 <= len(value) <= 32:
        raise ValueError(f"{len(value)} bytes cannot be pushed")
    return bytes([0x5F + len(value)]) + value
