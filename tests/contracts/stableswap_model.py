"""StableSwap in Python integers for any number of coins: an independent model of a pool.

It uses no EVM. The three-coin model is verified against the 3pool's bytecode; the two-coin model is the same code and
replaces the bytecode of a two-coin pool of that family, which the recorded blocks lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

DAY = 86_400
ONE, FEE_UNIT = 10**18, 10**10
_WORDS = 2**256


class RefusedError(Exception):
    """Operation that the pool would revert."""


class Word(int):
    """256-bit word with the EVM's checked arithmetic."""

    def __add__(self, other: int) -> Word:
        return _word(int.__add__(self, other))

    def __sub__(self, other: int) -> Word:
        return _word(int.__sub__(self, other))

    def __mul__(self, other: int) -> Word:
        return _word(int.__mul__(self, other))

    def __floordiv__(self, other: int) -> Word:
        _require(other != 0)
        return _word(int.__floordiv__(self, other))

    __radd__, __rmul__ = __add__, __mul__


def _word(value: int) -> Word:
    if 0 <= value < _WORDS:
        return Word(value)
    raise RefusedError


def _fits(value: int) -> int:
    """Return `value` if it is a word. Of a sum or product of words, only the result need be looked at."""
    if 0 <= value < _WORDS:
        return value
    raise RefusedError


def _require(condition: bool) -> None:
    if not condition:
        raise RefusedError


# Both functions below run thousands of times: in plain integers, which are ten times as fast as `Word`.


def invariant(amounts: Sequence[int], amp: int) -> Word:
    """Return the invariant D of normalised `amounts`."""
    n, shares = len(amounts), [int(amount) * len(amounts) for amount in amounts]
    total = _fits(sum(map(int, amounts)))
    if total == 0:
        return Word(0)
    _require(all(_fits(share) > 0 for share in shares))
    ann, d = _fits(amp * n), total
    _require(ann > 0)
    for _ in range(255):
        _require(d > 0)
        product = d
        for share in shares:
            product = _fits(product * d) // share
        above, below = _fits((ann * total + product * n) * d), _fits((ann - 1) * d + (n + 1) * product)
        _require(below > 0)
        d, before = above // below, d
        if abs(d - before) <= 1:
            break
    return Word(d)


def amount_of(k: int, amounts: Sequence[int], d: int, amp: int) -> Word:
    """Return the amount of coin `k` at invariant `d`, given all others."""
    n, d = len(amounts), int(d)
    ann, others, c = _fits(amp * n), 0, d
    for amount in (int(amount) for i, amount in enumerate(amounts) if i != k):
        _require(amount > 0)
        others, c = _fits(others + amount), _fits(c * d) // _fits(amount * n)
    c, b, y = _fits(c * d) // _fits(ann * n), _fits(others + d // ann), d
    for _ in range(255):
        above, below = _fits(y * y + c), _fits(_fits(2 * y + b) - d)
        _require(below > 0)
        y, before = above // below, y
        if abs(y - before) <= 1:
            break
    return Word(y)


