"""What a market of several agents does on the chain: everybody's accounts, and the program of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mayavi.agents.quantities import MILLION, units_of
from mayavi.evm.address import account_address
from mayavi.evm.fleet import Program, Template, Word, Words
from mayavi.evm.token_balance import balance_slot
from mayavi.gym_env.lending.adapter import BANK
from mayavi.gym_env.liquidator.env import ARBITRAGEUR, DEBT, AaveLiquidatorEnv
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.onchain.pool_trades import LIQUIDITY, LIQUIDITY_BITS, PLENTY
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ALL_BPS, _BILLION = 10_000, 10**9
DONE = ("status", "paid", "seized", "received", "gas")
"""What is told of each place of the line after a step."""


class MarketOnChain(AaveLiquidatorEnv):
    """The chain's side of `AaveMarketRows`. A line is as long as there are agents; who stands where is filled in."""

    config: MarketConfig
    config_type: ClassVar[type[Any]] = MarketConfig

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names: borrowers, then liquidators."""
        return (*(f"borrower_{at}" for at in range(self.config.borrowers)),
                *(f"liquidator_{at}" for at in range(self.config.liquidators)))  # fmt: skip

    def prepare(self, fork: Fork) -> None:
        """Money and approvals for the liquidators and the bank; the rest as for a single liquidator."""
        config, usdc = self.config, Erc20(fork, DEBT)
        pool = fork.address_of("AaveV3.Pool")
        self.liquidators = [account_address(name) for name in self.agents[config.borrowers :]]
        capital = PLENTY if config.capital is None else config.capital
        for liquidator in self.liquidators:
            fork.deal(DEBT, liquidator, units_of(capital, usdc.decimals))
            usdc.approve(pool, 2**256 - 1, sender=liquidator)
        fork.deal(DEBT, BANK, PLENTY * 10**usdc.decimals)
        super().prepare(fork)
        treasury = fork.contract(self.book.collateral.a_token, ["RESERVE_TREASURY_ADDRESS() view returns (address)"])
        self.others = BANK, account_address(ARBITRAGEUR), treasury.RESERVE_TREASURY_ADDRESS()
        """Who else holds tokens that move: with them nothing is made or lost."""

    def _stepping(self, fork: Fork, arbitrageur: bytes) -> Program:
        for liquidator in self.liquidators:
            self.trades.enable(liquidator)
        for borrower in self.borrowers:
            Erc20(fork, DEBT).approve(self.book.pool.address, 2**256 - 1, sender=borrower)
        accounts = (*self.borrowers, *self.liquidators)
        self._money_at, self._token_at = (
            Words.of([balance_slot(fork, token, each)[1] for each in accounts]).words
            for token in (self.trades.money, self.trades.token)
        )
        program = Program()
        live, price, root, recovery = (program.input(name) for name in ("live", "price_e8", "root", "recovery_ppm"))
        done: dict[str, Word] = {}
        for place in range(len(accounts)):
            done |= self._acting(program, place)
        program.advance(1, self.block_seconds, mask=live)
        self.feed.post(program, price, live)
        self.trades.move_towards(program, arbitrageur, root, recovery, live)
        self._credit(program, fork)
        rest = self.config.step_blocks - 1
        program.advance(rest, rest * self.block_seconds, mask=live)
        self._look(program, fork, price, done)
        return program

    def _acting(self, program: Program, place: int) -> dict[str, Word]:
        """The agent at a place of the line: who it is and what it wants is filled in for each row."""
        names = ("choice", "base", "close_bps", "share_ppm", "target", "money_at", "token_at")
        choice, base, close, share, target, money_at, token_at = (program.input(f"{each}_{place}") for each in names)
        count, money, token = self.config.borrowers, self.trades.money, self.trades.token
        before = program.load(money, money_at)
        most = program.divide(program.add(program.multiply(base, close), _ALL_BPS // 2), _ALL_BPS)
        wanted = program.multiply_divide(most, share, MILLION)
        borrows = program.multiply(program.less(count - 1, choice), program.less(choice, 2 * count))
        amount = program.either(borrows, wanted, program.minimum(before, wanted))
        calls = [self.book.repay(each, amount) for each in self.borrowers]
        calls += [self.book.borrow(each, amount) for each in self.borrowers]
        calls += [self.book.liquidate(each, target, amount) for each in self.liquidators]
        status, gas, _ = program.call(calls, choice=choice, mask=amount)
        paid = program.subtract(before, program.load(money, money_at))
        liquidates = program.multiply(program.less(2 * count - 1, choice), share)
        seized = program.either(liquidates, program.load(token, token_at), 0)
        sales = [self.trades.swap(each, seized, sells=True) for each in self.liquidators]
        _, sale_gas, received = program.call(sales, choice=program.subtract(choice, 2 * count), mask=seized, returns=1)
        return {
            f"status_{place}": status,
            f"paid_{place}": paid,
            f"seized_{place}": seized,
            f"received_{place}": received[0],
            f"gas_{place}": program.add(gas, sale_gas),
        }

    def _credit(self, program: Program, fork: Fork) -> None:
        """What the borrowers' dollars earned outside, from the bank or to it."""
        token = Erc20(fork, DEBT).contract
        for at, borrower in enumerate(self.borrowers):
            rate, pays = program.input(f"yield_ppb_{at}"), program.input(f"pays_{at}")
            cash = program.load(*balance_slot(fork, token.address, borrower))
            earned = program.multiply_divide(cash, rate, _BILLION)
            receive = Template(token.address, token.transfer.encode(borrower, 0), {36: earned}, sender=BANK)
            pay = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=borrower)
            program.call([receive, pay], choice=pays, mask=earned)

    def _look(self, program: Program, fork: Fork, price: Word, done: dict[str, Word]) -> None:
        """What is read of a row after its start and after each step; `done`: what each place of the line did."""
        number, timestamp = program.time()
        facts: dict[str, Word | int] = {
            "root": self.trades.root(program),
            "liquidity": program.bits(program.load(self.trades.address, LIQUIDITY), 0, LIQUIDITY_BITS),
            "block": number,
            "timestamp": timestamp,
            "borrow_rate_ray": self.book.borrow_rate_ray(program),
        }
        for name, holders in {"money": self.liquidators, "cash": self.borrowers}.items():
            for at, holder in enumerate(holders):
                facts[f"{name}_{at}"] = program.load(*balance_slot(fork, self.trades.money, holder))
        for kind in DONE:
            for place in range(len(self.agents)):
                facts[f"{kind}_{place}"] = done.get(f"{kind}_{place}", 0)
        accounts = self.book.look(program, price)
        for at, each in enumerate(accounts):
            cash = program.multiply_divide(facts[f"cash_{at}"], self.book.debt.price_usd_e8, self.book.debt_unit)
            facts[f"assets_{at}"] = program.add(each.collateral_value_e8, cash)
        for kind, words in {
            "collateral": [each.collateral for each in accounts],
            "debt": [each.debt for each in accounts],
            "health": [each.health_factor_wad for each in accounts],
            "value": [each.collateral_value_e8 for each in accounts],
            "owed": [each.debt_value_e8 for each in accounts],
            "headroom": [self.book.headroom(program, each) for each in accounts],
        }.items():
            facts |= {f"{kind}_{at}": word for at, word in enumerate(words)}
        for name, word in facts.items():
            program.output(name, word)
