"""Gas: free unless a price is set, and then paid to the last wei, by those who act and also where they fail."""

from __future__ import annotations

from mayavi import Fork, ether, gwei
from mayavi.agents.base import StepResult, World
from mayavi.protocols import AaveV3, Erc20, PriceFeed
from tests.sim.small_world import Racer, Scripted, ran, scheduled, wish

BASE, TIP = gwei(20), gwei(2)


class Supplier(Scripted):
    def __init__(self, name: str = "supplier", dealt: int = 10**18) -> None:
        def script(world: World, step_idx: int) -> StepResult:
            account = AaveV3(world.fork).account(world.address(name))
            return wish("supply", lambda: account.supply("WETH", 10**18) and None)

        def prepare(world: World) -> None:
            world.fork.deal("WETH", world.address(name), dealt)

        super().__init__(name, script, prepare)


def test_gas_is_free_where_no_price_is_set(fork: Fork) -> None:
    scheduler = scheduled(fork, [Supplier()])
    row = scheduler.tick()[0][0]
    assert (row.status, row.fee_wei) == ("success", "0")
    assert row.gas_used > 150_000
    assert scheduler.world.gas_price_wei == 0
    assert fork.balance(scheduler.world.address("supplier")) == 0


def test_an_intent_pays_for_all_its_transactions_approvals_included(fork: Fork) -> None:
    scheduler = scheduled(fork, [Supplier()], base_fee_wei=BASE, priority_fee_wei=TIP, native_wei=ether(5))
    scheduler.begin()
    world, producer = scheduler.world, fork.block["coinbase"]
    assert world.gas_price_wei == BASE + TIP
    tips = fork.balance(producer)
    row = scheduler.tick()[0][0]
    assert (row.status, row.transactions) == ("success", 2)  # approve, supply
    assert int(row.fee_wei) == row.gas_used * (BASE + TIP)
    assert fork.balance(world.address("supplier")) == ether(5) - int(row.fee_wei)
    assert fork.balance(producer) - tips == row.gas_used * TIP
    assert world.burned_wei == row.gas_used * BASE


def test_gas_of_an_intent_is_that_of_its_transactions_sent_one_by_one(fork: Fork, replica: Fork) -> None:
    row = scheduled(fork, [Supplier()]).tick()[0][0]
    twin, used = replica.copy(), list[int]()
    stop = twin.watch(lambda sent: used.append(sent.receipt.gas_used))
    account = AaveV3(twin).account(b"\x11" * 20)
    twin.deal("WETH", account.address, 10**18)
    account.supply("WETH", 10**18)
    stop()
    assert len(used) == 2
    assert abs(sum(used) - row.gas_used) < 100  # calldata of another address costs a few units more or less


def test_a_failed_intent_leaves_nothing_but_the_gas_it_burned(fork: Fork) -> None:
    scheduler = scheduled(fork, [Racer("anna"), Racer("bert")], base_fee_wei=BASE, priority_fee_wei=TIP)
    scheduler.begin()
    world, producer = scheduler.world, fork.block["coinbase"]
    tips = fork.balance(producer)
    won, lost = scheduler.tick()[0]
    assert (won.status, lost.status) == ("success", "failed")
    assert int(lost.fee_wei) == lost.gas_used * (BASE + TIP) > 0
    assert fork.balance(world.address(lost.agent)) == scheduler.native_wei - int(lost.fee_wei)
    assert fork.balance(producer) - tips == (won.gas_used + lost.gas_used) * TIP
    assert world.burned_wei == (won.gas_used + lost.gas_used) * BASE


def test_what_is_refused_before_it_is_sent_costs_nothing_though_it_was_rehearsed(fork: Fork) -> None:
    agents = [Supplier(dealt=1)]  # one wei: the adapter tries whether Aave would take the whole, and refuses
    scheduler = scheduled(fork, agents, base_fee_wei=BASE)
    row = scheduler.tick()[0][0]
    assert row.status == "failed"
    assert "WETH are needed" in row.reason
    assert (row.transactions, row.gas_used, row.fee_wei) == (0, 0, "0")


def test_an_intent_that_tries_and_thinks_better_of_it_pays_for_what_stands(fork: Fork) -> None:
    def act(world: World) -> None:
        usdc, me = Erc20(world.fork, "USDC"), world.address("me")
        with world.fork.snapshot():
            usdc.approve(world.address("other"), 1, sender=me)
        usdc.approve(world.address("other"), 2, sender=me)

    agents = [Scripted("me", lambda world, step_idx: wish("think", lambda: act(world)))]
    scheduler = scheduled(fork, agents, base_fee_wei=BASE)
    row = scheduler.tick()[0][0]
    assert row.transactions == 1
    assert fork.balance(scheduler.world.address("me")) == scheduler.native_wei - row.gas_used * BASE


def test_who_cannot_pay_for_gas_fails_and_says_so(fork: Fork) -> None:
    agents = [Racer("anna")]
    row = scheduled(fork, agents, base_fee_wei=BASE, native_wei=10**12).tick()[0][0]
    assert row.status == "failed"
    assert row.reason.startswith("invalid transaction: lack of funds")
    assert row.fee_wei == "0"


def test_the_owner_of_a_feed_is_nobodys_agent_and_pays_nothing(fork: Fork) -> None:
    agents = [
        Scripted(
            "shock",
            lambda world, step_idx: wish(
                "move", lambda: PriceFeed(world.fork, "Chainlink.ETH/USD").move_by(-0.1) and None
            ),
        )
    ]
    row = scheduled(fork, agents, base_fee_wei=BASE).tick()[0][0]
    assert (row.status, row.fee_wei) == ("success", "0")
    assert row.gas_used > 0


def test_the_higher_tip_wins_the_race_and_pays_for_it(fork: Fork) -> None:
    racers = [Racer("poor", tip=gwei(1)), Racer("rich", tip=gwei(50))]
    rows = scheduled(fork, racers, ordering="priority_fee", base_fee_wei=BASE).tick()[0]
    assert [(row.agent, row.status) for row in rows] == [("rich", "success"), ("poor", "failed")]
    assert [int(row.fee_wei) // row.gas_used for row in rows] == [BASE + gwei(50), BASE + gwei(1)]


def test_without_a_price_a_tip_still_decides_the_place(fork: Fork) -> None:
    racers = [Racer("a", tip=1), Racer("b", tip=3), Racer("c", tip=2)]
    rows = scheduled(fork, racers, ordering="priority_fee").tick()[0]
    assert [(row.agent, row.fee_wei) for row in rows] == [("b", "0"), ("c", "0"), ("a", "0")]


def test_the_summary_counts_gas_and_fees(fork: Fork) -> None:
    recorder, end = ran(fork, [Racer("anna"), Racer("bert")], steps=2, base_fee_wei=BASE)
    kpis = {row.name: int(row.value) for row in end.kpis}
    assert kpis["gas_used"] == sum(row.gas_used for row in recorder.actions)
    assert kpis["fees_wei"] == sum(int(row.fee_wei) for row in recorder.actions) > 0
    assert (kpis["actions"], kpis["failed"], kpis["raised"]) == (4, 3, 0)
