"""Curve: a StableSwap pool of two or more pegged coins, to trade on and to provide liquidity to.

    pool = CurveStableSwap(fork, "Curve.3pool")
    pool.quote("DAI", "USDC", 1_000 * 10**18)
    pool.exchange("DAI", "USDC", 1_000 * 10**18, sender=alice).received
    pool.add_liquidity({"DAI": 10**21, "USDT": 10**9}, sender=alice).minted

Coins are symbols, addresses or indexes of the pool; amounts count smallest units. Each action approves by itself what
it needs and checks balances first. One that fails raises an `ExecutionError` and leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument, BadCalldata, CallHalted, CallReverted, ExecutionError, UnknownName, UsageError
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.evm.units import from_units
from mayavi.protocols.tokens import Erc20, spending, undone_on_failure

if TYPE_CHECKING:
    from mayavi.evm.abi import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

Coin = int | AddressLike
"""A coin of a pool: its index there, its symbol or its address."""
Amounts = Mapping[str, int] | Sequence[int]
"""Amounts of a pool's coins: by symbol, those left out being zero, or one for each coin in the pool's order."""

MAX_COINS = 8
_FEE_DECIMALS = 10
_WAD_DECIMALS = 18
_EXACT = Context(prec=60)

_COINS = ["coins(uint256 i) view returns (address)"]


def _abi(n: int) -> list[str]:
    each = f"uint256[{n}]"
    return [
        *_COINS,
        "balances(uint256 i) view returns (uint256)",
        "admin_balances(uint256 i) view returns (uint256)",
        "A() view returns (uint256)",
        "initial_A() view returns (uint256)",
        "future_A() view returns (uint256)",
        "initial_A_time() view returns (uint256)",
        "future_A_time() view returns (uint256)",
        "fee() view returns (uint256)",
        "admin_fee() view returns (uint256)",
        "owner() view returns (address)",
        "lp_token() view returns (address)",
        "get_virtual_price() view returns (uint256)",
        "get_dy(int128 i, int128 j, uint256 dx) view returns (uint256)",
        f"calc_token_amount({each} amounts, bool deposit) view returns (uint256)",
        "calc_withdraw_one_coin(uint256 amount, int128 i) view returns (uint256)",
        "exchange(int128 i, int128 j, uint256 dx, uint256 min_dy)",
        f"add_liquidity({each} amounts, uint256 min_mint)",
        f"remove_liquidity(uint256 amount, {each} min_amounts)",
        f"remove_liquidity_imbalance({each} amounts, uint256 max_burn)",
        "remove_liquidity_one_coin(uint256 amount, int128 i, uint256 min_amount)",
        "ramp_A(uint256 future_A, uint256 future_time)",
        "stop_ramp_A()",
    ]


class Ramp(NamedTuple):
    """How A moves: in a straight line from one value and time to the other, then it stays.

    Times are seconds since 1970. Pools that keep A with more digits (those since 2021 have two more) give the two
    values with these.
    """

    initial_a: int
    future_a: int
    initial_time: int
    future_time: int


class Exchanged(NamedTuple):
    """What came of an exchange: what the buyer got of the other coin."""

    received: int
    receipt: Receipt


class LiquidityAdded(NamedTuple):
    """What came of a deposit: the LP tokens it gave."""

    minted: int
    receipt: Receipt


class LiquidityRemoved(NamedTuple):
    """What came of a withdrawal: what was received of each coin, in the pool's order, and the LP tokens it cost."""

    received: tuple[int, ...]
    burned: int
    receipt: Receipt


