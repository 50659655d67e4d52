"""The environment of vesting: its story, its wallets, and the same episodes driven by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from math import log, log10
from typing import Any

import numpy as np
import pytest

from mayavi.agents.trading.selling import sqrt_price_x96
from mayavi.gym_env import make_rows
from mayavi.gym_env.episodes import episode_stream
from mayavi.gym_env.rows import RowsEnv
from mayavi.gym_env.vesting.start import SCHEDULES, VestingConfig, start_of
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.vesting_wallet import VestingWallet
from tests.gym_env.lending.by_hand import (
    FOREVER,
    MILLION,
    WETH_USDC,
    ByHand,
    Facts,
    Scripted,
    approve_router,
    arbitrage,
    gas_of,
    rich,
)
from tests.gym_env.variants import choices, episode, of_row

EVEN, HALF, ALL = 1, 3, 4
STEP_S = 300 * 12
E8 = 10**8


# -- the story --------------------------------------------------------------------------------------------------------


def proceeds(env: RowsEnv[Any], strategy: str) -> float:
    """Dollars that a scripted strategy gets for the fixed inventory."""
    env.begin([0], [0])
    play = env.strategies[strategy]
    while not env.step(play(env)).done[0]:
        pass
    return float(env.exact()["proceeds_usdc"][0] / 10**6)


def test_small_inventories_do_not_tell_strategies_apart_and_large_ones_do() -> None:
    spreads = {}
    for scale in (1.0, 100.0, 10_000.0):
        env = make_rows("vesting", 1, start="fixed", scale=scale)
        got = {name: proceeds(env, name) for name in env.strategies}
        assert (
            got["hold"] == got["sell_all"] == got["noop"] < got["twap"]
        )  # nobody else trades: waiting changes nothing
        spreads[scale] = got["twap"] / got["sell_all"] - 1
    assert spreads[1.0] < 1e-5
    assert 1e-5 < spreads[100.0] < 1e-4
    assert spreads[10_000.0] > 1e-3


def test_where_nobody_trades_back_parts_bring_what_the_whole_brings() -> None:
    env = make_rows("vesting", 1, start="fixed", scale=10_000.0, recovery=0.0)
    assert proceeds(env, "twap") == pytest.approx(proceeds(env, "sell_all"), rel=1e-6)


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_even_parts_are_even(actions: str) -> None:
    env = make_rows("vesting", 1, start="fixed", actions=actions, scale=100.0)
    env.begin([0], [0])
    for step in range(12):
        assert not env.step(env.strategies["twap"](env)).done[0] or step == 11
        assert env.exact()["sold_wei"][0] == pytest.approx(10**19 / 12, rel=1e-4)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tokens_come_as_the_wallets_schedule_says(schedule: str) -> None:
    env = make_rows("vesting", 1, start="fixed", schedule=schedule, scale=10.0)
    env.begin([0], [0])
    for step in range(12):
        passed, longest = step * STEP_S + 1, 11 * STEP_S
        vested = {
            "cliff": 10**18,
            "late_cliff": 10**18 if 3 * (passed - 1) >= longest else 0,
            "half": 10**18 * min(passed, longest // 2 + 1) // (longest // 2 + 1),
            "whole": 10**18 * passed // (longest + 1),
        }[schedule]
        told = env.exact()
        assert told["held_wei"][0] == vested
        assert told["held_wei"][0] + told["in_wallet_wei"][0] == 10**18
        env.step(np.array([0]))
    assert env.exact()["held_wei"][0] == 0  # the last step sells all


def test_rewards_add_up_to_the_proceeds_over_the_worth_of_the_start() -> None:
    for reward in ("shortfall", "at_end"):
        env = make_rows("vesting", 6, reward=reward, gas_price_gwei=0.0)
        moments = episode(env, list(range(6)), choices(env, 2))
        for row in range(6):
            seen = of_row(moments, row)
            worth = seen[0]["inventory_wei"] / 10**18 * seen[0]["reference_usd_e8"] / E8
            expected = seen[-1]["proceeds_usdc"] / 10**6 / worth - 1
            assert sum(each["rewards"] for each in seen) == pytest.approx(expected, rel=1e-9)
            assert seen[-1]["terminated"]
            assert not any(each["truncated"] for each in seen)
            if reward == "at_end":
                assert not any(each["rewards"] for each in seen[:-1])


def test_gas_is_paid_where_it_has_a_price() -> None:
    free, paid = (make_rows("vesting", 1, start="fixed", gas_price_gwei=price) for price in (0.0, 20.0))
    for env in (free, paid):
        env.begin([0], [0])
    rewards = [float(env.step(np.array([EVEN])).rewards[0]) for env in (free, paid)]
    worth = 0.1 * free.exact()["reference_usd_e8"][0] / E8
    gas = paid.exact()["gas_used"][0]
    assert gas > 100_000
    cost = gas * 20e-9 * free.exact()["reference_usd_e8"][0] / E8
    assert rewards[0] - rewards[1] == pytest.approx(cost / worth, rel=1e-9)


# -- the same by hand -------------------------------------------------------------------------------------------------


def by_hand(config: VestingConfig, number: int, actions: list[Any]) -> list[Facts]:
    """An episode driven through the scheduler: what is seen before each action, and at the end."""
    holder: dict[str, Any] = {}
    seen: list[Facts] = []

    def prepare(fork: Any, address: bytes) -> None:
        pool = UniswapV3(fork).pool(*WETH_USDC)
        price_e8 = int(pool.price("WETH") * E8)
        rng = episode_stream("vesting", config.split, number)
        start = start_of(config, price_e8, 10**18, STEP_S, rng)
        begins, lasts = vesting_times(start.schedule, fork.timestamp, (config.horizon - 1) * STEP_S)
        wallet = VestingWallet.place(fork, b"\x77" * 20, beneficiary=address, start=begins, duration=lasts)
        fork.deal("WETH", b"\x78" * 20, start.amount)
        Erc20(fork, "WETH").transfer(wallet.address, start.amount, sender=b"\x78" * 20)
        approve_router(fork, address)
        fork.mine(start.start_blocks)
        roots = [sqrt_price_x96_of(pool, price) for price in start.reference_e8]
        holder.update(start=start, wallet=wallet, pool=pool, roots=roots, left=start.amount)

    def arbitrages(fork: Any, address: bytes, step: int) -> None:
        recovery = MILLION if step == 0 else holder["start"].recovery_ppm
        arbitrage(fork, address, holder["roots"][step], recovery)

    def releases(fork: Any, address: bytes, step: int) -> None:
        del step
        wallet = holder["wallet"]
        if wallet.releasable("WETH"):
            wallet.release("WETH", sender=address)
        elif Erc20(fork, "WETH").balance_of(wallet.address):  # the holder asks anyway, and gets nothing
            wallet.contract.release(fork.address_of("WETH"), sender=address)

    def sells(fork: Any, address: bytes, step: int) -> Facts:
        weth, usdc = Erc20(fork, "WETH"), Erc20(fork, "USDC")
        held, waiting = weth.balance_of(address), weth.balance_of(holder["wallet"].address)
        seen.append(
            {
                "inventory_wei": holder["start"].amount,
                "held_wei": held,
                "in_wallet_wei": waiting,
                "proceeds_usdc": usdc.balance_of(address),
                "pool_sqrt_price_x96": holder["pool"].sqrt_price_x96,
                "reference_usd_e8": holder["start"].reference_e8[step],
                "block": fork.block_number,
                "timestamp": fork.timestamp,
                "schedule": holder["start"].schedule,
                "sold_wei": 0,
                "received_usdc": 0,
                "observations": observed(config, holder, held, waiting, step),
            }
        )
        if step >= len(actions) or not held + waiting:
            return {}
        left = config.horizon - step
        amount = sale(config, actions[step], held, waiting, left)
        if not amount:
            return {}
        swap = UniswapV3(fork).swap_exact_input(WETH_USDC, amount, sender=address, deadline=FOREVER)
        return {"sold": swap.amount_in, "received": swap.amount_out}

    market = Scripted("vesting.arbitrageur", rich, arbitrages)
    player = Scripted("vesting", prepare, releases, sells)
    hand = ByHand([market, player], config.step_blocks)
    rows: list[Any] = []
    for _ in range(len(actions) + 1):
        done = hand.tick()
        rows.append(done)
        if len(seen) > 1:
            told = details(rows[-2])
            seen[-1]["sold_wei"], seen[-1]["received_usdc"] = told.get("sold", 0), told.get("received", 0)
            sale_gas = sum(int(row.gas_used) for row in rows[-2] if row.agent == "vesting" and row.kind == "1")
            release_gas = sum(int(row.gas_used) for row in rows[-1] if row.agent == "vesting" and row.kind == "0")
            seen[-1]["gas_used"] = sale_gas + release_gas
        else:
            seen[-1]["gas_used"] = 0
        if not seen[-1]["held_wei"] + seen[-1]["in_wallet_wei"]:
            break
    assert gas_of(rows[0], "vesting") > 0
    return seen


def vesting_times(schedule: str, now: int, longest: int) -> tuple[int, int]:
    """Start and duration of a wallet, in seconds, of an episode that lasts `longest`."""
    return {
        "cliff": (now - 1, 1),
        "late_cliff": (now + longest // 3 - 1, 1),
        "half": (now - 1, longest // 2 + 1),
        "whole": (now - 1, longest + 1),
    }[schedule]


def details(rows: list[Any]) -> dict[str, int]:
    (row,) = [row for row in rows if row.agent == "vesting" and row.kind == "1"]
    return {key: int(value) for key, value in json.loads(row.details).items() if key in ("sold", "received")}


def sqrt_price_x96_of(pool: Any, price_e8: int) -> int:
    return sqrt_price_x96(Fraction(price_e8, E8), 18, 6, token0=pool.token0.symbol == "WETH")


def sale(config: VestingConfig, action: Any, held: int, waiting: int, left: int) -> int:
    """What an action sells."""
    if left == 1:
        return held
    if config.actions == "continuous":
        return held * round((float(action[0]) + 1) / 2 * MILLION) // MILLION
    parts, share = {0: (0, 0), EVEN: (1, 0), 2: (2, 0), HALF: (0, MILLION // 2), ALL: (0, MILLION)}[int(action)]
    return min(held, max((held + waiting) * parts // left, held * share // MILLION))


def observed(config: VestingConfig, holder: dict[str, Any], held: int, waiting: int, step: int) -> list[float]:
    """The observation, from what the adapters say."""
    start, pool = holder["start"], holder["pool"]
    reference, price = start.reference_e8[step] / E8, float(pool.price("WETH"))
    root = pool.sqrt_price_x96 / 2**96
    depth = pool.liquidity * root / 10**18  # WETH is token1 here
    unsold = max((held + waiting) / 10**18 / depth, 1e-8)
    entries = [
        (config.horizon - step) / config.horizon,
        held / start.amount,
        waiting / start.amount,
        10 * log(reference / (start.reference_e8[0] / E8)),
        100 * log(price / reference),
        1 + log10(unsold) / 8,
        start.recovery_ppm / MILLION,
        20 * start.step_volatility,
        start.pull,
    ]
    lows, highs = [0, 0, 0, -10, -10, 0, 0, 0, 0], [1, 1, 1, 10, 10, 1, 1, 10, 1]
    return [min(max(each, low), high) for each, low, high in zip(entries, lows, highs, strict=True)]


def compare(numbers: list[int], **settings: Any) -> None:
    """Episodes on rows against the same by hand: every integer, every observation, every reward."""
    env = make_rows("vesting", len(numbers), **settings)
    actions = choices(env, 31)
    moments = episode(env, numbers, actions)
    for row, number in enumerate(numbers):
        told = of_row(moments, row)
        hand = by_hand(env.config, number, [each[row] for each in actions])
        assert len(told) == len(hand)
        worth = hand[0]["inventory_wei"] / 10**18 * hand[0]["reference_usd_e8"] / E8
        price_of_gas = env.config.gas_price_gwei / 10**9
        for step, (ours, theirs) in enumerate(zip(told, hand, strict=True)):
            assert {key: ours[key] for key in theirs if key != "observations"} == {
                key: value for key, value in theirs.items() if key != "observations"
            }
            np.testing.assert_allclose(ours["observations"], theirs["observations"], rtol=2e-5, atol=2e-6)
            if step:
                gas_usd = theirs["gas_used"] * price_of_gas * hand[step - 1]["reference_usd_e8"] / E8
                reward = (theirs["received_usdc"] / 10**6 - gas_usd) / worth
                reward -= theirs["sold_wei"] / theirs["inventory_wei"]
                assert ours["rewards"] == pytest.approx(reward, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_episodes_are_those_of_the_scheduler(actions: str) -> None:
    compare([5, 6], actions=actions, gas_price_gwei=15.0)


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
@pytest.mark.parametrize("settings", [{"split": "test"}, {"scale": 5_000.0, "spread": 4.0, "gas_price_gwei": 30.0}])
def test_many_episodes_are_those_of_the_scheduler(actions: str, settings: dict[str, Any]) -> None:
    compare(list(range(10)), actions=actions, **settings)
