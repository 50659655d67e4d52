"""Recorded calls on a GPU: equal to the processor to the bit, how fast, and twenty billion account data.

    python benchmarks/device/calls.py [--device cuda] [--data device_data]

Needs NumPy and the built kernel alone. `benchmarks/device/paths.py` records what it runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import struct
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPOSITORY = Path(__file__).resolve().parents[2]
Limbs = NDArray[np.uint64]
LT, SUB, AND, SHL, SHR, SAR = 0x10, 0x03, 0x16, 0x1B, 0x1C, 0x1D
PURE = [*range(0x01, 0x0C), *range(0x10, 0x1F)]
"""Pure instructions of the EVM."""
MASKS = (16, 64, 65, 128, 160, 200, 256)
FLOATS = range(0xB0, 0xBE)
"""Float operations of programs; those from the eighth on have one operand."""
ONE_FLOAT = 0xB7
WAD = 10**18
CALLS = ("getUserAccountData", "repay", "borrow")
SUMS = [(6, 1), (7, 2), (1, 2)]
"""Accounts that may be liquidated, bad debt and debt of a scenario: outputs, and limbs of their sums."""
STEP_SECONDS = 3_600
CALM = 0.001
"""Prices that move less in an hour do not crash."""
CRASHES, DEPTH = 0.3, (0.1, 0.6)
"""Share of paths on which the others crash, and how deep."""


def load_kernel() -> ModuleType:
    """Load the kernel alone: a rented machine need not have the package's requirements."""
    if known := sys.modules.get("mayavi._kernel"):
        return known
    folders = (Path(__file__).resolve().parent, REPOSITORY / "mayavi")
    for path in (path for folder in folders for path in sorted(folder.glob("_kernel*.so"))):
        spec = importlib.util.spec_from_file_location("_kernel", path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules["mayavi._kernel"] = module
            return module
    raise SystemExit("the kernel is not built: run `make setup`")


kernel: Any = load_kernel()


@dataclass
class Failures:
    """What differs from the processor."""

    found: list[str] = field(default_factory=list)

    def check(self, what: str, *, equal: bool) -> str:
        """Note a difference; return a word for the line that is printed."""
        if not equal:
            self.found.append(what)
        return "EXACT" if equal else "DIFFERS"


def limbs(words: list[list[int]]) -> Limbs:
    """Return rows of words as limbs, lowest first."""
    data = b"".join(word.to_bytes(32, "little") for row in words for word in row)
    return np.frombuffer(data, dtype="<u8").reshape(len(words), -1).copy()


def hostile(source: random.Random) -> int:
    """Return a word of some size, mostly near an edge."""
    power = 1 << source.randrange(256)
    some = source.getrandbits(256) >> source.randrange(256)
    edges = [0, source.randrange(6), 2**256 - 1 - source.randrange(3), power, power - 1, some, some]
    return source.choice(edges) % 2**256


def operations(device: str, rows: int, failures: Failures) -> None:
    """Run every native operation on hostile operands, as variables and as constants."""
    source, began, kinds = random.Random(21), time.perf_counter(), 0
    table = limbs([[hostile(source) for _ in range(3)] for _ in range(rows)])
    for opcode in PURE:
        wanted = 1 if opcode in {0x15, 0x19, 0x1E} else 3 if opcode in {0x08, 0x09} else 2
        code = kernel.NativeBuilder()
        words = [code.input(at) for at in range(3)]
        for bits in MASKS:
            mask = code.constant(2**bits - 1)
            narrow = [code.pure(AND, word, mask) for word in words]
            fixed = [code.constant(hostile(source) % 2**bits) for _ in words]
            for shape in range(1 << (wanted - 1)):
                given = [fixed[at] if shape >> at & 1 else narrow[at] for at in range(wanted)]
                code.output(code.pure(opcode, *given))
                kinds += 1
        flags, found, _ = code.device().run(table, None, device)
        expected_flags, expected = code.compile("plain").run(table)
        equal = np.array_equal(flags, expected_flags) and np.array_equal(found, expected)
        failures.check(f"operation {opcode:#04x}", equal=equal)
    hashing = kernel.NativeBuilder()
    words = [hashing.input(at) for at in range(3)]
    hashing.output(hashing.keccak([(words[0], 0, 32), (words[1], 12, 20), b"\7" * 40]))
    hashing.output(hashing.keccak([(word, 0, 32) for word in words] * 3))
    flags, found, _ = hashing.device().run(table, None, device)
    equal = np.array_equal(found, hashing.compile("plain").run(table)[1])
    word = failures.check("hashes", equal=equal)
    word = "DIFFERS" if failures.found else word
    seconds = time.perf_counter() - began
    print(f"operations: {len(PURE)} instructions in {kinds} forms and hashes on {rows} rows: {word}, {seconds:.1f} s")


def hostile_float(source: random.Random) -> int:
    """Return the bits of a float: any, of usual size, or near an edge."""
    usual = struct.unpack("<Q", struct.pack("<d", source.uniform(-4, 4) * 10.0 ** source.randint(-20, 20)))[0]
    edges = [0, 1, 0x7FF0 << 48, 0x7FF8 << 48, 0x10 << 48, (0x3FF0 << 48) - 1, 0x43E0 << 48, source.getrandbits(52)]
    edge = source.choice(edges) | source.getrandbits(1) << 63
    return source.choice([int(usual), int(usual), source.getrandbits(64), edge])


def floats(device: str, rows: int, failures: Failures) -> None:
    """Run every float operation on hostile floats and words."""
    source, began = random.Random(22), time.perf_counter()
    table = limbs([[hostile_float(source), hostile_float(source), hostile(source)] for _ in range(rows)])
    code = kernel.NativeBuilder()
    first, second, word = (code.input(at) for at in range(3))
    for opcode in FLOATS:
        code.output(code.pure(opcode, first) if opcode >= ONE_FLOAT else code.pure(opcode, first, second))
        code.output(code.pure(opcode, word) if opcode >= ONE_FLOAT else code.pure(opcode, first, first))
    flags, found, _ = code.device().run(table, None, device)
    expected_flags, expected = code.compile("plain").run(table)
    equal = np.array_equal(flags, expected_flags) and np.array_equal(found, expected)
    word = failures.check("floats", equal=equal)
    print(f"floats: {len(FLOATS)} operations on {rows} rows: {word}, {time.perf_counter() - began:.1f} s")


def recorded_calls(data: Path, device: str, rows: int, failures: Failures) -> None:
    """Run recorded Aave calls on many rows, and the distinct ones on the processor."""
    for name in CALLS:
        code = kernel.NativeBuilder.read((data / f"{name}.txt").read_text())
        distinct = np.load(data / f"{name}.npz")["rows"][:rows]
        sample = distinct[:64].copy()
        program = code.device([], [], sample)
        times = max(1, rows // len(distinct))
        table = np.tile(distinct, (times, 1))
        flags, found, took = program.run(table, None, device, 5)
        machine = code.compile("machine", sample)
        began = time.perf_counter()
        expected_flags, expected = machine.run(distinct)
        processor = (time.perf_counter() - began) / len(distinct)
        accepted = expected_flags == 1
        equal = all(
            np.array_equal(flags[at : at + len(distinct)], expected_flags)
            and np.array_equal(found[at : at + len(distinct)][accepted], expected[accepted])
            for at in range(0, len(table), len(distinct))
        )
        seconds = took["ran"] / 5 / len(table)
        speed = f"{seconds * 1e9:.3f} ns, {1 / seconds / 1e9:.2f} G calls/s" if seconds else "not timed"
        print(
            f"{name}: {failures.check(name, equal=equal)} on {len(table):,} rows ({len(distinct):,} distinct, "
            f"{accepted.mean():.0%} accepted); {speed}; processor {processor * 1e9:.0f} ns; compiled in "
            f"{took['compiled']:.2f} s; {took['registers']} registers, {took['local_bytes']} B local; "
            f"{table.shape[1] // 4} words in, {found.shape[1] // 4} out",
            flush=True,
        )


@dataclass(frozen=True)
class Group:
    """Accounts on one path, and the path's code."""

    builder: Any
    table: Limbs
    scenario: list[tuple[int, int]]

    def rows(self, scenario: Limbs) -> Limbs:
        """Return the whole rows of all accounts under one scenario."""
        rows = self.table.copy()
        for word, column in self.scenario:
            rows[:, 4 * word : 4 * word + 4] = scenario[4 * column : 4 * column + 4]
        return rows

    def columns(self, scenarios: Limbs) -> Limbs:
        """Return what of the scenarios the path reads."""
        found = [scenarios[:, 4 * column : 4 * column + 4] for _, column in self.scenario]
        return np.ascontiguousarray(np.concatenate(found, axis=1)) if found else scenarios


def load_groups(data: Path) -> list[Group]:
    """Read the recorded paths of all accounts, with what is asked of each call."""
    about, tables = json.loads((data / "accounts.json").read_text()), np.load(data / "accounts.npz")
    groups = []
    for number, scenario in enumerate(about["scenario"]):
        builder = kernel.NativeBuilder.read((data / f"path_{number}.txt").read_text())
        collateral, debt, factor = (builder.output_node(at) for at in (0, 1, 5))
        builder.output(builder.pure(LT, factor, builder.constant(WAD)))
        bad = builder.pure(LT, collateral, debt)
        builder.output(builder.select(bad, builder.pure(SUB, debt, collateral), builder.constant(0)))
        table = tables[f"table_{number}"]
        if len(table):
            groups.append(Group(builder, np.ascontiguousarray(table), [tuple(each) for each in scenario]))
    return groups


def price_paths(data: Path, paths: int, steps: int) -> Limbs:
    """Return random walks of all prices, hour by hour, with the time of the block as the last column."""
    about = json.loads((data / "accounts.json").read_text())
    source = np.random.default_rng(7)
    begins = np.where(source.random(paths) < CRASHES, source.integers(0, steps, paths), steps)
    fallen = np.arange(steps) >= begins[:, None]
    left = np.where(fallen, 1 - source.uniform(*DEPTH, paths)[:, None], 1.0)
    columns = []
    for price, volatility in zip(about["prices"], about["volatility"], strict=True):
        walk = np.exp(np.cumsum(source.normal(0.0, volatility, (paths, steps)), axis=1))
        prices = price * walk * (left if volatility > CALM else 1.0)
        columns.append(np.maximum(1, prices).astype(np.uint64).reshape(-1))
    times = about["timestamp"] + STEP_SECONDS * np.arange(1, steps + 1, dtype=np.uint64)
    columns.append(np.tile(times, paths))
    scenarios = np.zeros((paths * steps, 4 * len(columns)), dtype=np.uint64)
    scenarios[:, ::4] = np.stack(columns, axis=1)
    return scenarios


def digest_of(outputs: Limbs) -> np.uint64:
    """Return the digest of accepted rows, as the device computes it."""
    weights = np.array([kernel.digest_weight(at) for at in range(outputs.shape[1])], dtype=np.uint64)
    mixed = (outputs * weights).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(32)
    digest: np.uint64 = (mixed * np.uint64(kernel.digest_weight())).sum(dtype=np.uint64)
    return digest


def on_processor(group: Group, machine: Any, scenario: Limbs) -> tuple[int, np.uint64, list[int]]:
    """Return accepted rows, digest and sums of one scenario."""
    flags, outputs = machine.run(group.rows(scenario))
    accepted = outputs[flags == 1]
    sums = []
    for output, size in SUMS:
        words = [accepted[:, 4 * output + at] for at in range(4)]
        whole = sum(int(word.astype(object).sum()) << 64 * at for at, word in enumerate(words))
        sums.append(whole % 2 ** (64 * size))
    return len(accepted), digest_of(accepted), sums


def read_sums(planes: Limbs, scenario: int) -> list[int]:
    """Return the sums of one scenario from the device's planes."""
    found, at = [], 2
    for _, size in SUMS:
        found.append(sum(int(planes[at + limb, scenario]) << 64 * limb for limb in range(size)))
        at += size
    return found


def sampled(groups: list[Group], scenarios: Limbs) -> Iterator[Limbs]:
    """Give rows that show how wide values are: the extremes of each price among them."""
    picked = {0, len(scenarios) - 1}
    for column in range(0, scenarios.shape[1], 4):
        picked |= {int(scenarios[:, column].argmin()), int(scenarios[:, column].argmax())}
    for group in groups:
        few = Group(group.builder, group.table[:16], group.scenario)
        yield np.concatenate([few.rows(scenarios[at]) for at in sorted(picked)])


def account_data(data: Path, device: str, paths: int, steps: int, failures: Failures) -> None:
    """Value all accounts on all price paths, and some scenarios on the processor too."""
    groups, scenarios = load_groups(data), price_paths(data, paths, steps)
    count = int(json.loads((data / "accounts.json").read_text())["accounts"])
    samples = list(sampled(groups, scenarios))
    print(f"account data: {count:,} accounts on {len(groups)} paths × {len(scenarios):,} scenarios", flush=True)
    began = time.perf_counter()
    words = [[word for word, _ in group.scenario] for group in groups]
    programs = [
        group.builder.device(own, SUMS, sample) for group, own, sample in zip(groups, words, samples, strict=True)
    ]
    printed = time.perf_counter()
    results, ran, loaded, waited = [], 0.0, [], 0.0
    with ThreadPoolExecutor(2) as pool:  # the driver compiles while kernels run
        loading = [pool.submit(program.load, device, adding=True) for program in programs]
        for group, program, each in zip(groups, programs, loading, strict=True):
            started = time.perf_counter()
            loaded.append(each.result())
            waited += time.perf_counter() - started
            planes, _, _, took = program.reduce(group.table, group.columns(scenarios), device, named=False)
            results.append(planes)
            ran += took["ran"]
    ended = time.perf_counter()
    rows, tried = count * len(scenarios), sum(len(group.table) for group in groups) * len(scenarios)
    missing = rows - sum(int(planes[0].sum()) for planes in results)
    print(
        f"account data: {rows:,} calls in {ended - began:.1f} s ({rows / (ended - began) / 1e9:.2f} G/s): text "
        f"{printed - began:.1f} s, compiler {sum(each['compiled'] for each in loaded) / 2:.1f} s (waited "
        f"{waited:.1f} s), kernels {ran:.1f} s "
        f"({tried / ran / 1e9 if ran else 0:.2f} G rows/s, {tried / rows:.2f} paths tried a call); registers "
        f"{max(each['registers'] for each in loaded)}, local {max(each['local_bytes'] for each in loaded)} B; "
        f"{missing:,} calls are left to the processor",
        flush=True,
    )
    check_sample(groups, samples, scenarios, results, failures)
    unsafe = sum(planes[2].astype(np.int64) for planes in results)
    print(f"account data: {unsafe.mean():,.1f} of {count:,} accounts may be liquidated, up to {unsafe.max():,}")


def check_sample(
    groups: list[Group], samples: list[Limbs], scenarios: Limbs, results: list[Any], failures: Failures
) -> None:
    """Compare whole scenarios with the processor's results: rows, digests of all outputs and sums."""
    source, rows, seconds = random.Random(3), 0, 0.0
    picked = sorted({0, len(scenarios) - 1, *(source.randrange(len(scenarios)) for _ in range(6))})
    for group, sample, planes in zip(groups, samples, results, strict=True):
        machine = group.builder.compile("machine", sample)
        for scenario in picked:
            began = time.perf_counter()
            accepted, digest, sums = on_processor(group, machine, scenarios[scenario])
            seconds += time.perf_counter() - began
            rows += len(group.table)
            found = (int(planes[0, scenario]), int(planes[1, scenario]), read_sums(planes, scenario))
            failures.check(f"account data of scenario {scenario}", equal=found == (accepted, int(digest), sums))
    word = "DIFFERS" if any("account data" in each for each in failures.found) else "EXACT"
    print(
        f"account data: {len(picked)} scenarios on the processor, {rows:,} rows at {seconds / rows * 1e9:.0f} ns: "
        f"{word} (rows, digests of all outputs, sums)"
    )


def merged(device: str, failures: Failures, count: int = 2_000) -> None:
    """Run a grid of borrowers under crashes and hostile prices, and every call of it in the interpreter."""
    sys.path[:0] = [str(Path(__file__).resolve().parent / "tree"), str(REPOSITORY)]
    try:
        from benchmarks.subjects.borrowers import open_borrowers
        from mayavi.evm.fork import grid as grids
    except ImportError as error:
        print(f"grid: not tried without the package ({error})")
        return
    market, accounts = open_borrowers(count, leverage=6)
    fork, source = market.fork, random.Random(9)
    slots = [(fork.address_of(f"Chainlink.{feed}"), 1) for feed in ("ETH/USD", "BTC/USD", "USDC/USD")]
    today, calldata = [fork.storage(*slot) for slot in slots], market.pool.getUserAccountData.encode(bytes(20))
    scenarios = [
        [*(max(1, int(price * source.uniform(0.2, 2))) for price in today), fork.timestamp + source.randrange(10**7)]
        for _ in range(60)
    ]
    for at in range(0, 60, 6):
        scenarios[at][source.randrange(3)] = 1 << source.randrange(1, 120)
    # Looking at one scenario alone leaves most paths unknown: their calls are the processor's.
    known, alone = grids.extremes, lambda table: np.array([1])
    found = []
    for grids.extremes in (known, alone):
        grid = fork.grid(market.pool.address, calldata, {4: accounts}, 6, slots, timestamp=True)
        found.append((grid.run([list(column) for column in zip(*scenarios, strict=True)], device), grid))
    grids.extremes, equal = known, True
    for at, (*prices, now) in enumerate(scenarios):
        with fork.snapshot():
            for (feed, slot), price in zip(slots, prices, strict=True):
                fork.set_storage(feed, slot, price)
            fork.set_block(timestamp=now)
            expected = fork.call_words(market.pool.address, calldata, {4: accounts}, 6)
        rows = slice(len(accounts) * at, len(accounts) * (at + 1))
        for columns, _ in found:
            pairs = zip(columns, expected, strict=True)
            equal &= all(np.array_equal(one.words[rows], other.words) for one, other in pairs)
    left = " and ".join(f"{grid.left:,} on {grid.paths} paths" for _, grid in found)
    word, calls = failures.check("grid", equal=equal), len(scenarios) * len(accounts)
    print(f"grid: {word} on twice {calls:,} calls, of which the processor called {left}")


def too_little_memory(data: Path, device: str, failures: Failures) -> None:
    """Have another library hold nearly all of the device's memory; the run must say so before it begins."""
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        print("memory: not tried without torch")
        return
    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(free - (96 << 20), dtype=torch.uint8, device="cuda")
    code = kernel.NativeBuilder.read((data / "borrow.txt").read_text())
    rows = np.tile(np.load(data / "borrow.npz")["rows"], (40, 1))
    try:
        code.device().run(rows, None, device)
        failures.check("memory: no error", equal=False)
    except kernel.DeviceError as error:
        print(f"memory: {error}")
    del held
    torch.cuda.empty_cache()


def main(arguments: list[str] | None = None) -> int:
    """Run everything; exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or emulated")
    parser.add_argument("--data", type=Path, default=REPOSITORY / "device_data")
    parser.add_argument("--rows", type=int, default=1_920_000, help="rows of each recorded call")
    parser.add_argument("--operands", type=int, default=4_096, help="rows of each operation")
    parser.add_argument("--paths", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=24)
    given = parser.parse_args(arguments)
    failures = Failures()
    if given.device != "emulated":
        try:
            version, devices = kernel.cuda_devices()
        except kernel.DeviceError as error:
            print(error, file=sys.stderr)
            return 1
        for name, memory, capability in devices:
            major, minor = capability
            print(f"{name}, {memory / 2**30:.0f} GiB, sm_{major}{minor}; CUDA {version[0]}.{version[1]}")
    operations(given.device, given.operands, failures)
    floats(given.device, 4 * given.operands, failures)
    recorded_calls(given.data, given.device, given.rows, failures)
    account_data(given.data, given.device, given.paths, given.steps, failures)
    if given.device != "emulated":
        merged(given.device, failures)
        too_little_memory(given.data, given.device, failures)
    for each in failures.found[:40]:
        print(f"DIFFERS: {each}")
    print("everything is equal" if not failures.found else f"{len(failures.found)} differences")
    return int(bool(failures.found))


if __name__ == "__main__":
    sys.exit(main())
