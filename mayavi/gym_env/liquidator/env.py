"""`AaveLiquidatorEnv`: a liquidator on Aave V3 with a book of borrowers to watch, and a pool to sell into.

Loans are opened by real transactions, prices posted to the feed that Aave reads, liquidations are real calls of
`liquidationCall`, and what they seize is sold on the WETH/USDC pool of Uniswap V3 at once, which moves its price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION, units_of
from mayavi.errors import UsageError
from mayavi.evm.address import account_address
from mayavi.evm.chains import chain
from mayavi.evm.fleet import SUCCESS, Program, Word, Words
from mayavi.evm.token_balance import balance_slot
from mayavi.evm.units import ETHER, WAD
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.liquidator.start import LiquidatorConfig, starts_of
from mayavi.gym_env.onchain.aave_book import AaveBook
from mayavi.gym_env.onchain.pool_trades import LIQUIDITY, LIQUIDITY_BITS, PLENTY, PoolTrades
from mayavi.gym_env.onchain.posted_feed import PostedFeed
from mayavi.gym_env.rows import Floats, Observations, Rows
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.aave.market import CLOSE_FACTOR_BPS, FULL_CLOSE_BELOW_WAD
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

COLLATERAL, DEBT, FEE = "WETH", "USDC", 500
LIQUIDATOR, BORROWER, ARBITRAGEUR = "liquidator", "liquidator.borrower-{}", "liquidator.arbitrageur"
SHARES = (0.25, 0.5, 1.0)
"""The discrete choices of how much: shares of the most the close factor allows."""
GAS_OF_BOTH = 520_000
"""What a liquidation and its sale take, as a liquidator reckons beforehand; it pays what they did take."""
DUST_USD = 1e-4
_E8, _ALL_BPS = 10**8, 10_000


class Standing(NamedTuple):
    """The accounts of all rows as they stand, (rows, accounts) each, as floats in whole tokens and dollars."""

    collateral: Floats
    debt: Floats
    health: Floats
    """At most a million."""
    backed: NDArray[np.bool_]
    """Whether its collateral is worth more than dust: what rounding leaves, the pool does not take."""
    liquidatable: NDArray[np.bool_]
    close_bps: NDArray[np.int64]
    most_usd: Floats
    """The most that can be paid of the debt now."""
    ranked: NDArray[np.intp]
    """Their numbers, the most urgent first, those with nothing left last."""


class AaveLiquidatorEnv(ChainRowsEnv[LiquidatorConfig]):
    """Watches `borrowers` accounts. A step: liquidate one or wait, sell what was seized, then time passes.

    While it passes, the price is posted to the feed and arbitrageurs bring the pool towards it. Accounts are told, and
    chosen, by rank: those that can be liquidated first, the one with most to pay before the others, then the rest by
    their health factor. An account that cannot be liquidated is left alone: who asks first sends nothing in vain.

    Actions. Discrete: 0 waits; 1 + 3 · rank + k pays a quarter, half or all (k is 0, 1, 2) of the most that the close
    factor allows: half of a debt, all of it below a health factor of 0.95. Continuous: two numbers from -1 to 1, the
    rank (in even parts of the range) and how much: up to zero it waits, one is the most. Nobody pays more than it has.

    Observations, each within the bounds of the space and clipped there: first of all accounts together, then for each
    rank five.

    | | |
    |---|---|
    | 0 | steps left, of all |
    | 1 | five times the logarithm of the price over that of the start |
    | 2 | twenty times the logarithm of the price over that of the step before |
    | 3 | a hundred times the logarithm of the pool's price over the reference price |
    | 4 | the liquidator's money over all debts of the start |
    | 5 | what gas is expected to cost, over the scale, times a hundred |
    | 6 | the share of its way back that the pool makes in a step |
    | 7 | volatility of the price, in a step, times fifty |
    | 8 + 5 · rank | ten times (health factor minus one) |
    | … + 1 | its debt, of all debts of the start |
    | … + 2 | the most that can be paid of it now, of all debts of the start |
    | … + 3 | what the most would seize against the pool's depth, times ten |
    | … + 4 | the profit expected of the most, over the scale, times ten |

    The expected profit is reckoned with the pool's liquidity as it lies, as a quote would. Rewards are the profit in
    dollars after bonus, sale and gas over the scale of the episode: the liquidation bonus on all debts of the start. A
    dollar is a USDC. An episode terminates when no account owes anything, and is truncated after `horizon` steps.
    """

    name = "liquidator"
    config_type = LiquidatorConfig
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = {
        "close_factor_max": lambda env: env._greedy((len(SHARES) - 1,)),
        "best_share": lambda env: env._greedy(range(len(SHARES))),
        "noop": lambda env: env._actions(np.zeros(env.rows, dtype=np.int64), np.zeros(env.rows)),
    }

    def __init__(self, config: LiquidatorConfig, rows: int = 1, **options: Any) -> None:
        self.block_seconds = chain(config.chain).block_seconds
        super().__init__(config, rows, **options)
        length, count = config.horizon + 1, config.borrowers
        self.columns |= {
            "price_e8": np.zeros((rows, length), dtype=np.int64),
            "roots": np.zeros((rows, length, 32), dtype=np.uint8),
            "recovery_ppm": np.zeros(rows, dtype=np.int64),
            "gas_price_wei": np.zeros(rows, dtype=np.int64),
            "volatility": np.zeros(rows),
            "debts_usd": np.zeros(rows),
            "looked": np.zeros((rows, len(self._step.outputs), 32), dtype=np.uint8),
            "reward": np.zeros(rows),
            "earned": np.zeros(rows),
        }
        self._outputs = {name: at for at, name in enumerate(self._step.outputs)}
        low = [0, -10, -10, -10, 0, 0, 0, 0, *[-10, 0, 0, 0, -10] * count]
        high = [1, 10, 10, 10, 10, 10, 1, 10, *[10, 10, 10, 10, 10] * count]
        self.observation_space = spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32))
        if config.actions == "discrete":
            self.action_space = spaces.Discrete(1 + len(SHARES) * count)
        else:
            self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    # -- the world ----------------------------------------------------------------------------------------------------

    def prepare(self, fork: Fork) -> None:
        """Money and approvals for everybody, and a pool as deep as it is to be."""
        config = self.config
        self.liquidator, arbitrageur = account_address(LIQUIDATOR), account_address(ARBITRAGEUR)
        self.borrowers = [account_address(BORROWER.format(at)) for at in range(config.borrowers)]
        if config.pool_depth < 1:
            _drain(fork, config.pool_depth)
        self.trades = PoolTrades(fork, COLLATERAL, DEBT, FEE)
        self.trades.enable(arbitrageur, wealth=True)
        self.trades.enable(self.liquidator)
        pool = fork.address_of("AaveV3.Pool")
        weth, usdc = Erc20(fork, COLLATERAL), Erc20(fork, DEBT)
        most = units_of(2 * config.collateral[1], weth.decimals)
        for borrower in self.borrowers:
            fork.deal(COLLATERAL, borrower, most)
            weth.approve(pool, 2**256 - 1, sender=borrower)
        capital = PLENTY if config.capital is None else config.capital
        fork.deal(DEBT, self.liquidator, units_of(capital, usdc.decimals))
        usdc.approve(pool, 2**256 - 1, sender=self.liquidator)
        self.book = AaveBook(fork, COLLATERAL, DEBT, self.borrowers)
        self.feed = PostedFeed(fork, self.book.market.oracle.getSourceOfAsset(self.trades.token))
        self.bonus_bps = self.book.collateral.configuration.liquidation_bonus_bps
        self.fee_bps = self.book.collateral.configuration.liquidation_protocol_fee_bps
        self._start, self._step = self._starting(fork, arbitrageur), self._stepping(fork, arbitrageur)
        self._addresses = Words.of([int.from_bytes(each) for each in self.borrowers]).words

    def _starting(self, fork: Fork, arbitrageur: bytes) -> Program:
        program = Program()
        live, late, price, root = (program.input(name) for name in ("live", "late", "price_e8", "root"))
        program.advance(late, program.multiply(late, self.block_seconds), mask=live)
        self.feed.post(program, price, live)
        self.trades.move_towards(program, arbitrageur, root, MILLION, live)
        for at, borrower in enumerate(self.borrowers):
            collateral, debt = program.input(f"collateral_{at}"), program.input(f"debt_{at}")
            supplied, _, _ = program.call(self.book.supply(borrower, collateral), mask=live)
            borrowed, _, _ = program.call(self.book.borrow(borrower, debt), mask=live)
            program.output(f"supplied_{at}", supplied)
            program.output(f"borrowed_{at}", borrowed)
        self._look(program, fork, price, {})
        return program

    def _stepping(self, fork: Fork, arbitrageur: bytes) -> Program:
        program = Program()
        names = ("live", "acts", "borrower", "debt", "close_bps", "share_ppm", "price_e8", "root", "recovery_ppm")
        live, acts, borrower, debt, close, share, price, root, recovery = (program.input(name) for name in names)
        money_at = balance_slot(fork, self.trades.money, self.liquidator)
        token_at = balance_slot(fork, self.trades.token, self.liquidator)
        money = program.load(*money_at)
        most = program.divide(program.add(program.multiply(debt, close), _ALL_BPS // 2), _ALL_BPS)
        cover = program.minimum(money, program.multiply_divide(most, share, MILLION))
        cover = program.multiply(program.multiply(live, acts), cover)
        status, gas, _ = program.call(self.book.liquidate(self.liquidator, borrower, cover), mask=cover)
        paid = program.subtract(money, program.load(*money_at))
        seized = program.multiply(live, program.load(*token_at))
        sale = self.trades.swap(self.liquidator, seized, sells=True)
        _, sale_gas, received = program.call(sale, mask=seized, returns=1)
        blocks = self.config.step_blocks
        program.advance(blocks, blocks * self.block_seconds, mask=live)
        self.feed.post(program, price, live)
        self.trades.move_towards(program, arbitrageur, root, recovery, live)
        done = {"status": status, "paid": paid, "seized": seized, "received": received[0]}
        self._look(program, fork, price, done | {"gas": program.add(gas, sale_gas)})
        return program

    def _look(self, program: Program, fork: Fork, price: Word, done: dict[str, Word]) -> None:
        """What is read of a row after its start and after each step; `done`: what the step did."""
        number, timestamp = program.time()
        facts: dict[str, Word | int] = {
            "money": program.load(*balance_slot(fork, self.trades.money, self.liquidator)),
            "root": self.trades.root(program),
            "liquidity": program.bits(program.load(self.trades.address, LIQUIDITY), 0, LIQUIDITY_BITS),
            "block": number,
            "timestamp": timestamp,
            **{name: done.get(name, 0) for name in ("status", "paid", "seized", "received", "gas")},
        }
        for name, word in facts.items():
            program.output(name, word)
        accounts = self.book.look(program, price)
        for place, kind in enumerate(("collateral", "debt", "health")):
            for at, each in enumerate(accounts):
                program.output(f"{kind}_{at}", each[place])

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, chances: Sequence[np.random.Generator]) -> None:
        """Let it get later, post the first price, and open the loans."""
        columns, count = self.columns, self.config.borrowers
        seconds = self.config.step_blocks * self.block_seconds
        price_e8 = self.book.collateral.price_usd_e8
        starts = starts_of(self.config, price_e8, self.trades.unit, seconds, chances)
        debts = [
            [
                self._debt(*each, start.price_e8[0])
                for each in zip(start.collateral, start.health_factor_ppm, strict=True)
            ]
            for start in starts
        ]
        lent = [
            [amount for each in starts for amount in each.collateral],
            [amount for each in debts for amount in each],
        ]
        amounts = Words.of(lent[0] + lent[1]).words.reshape(2, len(rows), count, 32)
        columns["price_e8"][rows] = [each.price_e8 for each in starts]
        roots = self.trades.roots_at([price for each in starts for price in each.price_e8])
        columns["roots"][rows] = Words.of(roots).words.reshape(len(rows), -1, 32)
        columns["recovery_ppm"][rows] = [each.recovery_ppm for each in starts]
        columns["gas_price_wei"][rows] = [each.gas_price_wei for each in starts]
        columns["volatility"][rows] = [each.volatility for each in starts]
        columns["debts_usd"][rows] = [sum(each) / self.trades.money_unit for each in debts]
        outcome = self.fleet.run(
            self._start,
            threads=self.threads,
            only=rows,
            live=1,
            late=np.array([each.blocks for each in starts], dtype=np.uint64),
            price_e8=columns["price_e8"][rows, 0],
            root=columns["roots"][rows, 0],
            **{f"collateral_{at}": amounts[0, :, at] for at in range(count)},
            **{f"debt_{at}": amounts[1, :, at] for at in range(count)},
        )
        if (outcome.words[:, : 2 * count, -1] != SUCCESS).any():
            raise UsageError(
                "a loan of the book could not be opened", "lower `collateral`, or begin `health_factor` above 1.0311"
            )
        columns["looked"][rows] = outcome.words[:, 2 * count :]

    def _debt(self, collateral: int, health_factor_ppm: int, price_e8: int) -> int:
        """What may be borrowed for a health factor, rounded down."""
        threshold = self.book.collateral.configuration.liquidation_threshold_bps
        value = collateral * price_e8 * threshold * MILLION * self.trades.money_unit
        return value // (self.trades.unit * _ALL_BPS * health_factor_ppm * self.book.debt.price_usd_e8)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Liquidate, sell, wait, post the price, let arbitrageurs trade."""
        columns, count, every = self.columns, self.config.borrowers, np.arange(self.rows)
        if self.config.actions == "discrete":
            rank, which = np.divmod(np.maximum(actions - 1, 0), len(SHARES))
            share = np.where(actions > 0, np.array(SHARES)[which], 0.0)
        else:
            rank = np.minimum(((actions[:, 0] + 1) / 2 * count).astype(np.int64), count - 1)
            share = np.maximum(actions[:, 1], 0.0)
        book = self._standing()
        chosen = book.ranked[every, rank]
        following = np.minimum(self.steps + 1, self.config.horizon)
        outcome = self.fleet.run(
            self._step,
            threads=self.threads,
            live=live,
            acts=book.liquidatable[every, chosen],
            borrower=self._addresses[chosen],
            debt=self._of_accounts("debt")[every, chosen],
            close_bps=book.close_bps[every, chosen],
            share_ppm=np.rint(share * MILLION).astype(np.int64),
            price_e8=columns["price_e8"][every, following],
            root=columns["roots"][every, following],
            recovery_ppm=columns["recovery_ppm"],
        )
        columns["looked"][live] = outcome.words[live]
        columns["reward"][live] = (self._profit_usd() / self.scale_usd)[live]
        columns["earned"][live] += columns["reward"][live]

    def _profit_usd(self) -> Floats:
        """What the liquidation and the sale just made brought, gas paid at the price they were made at."""
        paid, received = self._seen("paid").float64(), self._seen("received").float64()
        return np.asarray((received - paid) / self.trades.money_unit - self._gas_usd(self._seen("gas").float64()))

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The profit of the step over the scale, or of all steps in the end; over when nobody owes anything."""
        done = np.asarray(~self._of_accounts("debt").any(axis=(1, 2)))
        if self.config.reward == "at_end":
            return np.where(done | (self.steps >= self.config.horizon), self.columns["earned"], 0.0), done
        return self.columns["reward"].copy(), done

    @property
    def scale_usd(self) -> Floats:
        """What rewards are counted in: the bonus on all debts of the start."""
        bonus = (self.bonus_bps - _ALL_BPS) / _ALL_BPS
        return np.maximum(self.columns["debts_usd"] * bonus, 1e-6)

    def _gas_usd(self, gas: Floats | float) -> Floats:
        """What gas costs at the price now."""
        return np.asarray(gas * self.columns["gas_price_wei"] / ETHER * self._price())

    def _price(self, steps: int = 0) -> Floats:
        """The price of the collateral so many steps from now."""
        at = np.clip(self.steps + steps, 0, self.config.horizon)
        prices: Floats = self.columns["price_e8"][np.arange(self.rows), at] / _E8
        return np.maximum(prices, 1e-8)

    # -- what is seen -------------------------------------------------------------------------------------------------

    def _seen(self, name: str) -> Words:
        return Words(self.columns["looked"][:, self._outputs[name]])

    def _of_accounts(self, kind: str) -> NDArray[np.uint8]:
        """`collateral`, `debt` or `health` of all accounts: (rows, accounts, 32) bytes."""
        first = self._outputs[f"{kind}_0"]
        words: NDArray[np.uint8] = self.columns["looked"][:, first : first + self.config.borrowers]
        return words

    def _floats(self, kind: str, unit: int) -> Floats:
        words = self._of_accounts(kind).reshape(-1, 32)
        return Words(words).float64(float(unit)).reshape(self.rows, self.config.borrowers)

    @property
    def liquidatable(self) -> NDArray[np.bool_]:
        """Which accounts can be liquidated: a debt with nothing left behind it is nobody's prize."""
        return self._standing().liquidatable

    def most_usd(self) -> Floats:
        """The most that can be paid of each account's debt now, in dollars."""
        return self._standing().most_usd

    def ranked(self) -> NDArray[np.intp]:
        """The accounts of each row, the most urgent first, those with nothing left last."""
        return self._standing().ranked

    def _standing(self) -> Standing:
        """All that follows from what was read of the accounts."""
        collateral, debt, health = (
            self._floats("collateral", self.trades.unit),
            self._floats("debt", self.trades.money_unit),
            np.minimum(self._floats("health", WAD), 1e6),
        )
        exactly = Words(self._of_accounts("health").reshape(-1, 32))
        below, far_below = ((exactly < bound).reshape(health.shape) for bound in (WAD, FULL_CLOSE_BELOW_WAD))
        backed = collateral * self._price()[:, None] > DUST_USD
        liquidatable = below & backed
        close_bps = np.where(far_below, _ALL_BPS, CLOSE_FACTOR_BPS)
        most_usd = np.where(liquidatable, debt * close_bps / _ALL_BPS, 0.0)
        order = np.where(liquidatable, -most_usd, np.where(backed, health, np.inf))
        ranked = np.argsort(order, axis=1, kind="stable")
        return Standing(collateral, debt, health, backed, liquidatable, close_bps, most_usd, ranked)

    def _sales(self, book: Standing, share: float) -> tuple[Floats, Floats, Floats]:
        """Of `share` of the most, for each account: dollars paid, what is seized against the pool's depth, profit."""
        price = self._price()[:, None]
        money = self._seen("money").float64(self.trades.money_unit)[:, None]
        paid = np.minimum(book.most_usd * share, money)
        bonus, kept = self.bonus_bps / _ALL_BPS, 1 - self.fee_bps / _ALL_BPS
        gross = np.minimum(paid / price * bonus, book.collateral)
        paid = np.minimum(paid, gross * price / bonus)
        seized = gross / bonus * (1 + (bonus - 1) * kept)
        root = self._seen("root").words
        depth = np.maximum(self.trades.depth(root, self._seen("liquidity").words), 1e-9)[:, None]
        received = self.trades.quote(root, seized)
        gas = self._gas_usd(float(GAS_OF_BOTH))[:, None]
        return paid, seized / depth, np.where(paid > 0, received - paid - gas, 0.0)

    def observe(self) -> Observations:
        """See the table of the class."""
        price, root = self._price(), self._seen("root").words
        debts, scale = np.maximum(self.columns["debts_usd"], 1e-6), self.scale_usd
        step_years = self.config.step_blocks * self.block_seconds / SECONDS_PER_YEAR
        start = np.maximum(self.columns["price_e8"][:, 0] / _E8, 1e-8)
        common = (
            1 - self.steps / self.config.horizon,
            5 * np.log(price / start),
            20 * np.log(price / self._price(-1)),
            100 * np.log(np.maximum(self.trades.price_of(root), 1e-8) / price),
            self._seen("money").float64(self.trades.money_unit) / debts,
            100 * self._gas_usd(float(GAS_OF_BOTH)) / scale,
            self.columns["recovery_ppm"] / MILLION,
            50 * self.columns["volatility"] * step_years**0.5,
        )
        book = self._standing()
        paid, against_depth, profit = self._sales(book, 1.0)
        each = np.stack(
            (
                10 * (book.health - 1),
                book.debt / debts[:, None],
                paid / debts[:, None],
                10 * against_depth,
                10 * profit / scale[:, None],
            ),
            axis=2,
        )
        ordered = np.take_along_axis(each, book.ranked[:, :, None], axis=1)
        seen = np.concatenate((np.stack(common, axis=1), ordered.reshape(self.rows, -1)), axis=1)
        return self.within_bounds(seen)

    def exact(self) -> dict[str, list[Any]]:
        """Amounts in wei and in millionths of a USDC, prices with eight decimals, accounts by their numbers."""
        at = np.minimum(self.steps, self.config.horizon)
        accounts = {
            kind: Words(self._of_accounts(kind).reshape(-1, 32)).ints() for kind in ("collateral", "debt", "health")
        }
        count = self.config.borrowers
        lists = {
            kind: [values[row * count : (row + 1) * count] for row in range(self.rows)]
            for kind, values in accounts.items()
        }
        return {
            "price_usd_e8": self.columns["price_e8"][np.arange(self.rows), at].tolist(),
            "pool_sqrt_price_x96": self._seen("root").ints(),
            "money_usdc": self._seen("money").ints(),
            "paid_usdc": self._seen("paid").ints(),
            "seized_wei": self._seen("seized").ints(),
            "received_usdc": self._seen("received").ints(),
            "gas_used": self._seen("gas").ints(),
            "gas_price_wei": self.columns["gas_price_wei"].tolist(),
            "collateral_wei": lists["collateral"],
            "debt_usdc": lists["debt"],
            "health_factor_wad": lists["health"],
            "block": self._seen("block").ints(),
            "timestamp": self._seen("timestamp").ints(),
        }

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Prices, how many stand how, and what was earned."""
        health = np.minimum(self._floats("health", WAD), 3.0)
        return {
            "WETH in USD": {"price": self._price(), "pool": self.trades.price_of(self._seen("root").words)},
            "health factor": {f"account {at}": health[:, at] for at in range(self.config.borrowers)},
            "USD": {"profit": self.columns["earned"] * self.scale_usd},
        }

    # -- scripted play ------------------------------------------------------------------------------------------------

    def _actions(self, rank: NDArray[np.int64], share: Floats) -> NDArray[Any]:
        """Actions that take `share` of the account of `rank`; no share waits."""
        if self.config.actions == "discrete":
            which = np.searchsorted(np.array(SHARES), share)
            return np.where(share > 0, 1 + rank * len(SHARES) + np.minimum(which, len(SHARES) - 1), 0)
        whom = (2 * rank + 1) / self.config.borrowers - 1
        return np.stack((whom, share), axis=1).astype(np.float32)

    def _greedy(self, choices: Sequence[int]) -> NDArray[Any]:
        """The account and the share, of those `choices`, that promise most profit now; waits where none do."""
        book = self._standing()
        profits = np.stack([self._sales(book, SHARES[each])[2] for each in choices], axis=2)
        profits = np.take_along_axis(profits, book.ranked[:, :, None], axis=1).reshape(self.rows, -1)
        best = profits.argmax(axis=1)
        rank, which = np.divmod(best, len(choices))
        share = np.array([SHARES[each] for each in choices])[which]
        return self._actions(rank, np.where(profits[np.arange(self.rows), best] > 0, share, 0.0))


def _drain(fork: Fork, depth: float) -> None:
    """Take liquidity out of the pool by its holder's own transactions, until `depth` of it is left."""
    holder = fork.labels.get("Mayavi.Market")
    pool = UniswapV3(fork).pool(COLLATERAL, DEBT, FEE).address
    positions = UniswapV3(fork).positions_of(holder) if holder is not None else []
    own = [each for each in positions if each.pool.address == pool]
    if not own:
        raise UsageError(
            "the liquidity of this world's pool belongs to others", "leave `pool_depth` at 1, and take larger loans"
        )
    for position in own:
        position.decrease(position.liquidity - int(position.liquidity * depth))
