"""`Execution`: execute intents one by one, charge their senders for gas, and return a row for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from mayavi.agents.base import Intent
from mayavi.errors import ActionDeclined, ExecutionError, ReplayDiffers, RpcError, SimulationError
from mayavi.evm.sent import Sent
from mayavi.sim.ordering import QueuedIntent
from mayavi.sim.rows import ActionRow, Status, canonical
from mayavi.sim.traceback_text import traceback_text
from mayavi.sim.world_state import WorldState


class Moment(NamedTuple):
    """Block of the chain in which something happens."""

    block_number: int
    timestamp: int


class Execution:
    """Execute intents on the chain of a world.

    A failed intent leaves the chain unchanged, except that its sender paid for the gas. Gas is free if `base_fee_wei`
    is None. `timed` returns a context that measures the time of agents' code.
    """

    def __init__(
        self, world: WorldState, base_fee_wei: int | None, timed: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.world, self.base_fee_wei = world, base_fee_wei
        self._timed = timed
        self._applied: list[Sent] = []
        self._reverted: list[Sent] = []

    def watch(self) -> Callable[[], None]:
        """Collect the transactions of intents from now on; return a function that stops it."""
        return self.world.fork.watch(self._applied.append, self._on_revert)

    def forget(self) -> None:
        """Forget transactions that agents tried while they observed."""
        self._applied.clear()

    def execute(
        self, queued: QueuedIntent, block: str, position: int, moment: Moment
    ) -> tuple[ActionRow, Exception | None]:
        """Execute one intent; return its row, and the exception if the agent's code raised one."""
        fork, intent = self.world.fork, queued.intent
        applied, reverted = self._applied, self._reverted
        applied.clear()
        reverted.clear()
        status: Status = "success"
        reason, exception, details = "", None, "{}"
        snapshot = fork.snapshot()
        try:
            with self._timed(), self._paying(queued.tip_wei):
                outcome = intent.run()
            details = _details(intent, queued.note, outcome)
            if fork.block_number != moment.block_number:
                raise SimulationError("an intent moved the chain to another block", "time passes after the block")
        except ExecutionError as error:
            declined = isinstance(error, ActionDeclined) and not (applied or reverted)
            status, reason = "declined" if declined else "failed", self.world.named(str(error))
        except (RpcError, ReplayDiffers):
            raise
        except Exception as error:
            status, exception = "raised", error
        if status == "success":
            snapshot.keep()
            sent = applied
        else:
            snapshot.revert()
            sent = reverted
            self._charge_for_failure(sent)
            try:
                details = _details(intent, queued.note, None)
            except Exception as error:
                status, exception, details = "raised", exception or error, "{}"
        if exception is not None:
            reason = traceback_text(exception, leave_out=__file__)
        gas_used = fees_wei = 0
        for each in sent:
            gas_used += each.receipt.gas_used
            fees_wei += each.fee_wei
            self.world.burned_wei += min(each.fee_wei, each.receipt.gas_used * (self.base_fee_wei or 0))
        row = action_row(
            self.world.step,
            block,
            position,
            (queued.agent, queued.account, intent.kind),
            moment,
            details,
            status,
            reason,
            transactions=len(sent),
            gas_used=gas_used,
            fee_wei=str(fees_wei),
        )
        return row, exception

    def _paying(self, tip_wei: int) -> AbstractContextManager[None]:
        if self.base_fee_wei is None:
            return _FREE
        return self.world.fork.paying(self.base_fee_wei, tip_wei, self.world.accounts)

    def _charge_for_failure(self, sent: list[Sent]) -> None:
        """Charge the senders of a reverted intent for the gas that its transactions used."""
        fork = self.world.fork
        for number, each in enumerate(sent):
            if each.fee_wei:
                held = fork.balance(each.sender)
                paid = min(each.fee_wei, held)
                fork.set_balance(each.sender, held - paid)
                tip = paid - min(paid, each.receipt.gas_used * (self.base_fee_wei or 0))
                if tip:
                    producer = fork.block["coinbase"]
                    fork.set_balance(producer, fork.balance(producer) + tip)
                sent[number] = each._replace(fee_wei=paid)

    def _on_revert(self, marker: int) -> None:
        applied = self._applied
        while applied and applied[-1].marker > marker:
            self._reverted.append(applied.pop())


_FREE: AbstractContextManager[None] = nullcontext()


def _details(intent: Intent, note: str, outcome: Any) -> str:
    if not note and not outcome:
        return canonical(intent.details)
    start = {"note": note} if note else {}
    return canonical({**start, **intent.details, **(outcome or {})})


def action_row(
    step: int,
    block: str,
    position: int,
    actor: tuple[str, str, str],
    moment: Moment,
    details: str,
    status: Status = "success",
    reason: str = "",
    *,
    transactions: int = 0,
    gas_used: int = 0,
    fee_wei: str = "0",
) -> ActionRow:
    """Return the row of an action; `actor` is agent, account and kind."""
    agent, account, kind = actor
    return ActionRow(
        step=step,
        block=block,
        position=position,
        agent=agent,
        account=account,
        kind=kind,
        status=status,
        reason=reason,
        transactions=transactions,
        gas_used=gas_used,
        fee_wei=fee_wei,
        block_number=moment.block_number,
        timestamp=moment.timestamp,
        details=details,
    )
