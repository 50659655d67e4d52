"""Aave V3.6 against an independent integer model: random operations, equal to the unit, refusals by name."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from mayavi.agents.lending.aave import AaveLending
from mayavi.errors import CallReverted
from mayavi.protocols import AaveV3, Erc20, PriceFeed
from mayavi.worlds.deploy.deployment import named_account
from tests.protocols.aave.market_v36 import MODES, RESERVES, TIMESTAMP, TREASURY, UMBRELLA, market_v36_fork
from tests.protocols.aave.model_v36 import EVERYTHING, USD, WAD, Model, RefusedError
from tests.protocols.aave.model_v36_liquidation import LiquidationModel

BORROWERS = tuple(f"borrower-{at}" for at in range(6))
LENDERS = ("lender-0", "lender-1")
ACCOUNTS = {name: named_account(name) for name in (*BORROWERS, *LENDERS, "keeper")} | {
    "umbrella": UMBRELLA,
    "treasury": TREASURY,
}
FUNDS = 10**12
MUCH = 2**100
"""More than there is, and little enough to be multiplied by a ray."""
WEIGHTS = {
    "supply": 16,
    "withdraw": 10,
    "borrow": 18,
    "repay": 8,
    "set_collateral": 4,
    "set_emode": 6,
    "transfer": 4,
    "liquidate": 20,
    "eliminate_deficit": 3,
    "advance": 6,
    "move_price": 8,
}


class Chain:
    """The pool's code, driven by the operations of the model."""

    def __init__(self) -> None:
        self.fork = market_v36_fork()
        self.market = AaveV3(self.fork)
        self.lending = AaveLending(self.market)
        self.tokens = {symbol: Erc20(self.fork, symbol) for symbol in RESERVES}
        for address in ACCOUNTS.values():
            for symbol in RESERVES:
                token = self.market.token(symbol)
                self.fork.deal(symbol, address, FUNDS * 10**token.decimals)
                token.approve(self.market.pool.address, EVERYTHING, sender=address)

    def do(self, operation: str, *arguments: Any) -> Any:
        """Run an operation; raise `RefusedError` with the name of the pool's error."""
        try:
            return getattr(self, operation)(*arguments)
        except CallReverted as error:
            raise RefusedError(error.reason.name if error.reason else "") from None

    def _send(self, function: str, who: str, *arguments: Any) -> Any:
        return self.market.pool[function](*arguments, sender=ACCOUNTS[who])

    def advance(self, seconds: int) -> None:
        self.fork.mine(1, seconds)

    def move_price(self, symbol: str, price: int) -> None:
        PriceFeed(self.fork, f"Chainlink.{symbol}/USD").move(price)

    def supply(self, who: str, symbol: str, amount: int) -> None:
        self._send("supply", who, self.market.address_of(symbol), amount, ACCOUNTS[who], 0)

    def withdraw(self, who: str, symbol: str, amount: int) -> None:
        self._send("withdraw", who, self.market.address_of(symbol), amount, ACCOUNTS[who])

    def borrow(self, who: str, symbol: str, amount: int) -> None:
        self._send("borrow", who, self.market.address_of(symbol), amount, 2, 0, ACCOUNTS[who])

    def repay(self, who: str, symbol: str, amount: int) -> None:
        self._send("repay", who, self.market.address_of(symbol), amount, 2, ACCOUNTS[who])

    def set_collateral(self, who: str, symbol: str, use: bool) -> None:
        self._send("setUserUseReserveAsCollateral", who, self.market.address_of(symbol), use)

    def set_emode(self, who: str, category: int) -> None:
        self._send("setUserEMode", who, category)

    def transfer(self, who: str, symbol: str, to: str, amount: int) -> None:
        self.market.a_token(symbol).contract.transfer(ACCOUNTS[to], amount, sender=ACCOUNTS[who])

    def eliminate_deficit(self, who: str, symbol: str, amount: int) -> None:
        self._send("eliminateReserveDeficit", who, self.market.address_of(symbol), amount)

    def liquidate(self, who: str, borrower: str, taken: str, repaid: str, cover: int, as_a_token: bool) -> Any:
        assets = self.market.address_of(taken), self.market.address_of(repaid)
        receipt = self._send("liquidationCall", who, *assets, ACCOUNTS[borrower], cover, as_a_token)
        return self.market.pool.events(receipt, "LiquidationCall")[0].args


