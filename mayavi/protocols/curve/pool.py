"""Curve StableSwap pool: exchanges and liquidity.

    pool = CurveStableSwap(fork, "Curve.3pool")
    pool.quote("DAI", "USDC", 1_000 * 10**18)
    pool.exchange("DAI", "USDC", 1_000 * 10**18, sender=alice).received
    pool.add_liquidity({"DAI": 10**21, "USDT": 10**9}, sender=alice).minted

Coins are symbols, addresses or indexes of the pool; amounts are in smallest units. Each action approves what it needs
and checks balances first. An action that fails raises an `ExecutionError` and leaves the fork unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, CallReverted, ExecutionError, InsufficientBalance
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.protocols.arguments import address_on
from mayavi.protocols.curve.views import Amounts, Coin, StableSwapViews
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from mayavi.evm.receipt import Receipt

_EVERYTHING = 2**256 - 1
_DAY = 86_400
_RAMP_FACTOR = 10
_MAX_A = 10**6


class Exchanged(NamedTuple):
    """Result of an exchange: amount of the coin bought."""

    received: int
    receipt: Receipt


class LiquidityAdded(NamedTuple):
    """Result of a deposit: LP tokens minted."""

    minted: int
    receipt: Receipt


class LiquidityRemoved(NamedTuple):
    """Result of a withdrawal: amount received per coin, in the pool's order, and LP tokens burned."""

    received: tuple[int, ...]
    burned: int
    receipt: Receipt


