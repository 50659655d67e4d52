"""`mayavi replay tx`: replay one transaction, with its trace and with changed inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.console.progress import activity
from mayavi.cli.replay.options import JsonOption, ReplayChainOption, RequestsOption, RpcOption
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.replay.transactions.trace_view import TraceView
    from mayavi.replay.transactions.transaction import Outcome, TransactionReplay
    from mayavi.replay.transactions.what_if import WhatIf


def tx(
    transaction: Annotated[str, typer.Argument(metavar="HASH", help="Hash of the transaction.")],
    rpc: RpcOption = None,
    case: Annotated[
        Path | None, typer.Option("--case", metavar="DIR", help="Folder of cases to take it from, without network.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print call tree, events and storage changes.")] = False,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="KEY=VALUE", help="Execute it again with this change; repeatable."),
    ] = None,
    chain: ReplayChainOption = None,
    max_requests: RequestsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay one transaction in its place in the block and show what it did.

    Changes for --what-if: value, gas, sender, data, arg.NAME, word.N, balance.ACCOUNT, balance.TOKEN.ACCOUNT,
    price.FEED, storage.CONTRACT.SLOT, block.FIELD, call.CONTRACT="function(types) values from SENDER". All apply
    together, and the effects are shown beside the original's. Exit code 1 if the replay differs from the receipt.
    """
    from mayavi.replay.chain_block import parse_transaction_hash
    from mayavi.replay.history.node import ReplayNode
    from mayavi.replay.transactions.trace_view import TraceView
    from mayavi.replay.transactions.transaction import replay_from_case, replay_from_node
    from mayavi.replay.transactions.what_if import Override

    name = parse_transaction_hash(transaction)
    for change in what_if or []:
        Override.parse(change)
    if case is not None:
        if rpc is not None:
            raise UsageError("a transaction comes from --rpc or from --case, not from both")
        with activity("replaying the block"):
            replay = replay_from_case(case, name)
        show(replay, TraceView(replay), trace, what_if or [], as_json=as_json)
        return
    options = "--rpc URL or --case DIR"
    with ReplayNode.open(rpc, chain=chain, max_requests=max_requests, options=options) as node:
        with activity("replaying the block"):
            replay = replay_from_node(node, name)
        show(replay, TraceView(replay), trace, what_if or [], as_json=as_json)


def show(replay: TransactionReplay, view: TraceView, trace: bool, changes: list[str], *, as_json: bool) -> None:
    """Print a replayed transaction, and the effects of changes if there are any."""
    from mayavi.replay.transactions.outcome_difference import outcome_differences
    from mayavi.replay.transactions.what_if import run_what_if

    tried = None
    if changes:
        with activity("executing the change"):
            tried = run_what_if(replay, changes, view.book)
    if as_json:
        document = view.to_json()
        if tried is not None:
            document["what_if"] = {
                "overrides": [each.text for each in tried.overrides],
                "note": tried.note or None,
                "outcome": view.outcome_json(tried.changed),
                "differences": [each.to_json() for each in outcome_differences(view, tried)],
            }
        print_json(document)
    else:
        print_replay(view, trace)
        if tried is not None:
            print_what_if(view, tried, trace)
    if replay.difference is not None:
        raise typer.Exit(1)


def print_replay(view: TraceView, trace: bool) -> None:
    """Print facts, calls if asked for, and effects."""
    replay = view.replay
    print_facts(view.facts())
    for note in replay.notes:
        print(f"note: {note}")
    if trace:
        print_section("calls", view.call_lines(replay.outcome))
    print_effects(view, replay.outcome, trace)


def print_effects(view: TraceView, outcome: Outcome, trace: bool) -> None:
    """Print transfers and balances; with `trace` events and storage too."""
    print_section("token transfers", view.transfer_lines(outcome))
    print_section("balance changes", view.balance_lines(outcome))
    if trace:
        print_section("storage changes", view.storage_lines(outcome))
        print_section("events", view.event_lines(outcome))


def print_section(title: str, lines: list[str]) -> None:
    """Print lines below a title; nothing without lines."""
    if lines:
        print()
        print_note(title)
        print("\n".join(lines))


def print_what_if(view: TraceView, tried: WhatIf, trace: bool) -> None:
    """Print the overrides, the differences they make, and the new call tree if asked for."""
    from mayavi.replay.transactions.outcome_difference import outcome_differences

    print()
    print(f"what if {', '.join(each.text for each in tried.overrides)}")
    print_note("both executed in its place in the block, fees included")
    found = outcome_differences(view, tried)
    if found:
        columns = [Column("", right=False), Column("original"), Column("what if"), Column("difference")]
        print_table(columns, [(each.what, each.original, each.changed, each.difference) for each in found])
    else:
        print("no difference")
    if tried.note:
        print(f"note: {tried.note}")
    if trace:
        print_section("calls", view.call_lines(tried.changed))
