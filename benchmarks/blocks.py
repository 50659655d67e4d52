"""Replay of real mainnet blocks, against bare revm on the same transactions.

Only execution is timed on both sides. Reading JSON and recovering senders are timed separately.
"""

from __future__ import annotations

import gzip
import os
import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, Unavailable, timed
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.measuring.yardstick import Yardstick, load_yardstick
from benchmarks.subjects.position import REPOSITORY
from mayavi.evm.chains import blob_fee_fraction_at, hardfork_at
from mayavi.replay.case import block_numbers, read_block, read_bytecodes, read_pre_state

MAINNET = 1
ROUNDS = 9
QUICK_BLOCKS = 2
SHARE = 0.8


def measure(effort: Effort) -> Section:
    """Measure every case: gas per second of both sides, and the remaining work separately."""
    section = Section("blocks", "replay of mainnet blocks, against bare revm on the same transactions")
    folder = cases()
    yardstick = load_yardstick()
    codes = read_bytecodes(folder)
    numbers = block_numbers(folder)[: QUICK_BLOCKS if effort.quick else None]
    gas, parse, recover = 0, 0.0, 0.0
    ours: list[Timing] = []
    bare: list[Timing] = []
    for number in numbers:
        block = read_block(folder, number)
        parse, recover = parse + block.parse_seconds, recover + block.recover_seconds
        replayed = contestants(folder, number, codes, yardstick)
        timings = in_turns(replayed, effort.rounds(ROUNDS))
        ours.append(timings["ours"])
        bare.append(timings["bare"])
        gas += block.claims()["gas_used"]
    all_ours, all_bare = whole(ours), whole(bare)
    section.rows += [
        timed("ours, all blocks", all_ours, "ms", speed=Quantity(gas / all_ours.median / 1e6, "Mgas/s")),
        timed("bare revm, all blocks", all_bare, "ms", speed=Quantity(gas / all_bare.median / 1e6, "Mgas/s")),
        Row("reading JSON, not counted", {"median": Quantity(parse * 1e3, "ms")}),
        Row("recovering senders, not counted", {"median": Quantity(recover * 1e3, "ms")}),
    ]
    shares = [theirs.ratio(mine) for mine, theirs in zip(ours, bare, strict=True)]
    section.notes += [
        f"{len(numbers)} blocks, {gas:,} gas",
        f"block by block: {min(shares):.0%} to {max(shares):.0%} of bare revm, median {statistics.median(shares):.0%}",
    ]
    share = Quantity(all_bare.ratio(all_ours), "%")
    section.targets.append(Target("gas per second, of bare revm's", Quantity(SHARE, "%"), share, at_most=False))
    return section


def cases() -> Path:
    """Return the folder of block cases: MAYAVI_CASES, or `shared` beside the checkout."""
    folder = Path(os.environ.get("MAYAVI_CASES") or REPOSITORY.parent / "shared") / "mainnet" / "blocks"
    if not folder.is_dir():
        raise Unavailable("the block cases are not on this machine; MAYAVI_CASES names the folder of reference data")
    return folder


def contestants(
    folder: Path, number: int, codes: dict[str, bytes], yardstick: Yardstick
) -> dict[str, Callable[[], float]]:
    """Return Mayavi and bare revm on one block; each runs it twice, and the second, warm run counts."""
    block = read_block(folder, number)
    evm = read_pre_state(folder, number, MAINNET, hardfork_at(MAINNET, block.number, block.timestamp), codes)
    fraction = blob_fee_fraction_at(MAINNET, block.timestamp)
    dump = evm.dump()
    same_block = yardstick.Block.from_json(gzip.decompress((folder / str(number) / "block.json.gz").read_bytes()))

    def ours() -> float:
        evm.copy().replay(block, fraction)
        result = evm.copy().replay(block, fraction)
        assert result["failure"] is None, f"block {number}: {result['failure']}"
        return float(result["seconds"])

    return {"ours": ours, "bare": lambda: yardstick.bare_replay(dump, same_block, fraction, 2)[1]}


def whole(timings: list[Timing]) -> Timing:
    """Sum the timings of all blocks per round."""
    return Timing(tuple(sum(seconds) for seconds in zip(*(each.rounds for each in timings), strict=True)))
