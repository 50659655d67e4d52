"""Agents that act in every block go on within a step while somebody acts or waits."""

from __future__ import annotations

from collections.abc import Callable

from mayavi import Fork
from mayavi.agents.base import StepResult, World
from mayavi.errors import ActionRefused
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.hooks import Hook
from mayavi.sim.world_state import WorldState
from tests.sim.small_world import Script, Scripted, nothing, scheduled, wish


class Bot(Scripted):
    """Scripted agent that acts in every block."""

    every_block = True


def acting(times: int, run: Callable[[], None] = nothing, gas: int = 0) -> Script:
    """Return a script that acts in the first `times` looks of each step."""
    looks: dict[int, int] = {}

    def script(world: World, step_idx: int) -> StepResult:
        looks[step_idx] = looks.get(step_idx, 0) + 1
        return wish(run=run, gas=gas) if looks[step_idx] <= times else StepResult()

    return script


def test_it_acts_block_after_block_and_the_step_keeps_its_length(fork: Fork) -> None:
    start, time = fork.block_number, fork.timestamp
    scheduler = scheduled(fork, [Bot("bot", acting(4))], step_blocks=25)
    first, _ = scheduler.tick()
    assert [row.block_number for row in first] == [start + at for at in range(4)]
    assert [row.position for row in first] == [0, 1, 2, 3]
    assert fork.block_number == start + 25
    assert fork.timestamp == time + 25 * 12
    second, _ = scheduler.tick()
    assert [row.block_number for row in second] == [start + 25 + at for at in range(4)]


def test_a_step_ends_when_its_blocks_are_used_up(fork: Fork) -> None:
    start = fork.block_number
    scheduler = scheduled(fork, [Bot("bot", acting(100))], step_blocks=5)
    assert len(scheduler.tick()[0]) == 5
    assert fork.block_number == start + 5


def test_people_act_once_a_step(fork: Fork) -> None:
    agents = [Bot("bot", acting(3)), Scripted("person", acting(3))]
    rows, _ = scheduled(fork, agents, step_blocks=25).tick()
    assert [row.agent for row in rows].count("person") == 1
    assert [row.agent for row in rows].count("bot") == 3


def test_it_looks_again_after_others_acted_and_not_where_nobody_did(fork: Fork) -> None:
    looks: list[int] = []

    def script(world: World, step_idx: int) -> StepResult:
        looks.append(step_idx)
        return StepResult()

    person = Scripted("person", lambda world, step_idx: wish() if step_idx == 1 else StepResult())
    scheduler = scheduled(fork, [Bot("bot", script), person], step_blocks=25)
    for _ in range(3):
        scheduler.tick()
    assert looks == [0, 1, 1, 2]


def test_what_was_done_before_its_own_block_is_no_reason_to_look_again(fork: Fork) -> None:
    looks: list[int] = []

    def script(world: World, step_idx: int) -> StepResult:
        looks.append(step_idx)
        return StepResult()

    oracle, bot = Scripted("oracle", lambda world, step_idx: wish()), Bot("bot", script)
    blocks = [AgentBlock("oracle", [oracle]), AgentBlock("market", [bot])]
    scheduled(fork, [oracle, bot], blocks=blocks, step_blocks=25).tick()
    assert looks == [0]


def test_failing_again_and_again_ends_the_step(fork: Fork) -> None:
    def refuse() -> None:
        raise ActionRefused("no")

    rows, _ = scheduled(fork, [Bot("bot", acting(100, refuse))], step_blocks=25).tick()
    assert [row.status for row in rows] == ["failed"]


def test_one_that_waits_is_asked_again_though_nobody_acts(fork: Fork) -> None:
    start = fork.block_number

    def script(world: World, step_idx: int) -> StepResult:
        late = world.fork.block_number - start >= 3
        return wish() if late and world.fork.block_number < start + 5 else StepResult(waits=not late)

    rows, _ = scheduled(fork, [Bot("bot", script)], step_blocks=25).tick()
    assert [row.block_number - start for row in rows] == [3, 4]


def test_its_blocks_run_in_the_order_of_the_step_and_in_one_block_of_the_chain(fork: Fork) -> None:
    first, second = Bot("zoe", acting(2)), Bot("amy", acting(2))
    blocks = [AgentBlock("first", [first]), AgentBlock("second", [second])]
    start = fork.block_number
    rows, _ = scheduled(fork, [first, second], blocks=blocks, step_blocks=25).tick()
    assert [(row.agent, row.block, row.block_number - start, row.position) for row in rows] == [
        ("zoe", "first", 0, 0),
        ("amy", "second", 1, 0),
        ("zoe", "first", 2, 1),
        ("amy", "second", 2, 1),
    ]


def test_hooks_see_each_block(fork: Fork) -> None:
    class Seen(Hook):
        def __init__(self) -> None:
            self.blocks: list[tuple[int, int]] = []

        def after_block(self, world: WorldState, block: str, actions: object) -> None:
            self.blocks.append((world.fork.block_number, len(actions)))  # type: ignore[arg-type]

    start, seen = fork.block_number, Seen()
    scheduled(fork, [Bot("bot", acting(2))], step_blocks=25, hooks=[seen]).tick()
    assert seen.blocks == [(start, 1), (start + 1, 1), (start + 2, 0)]


def test_an_intent_without_room_in_the_block_waits_and_counts_where_no_block_is_left(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        return StepResult(tuple(intent for _ in range(2) for intent in wish(gas=20_000_000).intents))

    fork.set_block(gas_limit=30_000_000)
    bot = Bot("bot", script)
    scheduler = scheduled(fork, [bot], step_blocks=3)
    rows, _ = scheduler.tick()
    assert len(rows) == 6  # an intent that sends nothing uses no gas, so both fit
    fork.set_block(gas_limit=10_000_000)
    assert scheduler.tick()[0] == []
    assert scheduler.left_out == 2


def test_resting_is_recorded_once_a_step(fork: Fork) -> None:
    agents = [Bot("busy", acting(3)), Bot("lazy", lambda world, step_idx: StepResult())]
    rows, _ = scheduled(fork, agents, step_blocks=25, record_rests=True).tick()
    assert [row.agent for row in rows if row.kind == "rest"] == ["lazy"]
