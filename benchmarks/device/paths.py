"""Record what `benchmarks/device/calls.py` runs: account data of many borrowers, one repayment and one loan.

python -m benchmarks.device.paths device_data --accounts 84000
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.device.calls import CALM, Limbs, hostile, limbs
from benchmarks.subjects.borrowers import open_borrowers
from benchmarks.subjects.position import BORROWER, Call, Position, open_position
from mayavi import Fork
from mayavi._kernel import PathRecorder
from mayavi.evm.words import to_words

FEEDS = ("ETH/USD", "BTC/USD", "USDC/USD", "DAI/USD", "USDT/USD")
VOLATILITY = (0.012, 0.009, 0.0004, 0.0004, 0.0004)
ANSWER = 1
"""Slot of a feed's answer."""
AMOUNT = 4 + 32
"""Byte at which the amount of a repayment or loan stands."""
ROWS = 30_000
LEVERAGE = 6
"""Some borrowers are close to liquidation."""
STRESS = (0.3, 0.45, 0.6, 0.8, 0.9, 1.1, 1.25, 1.5)
"""Shares of today's prices at which paths are recorded too; those of dollars stay."""


def record_accounts(folder: Path, count: int) -> None:
    """Record the account data of all borrowers as functions of prices and time."""
    market, accounts = open_borrowers(count, LEVERAGE)
    fork = market.fork
    slots = [(fork.address_of(f"Chainlink.{feed}"), ANSWER) for feed in FEEDS]
    calldata = market.pool.getUserAccountData.encode(bytes(20))
    words = to_words(accounts, len(accounts), "accounts").reshape(len(accounts), 1, 32)
    recorder = PathRecorder(market.pool.address, calldata, [4], slots, 6, timestamp=True)
    known = recorder.explore(fork._evm, words)
    prices = [fork.storage(*slot) for slot in slots]
    about = {"prices": prices, "volatility": VOLATILITY, "timestamp": fork.timestamp, "accounts": count}
    for share in STRESS:
        with fork.snapshot():
            for (feed, slot), price, volatility in zip(slots, prices, VOLATILITY, strict=True):
                fork.set_storage(feed, slot, int(price * share) if volatility > CALM else price)
            fork.mine(1)
            recorder.explore(fork._evm, np.ascontiguousarray(words[:: max(1, count // 8_192)]))
    order = np.random.default_rng(5)
    paths = [recorder.path(number, fork._evm, words, known) for number in range(len(recorder))]
    about["scenario"] = [reads for *_, reads in paths]
    (folder / "accounts.json").write_text(json.dumps(about))
    tables: dict[str, Any] = {f"table_{number}": own for number, (_, _, own, _) in enumerate(paths)}
    np.savez_compressed(folder / "accounts.npz", **tables)
    for number, (builder, *_) in enumerate(paths):
        (folder / f"path_{number}.txt").write_text(builder.stored())
    builder, _, own, reads = max(paths, key=lambda path: len(path[1]))
    (folder / "getUserAccountData.txt").write_text(builder.stored())
    rows = own[order.integers(0, len(own), ROWS)]
    for word, column in reads:
        values = [*prices, fork.timestamp][column]
        varied = (values * order.uniform(0.6, 1.5, ROWS)).astype(np.uint64)
        time = fork.timestamp + order.integers(0, 10**6, ROWS).astype(np.uint64)
        rows[:, 4 * word] = time if column == len(prices) else varied
    np.savez_compressed(folder / "getUserAccountData.npz", rows=spoiled(rows))
    print(f"{count:,} accounts on {len(paths)} paths, {(known < 0).sum()} on none")


def record_call(folder: Path, position: Position, call: Call) -> None:
    """Record a transaction as a function of its amount, the time, the prices, and the slots that it writes."""
    fork: Fork = position.frozen
    slots = [*written(fork, call), *((fork.address_of(f"Chainlink.{feed}"), ANSWER) for feed in FEEDS)]
    amount = call.data[AMOUNT : AMOUNT + 32]
    words = np.frombuffer(amount, dtype=np.uint8).reshape(1, 1, 32)
    recorder = PathRecorder(call.to, call.data, [AMOUNT], slots, None, timestamp=True, sender=BORROWER)
    known = recorder.explore(fork._evm, words)
    if known[0] < 0:
        raise SystemExit(f"{call.name} has no path")
    builder, _, own, reads = recorder.path(0, fork._evm, words, known)
    order = np.random.default_rng(6)
    (folder / f"{call.name}.txt").write_text(builder.stored())
    rows, columns = np.repeat(own, ROWS, axis=0), dict(reads)
    today = [*(fork.storage(*slot) for slot in slots), fork.timestamp]
    for word, column in reads:
        rows[:, 4 * word : 4 * word + 4] = limbs([[today[column]]])[0]
    for word in range(rows.shape[1] // 4):
        if word not in columns:
            rows[:, 4 * word] = order.integers(1, 2 * 10**6, ROWS).astype(np.uint64)
        elif columns[word] == len(slots):
            rows[:, 4 * word] += order.integers(0, 10**6, ROWS).astype(np.uint64)
        elif fork.name(slots[columns[word]][0]).startswith("Chainlink."):
            rows[:, 4 * word] = (rows[:, 4 * word] * order.uniform(0.8, 1.5, ROWS)).astype(np.uint64)
    np.savez_compressed(folder / f"{call.name}.npz", rows=spoiled(rows))
    print(f"{call.name}: {rows.shape[1] // 4} words")


def written(fork: Fork, call: Call) -> list[tuple[bytes, int]]:
    """Return the slots that a transaction writes."""
    touched = fork.touched(call.to, call.data, BORROWER)
    slots = [(place, slot) for place, numbers in touched for slot in numbers]
    before = [fork.storage(*slot) for slot in slots]
    with fork.snapshot():
        fork.send(call.to, call.data, BORROWER)
        after = [fork.storage(*slot) for slot in slots]
    return [slot for slot, was, now in zip(slots, before, after, strict=True) if was != now]


def spoiled(rows: Limbs) -> Limbs:
    """Put a hostile word into every eighth row, but for the first ones."""
    source = random.Random(8)
    for row in range(64, len(rows), 8):
        word = source.randrange(rows.shape[1] // 4)
        rows[row, 4 * word : 4 * word + 4] = limbs([[hostile(source)]])[0]
    return np.ascontiguousarray(rows)


def main(arguments: list[str] | None = None) -> int:
    """Record everything into a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--accounts", type=int, default=84_000)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    position = open_position()
    for call in position.calls:
        if call.writes:
            record_call(given.folder, position, call)
    record_accounts(given.folder, given.accounts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
