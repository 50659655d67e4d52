"""Compare simulated liquidators with recorded ones: events per block, per liquidator, per account.

    PYTHONPATH=. .venv/bin/python tools/liquidation_days.py --seeds 0:3

Prints the table of `docs/studies/crash.md`: recorded days of Aave V2 and V3 from the reference data (`--cases`), then
runs of `docs/studies/scenarios/crash-day.yaml`. Nothing in the scenario is fitted to one of the days.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import mayavi

SCENARIO = Path(__file__).parents[1] / "docs" / "studies" / "scenarios" / "crash-day.yaml"
DAYS = ("2021-12-04", "2022-01-21", "2022-01-22", "2022-02-24")


class Event(NamedTuple):
    """One liquidation: its block (or second), liquidator and account."""

    block: str
    liquidator: str
    account: str


def row(name: str, events: Iterable[Event]) -> str:
    """Return a line of the table."""
    found = list(events)
    blocks = Counter(each.block for each in found)
    per_liquidator = Counter((each.block, each.liquidator) for each in found)
    together: dict[str, set[str]] = defaultdict(set)
    for each in found:
        together[each.block].add(each.liquidator)
    liquidators = Counter(each.liquidator for each in found)
    cells = (
        name,
        f"{len(found):,}",
        f"{len(found) / len({each.account for each in found}):.2f}",
        f"{sum(count == 1 for count in blocks.values()) / len(blocks):.0%}",
        f"{max(blocks.values())}",
        f"{sum(count == 1 for count in per_liquidator.values()) / len(per_liquidator):.0%}",
        f"{max(per_liquidator.values())}",
        f"{max(map(len, together.values()))}",
        f"{len(liquidators)}",
        f"{max(liquidators.values()) / len(found):.0%}",
    )
    return f"| {' | '.join(cells)} |"


def recorded(cases: Path) -> Iterator[tuple[str, list[Event]]]:
    """Yield the recorded days: of Aave V2 those with most events and known liquidators, then V3 in March 2023."""
    with gzip.open(cases / "liquidations/aave-v2-2020-2022/liquidations.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    for day in DAYS:
        own = [each for each in rows if each["time_utc"].startswith(day)]
        yield f"Aave V2, {day}", [Event(each["unix_time"], each["liquidator"], each["user"]) for each in own]
    with (cases / "aave/aave_v3_liquidations_2023-03-09_14_excerpt.csv").open() as file:
        own = list(csv.DictReader(file))
    yield "Aave V3, 9 to 14 March 2023", [Event(each["block_time"], each["liquidator"], each["user"]) for each in own]


def simulated(seed: int) -> list[Event]:
    """Run the bad day and return its liquidations."""
    with tempfile.TemporaryDirectory() as folder:
        run = mayavi.run(SCENARIO, seed=seed, store=Path(folder) / "runs.duckdb")
        done = [each for each in run.actions if each.kind == "liquidate" and each.status == "success"]
    return [Event(str(each.block_number), each.agent, json.loads(each.details)["borrower"]) for each in done]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:3")
    parser.add_argument("--cases", default="../shared", type=Path)
    options = parser.parse_args()
    print("| day | events | per account | blocks with one | most in a block | of one liquidator: one | most "
          "| most liquidators in a block | liquidators | share of the most active |")  # fmt: skip
    print(f"|---|{'---:|' * 9}", flush=True)
    if options.cases.is_dir():
        for name, events in recorded(options.cases):
            print(row(name, events), flush=True)
    first, _, last = options.seeds.partition(":")
    for seed in range(int(first), int(last)):
        print(row(f"simulated, seed {seed}", simulated(seed)), flush=True)


if __name__ == "__main__":
    main()