class CurveStableSwap:
    """A plain StableSwap pool: `pool` is a name of `fork.labels` such as `Curve.3pool`, or an address.

    The 2020 pools do not tell which token their shares are. It is taken from the label `<pool>.LP`, else from the pool
    where it tells, else from `lp_token`.
    """

    def __init__(self, fork: Fork, pool: AddressLike = "Curve.3pool", *, lp_token: AddressLike | None = None) -> None:
        self.fork = fork
        self.address = fork.address_of(pool)
        self._given_lp_token = lp_token

    # -- what it is ---------------------------------------------------------------------------------------------------

    @cached_property
    def coins(self) -> tuple[Erc20, ...]:
        """The coins, in the pool's order."""
        contract = self.fork.contract(self.address, _COINS)
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
        """The coins' symbols, in the pool's order."""
        return tuple(coin.symbol for coin in self.coins)

    @cached_property
    def contract(self) -> Contract:
        """The pool itself."""
        return self.fork.contract(self.address, _abi(len(self.coins)))

    @cached_property
    def lp_token(self) -> Erc20:
        """The token of the pool's shares."""
        if self._given_lp_token is not None:
            return Erc20(self.fork, self._given_lp_token)
        if f"{self.name}.LP" in self.fork.labels:
            return Erc20(self.fork, f"{self.name}.LP")
        try:
            return Erc20(self.fork, self.contract.lp_token())
        except ExecutionError:
            raise UsageError(
                f"{self.name} does not tell which token its shares are",
                "give it: CurveStableSwap(fork, pool, lp_token=…)",
            ) from None

    @property
    def name(self) -> str:
        """Its name in `fork.labels`, else its address."""
        return self.fork.name(self.address)

    def index(self, coin: Coin) -> int:
        """The number a coin has in this pool; `UnknownName` with the nearest where it is none of it."""
        if isinstance(coin, int):
            if 0 <= coin < len(self.coins):
                return coin
            raise BadArgument(f"{self.name} has no coin {coin}", f"they are 0 to {len(self.coins) - 1}")
        if isinstance(coin, str) and coin in self.symbols:
            return self.symbols.index(coin)
        if not isinstance(coin, str) or coin.startswith("0x") or coin in self.fork.labels:
            place = self.fork.address_of(coin)
            for i, token in enumerate(self.coins):
                if token.address == place:
                    return i
            coin = self.fork.name(place)
        raise UnknownName.of(f"coin of {self.name}", coin, self.symbols, f"it has {', '.join(self.symbols)}")

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def balances(self) -> tuple[int, ...]:
        """What belongs to the shares, coin by coin."""
        return tuple(self.contract.balances(i) for i in range(len(self.coins)))

    @property
    def admin_balances(self) -> tuple[int, ...]:
        """What the pool holds beyond that: fees that the administrator has not collected yet."""
        return tuple(self.contract.admin_balances(i) for i in range(len(self.coins)))

    @property
    def lp_supply(self) -> int:
        """All shares there are, with 18 decimals."""
        return self.lp_token.total_supply

    @property
    def a(self) -> int:
        """The amplification at this moment: the higher, the flatter the price around balance."""
        amplification: int = self.contract.A()
        return amplification

    @property
    def ramp(self) -> Ramp:
        """Where A comes from and where it goes."""
        pool = self.contract
        return Ramp(pool.initial_A(), pool.future_A(), pool.initial_A_time(), pool.future_A_time())

    @property
    def fee_e10(self) -> int:
        """What an exchange costs, in units of 1e-10 of what is bought."""
        fee: int = self.contract.fee()
        return fee

    @property
    def fee(self) -> Decimal:
        """The same as a fraction: 0.0001 is 0.01 %."""
        return from_units(self.fee_e10, _FEE_DECIMALS)

    @property
    def admin_fee_e10(self) -> int:
        """The administrator's part of fees, in units of 1e-10."""
        fee: int = self.contract.admin_fee()
        return fee

    @property
    def virtual_price_wad(self) -> int:
        """What a share is worth while all coins are at par, with 18 decimals. Only fees and donations raise it."""
        price: int = self.contract.get_virtual_price()
        return price

    @property
    def virtual_price(self) -> Decimal:
        """The same for people."""
        return from_units(self.virtual_price_wad, _WAD_DECIMALS)

    @property
    def owner(self) -> bytes:
        """Who may change A and the fees."""
        owner: bytes = self.contract.owner()
        return owner

    # -- quotes -------------------------------------------------------------------------------------------------------

    def quote(self, coin_in: Coin, coin_out: Coin, dx: int) -> int:
        """What the pool says `dx` of `coin_in` would buy, fee included.

        The pool rounds a quote after the fee and an exchange before it, so `exchange` may give one smallest unit less
        of a coin with fewer than 18 decimals. A fee that a coin takes on transfers is not in it.
        """
        i, j = self._pair(coin_in, coin_out)
        dy: int = self.contract.get_dy(i, j, dx)
        return dy

    def quote_many(self, coin_in: Coin, coin_out: Coin, amounts: Sequence[int]) -> list[int]:
        """`quote` for each of `amounts`, all on the pool as it stands, in one kernel call."""
        i, j = self._pair(coin_in, coin_out)
        encode = self.contract.get_dy.encode
        outputs = self.fork.call_many(self.address, [encode(i, j, dx) for dx in amounts])
        return [int.from_bytes(output) for output in outputs]

    def price_impact(self, coin_in: Coin, coin_out: Coin, dx: int) -> Decimal:
        """How much worse the price of `dx` is than that of a millionth of the pool, as a fraction; fees cancel out."""
        i, j = self._pair(coin_in, coin_out)
        small: int = max(10 ** self.coins[i].decimals, self.contract.balances(i) // 10**6)
        if dx <= small:
            return Decimal(0)
        at_small, at_dx = self.quote_many(i, j, [small, dx])
        with localcontext(_EXACT):
            impact: Decimal = 1 - (Decimal(at_dx) / dx) / (Decimal(at_small) / small)
        return impact

    def quote_add(self, amounts: Amounts) -> int:
        """The LP tokens a deposit would give **without** the fee on imbalance: an upper bound of `minted`."""
        shares: int = self.contract.calc_token_amount(self._amounts(amounts), True)
        return shares

    def quote_remove(self, amounts: Amounts) -> int:
        """The LP tokens that taking exactly `amounts` would cost **without** fees: a lower bound of `burned`."""
        shares: int = self.contract.calc_token_amount(self._amounts(amounts), False)
        return shares

    def quote_remove_one(self, lp_amount: int, coin: Coin) -> int:
        """What `remove_liquidity_one_coin` would give, fees included: exact, but for a coin's own transfer fee."""
        dy: int = self.contract.calc_withdraw_one_coin(lp_amount, self.index(coin))
        return dy

    # -- acting -------------------------------------------------------------------------------------------------------

    def exchange(self, coin_in: Coin, coin_out: Coin, dx: int, min_out: int = 0, *, sender: AddressLike) -> Exchanged:
        """Sell `dx` of `coin_in` for `coin_out`; reverts where the pool would give less than `min_out`."""
        i, j = self._pair(coin_in, coin_out)
        user, bought = self.fork.address_of(sender), self.coins[j]
        with self._spending({i: word(dx)}, user):
            before = bought.balance_of(user)
            receipt: Receipt = self.contract.exchange(i, j, dx, min_out, sender=user)
            received = bought.balance_of(user) - before
        return Exchanged(received, receipt)

    def add_liquidity(self, amounts: Amounts, min_mint: int = 0, *, sender: AddressLike) -> LiquidityAdded:
        """Deposit `amounts` for at least `min_mint` LP tokens. What is out of proportion pays a fee."""
        wanted, user = self._amounts(amounts), self.fork.address_of(sender)
        with self._spending(dict(enumerate(wanted)), user):
            before = self.lp_token.balance_of(user)
            receipt: Receipt = self.contract.add_liquidity(wanted, min_mint, sender=user)
            minted = self.lp_token.balance_of(user) - before
        return LiquidityAdded(minted, receipt)

    def remove_liquidity(
        self, lp_amount: int, min_amounts: Amounts | None = None, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Give `lp_amount` back for every coin in proportion, at no fee and even where the pool is killed."""
        least = self._amounts(min_amounts or {})
        return self._remove("remove_liquidity", (word(lp_amount), least), lp_amount, sender)

    def remove_liquidity_one_coin(
        self, lp_amount: int, coin: Coin, min_out: int = 0, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Give `lp_amount` back for one coin alone, of which at least `min_out`; a fee on imbalance is paid."""
        arguments = word(lp_amount), self.index(coin), min_out
        return self._remove("remove_liquidity_one_coin", arguments, lp_amount, sender)

    def remove_liquidity_imbalance(
        self, amounts: Amounts, max_burn: int | None = None, *, sender: AddressLike
    ) -> LiquidityRemoved:
        """Take exactly `amounts` for at most `max_burn` LP tokens, by default all that `sender` has."""
        most = self.lp_token.balance_of(sender) if max_burn is None else word(max_burn)
        return self._remove("remove_liquidity_imbalance", (self._amounts(amounts), most), 0, sender)

    def ramp_a(self, future_a: int, future_time: int, *, sender: AddressLike | None = None) -> Receipt:
        """Let A move to `future_a` until `future_time` (seconds since 1970), as the owner or as `sender`.

        The pool asks for a day or more, since the last ramp and until the end of this one, and a factor of ten at most.
        """
        return self._administer("ramp_A", (future_a, future_time), sender)

    def stop_ramp_a(self, *, sender: AddressLike | None = None) -> Receipt:
        """Let A stay where it is now, as the owner or as `sender`."""
        return self._administer("stop_ramp_A", (), sender)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _pair(self, coin_in: Coin, coin_out: Coin) -> tuple[int, int]:
        i, j = self.index(coin_in), self.index(coin_out)
        if i == j:
            raise BadArgument(f"{self.symbols[i]} is not traded against itself", f"{self.name} has other coins")
        return i, j

    def _amounts(self, amounts: Amounts) -> list[int]:
        if isinstance(amounts, Mapping):
            found = [0] * len(self.coins)
            for coin, amount in amounts.items():
                found[self.index(coin)] += word(amount)
            return found
        if len(amounts) != len(self.coins):
            raise BadArgument(
                f"{len(amounts)} amounts for the {len(self.coins)} coins of {self.name}",
                f"give one each for {', '.join(self.symbols)}, or a mapping of symbols to amounts",
            )
        return [word(amount) for amount in amounts]

    @contextmanager
    def _spending(self, amounts: Mapping[int, int], sender: bytes) -> Iterator[None]:
        with ExitStack() as stack:
            for i, amount in amounts.items():
                if amount:
                    stack.enter_context(spending(self.fork, self.coins[i].address, self.address, amount, sender))
            stack.enter_context(undone_on_failure(self.fork))
            yield

    def _remove(
        self, function: str, arguments: tuple[object, ...], lp_amount: int, sender: AddressLike
    ) -> LiquidityRemoved:
        user = self.fork.address_of(sender)
        self.lp_token.require(user, lp_amount)
        with undone_on_failure(self.fork):
            shares = self.lp_token.balance_of(user)
            before = [coin.balance_of(user) for coin in self.coins]
            receipt: Receipt = self.contract[function](*arguments, sender=user)
            received = tuple(coin.balance_of(user) - held for coin, held in zip(self.coins, before, strict=True))
            return LiquidityRemoved(received, shares - self.lp_token.balance_of(user), receipt)

    def _administer(self, function: str, arguments: tuple[int, ...], sender: AddressLike | None) -> Receipt:
        user = self.owner if sender is None else self.fork.address_of(sender)
        with undone_on_failure(self.fork):
            receipt: Receipt = self.contract[function](*arguments, sender=user)
            return receipt

    def __repr__(self) -> str:
        return f"<StableSwap pool {self.name}: {', '.join(self.symbols)}>"