class Drawing:
    """Random operations that often go through, from the state of the model."""

    def __init__(self, model: Model, seed: int) -> None:
        self.model, self.random, self.weakened = model, Random(seed), False

    def operation(self) -> tuple[str, tuple[Any, ...]]:
        name = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if self.weakened and self._weak():
            name = "liquidate"
        self.weakened = False
        fair = [each for each in BORROWERS if self.model.borrowing[each] and self.model.totals(each).health < 3 * WAD]
        if name == "liquidate" and fair and not self._weak():
            self.weakened = True
            return "move_price", self._weakening(self.random.choice(fair))
        return name, getattr(self, f"_{name}")()

    def _weak(self) -> list[str]:
        return [each for each in BORROWERS if self.model.totals(each).health < WAD]

    def _weakening(self, who: str) -> tuple[str, int]:
        """A price of what it owes that brings an account a little below a health factor of 1, or far below."""
        symbol, health = self.random.choice(sorted(self.model.borrowing[who])), self.model.totals(who).health
        least = 960 if self.random.random() < 0.7 else 500
        price = self.model.reserves[symbol].price * health * 1_000 // (self.random.randrange(least, 1_000) * WAD)
        return symbol, price

    def _asset(self) -> str:
        return self.random.choice(list(RESERVES))

    def _who(self) -> str:
        return self.random.choice((*BORROWERS, *BORROWERS, *LENDERS))

    def _part(self, whole: int) -> int:
        """All of it, nothing, a few units, a part, or too much."""
        drawn = self.random.random()
        if drawn < 0.12:
            return EVERYTHING
        if drawn < 0.22:
            return self.random.randrange(4)
        return whole * self.random.randrange(1, 1_150) // 1_000

    def _units(self, symbol: str, dollars: float) -> int:
        reserve = self.model.reserves[symbol]
        return int(dollars * USD) * reserve.unit // reserve.price

    def _supply(self) -> tuple[Any, ...]:
        symbol = self._asset()
        small = self.random.random() < 0.1
        amount = self.random.randrange(3) if small else self._units(symbol, 10 ** self.random.uniform(2.5, 5))
        return self._who(), symbol, amount

    def _withdraw(self) -> tuple[Any, ...]:
        who, symbol = self._who(), self._asset()
        return who, symbol, self._part(self.model.reserves[symbol].supplied(who, self.model.now))

    def _borrow(self) -> tuple[Any, ...]:
        who, symbol = self.random.choice(BORROWERS), self._asset()
        reserve, room = self.model.reserves[symbol], self.model.totals(who).available
        amount = self._part(room * reserve.unit // reserve.price)
        return who, symbol, min(amount, MUCH)

    def _repay(self) -> tuple[Any, ...]:
        who, symbol = self.random.choice(BORROWERS), self._asset()
        return who, symbol, self._part(self.model.reserves[symbol].debt(who, self.model.now))

    def _set_collateral(self) -> tuple[Any, ...]:
        return self._who(), self._asset(), self.random.random() < 0.6

    def _set_emode(self) -> tuple[Any, ...]:
        return self._who(), self.random.choice((0, 1, 2, 2, 7))

    def _transfer(self) -> tuple[Any, ...]:
        who, symbol = self._who(), self._asset()
        amount = self._part(self.model.reserves[symbol].supplied(who, self.model.now))
        return who, symbol, self._who(), min(amount, MUCH)

    def _liquidate(self) -> tuple[Any, ...]:
        borrower = self.random.choice(self._weak() or BORROWERS)
        taken = self.random.choice(sorted(self.model.collateral[borrower]) or list(RESERVES))
        repaid = self.random.choice(sorted(self.model.borrowing[borrower]) or list(RESERVES))
        if self.random.random() < 0.1:
            taken, repaid = self._asset(), self._asset()
        cover = self._part(self.model.reserves[repaid].debt(borrower, self.model.now))
        who = borrower if self.random.random() < 0.03 else "keeper"
        return who, borrower, taken, repaid, min(cover, MUCH), self.random.random() < 0.3

    def _eliminate_deficit(self) -> tuple[Any, ...]:
        short = [symbol for symbol, each in self.model.reserves.items() if each.deficit]
        symbol = self.random.choice(short or list(RESERVES))
        return "umbrella", symbol, self._part(self.model.reserves[symbol].deficit)

    def _advance(self) -> tuple[Any, ...]:
        return (self.random.choice((1, 12, 3_600, 86_400, 20 * 86_400)),)

    def _move_price(self) -> tuple[Any, ...]:
        symbol = self._asset()
        return symbol, RESERVES[symbol].price_usd_e8 * self.random.randrange(700, 1_300) // 1_000


def run(seed: int, operations: int) -> Counter[str]:
    """Run random operations on both, compare, and count how they ended."""
    chain, model = Chain(), LiquidationModel(RESERVES, MODES, TIMESTAMP)
    drawing, seen = Drawing(model, seed), Counter[str]()
    for symbol in RESERVES:
        for who in (*LENDERS, "umbrella"):
            both(chain, model, "supply", who, symbol, drawing._units(symbol, 2_000_000))
    for number in range(operations):
        name, arguments = drawing.operation()
        regime = regime_of(model, *arguments) if name == "liquidate" else ""
        outcome = both(chain, model, name, *arguments)
        seen[f"{name} {outcome}{regime if outcome == 'done' else ''}"] += 1
        concerned = {each for each in arguments if each in ACCOUNTS}
        compare(chain, model, concerned, {each for each in arguments if each in RESERVES})
        if number % 100 == 99:
            compare(chain, model, set(ACCOUNTS), set(RESERVES))
    compare(chain, model, set(ACCOUNTS), set(RESERVES))
    return seen


def both(chain: Chain, model: LiquidationModel, name: str, *arguments: Any) -> str:
    """Run an operation on both, and return how it ended: `done`, or the name of the error."""
    quoted = quote(chain, *arguments) if name == "liquidate" else None
    ended = []
    for side in (model, chain):
        try:
            result, outcome = side.do(name, *arguments), "done"  # type: ignore[attr-defined]
        except RefusedError as refused:
            result, outcome = None, str(refused)
        ended.append((result, outcome))
    (expected, wanted), (found, outcome) = ended
    assert outcome == wanted, (name, arguments)
    if name == "liquidate" and outcome == "done":
        assert (found.covered, found.seized) == (expected.cover, expected.seized)
        if arguments[4] == MUCH and quoted:
            assert (found.covered, found.seized) == quoted
    return outcome


def quote(chain: Chain, who: str, borrower: str, taken: str, repaid: str, *_: Any) -> tuple[int, int] | None:
    """What the agents' adapter expects of the largest liquidation."""
    address = ACCOUNTS[borrower]
    health = chain.market.account(address).data().health_factor_wad
    found = chain.lending.quote_liquidations([address], [health], [taken], [repaid])
    return (found[0].cover, found[0].seized) if found and health < WAD and who != borrower else None


def regime_of(model: LiquidationModel, who: str, borrower: str, taken: str, repaid: str, *_: Any) -> str:
    """Name the rule that limits a liquidation."""
    totals, debt, collateral = model.totals(borrower), model.reserves[repaid], model.reserves[taken]
    value = debt.debt(borrower, model.now) * debt.price // debt.unit
    held = collateral.supplied(borrower, model.now) * collateral.price // collateral.unit
    if totals.health <= 95 * WAD // 100:
        return ", far below"
    if min(value, held) < 2_000 * USD:
        return ", small"
    return ", part of the debts" if 2 * value <= totals.debt else ", half"


def compare(chain: Chain, model: LiquidationModel, accounts: set[str], symbols: set[str]) -> None:
    """Compare accounts and reserves, as the adapter reads them, with the model."""
    market, now = chain.market, model.now
    for symbol in symbols:
        found, expected = market.reserve(symbol), model.reserves[symbol]
        assert found.normalised_income_ray == expected.income(now)
        assert found.normalised_variable_debt_ray == expected.owing(now)
        assert (found.supply_rate_ray, found.variable_borrow_rate_ray) == (expected.supply_rate, expected.borrow_rate)
        assert (found.available, found.deficit) == (expected.virtual, expected.deficit)
        assert found.accrued_to_treasury_scaled == expected.accrued
        assert found.supplied == expected.total_supply(now)
    for who in accounts:
        account, totals = market.account(ACCOUNTS[who]), model.totals(who)
        configuration = market.pool.getUserConfiguration(account.address)
        for number, (symbol, reserve) in enumerate(model.reserves.items()):
            assert account.supplied(symbol) == reserve.supplied(who, now)
            assert account.debt(symbol) == reserve.debt(who, now)
            flags = configuration >> 2 * number & 3
            assert flags == 2 * (symbol in model.collateral[who]) + (symbol in model.borrowing[who])
            wallet = chain.tokens[symbol].balance_of(account.address)
            assert wallet == FUNDS * reserve.unit + model.wallet[who, symbol]
        data = account.data()
        assert data[:3] == (totals.collateral, totals.debt, totals.available)
        assert data[3:] == (totals.threshold, totals.ltv, totals.health)
        assert market.rules.health([line.holding for line in account._lines()]) == totals.health
        assert account.emode == model.emode[who]


@pytest.mark.slow
def test_a_few_hundred_operations_are_equal_to_the_unit() -> None:
    seen = run(seed=1, operations=300)
    assert sum(seen[f"{each} done"] for each in WEIGHTS) > 100


@pytest.mark.slow(15)
def test_five_thousand_operations_are_equal_to_the_unit_in_every_regime() -> None:
    seen = sum((run(seed, operations=1_000) for seed in range(2, 7)), Counter[str]())
    assert seen.total() == 5_000
    for regime in ("far below", "small", "half", "part of the debts"):
        assert seen[f"liquidate done, {regime}"] >= 10, seen
    for often in (
        *WEIGHTS,
        "liquidate MustNotLeaveDust",
        "set_emode InvalidDebtInEmode",
        "borrow NotBorrowableInEMode",
    ):
        found = [count for name, count in seen.items() if name.startswith(often if " " in often else f"{often} done")]
        assert sum(found) >= 10, (often, seen)
