"""A step of the vesting environment as programs from action to reward: sale, arbitrage, release, and the outcome.

Each has few paths, where one program has all their combinations. Figures have the bits of `VestingRows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.agents.quantities import MILLION
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.float_word import FloatWord
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.numerics import portable

if TYPE_CHECKING:
    from mayavi.gym_env.vesting.env import VestingRows

_E8, _GWEI = 10**8, 10**9
SMALLEST = 1e-8
"""Smallest ratio of unsold amount to pool depth in observations."""
ENTRIES = 9
"""Entries of an observation."""


def step_parts(env: VestingRows) -> tuple[Program, Program, Program, Program]:
    """Sell and pass time; let arbitrageurs trade; release what vested; look at it all."""
    return _sale(env), env.trades.arbitrage(env.arbitrageur), _release(env), _outcome(env)


def _held(env: VestingRows, program: Program) -> Word:
    return program.load(*balance_slot(env.fork, env.trades.token, env.holder))


def _in_wallet(env: VestingRows, program: Program, schedule: Word) -> Word:
    """Balance of the wallet of a schedule."""
    found = program.load(env.trades.token, env.slots[0])
    for number, slot in enumerate(env.slots[1:], 1):
        found = program.either(program.equal(schedule, number), program.load(env.trades.token, slot), found)
    return found


def _asked(env: VestingRows, program: Program) -> tuple[Word | int, Word]:
    """Even parts and millionths of the released amount that the action sells."""
    if env.config.actions == "continuous":
        share = program.float_add(program.input_floats("action", 1)[0], 1.0)
        share = program.float_multiply(program.float_divide(share, 2.0), float(MILLION))
        return 0, program.word_of_float(share)
    action = program.input("action")
    one, two, half, everything = (program.equal(action, number) for number in range(1, 5))
    parts = program.add(one, program.multiply(2, two))
    return parts, program.add(program.multiply(half, MILLION // 2), program.multiply(everything, MILLION))


def _sale(env: VestingRows) -> Program:
    program = Program()
    held, left = _held(env, program), program.subtract(env.config.horizon, program.input("steps"))
    unsold = program.add(held, _in_wallet(env, program, program.input("schedule")))
    parts, share = _asked(env, program)
    share = program.either(program.less(left, 2), MILLION, share)
    even = program.multiply_divide(unsold, parts, left)
    amount = program.minimum(held, program.maximum(even, program.multiply_divide(held, share, MILLION)))
    _, gas, received = program.call(env.trades.swap(env.holder, amount, sells=True), mask=amount, returns=1)
    blocks = env.config.step_blocks
    program.advance(blocks, blocks * env.block_seconds)
    for name, word in {"sold": amount, "received": received[0], "gas": gas}.items():
        program.output(name, word)
    return program


def _release(env: VestingRows) -> Program:
    program = Program()
    schedule = program.input("schedule")
    filled = program.less(0, _in_wallet(env, program, schedule))
    calls = [Template(wallet, env.release_call, sender=env.holder) for wallet in env.wallets]
    _, gas, _ = program.call(calls, choice=schedule, mask=filled)
    program.output("release_gas", gas)
    return program


def _outcome(env: VestingRows) -> Program:
    program = Program()
    held, waiting = _held(env, program), _in_wallet(env, program, program.input("schedule"))
    inventory, started = _float(program, "inventory"), _price(program, "start_e8")
    reward = _reward(env, program, inventory, started)
    earned = FloatWord(program, program.input_floats("earned", 1)[0]) + reward
    over = program.equal(program.add(held, waiting), 0)
    if env.config.reward == "at_end":
        reward = earned.where(over, 0.0)
    program.output("sold_out", over)
    program.output_floats("reward", [reward.word])
    program.output_floats("earned", [earned.word])
    seen = _observation(env, program, (held, waiting), inventory.at_least(1.0), started)
    space = env.observation_space
    bounds = zip(seen, space.low.tolist(), space.high.tolist(), strict=True)
    program.output_singles("observation", [each.at_least(low).at_most(high).word for each, low, high in bounds])
    return program


def _price(program: Program, name: str) -> FloatWord:
    return FloatWord.of(program, program.input(name)) / _E8


def _float(program: Program, name: str) -> FloatWord:
    return FloatWord(program, program.input_floats(name, 1)[0])


def _reward(env: VestingRows, program: Program, inventory: FloatWord, started: FloatWord) -> FloatWord:
    """As `VestingRows._sale_reward`."""
    trades = env.trades
    worth = (inventory / trades.unit * started).at_least(1e-18)
    gas = FloatWord.of(program, program.add(program.input("gas"), program.input("release_gas")))
    gas_usd = gas * (env.config.gas_price_gwei / _GWEI) * _price(program, "last_e8")
    proceeds = FloatWord.of(program, program.input("received")) / trades.money_unit - gas_usd
    sold = FloatWord.of(program, program.input("sold"))
    return proceeds / worth - sold / inventory.at_least(1.0)


def _observation(
    env: VestingRows, program: Program, unsold_wei: tuple[Word, Word], inventory: FloatWord, started: FloatWord
) -> list[FloatWord]:
    """As `VestingRows.observe`, before entries are clipped."""
    trades, horizon = env.trades, env.config.horizon
    held, waiting = (FloatWord.of(program, each) for each in unsold_wei)
    root, liquidity = FloatWord.of(program, trades.root(program)), FloatWord.of(program, trades.liquidity(program))
    depth = trades.depth_word(root, liquidity).at_least(1e-9)
    unsold = ((held + waiting) / trades.unit / depth).at_least(SMALLEST)
    reference, began = _price(program, "price_e8").at_least(1e-8), started.at_least(1e-8)
    pool = trades.price_word(root).at_least(1e-8)
    left = program.subtract(horizon, program.add(program.input("steps"), 1))
    return [
        FloatWord.of(program, left) / horizon,
        held / inventory,
        waiting / inventory,
        10.0 * (reference / began).log(),
        100.0 * (pool / reference).log(),
        1.0 - unsold.log() / float(portable.log(SMALLEST)),
        FloatWord.of(program, program.input("recovery_ppm")) / MILLION,
        20.0 * _float(program, "step_volatility"),
        _float(program, "pull"),
    ]
