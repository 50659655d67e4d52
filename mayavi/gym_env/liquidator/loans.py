"""Loans that liquidators watch: opened on Aave, priced by a posted feed, read for all rows at once.

`AaveLiquidatorRows` and the multi-agent market both hold a `Loans`. It reads and writes the columns of its environment,
and is independent of the agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION, units_of
from mayavi.errors import UsageError
from mayavi.evm.address import account_address
from mayavi.evm.chains import chain
from mayavi.evm.fleet import SUCCESS, Program, Word, Words
from mayavi.evm.units import ETHER, WAD
from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.gym_env.liquidator.start import Start, starts_of
from mayavi.gym_env.onchain.aave_book import AaveBook
from mayavi.gym_env.onchain.pool_trades import UNLIMITED_FUNDS, PoolTrades
from mayavi.gym_env.onchain.posted_feed import PostedFeed
from mayavi.gym_env.roles import Floats
from mayavi.gym_env.rows import Rows
from mayavi.protocols.aave.rules.liquidation import CLOSE_FACTOR_BPS, FULL_CLOSE_BELOW_WAD, ClaimWords, Priced
from mayavi.protocols.aave.rules.v36 import FULL_CLOSE_BELOW_USD_E8
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.gym_env.chain_rows import ChainRowsEnv

COLLATERAL, DEBT, FEE = "WETH", "USDC", 500
LIQUIDATOR, BORROWER, ARBITRAGEUR = "liquidator", "liquidator.borrower-{}", "liquidator.arbitrageur"
ALL_BPS = 10_000
DUST_USD = 1e-4
_E8 = 10**8


class Accounts(NamedTuple):
    """Borrowing accounts of all rows, (rows, accounts) each, as floats in whole tokens and dollars."""

    collateral: Floats
    debt: Floats
    health: Floats
    """Health factor, at most a million."""
    backed: NDArray[np.bool_]
    """Whether the collateral is worth more than dust, which rounding leaves and the pool refuses."""
    liquidatable: NDArray[np.bool_]
    close_bps: NDArray[np.int64]
    """Close factor in basis points."""
    most_usd: Floats
    """Largest repayment by a liquidation now."""
    ranked: NDArray[np.intp]
    """Account numbers: liquidatable ones by `most_usd` first, then by health factor, those without collateral last."""


class Loans:
    """Loans of `config.borrowers` accounts on the chain of every row of `env`."""

    def __init__(self, env: ChainRowsEnv[Any], fork: Fork) -> None:
        """Fund all accounts, approve the contracts, and make the pool as deep as configured."""
        config: LiquidatorConfig = env.config
        self.env, self.fork, self.config = env, fork, config
        self.block_seconds = chain(fork.chain_id).block_seconds
        self.liquidator, self.arbitrageur = account_address(LIQUIDATOR), account_address(ARBITRAGEUR)
        self.borrowers = [account_address(BORROWER.format(at)) for at in range(config.borrowers)]
        if config.pool_depth < 1:
            _drain(fork, config.pool_depth)
        self.trades = PoolTrades(fork, COLLATERAL, DEBT, FEE)
        self.trades.enable(self.arbitrageur, wealth=True)
        self.trades.enable(self.liquidator)
        pool = fork.address_of("AaveV3.Pool")
        weth = Erc20(fork, COLLATERAL)
        most = units_of(2 * config.collateral[1], weth.decimals)
        for borrower in self.borrowers:
            fork.deal(COLLATERAL, borrower, most)
            weth.approve(pool, 2**256 - 1, sender=borrower)
        fund_liquidator(fork, config, self.liquidator)
        self.book = AaveBook(fork, COLLATERAL, DEBT, self.borrowers)
        self.feed = PostedFeed(fork, self.book.market.oracle.getSourceOfAsset(self.trades.token))
        settings = self.book.collateral.configuration
        self.bonus_bps, self.fee_bps = settings.liquidation_bonus_bps, settings.liquidation_protocol_fee_bps
        self.threshold_bps = settings.liquidation_threshold_bps
        self.by_value = self.book.market.rules.by_value
        """Whether the pool closes small debts at once and refuses to leave dust; programs then have an input `held`."""
        self.addresses = Words.of([int.from_bytes(each) for each in self.borrowers]).words
        self.outputs: dict[str, int] = {}

    def columns(self, outputs: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Columns of the loans; `outputs` are the output names of the step program, in their order."""
        self.outputs = {name: at for at, name in enumerate(outputs)}
        rows, length = self.env.rows, self.config.horizon + 1
        return {
            "price_e8": np.zeros((rows, length), dtype=np.int64),
            "roots": np.zeros((rows, length, 32), dtype=np.uint8),
            "recovery_ppm": np.zeros(rows, dtype=np.int64),
            "gas_price_wei": np.zeros(rows, dtype=np.int64),
            "volatility": np.zeros(rows),
            "debts_usd": np.zeros(rows),
            "looked": np.zeros((rows, len(self.outputs), 32), dtype=np.uint8),
        }

    # -- episodes -----------------------------------------------------------------------------------------------------

    def open(self, program: Program, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Draw the starts of `rows`, let blocks pass, post the first price and open the loans with `program`."""
        env, columns, count = self.env, self.env.columns, self.config.borrowers
        seconds = self.config.step_blocks * self.block_seconds
        starts = starts_of(self.config, self.book.collateral.price_usd_e8, self.trades.unit, seconds, rngs)
        debts = [self._debts(start) for start in starts]
        lent = [amount for each in starts for amount in each.collateral], [amount for each in debts for amount in each]
        amounts = Words.of(lent[0] + lent[1]).words.reshape(2, len(rows), count, 32)
        columns["price_e8"][rows] = [each.price_e8 for each in starts]
        roots = self.trades.roots_at([price for each in starts for price in each.price_e8])
        columns["roots"][rows] = Words.of(roots).words.reshape(len(rows), -1, 32)
        columns["recovery_ppm"][rows] = [each.recovery_ppm for each in starts]
        columns["gas_price_wei"][rows] = [each.gas_price_wei for each in starts]
        columns["volatility"][rows] = [each.volatility for each in starts]
        columns["debts_usd"][rows] = [sum(each) / self.trades.money_unit for each in debts]
        outcome = env.fleet.run(
            program,
            threads=env.threads,
            only=rows,
            live=1,
            late=np.array([each.blocks for each in starts], dtype=np.uint64),
            price_e8=columns["price_e8"][rows, 0],
            root=columns["roots"][rows, 0],
            **{f"collateral_{at}": amounts[0, :, at] for at in range(count)},
            **{f"debt_{at}": amounts[1, :, at] for at in range(count)},
        )
        if (outcome.words[:, : 2 * count, -1] != SUCCESS).any():
            raise UsageError("a loan could not be opened", "lower `collateral`, or begin `health_factor` above 1.0311")
        columns["looked"][rows] = outcome.words[:, 2 * count :]

    def _debts(self, start: Start) -> list[int]:
        """Debt of each account from its initial health factor, rounded down."""
        price, found = start.price_e8[0], []
        for collateral, health_ppm in zip(start.collateral, start.health_factor_ppm, strict=True):
            value = collateral * price * self.threshold_bps * MILLION * self.trades.money_unit
            found.append(value // (self.trades.unit * ALL_BPS * health_ppm * self.book.debt.price_usd_e8))
        return found

    def market_inputs(self) -> dict[str, NDArray[Any]]:
        """Inputs of a step program: next price, next pool price, and the share of the gap that arbitrage closes."""
        columns, every = self.env.columns, np.arange(self.env.rows)
        following = np.minimum(self.env.steps + 1, self.config.horizon)
        return {
            "price_e8": columns["price_e8"][every, following],
            "root": columns["roots"][every, following],
            "recovery_ppm": columns["recovery_ppm"],
        }

    def accepted(self, program: Program, cover: Word, owed: Word, held: Word, funds: Word) -> Word:
        """Repayment next to `cover` that the pool accepts, of a debt of `owed` against collateral of `held`."""
        book, price = self.book, self.feed.price_e8(program)
        debt = Priced(book.debt.price_usd_e8, book.debt_unit)
        claim = ClaimWords(owed, held, funds, price, book.unit, debt, self.bonus_bps)
        return book.market.rules.cover_word(program, cover, claim)

    # -- reading ------------------------------------------------------------------------------------------------------

    def words(self, name: str) -> Words:
        """An output of the last program, one word for each row."""
        return Words(self.env.columns["looked"][:, self.outputs[name]])

    def word_block(self, kind: str, count: int) -> NDArray[np.uint8]:
        """The outputs `kind_0`, `kind_1`, … of the last program: (rows, count, 32) bytes."""
        first = self.outputs[f"{kind}_0"]
        words: NDArray[np.uint8] = self.env.columns["looked"][:, first : first + count]
        return words

    def of_accounts(self, kind: str) -> NDArray[np.uint8]:
        """Output of all accounts, such as `debt`: (rows, accounts, 32) bytes."""
        return self.word_block(kind, self.config.borrowers)

    def floats(self, kind: str, unit: float) -> Floats:
        """An output of all accounts in multiples of `unit`: (rows, accounts)."""
        words = self.of_accounts(kind).reshape(-1, 32)
        return Words(words).float64(float(unit)).reshape(self.env.rows, self.config.borrowers)

    def integers(self, kind: str) -> NDArray[np.int64]:
        """An output of all accounts below 2**63: (rows, accounts)."""
        words = Words(self.of_accounts(kind).reshape(-1, 32))
        return words.uint64().astype(np.int64).reshape(self.env.rows, self.config.borrowers)

    def lists(self, kind: str, count: int) -> list[list[int]]:
        """The outputs `kind_0`, `kind_1`, … as exact integers, a list for each row."""
        words = Words(np.ascontiguousarray(self.word_block(kind, count)).reshape(-1, 32)).ints()
        return [words[row * count : (row + 1) * count] for row in range(self.env.rows)]

    def price(self, steps: int = 0) -> Floats:
        """The price of the collateral `steps` steps from now, in dollars."""
        at = np.clip(self.env.steps + steps, 0, self.config.horizon)
        prices: Floats = self.env.columns["price_e8"][np.arange(self.env.rows), at] / _E8
        return np.maximum(prices, 1e-8)

    def price_e8(self) -> list[int]:
        """The price of the collateral now, with eight decimals."""
        at = np.minimum(self.env.steps, self.config.horizon)
        prices: list[int] = self.env.columns["price_e8"][np.arange(self.env.rows), at].tolist()
        return prices

    def start_price(self) -> Floats:
        """The price of the collateral at the start, in dollars."""
        return np.maximum(self.env.columns["price_e8"][:, 0] / _E8, 1e-8)

    @property
    def scale_usd(self) -> Floats:
        """Unit of rewards: the liquidation bonus on all initial debts."""
        bonus = (self.bonus_bps - ALL_BPS) / ALL_BPS
        return np.maximum(self.env.columns["debts_usd"] * bonus, 1e-6)

    def gas_usd(self, gas: Floats | float) -> Floats:
        """Cost of `gas` at the present price."""
        return np.asarray(gas * self.env.columns["gas_price_wei"] / ETHER * self.price())

    def accounts(self) -> Accounts:
        """Compute the state of all accounts from the last outputs."""
        collateral, debt, health = (
            self.floats("collateral", self.trades.unit),
            self.floats("debt", self.trades.money_unit),
            np.minimum(self.floats("health", WAD), 1e6),
        )
        exactly = Words(self.of_accounts("health").reshape(-1, 32))
        bounds = WAD, FULL_CLOSE_BELOW_WAD + 1  # all of a debt can be repaid at this health factor too
        below, far_below = ((exactly < bound).reshape(health.shape) for bound in bounds)
        backed = collateral * self.price()[:, None] > DUST_USD
        liquidatable = below & backed
        at_once = far_below
        if self.by_value:
            values = np.minimum(debt * (self.book.debt.price_usd_e8 / _E8), collateral * self.price()[:, None])
            at_once = far_below | (values < FULL_CLOSE_BELOW_USD_E8 / _E8)
        close_bps = np.where(at_once, ALL_BPS, CLOSE_FACTOR_BPS)
        most_usd = np.where(liquidatable, debt * close_bps / ALL_BPS, 0.0)
        order = np.where(liquidatable, -most_usd, np.where(backed, health, np.inf))
        ranked = np.argsort(order, axis=1, kind="stable")
        return Accounts(collateral, debt, health, backed, liquidatable, close_bps, most_usd, ranked)


def fund_liquidator(fork: Fork, config: LiquidatorConfig, liquidator: bytes) -> None:
    """Give `liquidator` its capital and approve Aave's pool."""
    usdc = Erc20(fork, DEBT)
    capital = UNLIMITED_FUNDS if config.capital is None else config.capital
    fork.deal(DEBT, liquidator, units_of(capital, usdc.decimals))
    usdc.approve(fork.address_of("AaveV3.Pool"), 2**256 - 1, sender=liquidator)


def _drain(fork: Fork, depth: float) -> None:
    """Withdraw liquidity from the pool by transactions of its holder, until the share `depth` is left."""
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
