"""Populations of borrowers: drawn from named streams, read at once, each member with its own account."""

from __future__ import annotations

import pytest

from mayavi.agents import BorrowerAgent, BorrowerPopulation, KeepsBand, Panics, Passive
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.markets.distributions import LogNormal, Uniform
from mayavi.protocols import AaveV3, Erc20
from mayavi.protocols.uniswap.route import RouteLike
from mayavi.sim.rows_digest import RowsDigest
from tests.agents.stage import DIRECT, MARKETS, WETH, Stage, details, replica

MIXED = ((Passive(), 2), (KeepsBand("1.25", "2.6"), 1), (Panics(below="1.2", otherwise=KeepsBand("1.3")), 1))


def crowd(members: int = 40, **options: object) -> BorrowerPopulation:
    given = {
        "collateral": "WETH",
        "collateral_amount": LogNormal(2, 0.8, low=0.2),
        "debt": "USDC",
        "target": Uniform(1.2, 2.5),
        "behaviours": MIXED,
        "route": DIRECT,
        "cash_share": "0.3",
    }
    return BorrowerPopulation("crowd", members=members, **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_every_member_opens_at_the_health_factor_it_drew(chain: str, market: str, debt: str, route: RouteLike) -> None:
    people = crowd(market=market, debt=debt, route=route)
    stage = Stage(replica(chain), [people])
    healths = people.loan.lending.healths(people.addresses)
    for member, target in enumerate(people.targets_wad):
        assert 0 <= healths.health_factor_wad[member] - target < 10**11
    assert len(set(people.targets_wad)) == len(set(people.amounts)) == 40
    token = Erc20(stage.fork, debt)
    for address, loan in zip(people.addresses, people.loans, strict=True):
        assert token.balance_of(address) == loan - (loan - loan * 300_000 // 1_000_000)


def test_who_wants_more_than_the_market_lends_opens_at_its_limit_and_is_told_of_with_that_health_factor() -> None:
    people = crowd(target=Uniform(1.001, 1.06))
    Stage(replica(), [people])
    factors = people.loan.lending.healths(people.addresses).health_factor_wad
    limited = people.loan.at_limit
    for member, (address, target) in enumerate(zip(people.addresses, people.targets_wad, strict=True)):
        assert (address in limited) is (target < 8_300 * WAD // 8_050)  # threshold over loan to value
        if address in limited:
            assert abs(limited[address] - factors[member]) < 10**11
    assert 0 < len(limited) < people.members


def test_a_member_is_the_same_however_many_there_are_and_another_with_another_seed() -> None:
    few, many, others = crowd(10), crowd(25), crowd(10)
    Stage(replica(), [few], seed=3)
    Stage(replica(), [many], seed=3)
    Stage(replica(), [others], seed=4)
    assert (few.amounts, few.targets_wad, few.behaviour_of) == (
        many.amounts[:10],
        many.targets_wad[:10],
        many.behaviour_of[:10],
    )
    assert few.loans == many.loans[:10]
    assert few.amounts != others.amounts
    assert few.targets_wad != others.targets_wad


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_a_member_does_what_a_borrower_alone_would_do(chain: str, market: str, debt: str, route: RouteLike) -> None:
    shared = {"collateral": "WETH", "debt": debt, "market": market, "route": route, "cash_share": "0.1"}
    people = BorrowerPopulation(
        "crowd", members=1, collateral_amount=3, target=1.4, behaviours=[(KeepsBand("1.3", 2), 1)], **shared
    )
    alone = BorrowerAgent("alone", collateral_amount=3 * WETH, target=1.4, behaviour=KeepsBand("1.3", 2), **shared)
    facts = []
    for agent in (people, alone):
        stage = Stage(replica(chain), [agent])
        rows = [row for by in ("-0.2", "0.6") for row in stage.after(by)]
        facts.append([(row.kind, row.status, {**details(row), "note": ""}) for row in rows])
    assert facts[0] == facts[1]
    assert [kind for kind, *_ in facts[0]] == ["deleverage", "borrow"]


def test_one_intent_for_each_member_that_acts_under_its_own_name() -> None:
    people = crowd(80)
    stage = Stage(replica(), [people])
    rows = stage.after("-0.15")
    healths = people.loan.lending.healths(people.addresses)
    assert len(rows) > 5
    assert {row.agent for row in rows} == {"crowd"}
    acting = [int(row.account.removeprefix("crowd-")) for row in rows]
    assert len(set(acting)) == len(acting)
    for row, member in zip(rows, acting, strict=True):
        facts, behaviour = details(row), people.behaviours[people.behaviour_of[member]]
        assert row.status == "success", row.reason
        assert behaviour.decide(facts["health_factor_wad"], 150_000, people.targets_wad[member]) is not None
        assert facts["health_factor_after_wad"] > facts["health_factor_wad"]
    for member in set(range(80)) - set(acting):
        behaviour = people.behaviours[people.behaviour_of[member]]
        assert behaviour.decide(healths.health_factor_wad[member], 150_000, people.targets_wad[member]) is None


def test_all_are_read_in_one_call_and_opened_in_two_transactions_each() -> None:
    fork, people = replica(), crowd(60, cash_share=1)
    sent: list[object] = []
    stop = fork.watch(sent.append)
    stage = Stage(fork, [people])
    stop()
    assert len(sent) == 2 * 60 + 1  # put up and borrow, and one approval for all
    reads: list[object] = []
    observe = stage.world.observe

    def counted(key: object, read: object) -> object:
        reads.append(key)
        return observe(key, read)  # type: ignore[arg-type]

    stage.world.observe = counted  # type: ignore[method-assign,assignment]
    stage.step()
    assert reads == [("healths", "AaveV3", people.addresses), ("price", "AaveV3", "WETH")]


def test_the_same_seed_gives_the_same_rows() -> None:
    digests = []
    for _ in range(2):
        stage, digest = Stage(replica(), [crowd(30)], seed=11), RowsDigest()
        for by in ("-0.1", "-0.1", "0.3"):
            digest.add(stage.after(by))
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]


def test_no_member_holds_what_the_population_did_not_deal() -> None:
    people = crowd()
    stage = Stage(replica(), [people])
    market = AaveV3(stage.fork)
    supplied = sum(market.account(address).supplied("WETH") for address in people.addresses)
    assert abs(supplied - sum(people.amounts)) <= len(people.amounts)
    assert Erc20(stage.fork, "WETH").balance_of(stage.world.address("crowd")) == 0


def test_members_with_too_little_for_compounds_minimum_do_not_borrow() -> None:
    people = crowd(3, market="cUSDCv3", collateral_amount=0.01, target=1.5)
    stage = Stage(replica(), [people])
    assert people.loans == [0, 0, 0]
    assert [row.kind for row in stage.after("-0.3")] == ["rest"]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(BadArgument, match="population cannot have 0 members"):
        crowd(0)
    with pytest.raises(BadArgument, match="without behaviours"):
        crowd(behaviours=())
    with pytest.raises(BadArgument, match=r"member \d+ of 'crowd' draws a collateral of -"):
        Stage(replica(), [crowd(20, collateral_amount=Uniform(-1, 1))])
    assert as_many(crowd(3)) == ("crowd-0", "crowd-1", "crowd-2")


def as_many(people: BorrowerPopulation) -> tuple[str, ...]:
    return people.accounts


@pytest.mark.slow
def test_five_thousand_open_and_are_looked_at_without_a_wait() -> None:
    people = crowd(5_000, collateral_amount=Uniform(0.1, 2), behaviours=[(Passive(), 1)])
    stage = Stage(replica(), [people])
    rows = stage.step()
    assert details(rows[0])["note"] == "0 of 5000 act, 0 can be liquidated"
    assert min(people.targets_wad) > WAD
