"""The borrower's environments: what actions do, what is earned, what is rewarded, and where they can stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi.errors import SimulationError, StateError, UsageError
from mayavi.evm.fleet import Fleet, Program
from mayavi.gym_env import make_rows
from mayavi.gym_env.lending import aave as aave_adapter
from mayavi.gym_env.lending.adapter import BORROWER, LIQUIDATOR
from mayavi.gym_env.lending.observations import OBSERVED
from mayavi.gym_env.lending.strategies import STRATEGIES
from mayavi.gym_env.onchain.posted_feed import PostedFeed
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.source import WorldSource
from tests.protocols.chainlink.recorded_feed import PROXY, eth_usd, put_real_feed

BORROWERS = ("aave", "aave-shock", "compound")
MILLION, BILLION, YEAR_S = 10**6, 10**9, 365 * 86_400


def played(env: Any, strategy: str, episodes: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What `strategy` earns in episodes from `episodes` on, one a row, and which were liquidated."""
    env.begin(range(env.rows), range(episodes, episodes + env.rows))
    earned, live = np.zeros(env.rows), np.ones(env.rows, dtype=np.bool_)
    while live.any():
        stepped = env.step(STRATEGIES[strategy](env), live)
        earned += np.where(live, stepped.rewards, 0.0)
        live = live & ~stepped.done
    return earned, env.columns["liquidated"].copy()


# -- where it starts --------------------------------------------------------------------------------------------------


def test_the_fixed_start_is_one_weth_at_a_health_factor_of_five_fourths_with_the_loan_in_the_wallet() -> None:
    env = make_rows("aave", start="fixed")
    env.begin([0], [0])
    told = {name: values[0] for name, values in env.exact().items()}
    assert told["collateral"] == 10**18
    assert abs(told["health_factor_wad"] - 1_250_000 * 10**12) < 10**12
    assert told["cash"] == told["debt"]
    assert told["cash_yield_ppm"] == 0
    assert told["net_wealth_e8"] == told["collateral_value_e8"]
    assert (env.config.horizon, env.config.step_blocks) == (12, 18_000)
    untouched = AaveV3(WorldSource().on("ethereum").open())
    rate = untouched.reserve("USDC").variable_borrow_rate
    assert abs(told["borrow_rate_wad"] / 1e18 - float(rate)) < 1e-6, "the market as it stands, but for the loan itself"


def test_drawn_starts_cover_their_intervals_and_rates_lie_on_both_sides_of_the_kink() -> None:
    env = make_rows("aave", 200)
    env.begin(range(200), range(200))
    factors = env.figure("health_factor_wad") / 1e18
    assert 1.09 < factors.min() < 1.2
    assert 2.3 < factors.max() < 2.51
    amounts = env.figure("collateral") / 1e18
    assert amounts.min() < 2
    assert amounts.max() > 50
    rates = env.figure("borrow_rate_wad") / 1e18
    assert rates.min() < 0.025
    assert rates.max() > 0.15
    assert 60 < (rates > 0.036).sum() < 140
    assert np.unique(env.figure("block")).size > 150
    yields = env.columns["cash_yield_ppm"] / MILLION
    assert yields.min() < 0 < 0.11 < yields.max()


def test_what_a_market_cannot_lend_is_told_with_the_episode() -> None:
    env = make_rows("aave", collateral_amount=(900_000.0, 900_000.0), health_factor=(1.1, 1.1))
    with pytest.raises(SimulationError, match=r"episode 3 cannot start: the protocol refuses its '(supply|borrow)'"):
        env.begin([0], [3])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("health_factor", (0.9, 2.0)),
        ("collateral_amount", (5.0, 1.0)),
        ("utilisation", (0.5, 1.0)),
        ("shock_size", [-1, 0]),
    ],
)
def test_intervals_that_make_no_sense_are_refused(setting: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"setting '{setting}'.*one number to one no smaller"):
        make_rows("aave", **{setting: value})


def test_a_collateral_whose_price_follows_another_has_no_shocks_of_its_own() -> None:
    with pytest.raises(UsageError, match="no price of its own"):
        make_rows("aave-shock", collateral="wstETH")
    env = make_rows("aave", collateral="wstETH")
    env.begin([0], [0])
    assert env.step(np.array([1])).rewards.tolist() == [0.0]


