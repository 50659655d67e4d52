"""Programs of the liquidator environment: open the loans, and play one step. Each is one kernel call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mayavi.agents.quantities import MILLION
from mayavi.evm.fleet import Program, Word
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.gym_env.liquidator.loans import ALL_BPS, Loans

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

Look = Callable[[Program, Word], None]
"""Function that adds the outputs read after a start and after each step, given the posted price."""
OUTCOME = ("status", "paid", "seized", "received", "gas")
"""Outputs of one liquidation and the sale that follows it."""


def opening(loans: Loans, look: Look) -> Program:
    """Let blocks pass, post the first price, move the pool there, and open every loan."""
    program = Program()
    live, late, price, root = (program.input(name) for name in ("live", "late", "price_e8", "root"))
    program.advance(late, program.multiply(late, loans.block_seconds), mask=live)
    loans.feed.post(program, price, live)
    loans.trades.move_towards(program, loans.arbitrageur, root, MILLION, live)
    for at, borrower in enumerate(loans.borrowers):
        collateral, debt = program.input(f"collateral_{at}"), program.input(f"debt_{at}")
        supplied, _, _ = program.call(loans.book.supply(borrower, collateral), mask=live)
        borrowed, _, _ = program.call(loans.book.borrow(borrower, debt), mask=live)
        program.output(f"supplied_{at}", supplied)
        program.output(f"borrowed_{at}", borrowed)
    look(program, price)
    return program


def stepping(loans: Loans, fork: Fork) -> Program:
    """Liquidate, sell what was seized, let time pass, post the price, let arbitrageurs trade."""
    program = Program(whole=False)  # swaps take many ways: calls one by one took less time
    names = ("live", "acts", "borrower", "debt", "close_bps", "share_ppm", "price_e8", "root", "recovery_ppm")
    live, acts, borrower, debt, close, share, price, root, recovery = (program.input(name) for name in names)
    money_at = balance_slot(fork, loans.trades.money, loans.liquidator)
    token_at = balance_slot(fork, loans.trades.token, loans.liquidator)
    money = program.load(*money_at)
    most = most_to_pay(program, debt, close)
    cover = program.minimum(money, program.multiply_divide(most, share, MILLION))
    if loans.by_value:
        cover = loans.accepted(program, cover, debt, program.input("held"), money)
    cover = program.multiply(program.multiply(live, acts), cover)
    status, gas, _ = program.call(loans.book.liquidate(loans.liquidator, borrower, cover), mask=cover)
    paid = program.subtract(money, program.load(*money_at))
    seized = program.multiply(live, program.load(*token_at))
    sale = loans.trades.swap(loans.liquidator, seized, sells=True)
    _, sale_gas, received = program.call(sale, mask=seized, returns=1)
    blocks = loans.config.step_blocks
    program.advance(blocks, blocks * loans.block_seconds, mask=live)
    loans.feed.post(program, price, live)
    loans.trades.move_towards(program, loans.arbitrageur, root, recovery, live)
    done = {"status": status, "paid": paid, "seized": seized, "received": received[0]}
    looking(loans, fork, done | {"gas": program.add(gas, sale_gas)})(program, price)
    return program


def looking(loans: Loans, fork: Fork, done: dict[str, Word]) -> Look:
    """Outputs read after a start, where `done` is empty, and after each step."""

    def look(program: Program, price: Word) -> None:
        money = program.load(*balance_slot(fork, loans.trades.money, loans.liquidator))
        facts: dict[str, Word | int] = {"money": money, **pool_facts(loans, program)}
        for name, word in (facts | {name: done.get(name, 0) for name in OUTCOME}).items():
            program.output(name, word)
        accounts = loans.book.look(program, price)
        for place, kind in enumerate(("collateral", "debt", "health")):
            for at, each in enumerate(accounts):
                program.output(f"{kind}_{at}", each[place])

    return look


def pool_facts(loans: Loans, program: Program) -> dict[str, Word | int]:
    """The pool's price and liquidity, and the time."""
    number, timestamp = program.time()
    return {
        "root": loans.trades.root(program),
        "liquidity": loans.trades.liquidity(program),
        "block": number,
        "timestamp": timestamp,
    }


def most_to_pay(program: Program, debt: Word, close_bps: Word) -> Word:
    """Largest repayment of `debt` that the close factor allows, rounded as in Aave."""
    return program.divide(program.add(program.multiply(debt, close_bps), ALL_BPS // 2), ALL_BPS)
