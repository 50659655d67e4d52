"""Differences between the effects of a transaction and those of its what-if."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mayavi.evm.address import checksum
from mayavi.replay.transactions.token_flows import Holding, net_flows, token_transfers
from mayavi.replay.transactions.trace_view import TraceView, signed
from mayavi.replay.transactions.transaction import Outcome
from mayavi.replay.transactions.what_if import WhatIf


@dataclass(frozen=True, slots=True)
class OutcomeDifference:
    """One figure that differs: as text, and exactly in `values`."""

    what: str
    original: str
    changed: str
    difference: str
    values: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the difference as JSON data."""
        return {"what": self.what, **self.values}


def outcome_differences(view: TraceView, tried: WhatIf) -> list[OutcomeDifference]:
    """Return what differs: status, gas, calls, events, native coin and tokens by account, storage."""
    original, changed = tried.original, tried.changed
    found: list[OutcomeDifference] = []
    if (original.success, original.reason) != (changed.success, changed.reason):
        found.append(_plain("status", _status(original), _status(changed)))
    for what, old, new in (
        ("gas used", original.gas_used, changed.gas_used),
        ("calls", _calls(original), _calls(changed)),
        ("events", len(original.logs), len(changed.logs)),
    ):
        if old != new:
            found.append(_number(what, old, new))
    found += _native(view, original, changed)
    found += _tokens(view, original, changed)
    return found + _storage(original, changed)


def _storage(original: Outcome, changed: Outcome) -> list[OutcomeDifference]:
    old, new = (
        {(each.address, each.slot): each.after for each in side.changes if each.field == "slot"}
        for side in (original, changed)
    )
    differing = sum(old.get(place) != new.get(place) for place in old.keys() | new.keys())
    if not differing:
        return []
    texts = (f"{len(old):,}", f"{len(new):,}", f"{differing:,} differ in value")
    values = {"original": len(old), "changed": len(new), "differing": differing}
    return [OutcomeDifference("storage slots written", *texts, values)]


def _native(view: TraceView, original: Outcome, changed: Outcome) -> list[OutcomeDifference]:
    flows = [
        {each.address: each.after - each.before for each in side.changes if each.field == "balance"}
        for side in (original, changed)
    ]
    found = []
    for account in sorted(flows[0].keys() | flows[1].keys()):
        old, new = flows[0].get(account, 0), flows[1].get(account, 0)
        if old != new:
            first, second, gap = (f"{signed(wei)} ETH" for wei in (old, new, new - old))
            values = {"account": checksum(account), "token": "ETH", "original": str(old), "changed": str(new)}
            found.append(OutcomeDifference(view.names.name(account), first, second, gap, values))
    return found


def _tokens(view: TraceView, original: Outcome, changed: Outcome) -> list[OutcomeDifference]:
    flows = [net_flows(token_transfers(side.logs)) for side in (original, changed)]
    found = []
    for holding in sorted(flows[0].keys() | flows[1].keys(), key=lambda each: (each.account, each.token)):
        old, new = flows[0].get(holding, 0), flows[1].get(holding, 0)
        if old != new:
            found.append(_token(view, holding, old, new))
    return found


def _token(view: TraceView, holding: Holding, old: int, new: int) -> OutcomeDifference:
    first, second, gap = (view.names.amount(holding.token, amount, sign=True) for amount in (old, new, new - old))
    values = {
        "account": checksum(holding.account),
        "token": checksum(holding.token),
        "symbol": view.names.token(holding.token).symbol,
        "original": str(old),
        "changed": str(new),
    }
    return OutcomeDifference(view.names.name(holding.account), first, second, gap, values)


def _number(what: str, old: int, new: int) -> OutcomeDifference:
    return OutcomeDifference(what, f"{old:,}", f"{new:,}", f"{new - old:+,}", {"original": old, "changed": new})


def _plain(what: str, old: str, new: str) -> OutcomeDifference:
    return OutcomeDifference(what, old, new, "", {"original": old, "changed": new})


def _status(outcome: Outcome) -> str:
    return "success" if outcome.success else f"failed: {outcome.reason}"


def _calls(outcome: Outcome) -> int:
    return sum(1 for _ in outcome.call.walk()) if outcome.call else 0