@dataclass
class Coin:
    """Token with holders and a transfer fee."""

    decimals: int
    collector: str = ""
    fee_bps: int = 0
    max_fee: int = 0
    held: dict[str, int] = field(default_factory=dict)

    def move(self, sender: str, receiver: str, amount: int) -> None:
        """Transfer, or raise."""
        fee = min(Word(amount) * self.fee_bps // 10_000, self.max_fee) if self.fee_bps else 0
        _require(self.held.get(sender, 0) >= amount)
        for holder, change in ((sender, -amount), (receiver, amount - fee), (self.collector, fee)):
            self.held[holder] = self.held.get(holder, 0) + change


@dataclass
class StableSwapModel:
    """Pool with the functions of the contract. They return the event they emit."""

    coins: list[Coin]
    owner: str
    amp: int
    fee: int
    admin_fee: int
    now: int
    kill_deadline: int
    measured: int | None = None
    killed: bool = False

    def __post_init__(self) -> None:
        n = len(self.coins)
        self.balances = [0] * n
        self.shares = Coin(18)
        self.supply = 0
        self.initial_a, self.initial_time, self.future_a, self.future_time = self.amp, 0, self.amp, 0
        self.fee_deadline = self.owner_deadline = self.future_fee = self.future_admin_fee = 0
        self.future_owner = ""

    # -- views --------------------------------------------------------------------------------------------------------

    def A(self) -> int:  # noqa: N802
        """Current A."""
        if self.now >= self.future_time:
            return self.future_a
        step = abs(self.future_a - self.initial_a) * (self.now - self.initial_time)
        step //= self.future_time - self.initial_time
        return self.initial_a + (step if self.future_a > self.initial_a else -step)

    def get_virtual_price(self) -> int:
        """D per LP token."""
        return invariant(self._normal(self.balances), self.A()) * ONE // self.supply

    def get_dy(self, i: int, j: int, dx: int) -> int:
        """Quote `dx` of coin `i` in coin `j`."""
        self._check_pair(i, j)
        dy = self._bought(i, j, Word(dx) * self._rate(i) // ONE) * ONE // self._rate(j)
        return dy - dy * self.fee // FEE_UNIT

    def get_dy_underlying(self, i: int, j: int, dx: int) -> int:
        """Like `get_dy`, except for where it overflows."""
        self._check_pair(i, j)
        dy = self._bought(i, j, Word(dx) * (self._rate(i) // ONE)) // (self._rate(j) // ONE)
        return dy - dy * self.fee // FEE_UNIT

    def calc_token_amount(self, amounts: Sequence[int], deposit: bool) -> int:
        """Return the LP tokens for `amounts`, without fees."""
        new = [Word(b) + a if deposit else Word(b) - a for b, a in zip(self.balances, amounts, strict=True)]
        before, after = (invariant(self._normal(each), self.A()) for each in (self.balances, new))
        return (after - before if deposit else before - after) * self.supply // before

    def calc_withdraw_one_coin(self, shares: int, i: int) -> int:
        """Return the amount of coin `i` for `shares`."""
        return self._one_coin(shares, i)[0]

    def admin_balances(self, i: int) -> int:
        """Return what the pool holds beyond its balances."""
        return Word(self.coins[i].held.get("pool", 0)) - self.balances[i]

    # -- trading ------------------------------------------------------------------------------------------------------

    def exchange(self, user: str, i: int, j: int, dx: int, min_dy: int) -> tuple[object, ...]:
        """Sell `dx` of coin `i` for coin `j`."""
        _require(not self.killed)
        self._check_pair(i, j)
        arrived = self._pull(user, i, dx)
        gross = self._bought(i, j, Word(arrived) * self._rate(i) // ONE)
        fee = gross * self.fee // FEE_UNIT
        dy = (gross - fee) * ONE // self._rate(j)
        _require(dy >= min_dy)
        self.balances[i] += arrived
        self.balances[j] = Word(self.balances[j]) - dy - fee * self.admin_fee // FEE_UNIT * ONE // self._rate(j)
        self.coins[j].move("pool", user, dy)
        return "TokenExchange", user, i, dx, j, dy

    def add_liquidity(self, user: str, amounts: Sequence[int], min_shares: int) -> tuple[object, ...]:
        """Deposit `amounts` for LP tokens."""
        _require(not self.killed)
        old, amp = list(self.balances), self.A()
        before = invariant(self._normal(old), amp) if self.supply else Word(0)
        _require(self.supply > 0 or all(amounts))
        new = [Word(b) + (self._pull(user, i, amounts[i]) if amounts[i] else 0) for i, b in enumerate(old)]
        after = invariant(self._normal(new), amp)
        _require(after > before)
        if self.supply:
            fees, rest = self._imbalance(old, new, before, after)
            minted = self.supply * (rest - before) // before
        else:
            self.balances, fees, minted = list(new), [0] * len(old), after
        _require(minted >= min_shares)
        self.shares.held[user] = self.shares.held.get(user, 0) + minted
        self.supply = Word(self.supply) + minted
        return "AddLiquidity", user, tuple(amounts), tuple(fees), after, self.supply

    def remove_liquidity(self, user: str, shares: int, min_amounts: Sequence[int]) -> tuple[object, ...]:
        """Withdraw every coin in proportion."""
        amounts = [Word(balance) * shares // self.supply for balance in self.balances]
        _require(all(amount >= least for amount, least in zip(amounts, min_amounts, strict=True)))
        for i, amount in enumerate(amounts):
            self.balances[i] = Word(self.balances[i]) - amount
            self.coins[i].move("pool", user, amount)
        self._burn(user, shares)
        return "RemoveLiquidity", user, tuple(amounts), (0,) * len(amounts), self.supply

    def remove_liquidity_imbalance(self, user: str, amounts: Sequence[int], max_shares: int) -> tuple[object, ...]:
        """Withdraw exactly `amounts`."""
        _require(not self.killed and self.supply > 0)
        old, amp = list(self.balances), self.A()
        new = [Word(balance) - amount for balance, amount in zip(old, amounts, strict=True)]
        before, after = invariant(self._normal(old), amp), invariant(self._normal(new), amp)
        fees, rest = self._imbalance(old, new, before, after)
        shares = (before - rest) * self.supply // before
        _require(0 < shares < max_shares)
        self._burn(user, shares + 1)
        for coin, amount in zip(self.coins, amounts, strict=True):
            if amount:
                coin.move("pool", user, amount)
        return "RemoveLiquidityImbalance", user, tuple(amounts), tuple(fees), after, self.supply

    def remove_liquidity_one_coin(self, user: str, shares: int, i: int, least: int) -> tuple[object, ...]:
        """Withdraw one coin for `shares`."""
        _require(not self.killed)
        dy, fee = self._one_coin(shares, i)
        _require(dy >= least)
        self.balances[i] = Word(self.balances[i]) - (dy + fee * self.admin_fee // FEE_UNIT)
        self._burn(user, shares)
        self.coins[i].move("pool", user, dy)
        return "RemoveLiquidityOne", user, shares, dy

    # -- administration -----------------------------------------------------------------------------------------------

    def ramp_A(self, user: str, future_a: int, future_time: int) -> tuple[object, ...]:  # noqa: N802
        """Start a ramp of A."""
        _require(user == self.owner)
        _require(self.now >= self.initial_time + DAY and future_time >= self.now + DAY)
        current = self.A()
        _require(0 < future_a < 10**6 and current <= future_a * 10 and future_a <= current * 10)
        self.initial_a, self.future_a = current, future_a
        self.initial_time, self.future_time = self.now, future_time
        return "RampA", current, future_a, self.now, future_time

    def stop_ramp_A(self, user: str) -> tuple[object, ...]:  # noqa: N802
        """Stop the ramp of A."""
        _require(user == self.owner)
        self.initial_a = self.future_a = self.A()
        self.initial_time = self.future_time = self.now
        return "StopRampA", self.future_a, self.now

    def commit_new_fee(self, user: str, fee: int, admin_fee: int) -> tuple[object, ...]:
        """Announce fees."""
        _require(user == self.owner and self.fee_deadline == 0)
        _require(fee <= FEE_UNIT // 2 and admin_fee <= FEE_UNIT)
        self.fee_deadline, self.future_fee, self.future_admin_fee = self.now + 3 * DAY, fee, admin_fee
        return "CommitNewFee", self.fee_deadline, fee, admin_fee

    def apply_new_fee(self, user: str) -> tuple[object, ...]:
        """Apply announced fees."""
        _require(user == self.owner and self.fee_deadline != 0 and self.now >= self.fee_deadline)
        self.fee_deadline, self.fee, self.admin_fee = 0, self.future_fee, self.future_admin_fee
        return "NewFee", self.fee, self.admin_fee

    def revert_new_parameters(self, user: str) -> None:
        """Revoke announced fees."""
        _require(user == self.owner)
        self.fee_deadline = 0

    def commit_transfer_ownership(self, user: str, owner: str) -> tuple[object, ...]:
        """Announce an owner."""
        _require(user == self.owner and self.owner_deadline == 0)
        self.owner_deadline, self.future_owner = self.now + 3 * DAY, owner
        return "CommitNewAdmin", self.owner_deadline, owner

    def apply_transfer_ownership(self, user: str) -> tuple[object, ...]:
        """Apply the announced owner."""
        _require(user == self.owner and self.owner_deadline != 0 and self.now >= self.owner_deadline)
        self.owner_deadline, self.owner = 0, self.future_owner
        return "NewAdmin", self.owner

    def revert_transfer_ownership(self, user: str) -> None:
        """Revoke the announced owner."""
        _require(user == self.owner)
        self.owner_deadline = 0

    def withdraw_admin_fees(self, user: str) -> None:
        """Pay the owner what exceeds the balances."""
        _require(user == self.owner)
        for i, coin in enumerate(self.coins):
            if amount := self.admin_balances(i):
                coin.move("pool", user, amount)

    def donate_admin_fees(self, user: str) -> None:
        """Add what exceeds the balances to the balances."""
        _require(user == self.owner)
        self.balances = [coin.held.get("pool", 0) for coin in self.coins]

    def kill_me(self, user: str) -> None:
        """Allow only balanced withdrawals."""
        _require(user == self.owner and self.now < self.kill_deadline)
        self.killed = True

    def unkill_me(self, user: str) -> None:
        """Allow everything again."""
        _require(user == self.owner)
        self.killed = False

    # -- inside -------------------------------------------------------------------------------------------------------

    def _rate(self, i: int) -> int:
        return 10 ** (36 - self.coins[i].decimals)

    def _normal(self, amounts: Iterable[int]) -> list[Word]:
        return [Word(amount) * self._rate(i) // ONE for i, amount in enumerate(amounts)]

    def _check_pair(self, i: int, j: int) -> None:
        _require(i != j and 0 <= i < len(self.coins) and 0 <= j < len(self.coins))

    def _bought(self, i: int, j: int, dx: Word) -> Word:
        amounts, amp = self._normal(self.balances), self.A()
        d = invariant(amounts, amp)
        amounts[i] = amounts[i] + dx
        return amounts[j] - amount_of(j, amounts, d, amp) - 1

    def _one_coin(self, shares: int, k: int) -> tuple[Word, Word]:
        _require(0 <= k < len(self.coins))
        amounts, amp = self._normal(self.balances), self.A()
        d0 = invariant(amounts, amp)
        d1 = d0 - Word(shares) * d0 // self.supply
        y, unit = amount_of(k, amounts, d1, amp), self._rate(k) // ONE
        rest = []
        for i, amount in enumerate(amounts):
            ideal = amount * d1 // d0
            rest.append(amount - (ideal - y if i == k else amount - ideal) * self._imbalance_fee() // FEE_UNIT)
        dy = (rest[k] - amount_of(k, rest, d1, amp) - 1) // unit
        return dy, (amounts[k] - y) // unit - dy

    def _imbalance_fee(self) -> int:
        return self.fee * len(self.coins) // (4 * (len(self.coins) - 1))

    def _imbalance(self, old: Sequence[int], new: Sequence[Word], before: Word, after: Word) -> tuple[list[Word], Word]:
        distances = [abs(int(after * was // before) - is_) for was, is_ in zip(old, new, strict=True)]
        fees = [Word(distance) * self._imbalance_fee() // FEE_UNIT for distance in distances]
        rest = [amount - fee for amount, fee in zip(new, fees, strict=True)]
        self.balances = [a - fee * self.admin_fee // FEE_UNIT for a, fee in zip(new, fees, strict=True)]
        return fees, invariant(self._normal(rest), self.A())

    def _pull(self, user: str, i: int, amount: int) -> int:
        before = self.coins[i].held.get("pool", 0)
        self.coins[i].move(user, "pool", amount)
        return self.coins[i].held["pool"] - before if i == self.measured else amount

    def copied(self) -> dict[str, Any]:
        """Return all that an operation may change, shared with nothing."""
        coins = [replace(coin, held=dict(coin.held)) for coin in (*self.coins, self.shares)]
        return {**self.__dict__, "coins": coins[:-1], "shares": coins[-1], "balances": list(self.balances)}

    def _burn(self, user: str, shares: int) -> None:
        _require(self.shares.held.get(user, 0) >= shares)
        self.shares.held[user] = self.shares.held.get(user, 0) - shares
        self.supply = Word(self.supply) - shares


def attempt(model: StableSwapModel, act: Callable[[], object]) -> object | None:
    """Return the result of `act`, or None if it reverts, with `model` restored."""
    before = model.copied()
    try:
        return act() or ()
    except RefusedError:
        model.__dict__.update(before)
        return None
