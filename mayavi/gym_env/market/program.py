"""Market on the chain: accounts of all agents, and the program of one step.

All agents act in one block, in an order that is drawn for every row and step. So the program has one slot for each
agent, and an input of the row says which agent acts in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.agents.quantities import MILLION
from mayavi.evm.address import account_address
from mayavi.evm.fleet import Program, Template, Word, Words
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.gym_env.lending.adapter import BANK
from mayavi.gym_env.liquidator.loans import DEBT, Loans, fund_liquidator
from mayavi.gym_env.liquidator.programs import OUTCOME, Look, most_to_pay, pool_facts
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.onchain.pool_trades import UNLIMITED_FUNDS
from mayavi.protocols.aave.treasury import treasury_of
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mayavi.evm.fork import Fork

_BILLION = 10**9


def fund_agents(fork: Fork, config: MarketConfig, liquidators: Sequence[bytes]) -> None:
    """Fund the liquidators, and the bank that pays the yields."""
    for liquidator in liquidators:
        fund_liquidator(fork, config, liquidator)
    fork.deal(DEBT, BANK, UNLIMITED_FUNDS * 10 ** Erc20(fork, DEBT).decimals)


class MarketProgram:
    """Program of a step for `loans` and the accounts of liquidators."""

    def __init__(self, loans: Loans, fork: Fork, liquidators: Sequence[bytes]) -> None:
        self.loans, self.fork, self.liquidators = loans, fork, tuple(liquidators)
        for liquidator in self.liquidators:
            loans.trades.enable(liquidator)
        for borrower in loans.borrowers:
            Erc20(fork, DEBT).approve(loans.book.pool.address, 2**256 - 1, sender=borrower)
        self.accounts = (*loans.borrowers, *self.liquidators)
        self.money_at, self.token_at = (
            Words.of([balance_slot(fork, token, each)[1] for each in self.accounts]).words
            for token in (loans.trades.money, loans.trades.token)
        )
        self.step = self._stepping()
        self.others = BANK, loans.arbitrageur, treasury_of(fork, loans.book.collateral.a_token)
        """Other token holders: the total balance of these and all agents is constant."""

    def _stepping(self) -> Program:
        loans, program = self.loans, Program(whole=False)  # agents act in any order: rows hardly ever take the same way
        live, price, root, recovery = (program.input(name) for name in ("live", "price_e8", "root", "recovery_ppm"))
        done: dict[str, Word] = {}
        for place in range(len(self.accounts)):
            done |= self._act(program, place)
        program.advance(1, loans.block_seconds, mask=live)
        loans.feed.post(program, price, live)
        loans.trades.move_towards(program, loans.arbitrageur, root, recovery, live)
        self._credit(program)
        rest = loans.config.step_blocks - 1
        program.advance(rest, rest * loans.block_seconds, mask=live)
        self.looking(done)(program, price)
        return program

    def _act(self, program: Program, place: int) -> dict[str, Word]:
        """Act as the agent at position `place` of the order; inputs select the agent and its action."""
        names = ("choice", "base", "close_bps", "share_ppm", "target", "money_at", "token_at")
        choice, base, close, share, target, money_at, token_at = (program.input(f"{each}_{place}") for each in names)
        loans, count = self.loans, len(self.loans.borrowers)
        money, token = loans.trades.money, loans.trades.token
        before = program.load(money, money_at)
        wanted = program.multiply_divide(most_to_pay(program, base, close), share, MILLION)
        borrows = program.multiply(program.less(count - 1, choice), program.less(choice, 2 * count))
        amount = program.either(borrows, wanted, program.minimum(before, wanted))
        if loans.by_value:
            seizes = program.less(2 * count - 1, choice)
            accepted = loans.accepted(program, amount, base, program.input(f"held_{place}"), before)
            amount = program.either(seizes, accepted, amount)
        calls = [loans.book.repay(each, amount) for each in loans.borrowers]
        calls += [loans.book.borrow(each, amount) for each in loans.borrowers]
        calls += [loans.book.liquidate(each, target, amount) for each in self.liquidators]
        status, gas, _ = program.call(calls, choice=choice, mask=amount)
        paid = program.subtract(before, program.load(money, money_at))
        liquidates = program.multiply(program.less(2 * count - 1, choice), share)
        seized = program.either(liquidates, program.load(token, token_at), 0)
        sales = [loans.trades.swap(each, seized, sells=True) for each in self.liquidators]
        _, sale_gas, received = program.call(sales, choice=program.subtract(choice, 2 * count), mask=seized, returns=1)
        return {
            f"status_{place}": status,
            f"paid_{place}": paid,
            f"seized_{place}": seized,
            f"received_{place}": received[0],
            f"gas_{place}": program.add(gas, sale_gas),
        }

    def _credit(self, program: Program) -> None:
        """Pay the yield of the borrowers' dollars, from the bank or, if negative, to it."""
        token = Erc20(self.fork, DEBT).contract
        for at, borrower in enumerate(self.loans.borrowers):
            rate, pays = program.input(f"yield_ppb_{at}"), program.input(f"pays_{at}")
            cash = program.load(*balance_slot(self.fork, token.address, borrower))
            earned = program.multiply_divide(cash, rate, _BILLION)
            receive = Template(token.address, token.transfer.encode(borrower, 0), {36: earned}, sender=BANK)
            pay = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=borrower)
            program.call([receive, pay], choice=pays, mask=earned)

    def looking(self, done: dict[str, Word]) -> Look:
        """Outputs read after a start, where `done` is empty, and after each step."""
        return lambda program, price: self._look(program, price, done)

    def _look(self, program: Program, price: Word, done: dict[str, Word]) -> None:
        loans, book = self.loans, self.loans.book
        facts = pool_facts(loans, program) | {"borrow_rate_ray": book.borrow_rate_ray(program)}
        for name, holders in {"money": self.liquidators, "cash": tuple(loans.borrowers)}.items():
            for at, holder in enumerate(holders):
                facts[f"{name}_{at}"] = program.load(*balance_slot(self.fork, loans.trades.money, holder))
        for kind in OUTCOME:
            for place in range(len(self.accounts)):
                facts[f"{kind}_{place}"] = done.get(f"{kind}_{place}", 0)
        accounts = book.look(program, price)
        for at, each in enumerate(accounts):
            cash = program.multiply_divide(facts[f"cash_{at}"], book.debt.price_usd_e8, book.debt_unit)
            facts[f"assets_{at}"] = program.add(each.collateral_value_e8, cash)
        for kind, words in {
            "collateral": [each.collateral for each in accounts],
            "debt": [each.debt for each in accounts],
            "health": [each.health_factor_wad for each in accounts],
            "value": [each.collateral_value_e8 for each in accounts],
            "owed": [each.debt_value_e8 for each in accounts],
            "headroom": [book.headroom(program, each) for each in accounts],
        }.items():
            facts |= {f"{kind}_{at}": word for at, word in enumerate(words)}
        for name, word in facts.items():
            program.output(name, word)


def liquidator_accounts(names: Sequence[str]) -> list[bytes]:
    """Addresses of liquidators by agent name."""
    return [account_address(name) for name in names]
