"""Explain step by step what happened to one agent, from the rows of its run.

The explanation uses the agent's own actions, actions of others that name its account in their details (`"borrower":
"alice"`), and `market_snapshots` whose subject is the account, above all `health_factor` in `wad`. Details hold health
factors too: `health_factor_wad` and `health_factor_after_wad` in actions of the account itself,
`borrower_health_factor_wad` and `borrower_health_factor_after_wad` in those of others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mayavi.errors import AmbiguousName, UnknownName
from mayavi.protocols.health import NO_DEBT
from mayavi.sim.store.amounts import bad_debt_e8, decimals_of, describe_liquidation, describe_trade, dollars, integer
from mayavi.sim.store.database.schema import literal
from mayavi.sim.traceback_text import RaisedText

if TYPE_CHECKING:
    from mayavi.sim.rows import ActionRow
    from mayavi.sim.store.store import RunRecord, Store

LIQUIDATIONS = frozenset({"liquidate", "absorb"})
WAD = 10**18


@dataclass(frozen=True, slots=True)
class Event:
    """An action of the account, or of another agent on it."""

    step: int
    block_number: int
    agent: str
    kind: str
    status: str
    reason: str
    note: str
    own: bool
    details: dict[str, Any]
    health_factor_before: int | None
    health_factor_after: int | None

    @property
    def cause(self) -> str:
        """One line on why the action failed or raised; empty if it succeeded."""
        if self.status == "raised":
            return str(RaisedText.parse(self.reason))
        if self.status == "success":
            return ""
        return " ".join(self.reason.split()) or "no reason"

    @property
    def liquidates(self) -> bool:
        """Whether this action liquidated the account."""
        return not self.own and self.kind in LIQUIDATIONS and self.status == "success"


@dataclass(slots=True)
class ExplainedStep:
    """One step: its events, and the account at its end as far as recorded."""

    step: int
    events: list[Event] = field(default_factory=list)
    figures: dict[str, tuple[str, float, str]] = field(default_factory=dict)
    """By metric: exact value, number and unit after the step."""

    @property
    def is_debt_free(self) -> bool:
        """Whether the account is recorded to have no debt after the step."""
        return "debt" in self.figures and int(self.figures["debt"][0]) == 0

    @property
    def health_factor_wad(self) -> int | None:
        """Health factor after the step; if not recorded, the last one in the step's events. None without debt."""
        if "health_factor" in self.figures:
            return int(self.figures["health_factor"][0])
        if self.is_debt_free:
            return None
        before, after = (
            [factor for event in self.events if (factor := getattr(event, f"health_factor_{when}")) is not None]
            for when in ("before", "after")
        )
        return next(reversed(after or before), None)  # events of a block were all decided before the first of them