class CurveStableSwap(StableSwapViews):
    """Plain StableSwap pool, by a label such as `Curve.3pool` or an address.

    The 2020 pools do not name their LP token. It is taken from the label `<pool>.LP`, else from the pool if it names
    it, else from `lp_token`.
    """

    # -- actions ------------------------------------------------------------------------------------------------------

    def exchange(self, coin_in: Coin, coin_out: Coin, dx: int, min_out: int = 0, *, sender: AddressLike) -> Exchanged:
        """Sell `dx` of `coin_in` for `coin_out`; reverts if the pool would pay less than `min_out`."""
        i, j = self._pair(coin_in, coin_out)
        user, bought, least = address_on(self.fork, sender), self.coins[j], word(min_out)
        dx = self._exchange_amount(i, dx)
        what = f"an exchange of {self.coins[i].text(dx)} for {bought.symbol}"
        with self._spending({i: dx}, user):
            limited, free = (i, j, dx, least), (i, j, dx, 0)
            moved, receipt = self._act(
                what, "exchange", limited, free, user, [bought], lambda now: _slippage_hint(bought, now[0], least)
            )
        return Exchanged(moved[0], receipt)

    def add_liquidity(self, amounts: Amounts, min_mint: int = 0, *, sender: AddressLike) -> LiquidityAdded:
        """Deposit `amounts` for at least `min_mint` LP tokens. Imbalanced deposits pay a fee."""
        wanted, user, least = self._amounts(amounts), address_on(self.fork, sender), word(min_mint)
        if not any(wanted):
            raise ActionRefused("a deposit of nothing gives no LP tokens", "give an amount above zero")
        shares = self.lp_token
        with self._spending(dict(enumerate(wanted)), user):
            limited, free = (wanted, least), (wanted, 0)
            moved, receipt = self._act(
                "a deposit",
                "add_liquidity",
                limited,
                free,
                user,
                [shares],
                lambda now: _slippage_hint(shares, now[0], least),
            )
        return LiquidityAdded(moved[0], receipt)

    def remove_liquidity(
        self, lp_amount: int | None = None, min_amounts: Amounts | None = None, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Burn `lp_amount` (default: all) for every coin in proportion. No fee; works on a killed pool."""
        user, least = address_on(self.fork, sender), self._amounts({} if min_amounts is None else min_amounts)
        shares = self._shares(lp_amount, user)

        def hint(now: list[int]) -> str:
            gives, asked = self._text(now[:-1]), self._text(least)
            return f"it gives {gives} now, and {asked} were the least to take"

        return self._remove("remove_liquidity", (shares, least), (shares, [0] * len(least)), user, hint)

    def remove_liquidity_one_coin(
        self, lp_amount: int | None, coin: Coin, min_out: int = 0, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Burn `lp_amount` (None: all) for at least `min_out` of one coin.

        Pays the fee on imbalance.
        """
        user, i, least = address_on(self.fork, sender), self.index(coin), word(min_out)
        shares = self._shares(lp_amount, user)
        limited, free = (shares, i, least), (shares, i, 0)
        return self._remove(
            "remove_liquidity_one_coin", limited, free, user, lambda now: _slippage_hint(self.coins[i], now[i], least)
        )

    def remove_liquidity_imbalance(
        self, amounts: Amounts, max_burn: int | None = None, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Withdraw exactly `amounts` for at most `max_burn` LP tokens (default: all of the sender's)."""
        user, wanted = address_on(self.fork, sender), self._amounts(amounts)
        if not any(wanted):
            raise ActionRefused("a withdrawal of nothing moves nothing", "give an amount above zero")
        for coin, held, amount in zip(self.coins, self.balances, wanted, strict=True):
            if held < amount:
                raise InsufficientBalance(
                    f"{self.name} has {coin.text(held)}, but {coin.text(amount)} are wanted", "take less of it"
                )
        with suppress(CallReverted):  # the cost of withdrawing everything has no quote
            self.lp_token.require(user, self.quote_remove(wanted))
        most = self.lp_token.balance_of(user) if max_burn is None else word(max_burn)

        def hint(now: list[int]) -> str:
            burned, limit = self.lp_token.text(-now[-1]), self.lp_token.text(most)
            return f"it costs {burned} now, and {limit} were the most to burn"

        return self._remove("remove_liquidity_imbalance", (wanted, most), (wanted, _EVERYTHING), user, hint)

    def ramp_a(self, future_a: int, future_time: int, *, sender: AddressLike | None = None) -> Receipt:
        """Ramp A to `future_a` until the Unix time `future_time`, as the owner or as `sender`.

        The pool requires at least a day since the last ramp and until the end of this one, and at most a factor of ten.
        """
        target, end = word(future_a, "A"), word(future_time, "time")
        a, now, began = self.a, self.fork.timestamp, self.ramp.initial_time
        lowest, highest = -(-a // _RAMP_FACTOR), min(a * _RAMP_FACTOR, _MAX_A - 1)
        rules = [
            (began + _DAY <= now, f"the last ramp began less than a day ago: wait until {began + _DAY}"),
            (end >= now + _DAY, f"it takes a day at least: give a time from {now + _DAY} on"),
            (lowest <= target <= highest, f"A is {a} now and may go to {lowest} … {highest}"),
        ]
        return self._administer("ramp_A", (target, end), sender, [hint for kept, hint in rules if not kept])

    def stop_ramp_a(self, *, sender: AddressLike | None = None) -> Receipt:
        """Stop the ramp of A, as the owner or as `sender`."""
        return self._administer("stop_ramp_A", (), sender, [])

    # -- internals ----------------------------------------------------------------------------------------------------

    def _shares(self, lp_amount: int | None, user: bytes) -> int:
        held = self.lp_token.balance_of(user)
        shares = held if lp_amount is None else word(lp_amount)
        if not shares:
            who, symbol = self.fork.name(user), self.lp_token.symbol
            if lp_amount is None:
                raise ActionRefused(f"{who} has no {symbol}", "`add_liquidity` gives some")
            raise ActionRefused(f"a withdrawal of 0 {symbol} moves nothing", "give an amount above zero")
        self.lp_token.require(user, shares)
        return shares

    @contextmanager
    def _spending(self, amounts: Mapping[int, int], sender: bytes) -> Iterator[None]:
        with ExitStack() as stack:
            for i, amount in amounts.items():
                if amount:
                    stack.enter_context(spending(self.fork, self.coins[i].address, self.address, amount, sender))
            stack.enter_context(atomic(self.fork))
            yield

    def _remove(
        self,
        function: str,
        limited: tuple[object, ...],
        free: tuple[object, ...],
        user: bytes,
        hint: Callable[[list[int]], str],
    ) -> LiquidityRemoved:
        with atomic(self.fork):
            measured = [*self.coins, self.lp_token]
            moved, receipt = self._act("a withdrawal", function, limited, free, user, measured, hint)
            return LiquidityRemoved(tuple(moved[:-1]), -moved[-1], receipt)

    def _act(
        self,
        what: str,
        function: str,
        limited: tuple[object, ...],
        free: tuple[object, ...],
        user: bytes,
        measured: Sequence[Erc20],
        hint: Callable[[list[int]], str],
    ) -> tuple[list[int], Receipt]:
        """Send `function` and return the changes of `measured`; on a limit error, hint at the possible ones."""

        def moved(arguments: tuple[object, ...]) -> tuple[list[int], Receipt]:
            before = [token.balance_of(user) for token in measured]
            receipt: Receipt = self.contract[function](*arguments, sender=user)
            return [token.balance_of(user) - held for token, held in zip(measured, before, strict=True)], receipt

        try:
            return moved(limited)
        except CallReverted as error:
            now = None
            with suppress(ExecutionError), self.fork.snapshot():
                now = moved(free)[0]
            raise with_context(error, None if now is None else hint(now), what=f"{what} on {self.name}") from None

    def _administer(
        self, function: str, arguments: tuple[int, ...], sender: AddressLike | None, hints: list[str]
    ) -> Receipt:
        owner = self.owner
        user = owner if sender is None else address_on(self.fork, sender)
        if user != owner:
            hints = [f"only the owner, {self.fork.name(owner)}, may", *hints]
        with atomic(self.fork):
            try:
                receipt: Receipt = self.contract[function](*arguments, sender=user)
            except CallReverted as error:
                raise with_context(error, "; ".join(hints), what=f"{function} of {self.name}") from None
            return receipt


def _slippage_hint(token: Erc20, now: int, least: int) -> str:
    return f"it gives {token.text(now)} now, and {token.text(least)} were the least to take"
