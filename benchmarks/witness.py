"""Blocks on proven pre-states: execution against bare revm, and the state root beside it.

The first execution looks every account and slot up in trie nodes; later ones find them known. Reading the file and
proving that every node is referenced are timed separately.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.blocks import whole
from benchmarks.measuring.report import Effort, Quantity, Row, Section, Unavailable, timed
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.measuring.yardstick import Yardstick, load_yardstick
from benchmarks.subjects.position import REPOSITORY
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.witness import witness_files

ROUNDS = 9
PARTS = {
    "known": "ours, state known",
    "proven": "ours, state from trie nodes",
    "bare": "bare revm, state known",
    "root": "state root after the block",
}


def measure(effort: Effort) -> Section:
    """Measure every witness: gas per second of the three executions, and the time of the state root."""
    section = Section("witness", "blocks on proven pre-states, against bare revm on the same transactions")
    files = witness_files([cases()])[: 1 if effort.quick else None]
    yardstick = load_yardstick()
    timings: dict[str, list[Timing]] = {name: [] for name in PARTS}
    gas, read = 0, 0.0
    for path in files:
        began = time.perf_counter()
        witness = BlockWitness.read(path)
        witness.verify()
        read += time.perf_counter() - began
        for name, timing in in_turns(contestants(witness, yardstick), effort.rounds(ROUNDS)).items():
            timings[name].append(timing)
        gas += witness.header.gas_used
    totals = {name: whole(each) for name, each in timings.items()}
    for name, what in PARTS.items():
        beside = {} if name == "root" else {"speed": Quantity(gas / totals[name].median / 1e6, "Mgas/s")}
        section.rows.append(timed(what, totals[name], "ms", **beside))
    section.rows.append(Row("reading and checking the witness, not counted", {"median": Quantity(read * 1e3, "ms")}))
    section.notes += [
        f"{len(files)} blocks, {gas:,} gas",
        f"the state root takes {totals['root'].ratio(totals['proven']):.0%} of the execution on trie nodes",
    ]
    return section


def contestants(witness: BlockWitness, yardstick: Yardstick) -> dict[str, Callable[[], float]]:
    """Return the executions of one block, and its state root; each returns its seconds."""
    known, result = witness.execute()
    assert result["failure"] is None, f"block {witness.number}: {result['failure']}"
    pre_state = witness.evm()
    pre_state.copy().replay(witness.parts.block, witness.blob_fee_fraction)  # what it reads stays known below the copy
    dump = pre_state.dump()
    parts = [each.encoded for each in witness.parts.transactions]
    same_block = yardstick.Block.from_parts(witness.parts.block.header.encode(), parts, None)

    def proven() -> float:
        return float(witness.execute()[1]["seconds"])

    def warm() -> float:
        return float(pre_state.copy().replay(witness.parts.block, witness.blob_fee_fraction)["seconds"])

    def root() -> float:
        began = time.perf_counter()
        assert witness.state_root(known) == bytes.fromhex(witness.parts.header["stateRoot"][2:])
        return time.perf_counter() - began

    return {
        "known": warm,
        "proven": proven,
        "bare": lambda: yardstick.bare_replay(dump, same_block, witness.blob_fee_fraction, 2)[1],
        "root": root,
    }


def cases() -> Path:
    """Return the folder of witnesses: MAYAVI_CASES, or `shared` beside the checkout."""
    folder = Path(os.environ.get("MAYAVI_CASES") or REPOSITORY.parent / "shared") / "mainnet" / "witness"
    if not folder.is_dir():
        raise Unavailable("the witnesses are not on this machine; MAYAVI_CASES names the folder of reference data")
    return folder