@dataclass(frozen=True, slots=True)
class Explanation:
    """Events of `account` in `run`, with the prices and health factors around them."""

    run: RunRecord
    agent: str
    account: str
    steps: list[ExplainedStep]
    prices: dict[str, list[tuple[int, float]]]
    """By seized collateral: step and the market's price after it."""
    decimals: dict[str, int] = field(default_factory=dict)
    """By token: decimals, as far as the run recorded its figures."""
    final_bad_debt_e8: int | None = None
    """Its bad debt after the last step; None if the run did not record its accounts."""

    @property
    def liquidations(self) -> list[Event]:
        """All liquidations of the account."""
        return [event for step in self.steps for event in step.events if event.liquidates]

    def amounts(self, event: Event) -> str:
        """Describe the tokens that an event moved, in whole units: `paid 36,645.58 USDC of debt for 21.34 WETH`."""
        if event.liquidates:
            return describe_liquidation(event.details, self.decimals)
        return describe_trade(event.details, self.decimals) if event.own else ""

    def _began(self) -> list[str]:
        """Describe the account before the first step, as far as recorded."""
        if not self.steps:
            return []
        first = self.steps[0]
        sizes = {metric: dollars(int(value)) for metric, (value, _, unit) in first.figures.items() if unit == "usd_e8"}
        facts = [f"{sizes[metric]} of {metric}" for metric in ("debt", "collateral") if metric in sizes]
        if first.step < 0 and "health_factor" in first.figures:
            facts.insert(0, f"a health factor of {shown_wad(int(first.figures['health_factor'][0]))}")
        return [f"it began ({_when(first.step)}) with {', '.join(facts)}"] if facts else []

    def why(self) -> list[str]:
        """Explain in sentences why the account was liquidated, or that it was not."""
        if not self.liquidations:
            known = {s.step: factor for s in self.steps if (factor := s.health_factor_wad) is not None}
            end = f"; its lowest recorded health factor was {shown_wad(min(known.values()))}" if known else ""
            if known and max(known) < 0:  # a member of a large population, recorded before the first step only
                end = "; its health factor was recorded before the first step only"
            return [f"{self.account} was not liquidated{end}", *self._began()]
        sentences = []
        for event in self.liquidations:
            before = event.health_factor_before
            at = "" if before is None else f" at a health factor of {shown_wad(before)}"
            moved = self.amounts(event)
            took = f", who {moved}" if moved else ""
            sentences.append(f"{self.account} was liquidated by {event.agent} in step {event.step}{at}{took}")
        first = self.liquidations[0]
        sentences += [*self._bad_debt(), *self._began()]
        sentences += self._before(first)
        return sentences

    def _bad_debt(self) -> list[str]:
        """Describe the bad debt that the last liquidation left, and what became of it."""
        left = None
        if any("borrower_debt_after_e8" in event.details for event in self.liquidations):
            left = bad_debt_e8(self.liquidations[-1].details)
        final = left if self.final_bad_debt_e8 is None else self.final_bad_debt_e8
        if final is None:
            return []
        if final:
            return [f"bad debt left behind: {dollars(final)}"]
        if left:
            return [f"the {dollars(left)} of bad debt that the liquidation left were repaid later: none is left behind"]
        return ["no bad debt was left behind"]

    def _before(self, liquidation: Event) -> list[str]:
        """Describe the causes of the first liquidation."""
        sentences = []
        known = [
            (step.step, factor)
            for step in self.steps
            if step.step < liquidation.step and (factor := step.health_factor_wad) is not None
        ]
        if liquidation.health_factor_before is not None:
            known.append((liquidation.step, liquidation.health_factor_before))
        if len(known) > 1:
            (begin, at_first), (end, at_last) = known[0], known[-1]
            sentences.append(
                f"its health factor went from {shown_wad(at_first)} ({_when(begin)}) to {shown_wad(at_last)}"
                f" ({_when(end)}); below 1 any account may liquidate it"
            )
        for symbol, path in self.prices.items():
            until = [(step, price) for step, price in path if step <= liquidation.step]
            if len(until) > 1:
                (start_at, then), (end_at, now) = until[0], until[-1]
                change = f", {(now / then - 1) * 100:+.1f} %".replace("-", "−") if then else ""
                sentences.append(
                    f"the market's price of {symbol}, its collateral, went from {then:,.2f} ({_when(start_at)}) to"
                    f" {now:,.2f} (step {end_at}){change}"
                )
        events = [event for step in self.steps for event in step.events]
        acted = [each for each in events[: events.index(liquidation)] if each.own and each.kind not in {"rest", "step"}]
        failed = [event for event in acted if event.status not in {"success", "declined"}]
        if not acted:
            sentences.append("it did not act before")
        else:
            last = acted[-1]
            note = f" ({last.note})" if last.note else ""
            sentences.append(f"its last action before was {last.kind} in step {last.step}{note}: {last.status}")
        if failed:
            sentences.append(f"{len(failed)} of its {len(acted)} actions before failed, the last: {failed[-1].cause}")
        return sentences


