"""The page of replayed history: how many blocks and transactions are exact, what differs, and gas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mayavi.errors import UnknownName, UsageError
from mayavi.evm.chains import chain
from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.bars import Bar, bars, columns_over
from mayavi.report.numbers import short, utc
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Tile, Verdict
from mayavi.report.sources.history import MOST_DIFFERENCES, ScanData, read_history


def history_page(path: Path) -> Page:
    """Build the page of the scans in the database at `path`."""
    scans = read_history(path)
    if not scans:
        raise UsageError(f"'{path}' holds no replayed block", "`mayavi replay history --from N --to M` replays some")
    lead = scans[0]
    sections = [
        Section("exactness", "How exact the replay is", (_exactness(scans), _hard_forks(lead))),
        _mismatches(lead),
        Section("calls", "Where the gas goes", (_calls(lead),)),
    ]
    return Page(
        title=f"Replay of {_chain(lead)}, blocks {lead.first:,} to {lead.last:,}",
        subject=f"Replay of {_chain(lead)}, blocks {lead.first:,} to {lead.last:,}, {_filter(lead)}",
        verdict=_verdict(lead),
        tiles=_tiles(lead),
        summary=tuple(_summary(lead, scans)),
        hero=_gas(lead),
        sections=tuple(section for section in sections if section is not None),
        provenance=_provenance(lead, path),
    )


def _chain(scan: ScanData) -> str:
    try:
        return chain(scan.chain_id).name
    except UnknownName:
        return f"chain {scan.chain_id}"


def _filter(scan: ScanData) -> str:
    return f"transactions with {scan.filter}" if scan.filter else "all transactions"


def _verdict(scan: ScanData) -> Verdict:
    if scan.exact:
        sentence = (
            f"All {scan.matched:,} transactions of {scan.blocks:,} blocks match the chain in every compared field."
        )
        return Verdict(sentence, "PASS", "good")
    wrong = scan.blocks - scan.exact_blocks
    field, *_ = scan.fields[0]
    sentence = f"{wrong:,} of {scan.blocks:,} blocks differ from the chain, most often in {field}."
    return Verdict(sentence, "FAIL", "bad")


def _tiles(scan: ScanData) -> tuple[Tile, ...]:
    def exact(label: str, good: int, every: int) -> Tile:
        tone = "good" if good == every else "bad"
        return Tile(label, f"{good:,}", change=f"of {every:,}", tone=tone)  # type: ignore[arg-type]

    return (
        exact("exact blocks", scan.exact_blocks, scan.blocks),
        exact("exact transactions", scan.exact_transactions, scan.matched),
        Tile(
            "state values compared", short(scan.state_values), exact=f"{scan.state_values:,}", change=scan.state_check
        ),
        Tile("gas replayed", short(scan.gas_used), exact=f"{scan.gas_used:,}"),
        Tile("differences", f"{scan.differences:,}", tone="plain" if scan.exact else "bad"),
    )


def _summary(scan: ScanData, scans: list[ScanData]) -> list[str]:
    found = [
        f"Blocks {scan.first:,} ({utc(scan.begin)}) to {scan.last:,} ({utc(scan.end)}). "
        f"{scan.executed_blocks:,} of {scan.blocks:,} held a transaction that matches, and were executed whole.",
        f"{scan.exact_transactions:,} of {scan.matched:,} transactions equal their receipts in status, gas and logs.",
    ]
    if scan.state_values:
        found.append(f"{scan.state_values:,} balances, nonces, codes and slots were compared with the node's.")
    if len(scans) > 1:
        found.append(f"The database holds {len(scans) - 1:,} more scans; they are in the first table.")
    return found


def _gas(scan: ScanData) -> Chart:
    grouped = any(first != last for first, last, *_ in scan.bars)
    series = [Bar("exact blocks", [row[2] for row in scan.bars], colour="$1")]
    if not scan.exact:
        series.append(Bar("blocks that differ", [row[3] for row in scan.bars], colour="$2"))
    wrong = sum(row[4] - row[5] for row in scan.bars)
    title = f"Every unit of gas agrees: {short(scan.gas_used)} in {scan.blocks:,} blocks"
    if wrong:
        title = f"{wrong:,} blocks differ, the first is {scan.listed[0][0]:,}"
    size = scan.bars[0][1] - scan.bars[0][0] + 1
    return columns_over(
        title,
        "Gas used by block number" + (f", summed over {size:,} blocks a bar" if grouped else ""),
        Xs([row[0] for row in scan.bars], "block", "count"),
        series,
        Axis("gas", "short", zero=True),
        wide=True,
    )


def _exactness(scans: list[ScanData]) -> Table:
    rows = tuple(
        (
            _chain(scan), _filter(scan), scan.state_check, scan.first, scan.last, scan.blocks, scan.exact_blocks,
            scan.matched, scan.exact_transactions, scan.state_values, scan.differences,
        )
        for scan in scans
    )  # fmt: skip
    columns = (
        Column("chain"), Column("filter"), Column("state"), Column("from", "count"), Column("to", "count"),
        Column("blocks", "count"), Column("exact", "count"), Column("transactions", "count"), Column("exact", "count"),
        Column("state values", "count"), Column("differences", "count"),
    )  # fmt: skip
    return Table(columns, rows, title="Scans in this database")


def _hard_forks(scan: ScanData) -> Table:
    columns = (
        Column("hard fork"), Column("blocks", "count"), Column("exact", "count"), Column("transactions", "count"),
        Column("gas", "count"),
    )  # fmt: skip
    return Table(columns, tuple(scan.hard_forks), title="By hard fork")


def _mismatches(scan: ScanData) -> Section | None:
    if scan.exact:
        return None
    labels = [field for field, *_ in scan.fields]
    most = scan.fields[0]
    chart = bars(
        f"{most[0]} differs most often: in {most[1]:,} blocks",
        "Blocks by the field of their first difference",
        labels,
        [Bar("blocks", [float(row[1]) for row in scan.fields], colour="$2")],
        Axis("blocks", "count", zero=True),
        label_title="field",
    )
    columns = (
        Column("block", "count"), Column("transaction", "count"), Column("hash", "address"), Column("field"),
        Column("expected", "code"), Column("got", "code"),
    )  # fmt: skip
    note = "" if len(scan.listed) < MOST_DIFFERENCES else f"The first {MOST_DIFFERENCES} blocks that differ."
    hashed = next((row[2] for row in scan.listed if row[2]), None)
    command = f"mayavi replay tx {hashed} --trace" if hashed else ""
    table = Table(columns, tuple(scan.listed), title="First difference of each block", note=note, command=command)
    blocks: tuple[Block, ...] = (chart, table)
    return Section("mismatches", "What differs", blocks)


def _calls(scan: ScanData) -> Table:
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (recipient or "contract creation", selector, int(count), int(exact), int(gas or 0))
        for recipient, selector, count, exact, gas in scan.calls
    )
    columns = (
        Column("recipient", "address"), Column("function", "code"), Column("transactions", "count"),
        Column("exact", "count"), Column("gas", "count"),
    )  # fmt: skip
    return Table(columns, rows, title="Functions by gas", empty="No transaction matched.")


def _provenance(scan: ScanData, path: Path) -> Provenance:
    facts = [
        ("chain", f"{_chain(scan)} ({scan.chain_id})"),
        ("genesis", scan.genesis),
        ("blocks", f"{scan.first} to {scan.last}"),
        ("filter", scan.filter or "none"),
        ("state compared", scan.state_check),
        ("state from", scan.source),
    ]
    options = [f"--{name} {value}" for name, _, value in (part.partition("=") for part in scan.filter.split())]
    asked = [f"--from {scan.first} --to {scan.last}", *options, f"--state {scan.state_check}"]
    command = f"mayavi replay history --rpc URL {' '.join(asked)}"
    return Provenance(tuple((name, value) for name, value in facts if value), command, f"from {path.name}")
