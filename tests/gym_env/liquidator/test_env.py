"""The liquidator's environment: accounts read from slots, what pays where, and the same episodes driven by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.evm.fleet import Words
from mayavi.gym_env import make_rows
from mayavi.gym_env.rows import RowsEnv
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.uniswap.market import UniswapV3
from tests.gym_env.lending.by_hand import (
    WETH_USDC,
)
from tests.gym_env.liquidator.by_hand import by_hand
from tests.gym_env.variants import choices, episode, of_row

E8, WAD = 10**8, 10**18
THIN = {"pool_depth": 0.03}


def returns(env: RowsEnv[Any], strategy: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The sums of the rewards of the first episodes, played by a scripted strategy."""
    env.begin(range(env.rows), range(env.rows))
    live, total = np.ones(env.rows, dtype=np.bool_), np.zeros(env.rows)
    while live.any():
        stepped = env.step(env.strategies[strategy](env), live)
        total += np.where(live, stepped.rewards, 0.0)
        live &= ~stepped.done
    return total


# -- what is seen -----------------------------------------------------------------------------------------------------


def test_accounts_read_from_slots_are_those_the_pool_tells() -> None:
    env = make_rows("liquidator", 4, borrowers=4, horizon=10, step_blocks=50_000)
    moments = [env.begin(range(4), range(4)), *(env.step(each) for each in choices(env, 3)[:6])]
    assert len(moments) == 7
    told = env.exact()
    touched = 0
    for row in range(4):
        fork = env.fleet.fork(row)
        market = AaveV3(fork)
        assert market.reserve("WETH").price_usd_e8 == told["price_usd_e8"][row]
        for at, borrower in enumerate(env.loans.borrowers):  # type: ignore[attr-defined]
            account = market.account(borrower)
            assert account.supplied("WETH") == told["collateral_wei"][row][at]
            assert account.debt("USDC") == told["debt_usdc"][row][at]
            assert account.data().health_factor_wad == told["health_factor_wad"][row][at]
            touched += account.debt("USDC") > 0
    assert touched > 8


def test_what_a_sale_would_bring_is_what_the_quoter_says() -> None:
    for depth in (1.0, 0.05):
        env = make_rows("liquidator", 1, pool_depth=depth)
        env.begin([0], [0])
        fork = env.fleet.fork(0)
        root = Words.of([UniswapV3(fork).pool(*WETH_USDC).sqrt_price_x96]).words
        for amount in (0.5, 40.0, 900.0):
            quote = UniswapV3(fork).quote_exact_input(WETH_USDC, int(amount * WAD)).amount_out / 10**6
            ours = env.loans.trades.quote(root, np.array([amount]))[0]  # type: ignore[attr-defined]
            assert ours == pytest.approx(quote, rel=1e-9)


def test_ranks_put_those_first_who_can_be_liquidated_and_owe_most() -> None:
    env = make_rows("liquidator", 8, borrowers=5)
    env.begin(range(8), range(8))
    some = 0
    for _ in range(14):
        env.step(np.zeros(8, dtype=np.int64))
        health = np.array(env.exact()["health_factor_wad"], dtype=np.float64) / WAD
        ranked = np.take_along_axis(health, env.loans.accounts().ranked, axis=1)  # type: ignore[attr-defined]
        count = (health < 1).sum(axis=1)
        for row in range(8):
            assert (ranked[row, : count[row]] < 1).all()
            assert (np.diff(ranked[row, count[row] :]) >= 0).all()
        most = np.take_along_axis(env.loans.accounts().most_usd, env.loans.accounts().ranked, axis=1)  # type: ignore[attr-defined]
        assert (np.diff(most, axis=1) <= 0).all()
        some += int(count.sum())
    assert some > 20


def test_at_a_health_factor_of_exactly_095_all_of_a_debt_can_be_repaid_as_in_the_pool() -> None:
    env = make_rows("liquidator", 1, borrowers=3)
    env.begin([0], [0])
    loans = env.loans  # type: ignore[attr-defined]
    edge = 95 * 10**16
    for at, health in enumerate((edge - 1, edge, edge + 1)):
        env.columns["looked"][0, loans.outputs[f"health_{at}"]] = Words.of([health]).words[0]
    assert loans.accounts().close_bps.tolist() == [[10_000, 10_000, 5_000]]


# -- what pays --------------------------------------------------------------------------------------------------------