def explain(store: Store, run_id: str, agent: str) -> Explanation:
    """Explain what happened to `agent`: an agent, or an account of an agent that acts for many.

    Raises `UnknownName` with the nearest names if the run has none such, `AmbiguousName` for an agent with several
    accounts.
    """
    run = store.run(run_id)
    here = f"run_id = {literal(run.run_id)}"
    owner, account = _account_of(store, here, agent)
    by_step: dict[int, ExplainedStep] = {}
    named = literal(json.dumps(account, ensure_ascii=False))
    mentions = f"(account = {literal(account)} OR (agent = {literal(account)}) OR contains(details, {named}))"
    from mayavi.sim.store.database.row_conversion import action_row
    from mayavi.sim.store.relation import Rows

    query = f"SELECT * FROM actions WHERE {here} AND {mentions} ORDER BY seq"
    for row in Rows(store.path, query, action_row, tables=["actions"]):
        event = _event(row, account)
        if event is not None:
            by_step.setdefault(row.step, ExplainedStep(row.step)).events.append(event)
    figures = store.sql(
        f"SELECT step, metric, value, number, unit FROM market_snapshots WHERE {here}"
        f" AND subject = {literal(account)} ORDER BY seq"
    ).fetchall()
    for step, metric, value, number, unit in figures:
        by_step.setdefault(step, ExplainedStep(step)).figures[metric] = (value, number, unit)
    steps = [by_step[step] for step in sorted(by_step)]
    seized = {e.details.get("collateral") for step in steps for e in step.events if e.liquidates}
    prices = _prices(store, here, sorted(map(str, seized - {None})))
    final = store.sql(f"SELECT bad_debt FROM accounts WHERE {here} AND account = {literal(account)}").fetchall()
    lost = sum(int(value) for (value,) in final) if final else None
    return Explanation(run, owner, account, steps, prices, decimals_of(store, run.run_id), lost)


def _prices(store: Store, here: str, symbols: list[str]) -> dict[str, list[tuple[int, float]]]:
    """Read lending markets' prices of `symbols`: subjects such as `AaveV3.WETH`, metric `price`."""
    found: dict[str, list[tuple[int, float]]] = {}
    for symbol in symbols:
        rows = store.sql(
            f"SELECT step, any_value(number) FROM market_snapshots WHERE {here} AND metric = 'price'"
            f" AND ends_with(subject, {literal('.' + symbol)}) GROUP BY step ORDER BY step"
        ).fetchall()
        if rows:
            found[symbol] = [(int(step), float(number)) for step, number in rows]
    return found


def _when(step: int) -> str:
    return "before the first step" if step < 0 else f"step {step}"


def shown_wad(wad: int) -> str:
    """Format a health factor with four decimals, truncated, so that 0.99999 is not shown as 1."""
    if wad >= NO_DEBT // 2:
        return "∞ (no debt)"
    return f"{wad // WAD}.{wad % WAD // 10**14:04d}"


def _account_of(store: Store, here: str, named: str) -> tuple[str, str]:
    """Return the agent and the account that `named` refers to."""
    pairs = store.sql(f"SELECT DISTINCT agent, account FROM actions WHERE {here} ORDER BY ALL").fetchall()
    subjects = store.sql(
        f"SELECT DISTINCT subject FROM market_snapshots WHERE {here} AND metric = 'health_factor' ORDER BY subject"
    ).fetchall()
    touched = store.sql(
        f"SELECT DISTINCT json_extract_string(details, '$.borrower') FROM actions WHERE {here}"
        " AND contains(details, '\"borrower\":') ORDER BY ALL"
    ).fetchall()
    accounts = {account: agent for agent, account in pairs if agent != account}
    accounts |= {name: name for (name,) in (*subjects, *touched) if name is not None and name not in accounts}
    if named in accounts:
        return accounts[named], named
    of_agent = [account for agent, account in pairs if agent == named and account != named]
    if of_agent:
        shown = ", ".join(of_agent[:5]) + (", …" if len(of_agent) > 5 else "")
        raise AmbiguousName(f"agent '{named}' acts for {len(of_agent):,} accounts", f"name one of them: {shown}")
    if any(agent == named for agent, _ in pairs):
        return named, named
    known = dict.fromkeys([*(agent for agent, _ in pairs), *accounts])
    raise UnknownName.of(
        "agent", named, known, f"this run knows {len(known):,}, among them {', '.join(list(known)[:5])}"
    )


def _event(row: ActionRow, account: str) -> Event | None:
    details = json.loads(row.details)
    own = row.account == account or row.agent == account
    if not own and account not in details.values():
        return None  # the name is part of another text
    before, after = ("health_factor_wad", "health_factor_after_wad")
    if not own:
        before, after = f"borrower_{before}", f"borrower_{after}"
    return Event(
        step=row.step,
        block_number=row.block_number,
        agent=row.agent,
        kind=row.kind,
        status=row.status,
        reason=row.reason,
        note=str(details.get("note", "")) if own else "",
        own=own,
        details=details,
        health_factor_before=integer(details.get(before)),
        health_factor_after=integer(details.get(after)),
    )
