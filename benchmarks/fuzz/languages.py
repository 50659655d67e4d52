"""Random contracts in Vyper and Solidity, compiled in batches.

Both have the function `act` and the same kinds of statements: checked and unchecked arithmetic, mappings, arrays,
loops, asserts, events, calls of the library and, where the hard fork has it, transient storage.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.fuzz.words import EDGES, small
from mayavi.compilers.solidity import compile_packages
from mayavi.compilers.solidity_project import SoliditySettings
from mayavi.compilers.vyper_file import run_vyper
from mayavi.errors import CompileError
from mayavi.evm.address import checksum

BATCH = 3
"""Contracts of each language in a batch."""
LIBRARY = b"\x42" * 20
LARGEST_LITERAL = 2**256 - 1
HEADS = {
    True: """
interface Library:
    def act(x: uint256, y: uint256, z: uint256) -> uint256: nonpayable

event Happened:
    one: indexed(uint256)
    two: uint256

a: uint256
b: uint256
m: HashMap[uint256, uint256]
n: HashMap[address, HashMap[uint256, uint256]]
items: DynArray[uint256, 8]
packed: uint8[4]
balanceOf: public(HashMap[address, uint256])
totalSupply: public(uint256)
{transient}
@external
def act(x: uint256, y: uint256, z: uint256) -> uint256:
    t: uint256 = {first}
""",
    False: """// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;

interface Library {{ function act(uint256 x, uint256 y, uint256 z) external returns (uint256); }}

