"""Read-only side of a Curve StableSwap pool: coins, balances, parameters and quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadCalldata,
    CallHalted,
    CallReverted,
    ExecutionError,
    UnknownName,
    UsageError,
)
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.evm.units import from_units
from mayavi.protocols.arguments import address_on, amount_list, chain_name, require_contract, require_fork
from mayavi.protocols.curve.abi import COINS, pool_abi
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.missing import hint_for_missing

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork

Coin = int | AddressLike
"""Coin of a pool: its index, symbol or address."""
Amounts = Mapping[str, int] | Sequence[int]
"""Amounts of a pool's coins: by symbol, missing ones being zero, or one per coin in the pool's order."""

MAX_COINS = 8
_FEE_DECIMALS = 10
_WAD_DECIMALS = 18
_EXACT = Context(prec=60)
_IMPACT_STEP = Decimal("1e-18")  # further digits are noise
_PREFIX = "Curve."


class Ramp(NamedTuple):
    """Linear ramp of A between two values and times; afterwards A stays.

    Times are Unix times. Pools that store A with extra digits (two since 2021) report both values with them.
    """

    initial_a: int
    future_a: int
    initial_time: int
    future_time: int


class StableSwapViews:
    """Read-only StableSwap pool; `CurveStableSwap` adds the actions."""

    def __init__(self, fork: Fork, pool: AddressLike = "Curve.3pool", *, lp_token: AddressLike | None = None) -> None:
        require_fork(fork, "CurveStableSwap")
        self.fork = fork
        self.address = _pool_address(fork, pool)
        self._given_lp_token = None if lp_token is None else address_on(fork, lp_token)
        require_contract(fork, self.address, "StableSwap pool", lambda: self.coins)

    # -- contracts and assets -----------------------------------------------------------------------------------------

    @cached_property
    def coins(self) -> tuple[Erc20, ...]:
        """Coins, in the pool's order."""
        contract = self.fork.contract(self.address, COINS)
        found: list[Erc20] = []
        for i in range(MAX_COINS):
            try:
                found.append(Erc20(self.fork, contract.coins(i)))
            except (CallReverted, CallHalted, BadCalldata):
                break
        if len(found) < 2:
            raise UsageError(
                f"{self.name} is not a StableSwap pool: it has no two coins",
                "plain pools of 2020 and later are known; their first ancestors are not",
            )
        return tuple(found)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of the coins, in the pool's order."""
        return tuple(coin.symbol for coin in self.coins)

    @cached_property
    def contract(self) -> Contract:
        """Pool contract."""
        return self.fork.contract(self.address, pool_abi(len(self.coins)))

    @cached_property
    def lp_token(self) -> Erc20:
        """LP token of the pool."""
        if self._given_lp_token is not None:
            return Erc20(self.fork, self._given_lp_token)
        if f"{self.name}.LP" in self.fork.labels:
            return Erc20(self.fork, f"{self.name}.LP")
        try:
            return Erc20(self.fork, self.contract.lp_token())
        except ExecutionError:
            raise UsageError(
                f"{self.name} does not name its LP token",
                "give it: CurveStableSwap(fork, pool, lp_token=…)",
            ) from None

    @property
    def name(self) -> str:
        """Label of the pool, else its address."""
        return self.fork.name(self.address)

    def index(self, coin: Coin) -> int:
        """Return the index of a coin; raise `UnknownName` with the nearest names if the pool has no such coin."""
        if isinstance(coin, int):
            if 0 <= coin < len(self.coins):
                return coin
            raise BadArgument(f"{self.name} has no coin {coin}", f"they are 0 to {len(self.coins) - 1}")
        if isinstance(coin, str) and coin in self.symbols:
            return self.symbols.index(coin)
        if not isinstance(coin, str) or coin.startswith("0x") or coin in self.fork.labels:
            place = address_on(self.fork, coin)
            for i, token in enumerate(self.coins):
                if token.address == place:
                    return i
            coin = self.fork.name(place)
        raise UnknownName.of(f"coin of {self.name}", coin, self.symbols, f"it has {', '.join(self.symbols)}")

    # -- balances and parameters --------------------------------------------------------------------------------------

    @property
    def balances(self) -> tuple[int, ...]:
        """Balances that belong to the LP tokens, per coin."""
        return tuple(self.contract.balances(i) for i in range(len(self.coins)))

    @property
    def admin_balances(self) -> tuple[int, ...]:
        """Uncollected admin fees, per coin."""
        return tuple(self.contract.admin_balances(i) for i in range(len(self.coins)))

    @property
    def lp_supply(self) -> int:
        """Supply of LP tokens, with 18 decimals."""
        return self.lp_token.total_supply

    @property
    def a(self) -> int:
        """Current amplification: the higher, the flatter the price around balance."""
        amplification: int = self.contract.A()
        return amplification

    @property
    def ramp(self) -> Ramp:
        """Ramp of A."""
        pool = self.contract
        return Ramp(pool.initial_A(), pool.future_A(), pool.initial_A_time(), pool.future_A_time())

    @property
    def fee_e10(self) -> int:
        """Exchange fee in units of 1e-10 of the amount bought."""
        fee: int = self.contract.fee()
        return fee

    @property
    def fee(self) -> Decimal:
        """Exchange fee as a fraction: 0.0001 is 0.01 %."""
        return from_units(self.fee_e10, _FEE_DECIMALS)

    @property
    def admin_fee_e10(self) -> int:
        """Admin share of the fees, in units of 1e-10."""
        fee: int = self.contract.admin_fee()
        return fee

    @property
    def virtual_price_wad(self) -> int:
        """Value of an LP token with all coins at par, with 18 decimals. Only fees and donations raise it."""
        price: int = self.contract.get_virtual_price()
        return price

    @property
    def virtual_price(self) -> Decimal:
        """`virtual_price_wad` as a decimal."""
        return from_units(self.virtual_price_wad, _WAD_DECIMALS)

    @property
    def owner(self) -> bytes:
        """Account that may change A and the fees."""
        owner: bytes = self.contract.owner()
        return owner

    # -- quotes -------------------------------------------------------------------------------------------------------

    def quote(self, coin_in: Coin, coin_out: Coin, dx: int) -> int:
        """Return the pool's quote for selling `dx` of `coin_in`, fee included.

        The pool rounds a quote after the fee and an exchange before it, so `exchange` may give one smallest unit less
        of a coin with fewer than 18 decimals. Transfer fees of a coin are not included.
        """
        i, j = self._pair(coin_in, coin_out)
        dx = self._exchange_amount(i, dx)
        try:
            dy: int = self.contract.get_dy(i, j, dx)
        except CallReverted as error:
            raise self._explain_quote(error, i, j, dx) from None
        return dy

    def quote_many(self, coin_in: Coin, coin_out: Coin, amounts: Iterable[int]) -> list[int]:
        """Quote each of `amounts` on the current state, in one kernel call."""
        i, j = self._pair(coin_in, coin_out)
        sold = [self._exchange_amount(i, dx) for dx in amount_list(amounts)]
        outputs = self.fork.call_many(self.address, [self.contract.get_dy.encode(i, j, dx) for dx in sold], check=False)
        # Repeat a failed quote alone: it raises the detailed error.
        return [
            self.quote(i, j, dx) if output is None else int.from_bytes(output)
            for dx, output in zip(sold, outputs, strict=True)
        ]

    def price_impact(self, coin_in: Coin, coin_out: Coin, dx: int) -> Decimal:
        """Return how much worse the price of `dx` is than that of a millionth of the pool, as a fraction.

        Has 18 decimals. Fees cancel out.
        """
        i, j = self._pair(coin_in, coin_out)
        small: int = max(10 ** self.coins[i].decimals, self.contract.balances(i) // 10**6)
        dx = self._exchange_amount(i, dx)
        if dx <= small:
            return Decimal(0)
        at_small, at_dx = self.quote_many(i, j, [small, dx])
        if not at_small:
            raise ActionRefused(f"{self.name} has no {self.symbols[j]} to give", "`balances` is what it holds")
        with localcontext(_EXACT):
            impact: Decimal = 1 - (Decimal(at_dx) / dx) / (Decimal(at_small) / small)
            return impact.quantize(_IMPACT_STEP)

    def quote_add(self, amounts: Amounts) -> int:
        """Return the LP tokens of a deposit **without** the fee on imbalance: an upper bound of `minted`."""
        shares: int = self.contract.calc_token_amount(self._amounts(amounts), True)
        return shares

    def quote_remove(self, amounts: Amounts) -> int:
        """Return the LP tokens for taking exactly `amounts` **without** fees: a lower bound of `burned`."""
        shares: int = self.contract.calc_token_amount(self._amounts(amounts), False)
        return shares

    def quote_remove_one(self, lp_amount: int, coin: Coin) -> int:
        """Return the result of `remove_liquidity_one_coin`, fees included: exact but for a coin's transfer fee."""
        i, shares = self.index(coin), word(lp_amount)
        try:
            dy: int = self.contract.calc_withdraw_one_coin(shares, i)
        except CallReverted as error:
            hint = f"there are {self.lp_token.text(self.lp_supply)} in all"
            raise with_context(
                error, hint, what=f"a quote of {self.lp_token.text(shares)} for {self.symbols[i]}"
            ) from None
        return dy

    # -- internals ----------------------------------------------------------------------------------------------------

    def _pair(self, coin_in: Coin, coin_out: Coin) -> tuple[int, int]:
        i, j = self.index(coin_in), self.index(coin_out)
        if i == j:
            raise BadArgument(f"{self.symbols[i]} is not traded against itself", f"{self.name} has other coins")
        return i, j

    def _amounts(self, amounts: object) -> list[int]:
        if isinstance(amounts, Mapping):
            found = [0] * len(self.coins)
            for coin, amount in amounts.items():
                found[self.index(coin)] += word(amount)
            return found
        each = f"give one each for {', '.join(self.symbols)}, or a mapping of symbols to amounts"
        if not isinstance(amounts, Iterable) or isinstance(amounts, str | bytes):
            raise BadArgument(f"{amounts!r} are not amounts of the coins of {self.name}", each)
        numbers = [word(amount) for amount in amounts]
        if len(numbers) != len(self.coins):
            raise BadArgument(f"{len(numbers)} amounts for the {len(self.coins)} coins of {self.name}", each)
        return numbers

    def _exchange_amount(self, i: int, dx: int) -> int:
        amount = word(dx)
        if not amount:
            raise ActionRefused(f"an exchange of 0 {self.symbols[i]} moves nothing", "give an amount above zero")
        return amount

    def _text(self, amounts: Iterable[int]) -> str:
        return ", ".join(coin.text(amount) for coin, amount in zip(self.coins, amounts, strict=True))

    def _explain_quote(self, error: CallReverted, i: int, j: int, dx: int) -> CallReverted:
        what = f"a quote of {self.coins[i].text(dx)} for {self.symbols[j]} on {self.name}"
        return with_context(error, f"it holds {self._text(self.balances)}; ask for less", what=what)

    def __repr__(self) -> str:
        return f"<StableSwap pool {self.name}: {', '.join(self.symbols)}>"


def pools_of(fork: Fork) -> list[str]:
    """Return the labelled pools on `fork`: `Curve.3pool` …"""
    return [label for label in fork.labels if label.startswith(_PREFIX) and "." not in label.removeprefix(_PREFIX)]


def _pool_address(fork: Fork, pool: AddressLike) -> bytes:
    if not isinstance(pool, str) or pool[:2] in ("0x", "0X"):
        return address_on(fork, pool)
    for label in (pool, _PREFIX + pool):
        if label in fork.labels:
            return fork.address_of(label)
    known = pools_of(fork)
    if not known:
        hint = 'give the address of one: CurveStableSwap(fork, "0x…", lp_token="0x…")'
        raise UnknownName(f"no Curve pool is known on {chain_name(fork)}", hint_for_missing(fork, hint))
    raise UnknownName.of("Curve pool", pool, known, f"Curve pools here: {', '.join(known)}")
