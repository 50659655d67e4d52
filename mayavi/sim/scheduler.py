"""`Scheduler`: execute steps made of agent blocks.

In a block all agents observe the same state and return intents; nothing is executed until all have answered. The
ordering then sorts the intents, they are executed one by one in one block of the chain, and hooks read the result.
Agents that act in every block, such as liquidators, are asked again in the remaining blocks of the step, until no
action succeeds and none of them waits.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from time import perf_counter
from typing import TypeVar

from mayavi.agents.base import StepResult
from mayavi.errors import (
    BadArgument,
    ObservationChanged,
    ReplayDiffers,
    RpcError,
    RunHalted,
    UnknownName,
    UsageError,
)
from mayavi.sim.agent_blocks import AgentBlock, checked_blocks, first_repeated, repeated_blocks
from mayavi.sim.execution import Execution, Moment, action_row
from mayavi.sim.hooks import Hook
from mayavi.sim.ordering import ORDERINGS, Ordering, QueuedIntent, ordered
from mayavi.sim.rows import ActionRow, canonical
from mayavi.sim.snapshot_rows import SnapshotRows
from mayavi.sim.tally import RunTally
from mayavi.sim.timing import Observing, Timed
from mayavi.sim.traceback_text import error_text, traceback_text
from mayavi.sim.world_state import WorldState

R = TypeVar("R")

NATIVE_WEI = 100 * 10**18
"""Native balance each account starts with where gas is charged."""


class Scheduler:
    """Execute steps with `tick()`.

    A step lasts `step_blocks` blocks of the chain, by default one per agent block. If it is shorter, the last agent
    blocks share a block of the chain. If it is longer, agents with `every_block` are asked again in each block, as long
    as an action succeeds or an agent waits (`StepResult.waits`). Those of their intents that exceed a block's gas limit
    are dropped. The remaining time passes at the chain's block time, or at `block_seconds`.

    Gas is free unless `base_fee_wei` is given. Then every account that agents requested before the first step starts
    with a balance of `native_wei` and pays for its transactions: the base fee, which is burned, and the intent's tip or
    else `priority_fee_wei`. A failed intent leaves the chain unchanged, except that its sender paid for the gas.

    If an agent's code raises, the traceback is recorded and the run goes on; with `halt_on_exception` the scheduler
    raises `RunHalted` instead. `record_rests` adds a row for each agent without intents, with its note. `tally` counts
    all actions; give a subclass of `RunTally` to compute more from the same pass.
    """

    def __init__(
        self,
        world: WorldState,
        blocks: Sequence[AgentBlock],
        *,
        ordering: Ordering = "shuffle",
        step_blocks: int | None = None,
        block_seconds: int | None = None,
        base_fee_wei: int | None = None,
        priority_fee_wei: int = 0,
        native_wei: int = NATIVE_WEI,
        hooks: Sequence[Hook] = (),
        halt_on_exception: bool = False,
        record_rests: bool = False,
        tally: RunTally | None = None,
    ) -> None:
        if ordering not in ORDERINGS:
            raise UnknownName.of("ordering", ordering, ORDERINGS, f"there are: {', '.join(ORDERINGS)}")
        if step_blocks is not None and step_blocks < 1:
            raise UsageError(f"a step of {step_blocks} blocks does not advance the chain", "give at least one block")
        self.world = world
        self.blocks = checked_blocks(world, blocks)
        self.ordering: Ordering = ordering
        self.step_blocks = len(self.blocks) if step_blocks is None else step_blocks
        self.block_seconds = block_seconds
        self.base_fee_wei = base_fee_wei
        self.priority_fee_wei = priority_fee_wei
        self.native_wei = native_wei
        self.hooks = tuple(hooks)
        self.halt_on_exception = halt_on_exception
        self.record_rests = record_rests
        self.tally = RunTally() if tally is None else tally
        self.unfinished: list[ActionRow] = []
        """Actions of the current step, or of the step in which a halt happened."""
        self.left_out = 0
        """Intents of agents with `every_block` that did not fit into the last block of a step."""
        self._repeated = repeated_blocks(self.blocks)
        self._repeating = {agent.name for block in self._repeated for agent in block.agents}
        self._first_repeated = first_repeated(self.blocks)
        self._busy = False
        self._gas_block, self._gas_used, self._left_in_block = -1, 0, 0
        self.seconds = {"agents": 0.0, "hooks": 0.0}
        """Time spent in agents' and hooks' own code, outside the kernel."""
        self.away_seconds = 0.0
        """Seconds that this run paused before figures while other runs executed; not part of its total time."""
        self._begun = False
        self._execution = Execution(world, base_fee_wei, lambda: self._timed("agents"))

    # -- a run --------------------------------------------------------------------------------------------------------

    def begin(self) -> SnapshotRows:
        """Prepare agents and hooks, and return the market figures before the first step.

        The first `tick` calls it; later calls return nothing.
        """
        if self._begun:
            return SnapshotRows()
        self._begin()
        return self._after_step([])

    def _begin(self) -> None:
        self._begun = True
        world, fork = self.world, self.world.fork
        self.seconds["prepare"] = 0.0
        with self._timed("prepare"):
            world.prepare()
        if self.base_fee_wei is not None:
            fork.set_block(base_fee=self.base_fee_wei)
            world.gas_price_wei = self.base_fee_wei + self.priority_fee_wei
            for agent in world.by_name:
                world.address(agent.name)
            for address in sorted(world.accounts):
                if fork.balance(address) < self.native_wei:
                    fork.set_balance(address, self.native_wei)
        with self._observing("hooks"):
            self.tally.begin(world)
            for hook in self.hooks:
                hook.begin(world)

    def tick(self) -> tuple[list[ActionRow], SnapshotRows]:
        """Execute one step; return its actions in order of execution and the figures its hooks read."""
        return finish(self.tick_in_parts())

    def tick_in_parts(
        self, pause_before: str | None = None, *, before_figures: bool = False
    ) -> Generator[None, None, tuple[list[ActionRow], SnapshotRows]]:
        """Execute one step like `tick`, but yield once before the agent block `pause_before`.

        The chain is then in the block in which those agents act. The caller may read the world and choose the action
        of one of them. With `before_figures`, also yield each time before hooks read figures; that pause does not count
        as time of the run.
        """
        snapshots = SnapshotRows()
        if not self._begun:
            self._begin()
            if before_figures:
                yield from self._pause()
            snapshots = self._after_step([])
        self.world.step += 1
        actions = self.unfinished = []
        stop = self._execution.watch()
        try:
            for number, block in enumerate(self.blocks):
                if 0 < number < self.step_blocks:
                    self._pass_blocks(1)
                self._busy = self._busy and number > self._first_repeated
                if block.name == pause_before:
                    yield
                self._run_block(block, actions)
            used = min(len(self.blocks), self.step_blocks)
            used += self._repeat(actions, self.step_blocks - used)
            self.left_out += self._left_in_block
        finally:
            stop()
        if before_figures:
            yield from self._pause()
        snapshots.add(self._after_step(actions))
        self._pass_blocks(self.step_blocks - used + 1)
        self.unfinished = []
        return actions, snapshots

    def _repeat(self, actions: list[ActionRow], most: int) -> int:
        """Run `every_block` agents for up to `most` blocks, while one acts or waits; return the number of blocks."""
        used = 0
        while self._repeated and self._busy and used < most:
            self._pass_blocks(1)
            used += 1
            self._busy = False
            for block in self._repeated:
                self._run_block(block, actions, used)
        return used

    def _pass_blocks(self, blocks: int) -> None:
        self.world.fork.mine(blocks, None if self.block_seconds is None else blocks * self.block_seconds)

    # -- a block ------------------------------------------------------------------------------------------------------

    def _run_block(self, block: AgentBlock, actions: list[ActionRow], again: int = 0) -> None:
        """Run one agent block in the current block of the chain; `again` counts its repetitions in this step."""
        world, start = self.world, len(actions)
        moment = Moment(world.fork.block_number, world.fork.timestamp)
        if self._gas_block != moment.block_number:
            self._gas_block, self._gas_used, self._left_in_block = moment.block_number, 0, 0
        intents = self._collect_intents(block, moment, actions, again)
        name = f"{block.name} {again}" if again else block.name
        queue = ordered(intents, self.ordering, seed=world.seed, step=world.step, block=name)
        position = sum(row.block == block.name and row.position >= 0 for row in actions) if again else 0
        gas_limit = int(world.fork.block["gas_limit"]) if queue else 0
        for queued in queue:
            if self._has_room(queued, gas_limit):
                row, exception = self._execution.execute(queued, block.name, position, moment)
                self._gas_used += row.gas_used
                self._record(row, exception, actions)
                position += 1
        self._busy = self._busy or any(row.status == "success" and row.position >= 0 for row in actions[start:])
        if self._block_hooks:
            with self._observing("hooks"):
                for hook in self._block_hooks:
                    hook.after_block(world, block.name, actions[start:])

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Hooks of the run; those that override `after_block` are called after blocks too."""
        return self._hooks

    @hooks.setter
    def hooks(self, hooks: tuple[Hook, ...]) -> None:
        self._hooks = hooks
        self._block_hooks = [each for each in hooks if _watches_blocks(each)]

    def _has_room(self, queued: QueuedIntent, gas_limit: int) -> bool:
        """Whether an intent fits into the block; intents of agents without `every_block` always do."""
        if queued.agent not in self._repeating:
            return True
        if self._gas_used + queued.intent.gas <= gas_limit:
            return True
        self._left_in_block += 1
        return False

    def _collect_intents(
        self, block: AgentBlock, moment: Moment, actions: list[ActionRow], again: int
    ) -> list[QueuedIntent]:
        """Call `step` of all agents of a block on the same state, and return their intents in list order."""
        world, fork = self.world, self.world.fork
        answers: dict[str, StepResult] = {}
        with self._timed("agents"), world.observing():
            before, snapshot = fork.marker, fork.snapshot()
            for agent in block.by_name:
                try:
                    answers[agent.name] = _checked_answer(agent.step(world, world.step))
                    if fork.marker != before:
                        raise ObservationChanged(
                            f"agent '{agent.name}' changed the chain in step()",
                            "let step() return an intent that does it, or try it inside `with fork.snapshot():`",
                        )
                except (RpcError, ReplayDiffers):
                    raise
                except Exception as error:
                    answers.pop(agent.name, None)
                    text = traceback_text(error, leave_out=__file__)
                    actor = agent.name, agent.name, "step"
                    row = action_row(world.step, block.name, -1, actor, moment, "{}", "raised", text)
                    self._record(row, error, actions)
                finally:
                    if fork.marker != before:
                        snapshot.revert()
                        snapshot = fork.snapshot()
            snapshot.keep()
        self._execution.forget()
        self._busy = self._busy or any(each.waits for each in answers.values())
        if self.record_rests and not again:
            for name, answer in answers.items():
                if not answer.intents:
                    note = canonical({"note": answer.note} if answer.note else {})
                    actions.append(action_row(world.step, block.name, -1, (name, name, "rest"), moment, note))
        intents = []
        for agent in block.agents:  # in list order, which only `fifo` keeps
            if agent.name not in answers:
                continue
            answer = answers[agent.name]
            for intent in answer.intents:
                tip = intent.priority_fee_wei or agent.priority_fee_wei or self.priority_fee_wei
                intents.append(QueuedIntent(agent.name, intent.account or agent.name, intent, tip, answer.note))
        return intents

    def _record(self, row: ActionRow, exception: Exception | None, actions: list[ActionRow]) -> None:
        """Add the row of an action; raise `RunHalted` if the agent's code raised and the run shall halt."""
        actions.append(row)
        if exception is not None and self.halt_on_exception:
            place = f"agent '{row.agent}' raised in step {row.step}, block '{row.block}', {row.kind}"
            raise RunHalted(f"{place}: {error_text(exception)}", traceback=row.reason) from exception

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _after_step(self, actions: list[ActionRow]) -> SnapshotRows:
        rows = SnapshotRows()
        with self._observing("hooks"):
            self.tally.add_step(self.world, actions)
            for hook in self.hooks:
                rows.add(hook.after_step(self.world, actions))
        return rows

    def _pause(self) -> Generator[None, None, None]:
        started = perf_counter()
        yield
        self.away_seconds += perf_counter() - started

    def _observing(self, what: str) -> Observing:
        """Time the body as `what` and share its reads; raise `ObservationChanged` if it writes to the chain."""
        return Observing(self.world, self.seconds, what)

    def _timed(self, what: str) -> Timed:
        return Timed(self.world, self.seconds, what)


def finish(parts: Generator[None, None, R]) -> R:
    """Drive a generator to its end without a pause, and return its result."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            result: R = end.value
            return result


def _watches_blocks(hook: Hook) -> bool:
    return getattr(hook.after_block, "__func__", None) is not Hook.after_block


def _checked_answer(answer: object) -> StepResult:
    if not isinstance(answer, StepResult):
        raise BadArgument(f"step() returned {answer!r}", "return a StepResult: self.does(…) or self.rests()")
    return answer
