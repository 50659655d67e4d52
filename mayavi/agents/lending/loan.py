"""One loan against one collateral: opening it at a health factor, and the intents that change it.

Shared by single borrowers and populations. All amounts are exact integers in smallest units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from mayavi.agents.base import Details, Intent
from mayavi.agents.lending.behaviours import Move, format_health
from mayavi.agents.lending.market import Health, LendingAccount, LendingMarket, least_repayment
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.lending.refusals import refused_loan
from mayavi.agents.trading.exchange import Exchange
from mayavi.errors import ActionRefused, BadArgument, CallReverted, ExecutionError
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD
from mayavi.protocols.tokens import Erc20, atomic

ROUNDS = 24
"""Most rounds of withdrawing, selling and repaying in one bundle; each repayment frees more collateral."""

_LEAST_PPM = 1_001_000  # health factor left by a withdrawal before a sale: a margin for interest and failed sales
_MILLION = 10**6

Terms = Callable[[str], tuple[int, int]]
"""Function from asset to price with 8 decimals and unit."""


@dataclass(frozen=True)
class Loan:
    """Kind of position: `debt` borrowed against `collateral` on a market.

    `exchange` trades collateral for the debt asset; needed only if collateral is sold.
    """

    fork: Fork
    market: str
    collateral: str
    debt: str
    exchange: Exchange | None = None
    lending: LendingMarket = field(init=False, repr=False, compare=False)
    _debt_token: Erc20 = field(init=False, repr=False, compare=False)
    at_limit: dict[bytes, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Holders whose target was below the lowest health factor the market lends at, and that factor in wad."""
    stuck: set[bytes] = field(init=False, repr=False, compare=False, default_factory=set)
    """Holders whose repayment failed for lack of cash and collateral; skipped until they have some."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lending", lending_market(self.fork, self.market))
        object.__setattr__(self, "_debt_token", Erc20(self.fork, self.debt))

    # -- opening ------------------------------------------------------------------------------------------------------

    def open_many(
        self, holders: Sequence[bytes], amounts: Sequence[int], targets_wad: Sequence[int], payer: bytes
    ) -> list[int]:
        """Open a position for each holder with the given collateral and, as far as integers allow, health factor.

        The debt is the largest that keeps the health factor at the target or above; if the market does not lend that
        much, the most it lends (`at_limit` records the holder), and nothing if that is below the market's minimum.
        `payer` is given the collateral and supplies it for all. Returns the debts.
        """
        if any(amount <= 0 for amount in amounts):
            raise BadArgument(f"a position needs {self.collateral} as collateral", "give an amount above zero")
        self.fork.deal(self.collateral, payer, sum(amounts))
        self.lending.supply_for(self.collateral, amounts, holders, payer)
        healths = self.lending.healths(holders)
        loans = []
        sizes: dict[int, int] = {}
        for row, (holder, target) in enumerate(zip(holders, targets_wad, strict=True)):
            health = healths[row]
            value = health.debt_value_at(target)
            if value > health.borrow_limit_e8:
                value = health.borrow_limit_e8
                self.at_limit[holder] = health.limit_e8 * WAD // value if value else 0
            if value not in sizes:
                sizes[value] = self.lending.loan_of(self.debt, value)
            loans.append(sizes[value])
            if sizes[value]:
                try:
                    self.lending.account(holder).borrow(self.debt, sizes[value])
                except CallReverted as error:
                    raise refused_loan(error, Erc20(self.fork, self.debt), sizes[value], holder) from None
        return loans

    # -- actions ------------------------------------------------------------------------------------------------------

    def intent(self, account: str, address: bytes, move: Move, health: Health, **facts: int) -> Intent | None:
        """Return the intent that carries out `move` for an account with this `health`; None if there is nothing to do.

        A position without collateral is left alone. One that can neither pay nor sell is tried once, so that the reason
        is recorded, and again when it can. `facts` are recorded with the action.
        """
        if not health.debt_value_e8 or not health.collateral_value_e8:
            return None
        details: dict[str, int | str | bool | None] = {
            "health_factor_wad": health.health_factor_wad,
            "why": move.reason,
            "collateral": self.collateral,
            "debt": self.debt,
            **facts,
        }
        holder = self.lending.account(address)
        if move.kind == "borrow":
            room = min(health.debt_value_at(move.target_wad), health.borrow_limit_e8) - health.debt_value_e8 - 1
            amount = self.lending.loan_of(self.debt, room) if room > 0 else 0
            if not amount:
                return None
            return Intent("borrow", lambda: self._borrow(holder, amount), details | {"amount": amount}, account)
        cash = self.cash(address)
        if cash or self._sellable_e8(health):
            self.stuck.discard(address)
        elif address in self.stuck:
            return None
        elif move.kind == "exit" or (move.sells_collateral and self.exchange is not None):
            self.stuck.add(address)
        if move.kind == "exit":
            return Intent("exit", lambda: self._exit(holder, move.sells_collateral), details | {"cash": cash}, account)
        excess_e8 = health.debt_value_e8 - health.debt_value_at(move.target_wad)
        if excess_e8 <= 0:
            return None
        needed = _units_of(excess_e8, *self._price_and_unit(self.debt))
        if cash >= needed or not move.sells_collateral or self.exchange is None:
            if not cash:
                return None
            amount = min(cash, needed)
            return Intent("repay", lambda: self._repay(holder, amount), details | {"amount": amount}, account)
        details |= {"target_wad": move.target_wad, "cash": cash}
        return Intent("deleverage", lambda: self._deleverage(holder, move.target_wad), details, account)

    def cash(self, address: bytes) -> int:
        """Return the balance of the debt asset."""
        return self._debt_token.balance_of(address)

    # -- execution ----------------------------------------------------------------------------------------------------

    def _borrow(self, account: LendingAccount, amount: int) -> Details:
        account.borrow(self.debt, amount)
        return self._with_health(account, borrowed=amount)

    def _repay(self, account: LendingAccount, amount: int) -> Details:
        owed = account.debt(self.debt)
        account.repay(self.debt, min(amount, owed) if amount < owed else None)
        return self._with_health(account, repaid=min(amount, owed))

    def _deleverage(self, account: LendingAccount, target_wad: int) -> Details:
        with atomic(self.fork):
            repaid, sold = self._pay_down(account, target_wad)
        return self._with_health(account, repaid=repaid, sold=sold)

    def _exit(self, account: LendingAccount, sells: bool) -> Details:
        """Repay everything with cash, then by selling collateral; withdraw the rest, and sell it if `sells`."""
        with atomic(self.fork):
            repaid, sold = self._pay_down(account, None)
            withdrawn = received = 0
            if not account.debt(self.debt):
                withdrawn = account.supplied(self.collateral)
                account.withdraw(self.collateral)
                if sells and self.exchange is not None:
                    sale = self.exchange.sell(withdrawn, sender=account.address)
                    sold, received = sold + sale.amount_in, sale.amount_out
            left = account.debt(self.debt)
        return self._with_health(
            account, repaid=repaid, sold=sold, received=received, withdrawn=withdrawn, debt_left=left
        )

    def _pay_down(self, account: LendingAccount, target_wad: int | None) -> tuple[int, int]:
        """Repay with cash, then with the proceeds of collateral, in rounds, until the target or no debt.

        Returns the debt repaid and the collateral sold. Stops when stuck, and fails if nothing was repaid.
        """
        repaid, sold, least = 0, 0, least_repayment(self.lending, self.debt)
        owed, health = account.debt(self.debt), account.health()
        for _ in range(ROUNDS):
            terms = cache(self._price_and_unit)  # of this round: the sale may move an oracle that follows the pool
            wanted = self._to_repay(health, target_wad, owed, terms)
            if not wanted:
                break
            cash = min(self.cash(account.address), wanted)
            if cash >= least or cash == owed:
                account.repay(self.debt, None if cash == owed else cash)
                repaid += cash
                owed, health = account.debt(self.debt), account.health()
                if cash == wanted:
                    continue
            try:
                exchange, amount = self._to_sell(account, health, target_wad, wanted - cash, terms)
            except ActionRefused:
                if repaid:
                    break
                raise
            try:
                with atomic(self.fork):
                    account.withdraw(self.collateral, amount)
                    sale = exchange.sell(amount, sender=account.address)
            except ExecutionError:
                if repaid:
                    break
                raise
            sold += sale.amount_in
            health = account.health()
        return repaid, sold

    def _to_repay(self, health: Health, target_wad: int | None, owed: int, terms: Terms) -> int:
        if target_wad is None:
            return owed
        excess_e8 = health.debt_value_e8 - health.debt_value_at(target_wad)
        # A sale at the pool's price slightly misses the target: within a ten-thousandth counts as reached.
        if excess_e8 <= health.debt_value_e8 // 10_000:
            return 0
        return min(owed, _units_of(excess_e8, *terms(self.debt)))

    def _price_and_unit(self, asset: str) -> tuple[int, int]:
        """Return the price of one whole `asset` with 8 decimals, and its smallest units."""
        return self.lending.price_e8(asset), int(10 ** self.lending.decimals(asset))

    def _to_sell(
        self, account: LendingAccount, health: Health, target_wad: int | None, missing: int, terms: Terms
    ) -> tuple[Exchange, int]:
        """Return the exchange and the collateral to sell now: what is needed, at most what may be withdrawn."""
        if self.exchange is None:
            raise ActionRefused(
                f"{missing} {self.debt} are missing to repay, and there is nowhere to sell {self.collateral}",
                "give the borrower cash or a route",
            )
        supplied = account.supplied(self.collateral)
        price, unit = terms(self.collateral)
        if not supplied or not health.withdraw_limit_e8:
            raise ActionRefused(f"there is no {self.collateral} left to sell", "the debt stays")
        free = min(supplied, self._sellable_e8(health) * unit // price)
        needed = self.exchange.needed_for(missing)
        if target_wad is not None:
            # Selling lowers the collateral too: x = missing / (1 − threshold / target), in terms of the pool's price.
            share = health.limit_e8 * WAD // health.collateral_value_e8
            if share >= target_wad:
                raise ActionRefused(
                    f"no sale of {self.collateral} leads to a health factor of {format_health(target_wad)}"
                )
            needed = needed * target_wad // (target_wad - share)
        amount = min(needed, free)
        if not amount:
            factor = format_health(health.health_factor_wad)
            raise ActionRefused(
                f"no {self.collateral} can be withdrawn at a health factor of {factor}",
                "above one, what is not needed for the debt can be sold",
            )
        return self.exchange, amount

    def _sellable_e8(self, health: Health) -> int:
        """Return the value of collateral that may be withdrawn and sold with the debt unchanged."""
        limit = health.withdraw_limit_e8
        if self.exchange is None or not limit:
            return 0
        # Each unit of collateral adds its share of the limit; the limit above the debt is free.
        kept_e8 = health.debt_value_e8 * _LEAST_PPM // _MILLION
        return max(0, limit - kept_e8) * health.collateral_value_e8 // limit

    def _with_health(self, account: LendingAccount, **facts: int) -> Details:
        return {**facts, "health_factor_after_wad": account.health().health_factor_wad}


def _units_of(value_e8: int, price_e8: int, unit: int) -> int:
    """Return the smallest amount worth at least `value_e8`."""
    return -(-value_e8 * unit // price_e8)