def test_the_bonus_less_sale_and_gas_is_what_is_earned() -> None:
    env = make_rows("liquidator", 1, start="fixed")
    env.begin([0], [0])
    before = env.exact()["money_usdc"][0]
    profit = 0.0
    for _ in range(24):
        price = env.exact()["price_usd_e8"][0] / E8
        scale = env.loans.scale_usd[0]  # type: ignore[attr-defined]
        stepped = env.step(env.strategies["close_factor_max"](env))
        told = env.exact()
        gas = told["gas_used"][0] * told["gas_price_wei"][0] / WAD * price
        earned = (told["received_usdc"][0] - told["paid_usdc"][0]) / 10**6 - gas
        assert stepped.rewards[0] == pytest.approx(earned / scale, rel=1e-12, abs=1e-15)
        if told["paid_usdc"][0]:
            margin = told["seized_wei"][0] / WAD * price / (told["paid_usdc"][0] / 10**6 * 0.99997427) - 1
            assert margin == pytest.approx(0.045, abs=1e-4)  # 5 %, of which the protocol takes a tenth
        profit += told["received_usdc"][0] - told["paid_usdc"][0]
    assert env.exact()["money_usdc"][0] - before == profit > 0
    assert stepped.truncated[0]
    assert not stepped.terminated[0]


@pytest.mark.slow(1)
def test_in_a_deep_pool_the_most_is_best_and_in_a_thin_one_it_is_not() -> None:
    deep, thin = make_rows("liquidator", 16), make_rows("liquidator", 16, **THIN)
    assert returns(deep, "best_share").mean() == pytest.approx(returns(deep, "close_factor_max").mean(), rel=0.02)
    smart, most = returns(thin, "best_share"), returns(thin, "close_factor_max")
    assert smart.mean() > 1.2 * most.mean() > 0
    assert not returns(deep, "noop").any()


def test_money_limits_what_can_be_paid() -> None:
    env = make_rows("liquidator", 1, start="fixed", capital=50_000.0)
    env.begin([0], [0])
    paid = []
    for _ in range(24):
        had = env.exact()["money_usdc"][0]
        env.step(env.strategies["close_factor_max"](env))
        paid.append(env.exact()["paid_usdc"][0])
        assert paid[-1] in (0, had)
    assert sum(map(bool, paid)) > 3


def test_an_episode_ends_by_itself_when_nobody_owes_anything() -> None:
    at_once = {"shock": (0.14, 0.14), "shock_steps": (1.0, 1.0), "rebound": (0.0, 0.0)}
    env = make_rows("liquidator", 1, start="fixed", borrowers=1, **at_once)
    env.begin([0], [0])
    for _ in range(24):
        stepped = env.step(env.strategies["close_factor_max"](env))
        if stepped.terminated[0]:
            break
    assert stepped.terminated[0]
    assert not stepped.truncated[0]
    assert env.exact()["debt_usdc"][0] == [0]
    assert env.steps[0] < 24


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="could not be opened"):
        make_rows("liquidator", 1, health_factor=(1.001, 1.01)).begin([0], [0])
    with pytest.raises(UsageError, match="setting 'shock'"):
        make_rows("liquidator", 1, shock=(0.3, 0.1))


# -- the same by hand -------------------------------------------------------------------------------------------------


def compare(numbers: list[int], **settings: Any) -> int:
    """Episodes on rows against the same by hand: every integer, observation and reward; how many liquidations."""
    env = make_rows("liquidator", len(numbers), borrowers=3, horizon=10, **settings)
    actions = choices(env, 17)
    moments = episode(env, numbers, actions)
    liquidations = 0
    for row, number in enumerate(numbers):
        told = of_row(moments, row)
        hand = by_hand(env.config, number, [each[row] for each in actions])
        scale = hand[0].pop("scale")
        assert len(told) == len(hand)
        for step, (ours, theirs) in enumerate(zip(told, hand, strict=True)):
            expected = theirs.pop("observations")
            assert {key: ours[key] for key in theirs} == theirs
            np.testing.assert_allclose(ours["observations"], expected, rtol=1e-4, atol=2e-5)
            liquidations += theirs["paid_usdc"] > 0
            if step:
                price = hand[step - 1]["price_usd_e8"] / E8
                gas = theirs["gas_used"] * theirs["gas_price_wei"] / WAD * price
                profit = (theirs["received_usdc"] - theirs["paid_usdc"]) / 10**6 - gas
                assert ours["rewards"] == pytest.approx(profit / scale, rel=1e-9, abs=1e-12)
    return liquidations


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_episodes_are_those_of_the_scheduler(actions: str) -> None:
    assert compare([0, 1], actions=actions) > 0


@pytest.mark.slow
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
@pytest.mark.parametrize("settings", [{"split": "test"}, {**THIN, "capital": 300_000.0, "recovery": (0.3, 0.9)}])
def test_many_episodes_are_those_of_the_scheduler(actions: str, settings: dict[str, Any]) -> None:
    assert compare(list(range(10)), actions=actions, **settings) > 5