@pytest.mark.parametrize("chain", ["arbitrum", "polygon"])
def test_borrowers_live_on_other_chains_too(chain: str) -> None:
    env = make_rows("aave-shock", 3, chain=chain)
    env.begin(range(3), range(3))
    stepped = env.step(np.array([0, 2, 4]))
    assert env.columns["acted"].tolist() == [0, 1, 1]
    assert np.isfinite(stepped.observations).all()


# -- what actions do --------------------------------------------------------------------------------------------------


def test_discrete_actions_are_shares_of_debt_and_headroom() -> None:
    env = make_rows("aave-shock", 5, start="fixed", prices="constant")
    env.begin(range(5), [0] * 5)
    before = env.exact()
    debt, headroom = before["debt"][0], before["headroom"][0]
    env.step(np.arange(5))
    after, cash = env.exact(), before["cash"][0]
    assert after["cash"] == [cash, cash - debt // 4, cash - debt, cash + headroom // 4, cash + headroom // 2]
    assert after["debt"][2] == 0
    assert after["health_factor_wad"][2] == 2**256 - 1
    assert after["acted"] == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("name", BORROWERS)
def test_all_of_the_headroom_can_be_borrowed_and_nothing_is_ever_refused(name: str) -> None:
    env = make_rows(name, 40, actions="continuous", prices="constant")
    env.begin(range(40), range(40))
    env.step(np.ones((40, 1)))
    assert set(env.columns["acted"].tolist()) == {1}
    assert (
        env.figure("headroom") * env.adapter.terms.debt_price_e8 / env.adapter.debt_unit
        <= env.figure("debt_value_e8") / 1e3
    ).all()
    env.begin(range(40), range(40))
    env.step(-np.ones((40, 1)))
    assert set(env.columns["acted"].tolist()) == {1}
    assert set(env.exact()["debt"]) == {0}


@pytest.mark.parametrize("name", BORROWERS)
def test_the_wallet_earns_its_yield_to_the_unit(name: str) -> None:
    env = make_rows(name, 30)
    env.begin(range(30), range(30))
    before, yields = env.exact()["cash"], env.columns["cash_yield_ppm"].tolist()
    env.step(np.zeros(30, dtype=np.int64))
    for cash, after, ppm in zip(before, env.exact()["cash"], yields, strict=True):
        parts = abs(ppm) * 1000 * 18_000 * 12 // YEAR_S
        assert after - cash == (cash * parts // BILLION if ppm >= 0 else -(cash * parts // BILLION))
    assert min(yields) < 0 < max(yields)


# -- liquidation and rewards ------------------------------------------------------------------------------------------


def test_liquidated_means_that_the_pool_let_a_liquidator_take_collateral() -> None:
    env = make_rows("aave-shock", 64, split="validation")
    earned, liquidated = played(env, "noop")
    assert liquidated.any()
    assert not liquidated.all()
    assert (earned[liquidated] == -1.0).all()
    assert (earned[~liquidated] > -1.0).all()
    for row in range(64):
        seized = Erc20(env.fleet.fork(row), "WETH").balance_of(LIQUIDATOR)
        assert (seized > 0) == liquidated[row]
    row = int(np.flatnonzero(liquidated)[0])
    assert AaveV3(env.fleet.fork(row)).account(BORROWER).supplied("WETH") == env.exact()["collateral"][row]


@pytest.mark.parametrize("name", BORROWERS)
def test_carry_adds_up_to_the_change_of_wealth_less_what_prices_did(name: str) -> None:
    sparse, dense = make_rows(name, 16), make_rows(name, 16, reward="carry")
    wealth, _ = played(sparse, "repay_all")
    dense.begin(range(16), range(16))
    carried, by_price = np.zeros(16), np.zeros(16)
    for _ in range(dense.config.horizon):
        held, price = dense.figure("collateral"), dense.figure("price_e8")
        carried += dense.step(STRATEGIES["repay_all"](dense)).rewards
        by_price += held * (dense.figure("price_e8") - price) / dense.adapter.unit / dense.columns["start_wealth_e8"]
    np.testing.assert_allclose(carried + by_price, wealth, rtol=1e-9, atol=1e-12)


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("name", BORROWERS)
def test_neither_rest_nor_repayment_is_best_everywhere_and_a_rule_of_thumb_beats_both(name: str) -> None:
    env = make_rows(name, 200, split="validation")
    earned = {strategy: played(env, strategy)[0] for strategy in ("noop", "repay_all", "follow_spread")}
    better = (earned["noop"] > earned["repay_all"] + 1e-6).mean()
    assert 0.2 < better < 0.8
    assert earned["follow_spread"].mean() > max(earned["noop"].mean(), earned["repay_all"].mean()) + 5e-4


def test_a_near_miss_costs_where_the_cushion_is_guarded() -> None:
    plain, guarded = (make_rows("aave-shock", 64, split="validation", reward=each) for each in ("carry", "guarded"))
    for env in (plain, guarded):
        env.begin(range(64), range(64))
    live, near_misses = np.ones(64, dtype=np.bool_), 0
    while live.any():
        carried, stepped = (env.step(STRATEGIES["noop"](env), live) for env in (plain, guarded))
        near = live & ~stepped.terminated & (guarded.health() < 1.15)
        cost = np.where(near, 0.02 * (1.15 - guarded.health()) / 0.15, 0.0)
        np.testing.assert_allclose((carried.rewards - stepped.rewards)[live], cost[live], atol=1e-12)
        near_misses += int(near.sum())
        live &= ~stepped.done
    assert near_misses > 20


def test_health_is_rewarded_by_its_change_less_what_idle_collateral_costs() -> None:
    env = make_rows("aave", start="fixed", reward="health")
    env.begin([0], [0])
    before = env.health()[0]
    assert env.step(np.array([1])).rewards[0] == pytest.approx(3.0 - before - 0.01)
    assert env.step(np.array([0])).rewards[0] == pytest.approx(-0.01)


# -- where it reads ---------------------------------------------------------------------------------------------------


def test_slots_and_the_pools_own_views_tell_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise StateError("another version")

    by_slots = make_rows("aave-shock", 12, split="test")
    monkeypatch.setattr(aave_adapter, "AaveIndexes", unknown)
    by_views = make_rows("aave-shock", 12, split="test")
    assert (by_slots.adapter.by_slots, by_views.adapter.by_slots) == (True, False)
    rng, live = np.random.default_rng(3), np.ones(12, dtype=np.bool_)
    for env in (by_slots, by_views):
        env.begin(range(12), range(12))
    for _ in range(by_slots.config.horizon):
        actions = rng.integers(5, size=12)
        one, other = by_slots.step(actions, live), by_views.step(actions, live)
        assert by_slots.exact() == by_views.exact()
        np.testing.assert_array_equal(one.observations, other.observations)
        live = live & ~one.done
    assert by_slots.columns["liquidated"].any()


@pytest.mark.slow(0.3)
def test_a_feed_of_ours_takes_the_place_of_chainlinks_own(cases: Path) -> None:
    fork = WorldSource().on("ethereum").open()
    put_real_feed(fork, eth_usd(cases))
    before = PriceFeed(fork, PROXY)
    answer, latest = before.answer, before.latest_round
    feed = PostedFeed(fork, fork.address_of(PROXY))
    after = PriceFeed(fork, PROXY)
    assert (after.answer, after.latest_round) == (answer, latest)
    program = Program()
    feed.post(program, program.input("price"), program.input("posts"))
    program.output("price", feed.price_e8(program))
    fleet = Fleet(fork, 2)
    assert fleet.run(program, price=[7 * 10**8] * 2, posts=[1, 0])["price"].ints() == [7 * 10**8, answer]
    assert AaveV3(fleet.fork(0)).price_usd_e8("WETH") == 7 * 10**8


def test_every_entry_of_an_observation_moves_and_stays_within_its_bounds() -> None:
    env = make_rows("aave-shock", 64)
    env.begin(range(64), range(64))
    rng, seen, live = np.random.default_rng(1), [env.observe()], np.ones(64, dtype=np.bool_)
    for _ in range(env.config.horizon):
        stepped = env.step(rng.integers(5, size=64), live)
        seen.append(stepped.observations[live])
        live = live & ~stepped.done
    all_seen = np.concatenate(seen)
    assert all_seen.shape[1] == len(OBSERVED)
    for entry, column in zip(OBSERVED, all_seen.T, strict=True):
        assert entry.least <= column.min() < column.max() <= entry.most, entry.name
        assert ((column == entry.least) | (column == entry.most)).mean() < 0.6, f"{entry.name} is clipped too often"
