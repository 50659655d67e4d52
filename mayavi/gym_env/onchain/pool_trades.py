"""Trades of environments in one Uniswap V3 pool: swap templates, and prices read from slots."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.evm.fleet import Program, Template, Word, Words
from mayavi.evm.float_word import FloatWord
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.numerics import portable
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.pool_slots import LIQUIDITY, LIQUIDITY_BITS, ROOT_BITS, SLOT0
from mayavi.protocols.uniswap.route import Route
from mayavi.protocols.uniswap.router import Router

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.pool import UniswapV3Pool

_Q96_BITS = 96
_Q96 = 2.0**_Q96_BITS
UNLIMITED_FUNDS = 10**15
"""Whole tokens of accounts with unlimited funds: more than any pool takes."""


class PoolTrades:
    """Trades in the pool of `token` and `money` with a fee tier, through the router."""

    def __init__(self, fork: Fork, token: str, money: str, fee: int) -> None:
        self.pool = UniswapV3(fork).pool(token, money, fee)
        self.address = self.pool.address
        self.token, self.money = fork.address_of(token), fork.address_of(money)
        self.token_is_zero = self.pool.token0.address == self.token
        one, other = (
            (self.pool.token0, self.pool.token1) if self.token_is_zero else (self.pool.token1, self.pool.token0)
        )
        self.unit, self.money_unit = int(10**one.decimals), int(10**other.decimals)
        self.decimals = one.decimals, other.decimals
        self._router, self._fork, self._fee = Router(fork), fork, fee
        self._curve = SaleCurve(self.pool, self.token_is_zero)

    def enable(self, trader: bytes, *, wealth: bool = False) -> None:
        """Approve the router for both tokens of `trader`; with `wealth` fund it as well."""
        from mayavi.protocols.tokens import Erc20

        for place, unit in ((self.token, self.unit), (self.money, self.money_unit)):
            Erc20(self._fork, place).approve(self._router.address, 2**256 - 1, sender=trader)
            if wealth:
                self._fork.deal(place, trader, UNLIMITED_FUNDS * unit)

    def swap(self, trader: bytes, amount: Word | int, limit: Word | int = 0, *, sells: bool) -> Template:
        """Transaction that swaps `amount` as `trader`: tokens for money if it `sells`, else money for tokens."""
        pair = (self.token, self.money) if sells else (self.money, self.token)
        route = Route.of(self._fork, (*pair, self._fee))
        calldata, amount_at, limit_at = self._router.single_swap(route, recipient=trader)
        return Template(self._router.address, calldata, {amount_at: amount, limit_at: limit}, sender=trader)

    def root(self, program: Program) -> Word:
        """The pool's square root price at this point of a program."""
        return program.bits(program.load(self.address, SLOT0), 0, ROOT_BITS)

    def liquidity(self, program: Program) -> Word:
        """The pool's liquidity in range at this point of a program."""
        return program.bits(program.load(self.address, LIQUIDITY), 0, LIQUIDITY_BITS)

    def move_towards(
        self, program: Program, trader: bytes, root: Word | int, share_ppm: Word | int, mask: Word | int
    ) -> tuple[Word, Word]:
        """Let `trader` move the price `share_ppm` millionths of the way to the square root price `root`.

        Returns the amounts of token and money put in: one is zero, both if the price is there already.
        """
        now = self.root(program)
        up = program.multiply_divide(program.subtract(root, now), share_ppm, MILLION)
        down = program.multiply_divide(program.subtract(now, root), share_ppm, MILLION)
        aim = program.subtract(program.add(now, up), down)
        rises, falls = program.less(now, aim), program.less(aim, now)
        sells, buys = (falls, rises) if self.token_is_zero else (rises, falls)
        spent = []
        for selling, when, unit in ((True, sells, self.unit), (False, buys, self.money_unit)):
            trade = self.swap(trader, UNLIMITED_FUNDS * unit, aim, sells=selling)
            place = balance_slot(self._fork, self.token if selling else self.money, trader)
            before = program.load(*place)
            program.call(trade, mask=program.multiply(when, mask))
            spent.append(program.subtract(before, program.load(*place)))
        return spent[0], spent[1]

    def arbitrage(self, trader: bytes) -> Program:
        """Program in which `trader` moves the price of every row; its inputs are `root` and `recovery_ppm`."""
        program = Program()
        root, recovery = program.input("root"), program.input("recovery_ppm")
        self.move_towards(program, trader, root, recovery, 1)
        return program

    def root_at(self, price_e8: int) -> int:
        """Square root price at which one whole token costs `price_e8` of the money, with eight decimals."""
        return self.roots_at([price_e8])[0]

    def roots_at(self, prices_e8: list[int]) -> list[int]:
        """`root_at` for each of `prices_e8`."""
        money, tokens = self.money_unit << 2 * _Q96_BITS, 10**8 * self.unit
        if self.token_is_zero:
            return [isqrt(price * money // tokens) for price in prices_e8]
        tokens <<= 2 * _Q96_BITS
        return [isqrt(tokens // (price * self.money_unit)) for price in prices_e8]

    def price_of(self, roots: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Price of one whole token at square root prices given as words."""
        ratio = np.maximum(Words(roots).float64(_Q96) ** 2, 1e-60)  # a row that has not begun has no price
        return ratio * self._scale if self.token_is_zero else self._scale / ratio

    def price_word(self, root: FloatWord) -> FloatWord:
        """`price_of` in a program, of a square root price as a float."""
        ratio = ((root / _Q96) * (root / _Q96)).at_least(1e-60)
        return ratio * self._scale if self.token_is_zero else FloatWord(root.program, self._scale) / ratio

    def depth_word(self, root: FloatWord, liquidity: FloatWord) -> FloatWord:
        """`depth` in a program."""
        tokens = liquidity / (root / _Q96) if self.token_is_zero else liquidity * (root / _Q96)
        return tokens / self.unit

    def quote(self, roots: NDArray[np.uint8], amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Proceeds, in whole money, of selling whole tokens at square root prices; (rows,) or (rows, n)."""
        root = Words(roots).float64(_Q96)
        root = root.reshape(-1, *(1,) * (amounts.ndim - 1))
        kept = amounts * self.unit * (1 - self._fee / MILLION)
        return self._curve.received(root, kept) / self.money_unit

    def quote_words(self, root: FloatWord) -> Callable[[FloatWord], FloatWord]:
        """`quote` in a program, at a square root price as a float: a function of the amount."""
        received = self._curve.received_words(root / _Q96)
        kept = 1 - self._fee / MILLION
        return lambda amount: received(amount * self.unit * kept) / self.money_unit

    @property
    def _scale(self) -> float:
        return float(10 ** (self.decimals[0] - self.decimals[1]))

    def depth(self, roots: NDArray[np.uint8], liquidity: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Depth of the pool: whole tokens that, at constant liquidity, move the square root price by its own size.

        A sale of one per cent of the depth moves the price by about two per cent.
        """
        root, depth = Words(roots).float64(_Q96), Words(liquidity).float64()
        tokens = depth / root if self.token_is_zero else depth * root
        return np.asarray(tokens / self.unit)


class SaleCurve:
    """Proceeds of selling a token into a pool's present liquidity, from half its price to twice its price.

    Between two initialised ticks the liquidity is a constant L. There the amount of token1 is L times the square root
    price, and that of token0 is L divided by it. So inputs and outputs are linear in the price root or its inverse.
    """

    def __init__(self, pool: UniswapV3Pool, sells_zero: bool) -> None:
        profile = pool.liquidity_profile()
        edges = np.array([profile[0].lower_tick, *(each.upper_tick for each in profile)], dtype=np.float64)
        roots = portable.exp(edges / 2 * portable.log(1.0001))
        liquidity = np.array([float(each.liquidity) for each in profile])
        # Selling token0 lowers the price, selling token1 raises it. Along `_axis` every sale goes up.
        self._inverted = sells_zero
        along = np.sort(self._axis(roots))
        against = 1 / along
        steps = liquidity[::-1] if sells_zero else liquidity
        put_in = np.concatenate(([0.0], np.cumsum(steps * np.diff(along))))
        taken_out = np.concatenate(([0.0], np.cumsum(steps * -np.diff(against))))
        self._inputs, self._places = Polyline(along, put_in), Polyline(put_in, along)
        # Points must ascend, and the inverse of the axis descends.
        self._outputs = Polyline(-against, taken_out)

    def _axis(self, root: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / root if self._inverted else root

    def received(self, root: NDArray[np.float64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """Output for an input of `amount` after the fee; constant beyond the end of the curve."""
        now = np.broadcast_to(self._axis(np.maximum(root, 1e-30)), amount.shape)
        after = self._places.at(self._inputs.at(now) + amount)
        return np.asarray(self._outputs.at(-1 / after) - self._outputs.at(-1 / now))

    def received_words(self, root: FloatWord) -> Callable[[FloatWord], FloatWord]:
        """`received` in a program: a function of the amount."""
        root, one = root.at_least(1e-30), FloatWord(root.program, 1.0)
        now = one / root if self._inverted else root
        put_in, out = self._inputs.word_at(now), self._outputs.word_at(0.0 - one / now)

        def received(amount: FloatWord) -> FloatWord:
            after = self._places.word_at(put_in + amount)
            return self._outputs.word_at(0.0 - one / after) - out

        return received


class Polyline:
    """Straight lines between points whose `xs` ascend, constant beyond them: a portable `np.interp`."""

    def __init__(self, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> None:
        self._xs, self._ys, self._slopes = xs, ys, np.diff(ys) / np.diff(xs)

    def at(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value at each `x`."""
        line = np.clip(np.searchsorted(self._xs, x, side="right") - 1, 0, len(self._slopes) - 1)
        value = self._slopes[line] * (x - self._xs[line]) + self._ys[line]
        return np.where(x < self._xs[0], self._ys[0], np.where(x < self._xs[-1], value, self._ys[-1]))

    def word_at(self, x: FloatWord) -> FloatWord:
        """`at` in a program."""
        first, *others = zip(self._slopes.tolist(), self._xs.tolist(), self._ys.tolist(), strict=False)
        slope, left, low = (FloatWord(x.program, each) for each in first)
        for line in others:
            before = x < line[1]
            slope, left, low = (known.where(before, each) for known, each in zip((slope, left, low), line, strict=True))
        value = (slope * (x - left) + low).where(x < float(self._xs[-1]), float(self._ys[-1]))
        return FloatWord(x.program, float(self._ys[0])).where(x < float(self._xs[0]), value)
