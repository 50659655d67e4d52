"""Blocks in which all see the same state, and nothing happens before all have spoken."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.agents.base import StepResult, World
from mayavi.errors import ObservationChanged, UnknownName, UsageError
from mayavi.protocols.tokens import Erc20
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.hooks import Hook
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState
from tests.sim.small_world import Racer, Scripted, nothing, scheduled, wish


def test_two_race_for_one_thing_one_gets_it_and_the_other_is_in_the_record_with_the_reason(fork: Fork) -> None:
    racers = [Racer("anna"), Racer("bert")]
    actions, _ = scheduled(fork, racers).tick()
    assert [(row.position, row.status) for row in actions] == [(0, "success"), (1, "failed")]
    won, lost = actions
    assert won.details == '{"got":"100000000"}'
    assert lost.reason == "transferFrom of USDC reverted: transfer: amount exceeds balance"
    assert lost.details == "{}"
    assert lost.transactions == 1
    assert lost.gas_used > 21_000
    usdc = Erc20(fork, "USDC")
    world = WorldState(fork, racers, seed=1)
    assert usdc.balance_of(world.address(won.agent)) == Racer.PRIZE
    assert usdc.balance_of(world.address(lost.agent)) == 0


def test_all_see_the_same_state_in_a_block_and_what_came_of_it_in_the_next(fork: Fork) -> None:
    racers = [Racer("anna"), Racer("bert")]
    late = Racer("late")
    blocks = [AgentBlock("first", racers), AgentBlock("second", [late])]
    scheduled(fork, [*racers, late], blocks=blocks).tick()
    assert [racer.saw for racer in racers] == [[Racer.PRIZE], [Racer.PRIZE]]
    assert late.saw == [0]


def test_a_step_in_parts_pauses_before_a_block_and_does_what_a_whole_step_does(fork: Fork) -> None:
    def blocks(agents: list[Racer]) -> list[AgentBlock]:
        return [AgentBlock("first", agents[:1]), AgentBlock("second", agents[1:])]

    whole, paused = ([Racer("anna"), Racer("bert")] for _ in range(2))
    other = fork.copy()
    expected = scheduled(fork, whole, blocks=blocks(whole)).tick()
    scheduler = scheduled(other, paused, blocks=blocks(paused))
    parts = scheduler.tick_in_parts("second")
    next(parts)
    assert [row.agent for row in scheduler.unfinished] == ["anna"]
    assert paused[1].saw == []  # the block is still to come, on the state of the pause
    assert Erc20(other, "USDC").balance_of(scheduler.world.address("anna")) == Racer.PRIZE
    with pytest.raises(StopIteration) as end:
        next(parts)
    assert end.value.value == expected
    assert other.digest() == fork.digest()


def test_nothing_is_executed_before_all_have_spoken(fork: Fork) -> None:
    heard: list[str] = []

    def agent(name: str) -> Scripted:
        def script(world: World, step_idx: int) -> StepResult:
            heard.append(f"{name} speaks")
            return wish(run=lambda: heard.append(f"{name} acts"))

        return Scripted(name, script)

    scheduled(fork, [agent("a"), agent("b"), agent("c")], ordering="fifo").tick()
    assert heard == ["a speaks", "b speaks", "c speaks", "a acts", "b acts", "c acts"]


def test_an_observation_is_read_once_a_block_and_anew_in_the_next(fork: Fork) -> None:
    reads: list[int] = []
    seen: list[object] = []

    def script(world: World, step_idx: int) -> StepResult:
        seen.append(world.observe("block", lambda: reads.append(world.fork.block_number) or object()))
        return StepResult()

    agents = [Scripted(name, script) for name in "abc"]
    scheduler = scheduled(fork, agents)
    scheduler.tick()
    scheduler.tick()
    assert len(reads) == 2
    assert reads[1] == reads[0] + 1
    assert seen[0] is seen[1] is seen[2] is not seen[3]


def test_what_is_observed_while_intents_run_is_read_anew(fork: Fork) -> None:
    seen: list[int] = []

    def script(world: World, step_idx: int) -> StepResult:
        me = world.address("me")

        def look() -> int:
            return world.observe("balance", lambda: world.fork.balance(me))

        seen.append(look())

        def act() -> None:
            world.fork.set_balance(me, 7)
            seen.append(look())

        return wish(run=act)

    scheduled(fork, [Scripted("me", script)]).tick()
    assert seen == [0, 7]


def test_an_agent_that_writes_while_it_looks_is_caught_and_its_writes_are_undone(fork: Fork) -> None:
    def sneak(world: World, step_idx: int) -> StepResult:
        world.fork.set_balance(world.address("sneak"), 10**18)
        return wish("too late")

    honest = Scripted("honest", lambda world, step_idx: wish("fine"))
    scheduler = scheduled(fork, [Scripted("sneak", sneak), honest])
    actions, _ = scheduler.tick()
    assert [(row.agent, row.kind, row.status, row.position) for row in actions] == [
        ("sneak", "step", "raised", -1),
        ("honest", "fine", "success", 0),
    ]
    assert "ObservationChanged: agent 'sneak' changed the chain in step()" in actions[0].reason
    assert fork.balance(scheduler.world.address("sneak")) == 0


def test_an_agent_may_try_things_out_while_it_looks(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        with world.fork.snapshot():
            world.fork.set_balance(world.address("me"), 10**18)
            world.fork.mine(5)
        return wish()

    actions, _ = scheduled(fork, [Scripted("me", script)]).tick()
    assert [row.status for row in actions] == ["success"]


def test_what_an_agent_wrote_before_it_broke_is_undone_too(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        world.fork.set_balance(world.address("me"), 10**18)
        raise ValueError("half way")

    scheduler = scheduled(fork, [Scripted("me", script)])
    actions, _ = scheduler.tick()
    assert "ValueError: half way" in actions[0].reason
    assert fork.balance(scheduler.world.address("me")) == 0


def test_a_failed_intent_leaves_the_chain_as_it_was(fork: Fork) -> None:
    def act(world: World) -> None:
        world.fork.set_balance(world.address("me"), 5)
        Erc20(world.fork, "USDC").transfer(world.address("other"), 1, sender=world.address("me"))

    scheduler = scheduled(fork, [Scripted("me", lambda world, step_idx: wish("pay", lambda: act(world)))])
    scheduler.begin()
    with fork.snapshot():
        fork.mine(1)
        expected = fork.digest()
    actions, _ = scheduler.tick()
    assert [row.status for row in actions] == ["failed"]
    assert actions[0].reason.endswith("has 0 USDC, but 0.000001 USDC are needed")
    assert (actions[0].transactions, actions[0].gas_used) == (0, 0)
    assert fork.digest() == expected


def test_an_intent_cannot_move_time(fork: Fork) -> None:
    before = fork.block_number
    agents = [Scripted("me", lambda world, step_idx: wish("jump", lambda: world.fork.mine(10)))]
    actions, _ = scheduled(fork, agents).tick()
    assert [row.status for row in actions] == ["raised"]
    assert "moved the chain to another block" in actions[0].reason
    assert fork.block_number == before + 1


@pytest.mark.parametrize(
    ("blocks", "step_blocks", "lasts"), [(1, 1, 1), (1, 300, 300), (3, 1, 1), (3, 2, 2), (3, 10, 10)]
)
def test_a_step_lasts_so_many_blocks_and_each_of_its_blocks_is_one(
    fork: Fork, blocks: int, step_blocks: int, lasts: int
) -> None:
    agents = [Scripted(f"agent {i}", lambda world, step_idx: wish()) for i in range(blocks)]
    parts = [AgentBlock(f"block {i}", [agent]) for i, agent in enumerate(agents)]
    start, time = fork.block_number, fork.timestamp
    scheduler = scheduled(fork, agents, blocks=parts, step_blocks=step_blocks)
    first, _ = scheduler.tick()
    assert [row.block_number for row in first] == [start + min(i, step_blocks - 1) for i in range(blocks)]
    assert (fork.block_number, fork.timestamp) == (start + lasts, time + 12 * lasts)
    second, _ = scheduler.tick()
    assert second[0].block_number == start + lasts
    assert [row.step for row in second] == [1] * blocks


def test_hooks_see_blocks_and_steps_and_may_not_write(fork: Fork) -> None:
    class Watcher(Hook):
        def __init__(self) -> None:
            self.told: list[object] = []

        def begin(self, world: WorldState) -> None:
            self.told.append("begin")

        def after_block(self, world: WorldState, block: str, actions: object) -> None:
            self.told.append((block, len(actions)))  # type: ignore[arg-type]

        def after_step(self, world: WorldState, actions: object) -> list:  # type: ignore[type-arg]
            self.told.append((world.step, len(actions)))  # type: ignore[arg-type]
            return []

    class Meddler(Hook):
        def after_block(self, world: WorldState, block: str, actions: object) -> None:
            world.fork.mine(1)

    agents = [Scripted("a", lambda world, step_idx: wish()), Scripted("b", lambda world, step_idx: wish())]
    blocks = [AgentBlock("one", agents), AgentBlock("two", agents[:1])]
    watcher = Watcher()
    scheduled(fork, agents, blocks=blocks, hooks=[watcher]).tick()
    assert watcher.told == ["begin", (-1, 0), ("one", 2), ("two", 1), (0, 3)]
    with pytest.raises(ObservationChanged, match="a hook changed the chain"):
        scheduled(fork.copy(), agents, hooks=[Meddler()]).tick()


def test_who_rests_says_why_where_it_is_asked_for(fork: Fork) -> None:
    agents = [Scripted("me", lambda world, step_idx: StepResult((), "all is well"))]
    assert scheduled(fork, agents).tick()[0] == []
    row = scheduled(fork.copy(), agents, record_rests=True).tick()[0][0]
    assert (row.kind, row.position, row.details) == ("rest", -1, '{"note":"all is well"}')


def test_a_note_stands_with_what_it_led_to(fork: Fork) -> None:
    agents = [
        Scripted("me", lambda world, step_idx: Scripted("x", nothing).does("act", lambda: {"a": 2**200}, note="why"))
    ]  # type: ignore[arg-type]
    assert scheduled(fork, agents).tick()[0][0].details == f'{{"a":"{2**200}","note":"why"}}'


def test_details_that_cannot_be_written_down_are_the_agents_fault(fork: Fork) -> None:
    agents = [Scripted("me", lambda world, step_idx: wish(run=lambda: {"what": object()}))]
    row = scheduled(fork, agents).tick()[0][0]
    assert row.status == "raised"
    assert "TypeError" in row.reason


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda fork: scheduled(fork, []), "a run without agents does nothing"),
        (lambda fork: scheduled(fork, [Racer("a"), Racer("a")]), "two agents are called 'a'"),
        (lambda fork: scheduled(fork, [Racer("")]), "an agent has no name"),
        (lambda fork: scheduled(fork, [Racer("a")], step_blocks=0), "a step of 0 blocks does not advance the chain"),
        (lambda fork: scheduled(fork, [Racer("a")], threads=0), "0 threads do nothing"),
        (lambda fork: scheduled(fork, [Racer("a")], seed=-1), "seed -1 is out of range"),
        (lambda fork: scheduled(fork, [Racer("a")], seed=2**63), "out of range"),
        (lambda fork: scheduled(fork, [Racer("a")], seed=1.5), "seed 1.5 is not an integer"),
        (
            lambda fork: Scheduler(WorldState(fork, [Racer("a")], seed=1), [AgentBlock("all", [Racer("a")])]),
            "is not part of this world",
        ),
        (
            lambda fork: scheduled(fork, [a := Racer("a")], blocks=[AgentBlock("x", [a]), AgentBlock("x", [a])]),
            "two blocks have the same name",
        ),
        (lambda fork: scheduled(fork, [a := Racer("a")], blocks=[AgentBlock("x", [a, a])]), "twice in block 'x'"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(fork: Fork, make: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make(fork)  # type: ignore[operator]


def test_an_unknown_ordering_is_refused_with_the_nearest(fork: Fork) -> None:
    with pytest.raises(UnknownName) as caught:
        scheduled(fork, [Racer("a")], ordering="shufle")
    assert "did you mean 'shuffle'?" in (caught.value.hint or "")


def test_an_answer_that_is_no_step_result_is_the_agents_fault(fork: Fork) -> None:
    agents = [Scripted("me", lambda world, step_idx: None)]  # type: ignore[arg-type, return-value]
    row = scheduled(fork, agents).tick()[0][0]
    assert row.status == "raised"
    assert "step() returned None" in row.reason
