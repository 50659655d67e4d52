"""`VestingRows`: a holder of vesting WETH that has to sell all of it into one pool before the horizon.

The tokens are in a VestingWallet of OpenZeppelin and are released by its `release`. They are sold on the WETH/USDC pool
of Uniswap V3 by real swaps, which move its price. Between two steps arbitrageurs move the pool back towards the
reference price, the price on other markets, by a real swap as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.evm.address import account_address
from mayavi.evm.chains import chain
from mayavi.evm.fleet import Program, Template, Word, Words
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.onchain.pool_trades import UNLIMITED_FUNDS, PoolTrades
from mayavi.gym_env.rows import Floats, Observations, Rows
from mayavi.gym_env.vesting.parts import SMALLEST
from mayavi.gym_env.vesting.start import SCHEDULES, VestingConfig, starts_of
from mayavi.numerics import portable
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.vesting_wallet import VestingWallet

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

TOKEN, MONEY, FEE = "WETH", "USDC", 500
HOLDER, TREASURY, ARBITRAGEUR = "vesting", "vesting.treasury", "vesting.arbitrageur"
REST, EVEN_PART, TWO_PARTS, HALF, ALL = range(5)
"""Discrete actions."""
_E8, _GWEI = 10**8, 10**9
_LATE = 3  # a late cliff is after a third of the time


class VestingRows(ChainRowsEnv[VestingConfig]):
    """Sale of a vesting inventory. A step: sell, pass time, let arbitrageurs trade, release what vested.

    Actions. Discrete: 0 sells nothing, 1 an even part (the unsold amount, vested or not, over the steps left), 2 two
    even parts, 3 half of the released amount, 4 all of it. Continuous: one number from -1, nothing, to 1, the whole
    released amount. A sale is limited by the released amount. The last step sells all of it, whatever the action.

    Observations, each within the bounds of the space and clipped there:

    | | |
    |---|---|
    | 0 | steps left, of all |
    | 1 | released and unsold, of the inventory |
    | 2 | not released yet, of the inventory |
    | 3 | ten times the logarithm of the reference price over that of the start |
    | 4 | a hundred times the logarithm of the pool's price over the reference price |
    | 5 | unsold amount over the pool's depth, on a log scale: 0 at 10⁻⁸, 1 at a ratio of 1 |
    | 6 | share of the gap to the reference price that arbitrage closes between two steps |
    | 7 | volatility of the reference price, in a step, times twenty |
    | 8 | share of the gap to its start price that the reference price closes in a step |

    Rewards add up to the proceeds over the inventory's worth at the initial reference price, minus one. One USDC
    counts as a dollar. An episode terminates when all is sold, at the latest in its last step. It is never truncated,
    because the deadline is part of the task and the time left is observed.
    """

    name = "vesting"
    config_type = VestingConfig
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = {
        "sell_all": lambda env: env._all_rows(ALL, 1.0),
        "twap": lambda env: env._twap(),
        "hold": lambda env: env._all_rows(REST, -1.0),
        "noop": lambda env: env._all_rows(REST, -1.0),
    }

    def __init__(self, config: VestingConfig, rows: int = 1, **options: Any) -> None:
        self.block_seconds = chain(config.chain).block_seconds
        super().__init__(config, rows, **options)
        length = config.horizon + 1
        self.columns |= {
            "schedule": np.zeros(rows, dtype=np.int64),
            "inventory": np.zeros((rows, 32), dtype=np.uint8),
            "reference_e8": np.zeros((rows, length), dtype=np.int64),
            "roots": np.zeros((rows, length, 32), dtype=np.uint8),
            "recovery_ppm": np.zeros(rows, dtype=np.int64),
            "step_volatility": np.zeros(rows),
            "pull": np.zeros(rows),
            "looked": np.zeros((rows, len(self._step.outputs), 32), dtype=np.uint8),
            "reward": np.zeros(rows),
            "earned": np.zeros(rows),
        }
        self._outputs = {name: at for at, name in enumerate(self._step.outputs)}
        low = np.array([0, 0, 0, -10, -10, 0, 0, 0, 0], dtype=np.float32)
        high = np.array([1, 1, 1, 10, 10, 1, 1, 10, 1], dtype=np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        discrete = config.actions == "discrete"
        self.action_space = spaces.Discrete(5) if discrete else spaces.Box(-1.0, 1.0, (1,), np.float32)

    # -- the world ----------------------------------------------------------------------------------------------------

    def prepare(self, fork: Fork) -> None:
        """Place a wallet of each schedule, fund the treasury and the arbitrageur, and approve the router."""
        self.fork = fork
        self.holder, treasury, self.arbitrageur = (account_address(name) for name in (HOLDER, TREASURY, ARBITRAGEUR))
        self.trades = PoolTrades(fork, TOKEN, MONEY, FEE)
        self.wallets = [self._place_wallet(fork, schedule) for schedule in SCHEDULES]
        self.release_call: bytes = VestingWallet(fork, self.wallets[0]).contract.release.encode(self.trades.token)
        self._wallets = Words.of([int.from_bytes(wallet) for wallet in self.wallets]).words
        self.slots = [balance_slot(fork, self.trades.token, wallet)[1] for wallet in self.wallets]
        self._slots = Words.of(self.slots).words
        fork.deal(TOKEN, treasury, UNLIMITED_FUNDS * self.trades.unit)
        self.trades.enable(self.holder)
        self.trades.enable(self.arbitrageur, wealth=True)
        self.pool_price_e8 = int(self.trades.pool.price(TOKEN) * _E8)
        self._start = self._starting(fork, treasury, self.arbitrageur)
        self._step = self._stepping(fork, self.arbitrageur)

    def _place_wallet(self, fork: Fork, schedule: str) -> bytes:
        """Place a wallet that is fully vested by the last step, so that all of it can be sold."""
        now, longest = fork.timestamp, (self.config.horizon - 1) * self.config.step_blocks * self.block_seconds
        start, duration = {
            "cliff": (now - 1, 1),
            "late_cliff": (now + longest // _LATE - 1, 1),
            "half": (now - 1, longest // 2 + 1),
            "whole": (now - 1, longest + 1),
        }[schedule]
        place = account_address(f"{HOLDER}.{schedule}")
        return VestingWallet.place(fork, place, beneficiary=self.holder, start=start, duration=duration).address

    def _starting(self, fork: Fork, treasury: bytes, arbitrageur: bytes) -> Program:
        program = Program()
        names = ("live", "wallet", "wallet_slot", "amount", "late", "root")
        live, wallet, slot, amount, late, root = (program.input(name) for name in names)
        token = Erc20(fork, TOKEN).contract
        fill = Template(token.address, token.transfer.encode(bytes(20), 0), {4: wallet, 36: amount}, sender=treasury)
        program.call(fill, mask=live)
        program.advance(late, program.multiply(late, self.block_seconds), mask=live)
        self.trades.move_towards(program, arbitrageur, root, MILLION, live)
        self._release(program, wallet, slot, live)
        self._look(program, fork, slot, {})
        return program

    def _stepping(self, fork: Fork, arbitrageur: bytes) -> Program:
        program = Program(whole=False)  # swaps take many ways: calls one by one took less time
        names = ("live", "wallet", "wallet_slot", "share_ppm", "parts", "steps_left", "root", "recovery_ppm")
        live, wallet, slot, share, parts, left, root, recovery = (program.input(name) for name in names)
        held = program.load(*balance_slot(fork, self.trades.token, self.holder))
        unsold = program.add(held, program.load(self.trades.token, slot))
        even = program.multiply_divide(unsold, parts, left)
        wanted = program.maximum(even, program.multiply_divide(held, share, MILLION))
        amount = program.multiply(live, program.minimum(held, wanted))
        sale = self.trades.swap(self.holder, amount, sells=True)
        _, gas, received = program.call(sale, mask=amount, returns=1)
        blocks = self.config.step_blocks
        program.advance(blocks, blocks * self.block_seconds, mask=live)
        self.trades.move_towards(program, arbitrageur, root, recovery, live)
        released = self._release(program, wallet, slot, live)
        self._look(program, fork, slot, {"sold": amount, "received": received[0], "gas": program.add(gas, released)})
        return program

    def _release(self, program: Program, wallet: Word, wallet_slot: Word, mask: Word) -> Word:
        """Release what vested, unless the wallet is empty; returns the gas used."""
        filled = program.less(0, program.load(self.trades.token, wallet_slot))
        call = Template(wallet, self.release_call, sender=self.holder)
        _, gas, _ = program.call(call, mask=program.multiply(mask, filled))
        return gas

    def _look(self, program: Program, fork: Fork, wallet_slot: Word, done: dict[str, Word]) -> None:
        """Add the outputs read after a start, where `done` is empty, and after each step."""
        number, timestamp = program.time()
        for name, word in {
            "held": program.load(*balance_slot(fork, self.trades.token, self.holder)),
            "in_wallet": program.load(self.trades.token, wallet_slot),
            "proceeds": program.load(*balance_slot(fork, self.trades.money, self.holder)),
            "root": self.trades.root(program),
            "liquidity": self.trades.liquidity(program),
            "block": number,
            "timestamp": timestamp,
            "sold": done.get("sold", 0),
            "received": done.get("received", 0),
            "gas": done.get("gas", 0),
        }.items():
            program.output(name, word)

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Fund a wallet, let blocks pass, and move the pool to the first reference price."""
        columns, seconds = self.columns, self.config.step_blocks * self.block_seconds
        drawn = starts_of(self.config, self.pool_price_e8, self.trades.unit, seconds, rngs)
        columns["schedule"][rows] = [SCHEDULES.index(each.schedule) for each in drawn]
        columns["inventory"][rows] = Words.of([each.amount for each in drawn]).words
        columns["reference_e8"][rows] = [each.reference_e8 for each in drawn]
        roots = self.trades.roots_at([price for each in drawn for price in each.reference_e8])
        columns["roots"][rows] = Words.of(roots).words.reshape(len(rows), -1, 32)
        columns["recovery_ppm"][rows] = [each.recovery_ppm for each in drawn]
        columns["step_volatility"][rows] = [each.step_volatility for each in drawn]
        columns["pull"][rows] = [each.pull for each in drawn]
        outcome = self.fleet.run(
            self._start,
            threads=self.threads,
            only=rows,
            live=1,
            wallet=self._wallets[columns["schedule"][rows]],
            wallet_slot=self._slots[columns["schedule"][rows]],
            amount=columns["inventory"][rows],
            late=np.array([each.start_blocks for each in drawn], dtype=np.uint64),
            root=columns["roots"][rows, 0],
        )
        columns["looked"][rows] = outcome.words

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Sell, pass time, let arbitrageurs trade, release."""
        columns, left = self.columns, self.steps_left
        if self.config.actions == "discrete":
            parts = np.choose(actions, (0, 1, 2, 0, 0))
            share = np.choose(actions, (0, 0, 0, MILLION // 2, MILLION))
        else:
            parts = np.zeros(self.rows, dtype=np.int64)
            share = np.rint((actions[:, 0] + 1) / 2 * MILLION).astype(np.int64)
        every = np.arange(self.rows)
        outcome = self.fleet.run(
            self._step,
            threads=self.threads,
            live=live,
            wallet=self._wallets[columns["schedule"]],
            wallet_slot=self._slots[columns["schedule"]],
            share_ppm=np.where(left <= 1, MILLION, share),
            parts=parts,
            steps_left=left,
            root=columns["roots"][every, np.minimum(self.steps + 1, self.config.horizon)],
            recovery_ppm=columns["recovery_ppm"],
        )
        columns["looked"][live] = outcome.words[live]
        columns["reward"][live] = self._sale_reward()[live]
        columns["earned"][live] += columns["reward"][live]

    @property
    def steps_left(self) -> NDArray[np.int64]:
        """Number of steps left, at least one."""
        return np.maximum(self.config.horizon - self.steps, 1)

    def _sale_reward(self) -> Floats:
        """Proceeds of the last sale minus its worth at the initial price, as a share of the inventory's worth."""
        inventory, start = Words(self.columns["inventory"]).float64(), self.columns["reference_e8"][:, 0] / _E8
        worth = np.maximum(inventory / self.trades.unit * start, 1e-18)  # a row that has not begun has no inventory
        gas_usd = self._seen("gas").float64() * (self.config.gas_price_gwei / _GWEI) * self.reference
        proceeds = self._seen("received").float64(self.trades.money_unit) - gas_usd
        return np.asarray(proceeds / worth - self._seen("sold").float64() / np.maximum(inventory, 1))

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward of the last sale, or of all sales at the end; terminated when all is sold."""
        sold_out = (self._seen("held") <= 0) & (self._seen("in_wallet") <= 0)
        if self.config.reward == "at_end":
            return np.where(sold_out, self.columns["earned"], 0.0), sold_out
        return self.columns["reward"].copy(), sold_out

    @property
    def reference(self) -> Floats:
        """Present reference price in dollars."""
        every = np.arange(self.rows)
        prices: Floats = self.columns["reference_e8"][every, np.minimum(self.steps, self.config.horizon)] / _E8
        return prices

    def observe(self) -> Observations:
        """Observations as the table of the class lists them."""
        columns = self.columns
        inventory = np.maximum(Words(columns["inventory"]).float64(), 1)
        held, waiting = self._seen("held").float64(), self._seen("in_wallet").float64()
        root, liquidity = self._seen("root").words, self._seen("liquidity").words
        depth = np.maximum(self.trades.depth(root, liquidity), 1e-9)
        unsold = np.maximum((held + waiting) / self.trades.unit / depth, SMALLEST)
        reference = np.maximum(self.reference, 1e-8)
        began = np.maximum(columns["reference_e8"][:, 0] / _E8, 1e-8)
        pool = np.maximum(self.trades.price_of(root), 1e-8)
        seen = np.stack(
            (
                (self.config.horizon - self.steps) / self.config.horizon,
                held / inventory,
                waiting / inventory,
                10 * portable.log(reference / began),
                100 * portable.log(pool / reference),
                1 - portable.log(unsold) / portable.log(SMALLEST),
                columns["recovery_ppm"] / MILLION,
                20 * columns["step_volatility"],
                columns["pull"],
            ),
            axis=1,
        )
        return self.within_bounds(seen)

    def exact(self) -> dict[str, list[Any]]:
        """Amounts in wei and in millionths of a USDC, prices with eight decimals."""
        every = np.arange(self.rows)
        now = np.minimum(self.steps, self.config.horizon)
        return {
            "inventory_wei": Words(self.columns["inventory"]).ints(),
            "held_wei": self._seen("held").ints(),
            "in_wallet_wei": self._seen("in_wallet").ints(),
            "sold_wei": self._seen("sold").ints(),
            "received_usdc": self._seen("received").ints(),
            "proceeds_usdc": self._seen("proceeds").ints(),
            "pool_sqrt_price_x96": self._seen("root").ints(),
            "reference_usd_e8": self.columns["reference_e8"][every, now].tolist(),
            "gas_used": self._seen("gas").ints(),
            "block": self._seen("block").ints(),
            "timestamp": self._seen("timestamp").ints(),
            "schedule": [SCHEDULES[each] for each in self.columns["schedule"].tolist()],
        }

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Prices, unsold amounts and proceeds."""
        tokens = float(self.trades.unit)
        return {
            "WETH in USDC": {"reference": self.reference, "pool": self.trades.price_of(self._seen("root").words)},
            "WETH": {
                "released, unsold": self._seen("held").float64(tokens),
                "not released": self._seen("in_wallet").float64(tokens),
            },
            "USDC": {"proceeds": self._seen("proceeds").float64(self.trades.money_unit)},
        }

    def _seen(self, name: str) -> Words:
        return Words(self.columns["looked"][:, self._outputs[name]])

    # -- scripted play ------------------------------------------------------------------------------------------------

    def _all_rows(self, discrete: int, continuous: float) -> NDArray[Any]:
        if self.config.actions == "discrete":
            return np.full(self.rows, discrete, dtype=np.int64)
        return np.full((self.rows, 1), continuous, dtype=np.float32)

    def _twap(self) -> NDArray[Any]:
        """Sell even parts of the inventory, limited by the vested amount."""
        if self.config.actions == "discrete":
            return self._all_rows(EVEN_PART, 0.0)
        held, waiting = self._seen("held").float64(), self._seen("in_wallet").float64()
        share = np.clip((held + waiting) / self.steps_left / np.maximum(held, 1), 0, 1)
        return (2 * share - 1).astype(np.float32)[:, None]
