"""One Uniswap V3 pool as environments trade in it: swaps to fill in, and its price read from its first slot."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.agents.selling import sqrt_price_x96
from mayavi.evm.fleet import Program, Template, Word, Words
from mayavi.evm.hashing import keccak256
from mayavi.evm.token_balance import balance_slot
from mayavi.protocols.uniswap_route import Route
from mayavi.protocols.uniswap_router import Router
from mayavi.protocols.uniswap_v3 import UniswapV3

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

SLOT0, LIQUIDITY = 0, 4
"""Where a pool keeps its square root price (in its low bits) and the liquidity that trades at it."""
ROOT_BITS, LIQUIDITY_BITS = 160, 128
_Q96 = 2.0**96
PLENTY = 10**15
"""Whole tokens of somebody whose money is no matter: more than any pool takes."""


def account(name: str) -> bytes:
    """The account of `name`: the same address that a run gives an agent of that name."""
    return keccak256(b"mayavi account " + name.encode())[12:]


class PoolTrades:
    """The pool of `token` and `money` with a fee, and a router to trade through."""

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

    def enable(self, trader: bytes, *, wealth: bool = False) -> None:
        """Let the router take all that `trader` has of both, and give it plenty to trade with."""
        from mayavi.protocols.tokens import Erc20

        for place, unit in ((self.token, self.unit), (self.money, self.money_unit)):
            Erc20(self._fork, place).approve(self._router.address, 2**256 - 1, sender=trader)
            if wealth:
                self._fork.deal(place, trader, PLENTY * unit)

    def swap(self, trader: bytes, amount: Word | int, limit: Word | int = 0, *, sells: bool) -> Template:
        """The transaction in which `trader` puts in `amount`: of the token where it sells, of the money otherwise."""
        pair = (self.token, self.money) if sells else (self.money, self.token)
        route = Route.of(self._fork, (*pair, self._fee))
        calldata, amount_at, limit_at = self._router.single_swap(route, recipient=trader)
        return Template(self._router.address, calldata, {amount_at: amount, limit_at: limit}, sender=trader)

    def root(self, program: Program) -> Word:
        """The square root price where a program stands."""
        return program.bits(program.load(self.address, SLOT0), 0, ROOT_BITS)

    def move_towards(
        self, program: Program, trader: bytes, root: Word | int, share_ppm: Word | int, mask: Word | int
    ) -> tuple[Word, Word]:
        """`trader` trades until `share_ppm` millionths of the way to the square root price `root` are made.

        What it put in of the token, and of the money: one of them, or none where the price is there already.
        """
        now = self.root(program)
        up = program.multiply_divide(program.subtract(root, now), share_ppm, MILLION)
        down = program.multiply_divide(program.subtract(now, root), share_ppm, MILLION)
        aim = program.subtract(program.add(now, up), down)
        rises, falls = program.less(now, aim), program.less(aim, now)
        sells, buys = (falls, rises) if self.token_is_zero else (rises, falls)
        spent = []
        for selling, when, unit in ((True, sells, self.unit), (False, buys, self.money_unit)):
            trade = self.swap(trader, PLENTY * unit, aim, sells=selling)
            place = balance_slot(self._fork, self.token if selling else self.money, trader)
            before = program.load(*place)
            program.call(trade, mask=program.multiply(when, mask))
            spent.append(program.subtract(before, program.load(*place)))
        return spent[0], spent[1]

    def root_at(self, price_e8: int) -> int:
        """The square root price at which one whole token costs `price_e8` of the money, with eight decimals."""
        return sqrt_price_x96(Fraction(price_e8, 10**8), *self.decimals, token0=self.token_is_zero)

    def price_of(self, roots: NDArray[np.uint8]) -> NDArray[np.float64]:
        """What one whole token costs at square root prices given as words, as floats."""
        ratio = Words(roots).float64(_Q96) ** 2 * (self._scale if self.token_is_zero else 1.0)
        return ratio if self.token_is_zero else self._scale / ratio

    @property
    def _scale(self) -> float:
        return float(10 ** (self.decimals[0] - self.decimals[1]))

    def depth(self, roots: NDArray[np.uint8], liquidity: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Whole tokens that move the square root price by as much as itself, were the liquidity the same everywhere.

        A sale of a hundredth of it moves the price by about two hundredths.
        """
        root, depth = Words(roots).float64(_Q96), Words(liquidity).float64()
        tokens = depth / root if self.token_is_zero else depth * root
        return np.asarray(tokens / self.unit)
