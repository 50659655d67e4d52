"""`python -m benchmarks`: run benchmarks, print the results and check the targets."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from benchmarks.measuring.machine import describe_machine, describe_versions
from benchmarks.measuring.report import Effort, Quantity, Section, Unavailable
from mayavi.cli.console.output import Column, paint, print_facts, print_table
from mayavi.errors import SetupError

SECTIONS = [
    "startup",
    "calls",
    "batch",
    "peers",
    "codec",
    "codegen",
    "fleet",
    "specialise",
    "sim",
    "rl",
    "scenario_env",
    "rwa",
    "blocks",
    "witness",
    "scanner",
    "run_report",
    "api",
    "load",
    "dashboard",
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the selected benchmarks, in the order of `SECTIONS`."""
    asked = parse(arguments)
    effort = Effort(quick=asked.quick)
    machine = describe_machine()
    sections = [run(name, effort) for name in SECTIONS if name in asked.only]
    versions = describe_versions()  # afterwards, when the peers are built
    if asked.json:
        found = {section.name: section.to_json() for section in sections}
        print(json.dumps({"machine": machine, "versions": versions, "quick": asked.quick, "sections": found}))
        return
    print_facts([*machine.items(), *versions.items()])
    if asked.quick:
        print("a quick run: it shows that everything works, its figures mean little")
    for section in sections:
        print_section(section)
    print_targets(sections)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""

    def names(text: str) -> list[str]:
        chosen = [name.strip() for name in text.split(",") if name.strip()]
        for name in chosen:
            if name not in SECTIONS:
                raise argparse.ArgumentTypeError(f"unknown benchmark '{name}'; there are: {', '.join(SECTIONS)}")
        return chosen

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=sys.modules[__name__].__doc__)
    parser.add_argument("--only", type=names, default=SECTIONS, metavar="NAMES", help=f"some of {','.join(SECTIONS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object, on the last line")
    parser.add_argument("--quick", action="store_true", help="few short rounds: whether it works, not how fast it is")
    return parser.parse_args(arguments)


def run(name: str, effort: Effort) -> Section:
    """Run one benchmark; a section that cannot be measured here holds the reason."""
    sys.stderr.write(f"measuring: {name}\n")
    began = time.perf_counter()
    measure: Callable[[Effort], Section] = import_module(f"benchmarks.{name}").measure
    try:
        section = measure(effort)
    except (Unavailable, SetupError) as error:
        section = Section(name, name, skipped="; ".join(filter(None, [error.message, error.hint])))
    sys.stderr.write(f"measured: {name}, {time.perf_counter() - began:.0f} s\n")
    return section


def print_section(section: Section) -> None:
    """Print a section as a table."""
    print(f"\n{paint(section.title, '1', sys.stdout)}")
    if section.skipped:
        print(f"skipped: {section.skipped}")
    if section.rows:
        names = list(dict.fromkeys(name for row in section.rows for name in row.figures))
        columns = [Column("", right=False), *(Column(name.replace("_", " ")) for name in names)]
        cells = [[row.what, *(text_of(row.figures.get(name)) for name in names)] for row in section.rows]
        print_table(columns, cells)
    for note in section.notes:
        print(f"note: {note}")


def text_of(figure: Quantity | None) -> str:
    """Format a cell; empty if the row has no such figure."""
    return "" if figure is None else str(figure)


def print_targets(sections: list[Section]) -> None:
    """Print every target with its measured value and verdict."""
    targets = [target for section in sections for target in section.targets]
    if not targets:
        return
    print(f"\n{paint('targets', '1', sys.stdout)}")
    columns = [Column("target", right=False), Column("wanted"), Column("measured"), Column("", right=False)]
    rows = [(each.what, each.wanted, str(each.measured), "met" if each.met else "MISSED") for each in targets]
    print_table(columns, rows)
    print(f"{sum(target.met for target in targets)} of {len(targets)} targets met")


if __name__ == "__main__":
    main()