contract {name} {{
    event Happened(uint256 indexed one, uint256 two);
    uint256 a; uint256 b;
    mapping(uint256 => uint256) m;
    mapping(address => mapping(uint256 => uint256)) n;
    uint256[] items;
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;
    struct Packed {{ uint64 low; uint128 middle; bool flag; }}
    Packed packed;
{transient}
    function act(uint256 x, uint256 y, uint256 z) external returns (uint256) {{
        uint256 t = {first};
""",
}


@dataclass(frozen=True)
class Batch:
    """Creation codes of compiled contracts, and the hard fork that they are for."""

    hardfork: str
    codes: tuple[bytes, ...]


class SourceWriter:
    """Writes one contract."""

    def __init__(self, rng: random.Random, hardfork: str, *, vyper: bool) -> None:
        self.rng, self.vyper, self.transient = rng, vyper, hardfork == "cancun"
        self.lines: list[str] = []
        self.loops = 0

    def contract(self, name: str) -> str:
        """Write the whole contract."""
        rng = self.rng
        transient = ""
        if self.transient:
            transient = "\nlock: transient(uint256)\n" if self.vyper else "    uint256 transient lock;"
            self.transient = self.vyper  # the compiler of Solidity takes such variables from 0.8.28 on
            transient = transient if self.vyper else ""
        head = HEADS[self.vyper].format(name=name, transient=transient, first=self.word(1))
        for _ in range(rng.randrange(1, 6)):
            self.statement(2, 1 if self.vyper else 2)
        end = f"    return {self.word(2)}\n" if self.vyper else f"        return {self.word(2)};\n    }}\n}}\n"
        return head + "".join(f"{line}\n" for line in self.lines) + end

    def put(self, text: str, depth: int) -> None:
        """Write a line."""
        ends = "" if self.vyper or text.endswith(("{", "}")) else ";"
        self.lines.append("    " * depth + text + ends)

    def word(self, depth: int) -> str:
        """An expression."""
        rng, vyper = self.rng, self.vyper
        if depth <= 0:
            return rng.choice(["x", "y", "z", *self.names(), str(small(rng)), str(rng.choice(EDGES))])
        one, other, drawn = self.word(depth - 1), self.word(depth - 1), rng.random()
        if drawn < 0.25:
            operator = rng.choice(["+", "-", "*", "//" if vyper else "/", "%"])
            return self.folded(f"({one} {operator} {other})", one, other)
        if drawn < 0.45:
            return self.folded(f"({one} {rng.choice('&|^')} {other})", one, other)
        if drawn < 0.6 and vyper:
            return f"unsafe_{rng.choice(['add', 'sub', 'mul', 'div'])}({self.open(one)}, {self.open(other)})"
        if drawn < 0.7:
            return self.folded(f"({one} {rng.choice(['<<', '>>'])} ({other} & 255))", one, other)
        if drawn < 0.8:
            first, second = (one, other) if vyper else (self.condition(), one)
            return f"({first} if {self.condition()} else {second})" if vyper else f"({first} ? {second} : {other})"
        if drawn < 0.9:
            return self.place()
        if vyper:
            return f"convert(keccak256(abi_encode({self.open(one)}, {self.open(other)})), uint256)"
        return f"uint256(keccak256(abi.encode({one}, {other})))"

    def names(self) -> list[str]:
        """Variables that an expression may read."""
        own = ["self.a", "self.b"] if self.vyper else ["a", "b"]
        return own + (["self.lock"] if self.transient else [])

    def open(self, text: str) -> str:
        """An operand that the compiler cannot compute."""
        return f"({text} ^ x)" if text.isdigit() else text

    def folded(self, text: str, one: str, other: str) -> str:
        """An operation, unless both operands are literals, which the compilers compute and may refuse."""
        both = not any(each in one + other for each in "xyzabmn")
        literal = other.isdigit() and (int(other) == 0 or int(other) == LARGEST_LITERAL)
        return "x" if both or literal or one.isdigit() else text

    def place(self) -> str:
        """A variable, or an entry of a mapping."""
        rng, own = self.rng, "self." if self.vyper else ""
        if rng.random() < 0.4:
            return rng.choice([f"{own}a", f"{own}b", *([f"{own}lock"] if self.transient else [])])
        key = f"{rng.choice('xyz')} & {rng.choice([1, 3, 7])}"
        return f"{own}m[{key}]" if rng.random() < 0.6 else f"{own}n[msg.sender][{key}]"

    def condition(self) -> str:
        """A condition."""
        rng = self.rng
        one, other = rng.choice("xyz"), rng.choice(["x", "y", "z", *self.names(), str(rng.choice(EDGES[1:-1]))])
        return f"({one} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {other if other != one else 7})"

    def statement(self, level: int, depth: int) -> None:
        """A statement."""
        rng, vyper, own = self.rng, self.vyper, "self." if self.vyper else ""
        drawn = rng.random() if level > 0 else rng.random() * 0.4
        if drawn < 0.25:
            self.put(f"{self.place()} = {self.word(2)}", depth)
        elif drawn < 0.4:
            self.put(f"t = {self.word(2)}", depth)
        elif drawn < 0.55:
            self.put(f"if {self.condition()}:" if vyper else f"if ({self.condition()}) {{", depth)
            self.statement(level - 1, depth + 1)
            self.put("else:" if vyper else "} else {", depth)
            self.statement(level - 1, depth + 1)
            if not vyper:
                self.put("}", depth)
        elif drawn < 0.63:
            self.loops += 1
            name, most = f"i{self.loops}", f"{rng.choice('xyz')} & 3"
            self.put(f"for {name}: uint256 in range({most}, bound=4):" if vyper
                     else f"for (uint256 {name} = 0; {name} < ({most}); {name}++) {{", depth)  # fmt: skip
            self.statement(level - 1, depth + 1)
            if not vyper:
                self.put("}", depth)
        elif drawn < 0.7:
            self.put(f"assert {self.condition()}" if vyper else f'require({self.condition()}, "refused")', depth)
        elif drawn < 0.78:
            one, two = self.word(1), self.word(1)
            self.put(f"log Happened(one={one}, two={two})" if vyper else f"emit Happened({one}, {two})", depth)
        elif drawn < 0.85:
            length = f"len({own}items)" if vyper else "items.length"
            self.put(f"if {length} < 4:" if vyper else f"if ({length} < 4) {{", depth)
            self.put(f"{own}items.{'append' if vyper else 'push'}({self.word(1)})", depth + 1)
            self.put("else:" if vyper else "} else {", depth)
            self.put(f"{own}items.pop()", depth + 1)
            if not vyper:
                self.put("}", depth)
        elif drawn < 0.92:
            arguments = ", ".join(self.word(1) for _ in range(3))
            called = f"Library({checksum(LIBRARY)}).act({arguments})"
            self.put(f"t = {'extcall ' if vyper else ''}{called}", depth)
        elif vyper:
            self.put(f"self.packed[{rng.choice('xyz')} & 3] = convert({rng.choice('xyz')} & 255, uint8)", depth)
        else:
            self.put(rng.choice(["packed.low = uint64(x)", "packed.middle += uint128(y)", "packed.flag = z > 5",
                                 "unchecked { t = t * x + y; }"]), depth)  # fmt: skip


@lru_cache(maxsize=2)
def compiled(seed: int, number: int) -> Batch:
    """Compile a few random contracts of both languages."""
    rng = random.Random(f"{seed} sources {number}")
    hardfork = rng.choice(["london", "cancun"])
    with tempfile.TemporaryDirectory() as folder:
        codes = compile_vyper(rng, hardfork, Path(folder)) + compile_solidity(rng, hardfork, Path(folder))
    return Batch(hardfork, tuple(codes))


def compile_vyper(rng: random.Random, hardfork: str, folder: Path) -> list[bytes]:
    """Compile random contracts in Vyper."""
    texts = {f"V{at}.vy": SourceWriter(rng, hardfork, vyper=True).contract("") for at in range(BATCH)}
    while True:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        try:
            made = run_vyper(folder, list(texts), ["--evm-version", hardfork])
            return [bytes.fromhex(made[name]["bytecode"].removeprefix("0x")) for name in texts]
        except CompileError as error:  # an expression that the compiler computes and refuses
            texts[refused(error, texts)] = SourceWriter(rng, hardfork, vyper=True).contract("")


def compile_solidity(rng: random.Random, hardfork: str, folder: Path) -> list[bytes]:
    """Compile random contracts in Solidity."""
    names = {f"fuzz/S{at}.sol": f"S{at}" for at in range(BATCH)}
    texts = {file: SourceWriter(rng, hardfork, vyper=False).contract(name) for file, name in names.items()}
    settings = SoliditySettings(evm_version=hardfork, optimizer_runs=rng.choice([None, 1, 200]))
    (folder / "node_modules" / "fuzz").mkdir(parents=True)
    while True:
        for file, text in texts.items():
            (folder / "node_modules" / file).write_text(text, encoding="utf-8")
        try:
            made = compile_packages(folder, {name: file for file, name in names.items()}, settings)
            return [each.linked({}) for each in made.values()]
        except CompileError as error:
            file = refused(error, texts)
            texts[file] = SourceWriter(rng, hardfork, vyper=False).contract(names[file])


def refused(error: CompileError, texts: Mapping[str, str]) -> str:
    """Return the file that a compiler has refused."""
    file = error.message.partition(":")[0]
    if file not in texts:
        raise error
    return file
