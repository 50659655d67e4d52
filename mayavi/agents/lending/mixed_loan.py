"""Loans with several collaterals and debts: the intents that change them.

`Loan` is the case of one collateral and one debt. All amounts are exact integers in smallest units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mayavi.agents.base import Details, Intent
from mayavi.agents.lending.behaviours import Move
from mayavi.agents.lending.loan import ROUNDS
from mayavi.agents.lending.market import Health, LendingAccount, LendingMarket, least_repayment
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.trading.exchange import UniswapExchange
from mayavi.errors import ActionRefused, ExecutionError
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD
from mayavi.protocols.tokens import Erc20, atomic
from mayavi.protocols.uniswap.route import RouteLike

_LEAST_PPM = 1_001_000  # health factor left by a withdrawal before a sale
_MILLION = 10**6


@dataclass(frozen=True)
class MixedLoan:
    """Positions with several assets on one market.

    Repayments use cash of the debts themselves, the largest debt first, and then sales of the most valuable
    collateral that has a route to a debt. More is borrowed in proportion to the debts. `routes` maps pairs of
    collateral and debt to the route that sells one for the other.
    """

    fork: Fork
    market: str
    routes: Mapping[tuple[str, str], RouteLike]
    lending: LendingMarket = field(init=False, repr=False, compare=False)
    at_limit: dict[bytes, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Holders whose target was below the lowest health factor the market lends at, and that factor in wad."""
    stuck: set[bytes] = field(init=False, repr=False, compare=False, default_factory=set)
    """Holders whose repayment failed for lack of cash and collateral; skipped until they have some."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lending", lending_market(self.fork, self.market))

    def intent(
        self,
        account: str,
        address: bytes,
        move: Move,
        health: Health,
        collaterals: Sequence[str],
        debts: Sequence[str],
    ) -> Intent | None:
        """Return the intent that carries out `move` for an account with this `health`; None if there is none."""
        if not health.debt_value_e8 or not health.collateral_value_e8:
            return None
        holder, details = self.lending.account(address), _details(move, health, collaterals, debts)
        owed = {debt: amount for debt in debts if (amount := holder.debt(debt))}
        if not owed:
            return None
        if move.kind == "borrow":
            loans = self._more(owed, health, move)
            if not loans:
                return None
            facts = {f"amount_{debt}": amount for debt, amount in loans.items()}
            return Intent("borrow", lambda: self._borrow(holder, loans), details | facts, account)
        cash = {debt: Erc20(self.fork, debt).balance_of(address) for debt in owed}
        sells = move.sells_collateral and any((each, debt) in self.routes for each in collaterals for debt in owed)
        target = None if move.kind == "exit" else move.target_wad
        if self._excess_e8(health, target) <= 0 or not (sells or any(cash.values())):
            return None
        if any(cash.values()) or _free_e8(health):
            self.stuck.discard(address)
        elif address in self.stuck:
            return None
        else:
            self.stuck.add(address)  # tried once, so that the reason is recorded
        payable = sum(self.value_e8(debt, min(cash[debt], owed[debt])) for debt in owed)
        enough = target is not None and payable >= self._excess_e8(health, target)
        kind = "exit" if target is None else "deleverage" if sells and not enough else "repay"
        routes = {} if kind == "repay" else self.routes
        sold = sells and move.kind == "exit"
        run = lambda: self._pay(holder, target, collaterals, list(owed), routes, exits=kind == "exit", sells=sold)  # noqa: E731
        return Intent(kind, run, details | {f"cash_{debt}": amount for debt, amount in cash.items()}, account)

    def value_e8(self, asset: str, amount: int) -> int:
        """Return the value of `amount` at the market's price."""
        return amount * self.lending.price_e8(asset) // int(10 ** self.lending.decimals(asset))

    def _more(self, owed: Mapping[str, int], health: Health, move: Move) -> dict[str, int]:
        """Split what may be borrowed in proportion to the debts."""
        room = min(health.debt_value_at(move.target_wad), health.borrow_limit_e8) - health.debt_value_e8 - len(owed)
        values = {debt: self.value_e8(debt, amount) for debt, amount in owed.items()}
        total = sum(values.values())
        if room <= 0 or not total:
            return {}
        loans = {debt: self.lending.loan_of(debt, room * value // total) for debt, value in values.items()}
        return {debt: amount for debt, amount in loans.items() if amount}

    # -- execution ----------------------------------------------------------------------------------------------------

    def _borrow(self, account: LendingAccount, loans: Mapping[str, int]) -> Details:
        with atomic(self.fork):
            for debt, amount in loans.items():
                account.borrow(debt, amount)
        return self._with_health(account, {f"borrowed_{debt}": amount for debt, amount in loans.items()})

    def _pay(
        self,
        account: LendingAccount,
        target_wad: int | None,
        collaterals: Sequence[str],
        debts: Sequence[str],
        routes: Mapping[tuple[str, str], RouteLike],
        *,
        exits: bool,
        sells: bool,
    ) -> Details:
        facts: dict[str, int] = {}
        with atomic(self.fork):
            self._pay_down(account, target_wad, collaterals, debts, routes, facts)
            if exits and not any(account.debt(debt) for debt in debts):
                for asset in collaterals:
                    amount = account.supplied(asset)
                    if amount:
                        account.withdraw(asset)
                        _add(facts, f"withdrawn_{asset}", amount)
                        route = next((routes[asset, debt] for debt in debts if (asset, debt) in routes), None)
                        if sells and route is not None:
                            sale = UniswapExchange(self.fork, route).sell(amount, sender=account.address)
                            _add(facts, f"sold_{asset}", sale.amount_in)
        return self._with_health(account, facts)

    def _pay_down(
        self,
        account: LendingAccount,
        target_wad: int | None,
        collaterals: Sequence[str],
        debts: Sequence[str],
        routes: Mapping[tuple[str, str], RouteLike],
        facts: dict[str, int],
    ) -> None:
        """Repay with cash, then with proceeds of collateral, in rounds; fail if nothing was repaid."""
        for _ in range(ROUNDS):
            health = account.health()
            excess = self._excess_e8(health, target_wad)
            owed = {debt: amount for debt in debts if (amount := account.debt(debt))}
            if excess <= 0 or not owed or (target_wad and excess <= health.debt_value_e8 // 10_000):
                return
            if self._pay_cash(account, owed, excess, target_wad is None, facts):
                continue
            try:
                with atomic(self.fork):
                    self._sell(account, health, excess, target_wad, collaterals, owed, routes, facts)
            except ExecutionError:
                if any(name.startswith("repaid_") for name in facts):
                    return
                raise

    def _pay_cash(
        self, account: LendingAccount, owed: Mapping[str, int], excess_e8: int, everything: bool, facts: dict[str, int]
    ) -> bool:
        """Repay one debt with cash, the largest debt first; whether anything was repaid."""
        for debt in sorted(owed, key=lambda each: (-self.value_e8(each, owed[each]), each)):
            cash = Erc20(self.fork, debt).balance_of(account.address)
            amount = min(cash, owed[debt], owed[debt] if everything else self._units_of(debt, excess_e8))
            if amount >= least_repayment(self.lending, debt) or amount == owed[debt]:
                account.repay(debt, None if amount == owed[debt] else amount)
                _add(facts, f"repaid_{debt}", amount)
                return True
        return False

    def _sell(
        self,
        account: LendingAccount,
        health: Health,
        excess_e8: int,
        target_wad: int | None,
        collaterals: Sequence[str],
        owed: Mapping[str, int],
        routes: Mapping[tuple[str, str], RouteLike],
        facts: dict[str, int],
    ) -> None:
        """Withdraw some of the most valuable collateral that can be sold for a debt, and sell it."""
        held = {asset: self.value_e8(asset, account.supplied(asset)) for asset in collaterals}
        pairs = [(asset, debt) for asset in held for debt in owed if held[asset] and (asset, debt) in routes]
        if not pairs:
            raise ActionRefused("there is no collateral left that a pool sells for the debt", "the debt stays")
        best = max(pairs, key=lambda each: (held[each[0]], self.value_e8(each[1], owed[each[1]]), each))
        asset, debt = best
        unit, price = int(10 ** self.lending.decimals(asset)), self.lending.price_e8(asset)
        exchange = UniswapExchange(self.fork, routes[best])
        missing = min(owed[debt], self._units_of(debt, excess_e8))
        needed = exchange.needed_for(missing)
        if target_wad is not None:
            # Selling lowers the collateral too: see `Loan`.
            share = health.limit_e8 * WAD // health.collateral_value_e8
            if share < target_wad:
                needed = needed * target_wad // (target_wad - share)
        amount = min(needed, account.supplied(asset), _free_e8(health) * unit // price)
        if not amount:
            raise ActionRefused(f"no {asset} can be withdrawn now", "above a health factor of one, some can be sold")
        account.withdraw(asset, amount)
        sale = exchange.sell(amount, sender=account.address)
        _add(facts, f"sold_{asset}", sale.amount_in)

    def _excess_e8(self, health: Health, target_wad: int | None) -> int:
        return health.debt_value_e8 - (0 if target_wad is None else health.debt_value_at(target_wad))

    def _units_of(self, asset: str, value_e8: int) -> int:
        return -(-value_e8 * int(10 ** self.lending.decimals(asset)) // self.lending.price_e8(asset))

    def _with_health(self, account: LendingAccount, facts: Mapping[str, int]) -> Details:
        return {**facts, "health_factor_after_wad": account.health().health_factor_wad}


def _free_e8(health: Health) -> int:
    """Return the value that can be withdrawn, as if every dollar of collateral carried a dollar of debt."""
    return max(0, health.withdraw_limit_e8 - health.debt_value_e8 * _LEAST_PPM // _MILLION)


def _details(
    move: Move, health: Health, collaterals: Sequence[str], debts: Sequence[str]
) -> dict[str, int | str | bool | None]:
    return {
        "health_factor_wad": health.health_factor_wad,
        "why": move.reason,
        "collateral": " ".join(collaterals),
        "debt": " ".join(debts),
    }


def _add(facts: dict[str, int], name: str, amount: int) -> None:
    facts[name] = facts.get(name, 0) + amount
