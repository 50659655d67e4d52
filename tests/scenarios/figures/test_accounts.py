"""Final accounts: they add up to the headline, and a second computation confirms why an account is left."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

import mayavi
from mayavi import Fork
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.liquidation.choice import PARTS
from mayavi.agents.liquidation.liquidator import GAS_OF_LIQUIDATION, GAS_OF_SALE
from mayavi.errors import ExecutionError
from mayavi.evm.units import WAD
from mayavi.protocols import AaveV3, CompoundV3, Erc20, UniswapV3
from mayavi.protocols.aave.spark import SparkLend
from mayavi.sim.hooks import Hook
from mayavi.sim.rows import AccountRow, ActionRow, SnapshotRow
from mayavi.sim.world_state import WorldState
from tests.scenarios.play import Played, play

ROUTES = {"USDC": ("WETH", "USDC", 500), "DAI": ("WETH", 500, "USDC", 100, "DAI")}
SETUPS = {"aave_v3": "USDC", "spark": "DAI", "compound_v3": "USDC"}
CLEAR_E8 = 5 * 10**6  # five cents: closer to zero, rounding decides whether it pays


class Moment(Hook):
    """Keeps a copy of the chain as it is after the last step, before time passes."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Sequence[SnapshotRow]:
        if world.step == self.steps - 1:
            self.fork = world.fork.copy()
            self.gas_e8 = gas_value_e8(world, GAS_OF_LIQUIDATION + GAS_OF_SALE)
        return ()


def random_scenario(seed: int, protocol: str) -> str:
    draw = random.Random(seed)
    terms = draw.choice(
        [
            f"capital: {{USDC: {draw.choice([500, 40_000, 10**8])}, DAI: 10_000_000}}",
            "count: 2, capital: {USDC: 10_000_000, DAI: 20_000}",
            "latency_blocks: 400, capital: {USDC: 10_000_000, DAI: 10_000}",
        ]
    )
    return f"""\
name: random
chain: ethereum
steps: 3
step_time: {draw.choice(["1m", "1h"])}
prices: {{WETH: {{process: step, at: 1, size: -{draw.uniform(0.05, 0.5):.3f}}}}}
agents:
  people:
    kind: borrower
    protocol: {protocol}
    count: {draw.randint(3, 7)}
    collateral: WETH
    debt: {SETUPS[protocol]}
    size_usd: {{lognormal: {{median: {draw.choice([300, 20_000, 3_000_000])}, sigma: 1}}}}
    health_factor: {{uniform: [1.05, 1.5]}}
  bots: {{kind: liquidator, protocol: {protocol}, {terms}}}
  arb: {{kind: arbitrageur, pool: WETH/USDC.500, capital: {{WETH: 50_000, USDC: 90_000_000}}}}
gas: {{base_fee: {draw.choice([1, 30, 300])} gwei}}
"""


def check(played: Played) -> list[AccountRow]:
    rows = played.built.accounts()
    assert sum(int(row.bad_debt) for row in rows) == played.kpis["bad_debt"]
    assert sum(int(row.liquidated) for row in rows) == played.kpis["liquidated"]
    assert sum(row.liquidations for row in rows) == played.kpis["liquidations"]
    assert sum(int(row.debt) for row in rows) == played.kpis["debt"]
    assert sum(int(row.bad_debt) > 0 for row in rows) == played.kpis["bad_debt_accounts"]
    for row in rows:
        below = bool(row.health_factor) and int(row.health_factor) < WAD
        assert bool(row.reason) == below, row
    return rows


def best_profit_e8(fork: Fork, moment: Moment, row: AccountRow, debt: str, funds: int | None = None) -> int:
    """Liquidate the account on a copy of the chain in every size, sell, and return the highest profit after gas."""
    if row.market == "cUSDCv3":
        return best_profit_of_absorbing_e8(fork, moment, row, funds)
    best = -moment.gas_e8
    for part in PARTS:
        copy = fork.copy()
        market = (AaveV3 if row.market == "AaveV3" else SparkLend)(copy)
        stranger, borrower = bytes([0x77]) * 20, WorldState(copy, [], seed=0).address(row.account)
        owed = market.account(borrower).debt(debt)
        share = 1 if int(row.health_factor) <= 95 * WAD // 100 else 2
        cover = owed // share // part
        cover = cover if funds is None else min(cover, funds)
        if not cover:
            continue
        copy.deal(debt, stranger, cover)
        token = Erc20(copy, debt)
        try:
            market.account(stranger).liquidate(borrower, "WETH", debt, cover)
            seized = Erc20(copy, "WETH").balance_of(stranger)
            UniswapV3(copy).swap_exact_input(ROUTES[debt], seized, sender=stranger)
        except ExecutionError:
            continue
        profit = (token.balance_of(stranger) - cover) * market.price_usd_e8(debt) // 10**token.decimals
        best = max(best, profit - moment.gas_e8)
    return best


def best_profit_of_absorbing_e8(fork: Fork, moment: Moment, row: AccountRow, funds: int | None) -> int:
    """Absorb the account on a copy of the chain, buy its WETH in every size, sell, and return the highest profit."""
    best = -moment.gas_e8
    stranger = bytes([0x77]) * 20
    for part in PARTS:
        copy = fork.copy()
        comet, token = CompoundV3(copy), Erc20(copy, "USDC")
        borrower = WorldState(copy, [], seed=0).address(row.account)
        held = comet.account(borrower).collateral("WETH") // part
        comet.absorb(borrower, sender=stranger)
        pays = dearest(comet, held, 10**15 if funds is None else funds)
        copy.deal("USDC", stranger, pays)
        try:
            comet.buy_collateral("WETH", pays, sender=stranger)
            UniswapV3(copy).swap_exact_input(ROUTES["USDC"], Erc20(copy, "WETH").balance_of(stranger), sender=stranger)
        except ExecutionError:  # the market sells nothing, or there is nothing to sell
            continue
        profit = (token.balance_of(stranger) - pays) * comet.price_e8("USDC") // 10**token.decimals
        best = max(best, profit - moment.gas_e8)
    return best


def dearest(comet: CompoundV3, amount: int, funds: int) -> int:
    """Largest payment, at most `funds`, for which the market itself sells at most `amount`."""
    low, high = 0, funds
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if comet.quote_collateral("WETH", middle) <= amount else (low, middle - 1)
    return low


def confirm(played: Played, moment: Moment, row: AccountRow, debt: str) -> str:
    """Assert that the reason of an account is right, by trying to liquidate it."""
    best = best_profit_e8(moment.fork, moment, row, debt)
    if abs(best) < CLEAR_E8:
        return "close"
    bots = played.built.world.by_name
    funds = max(
        Erc20(moment.fork, debt).balance_of(played.built.world.address(bot.name)) for bot in bots if "bots" in bot.name
    )
    if row.reason in {"too late", "no capital"}:
        assert best > 0, row
        with_own = best_profit_e8(moment.fork, moment, row, debt, funds)
        if abs(with_own) >= CLEAR_E8:
            assert (with_own > 0) == (row.reason == "too late"), (row, with_own)
    else:
        assert best < 0, row
    return row.reason


@pytest.mark.slow(3)
def test_accounts_add_up_and_every_reason_is_confirmed_in_a_few_runs() -> None:
    assert {protocol for protocol, _ in many(range(12))} == set(SETUPS)


@pytest.mark.slow
def test_accounts_add_up_and_every_reason_is_confirmed_in_two_hundred_runs() -> None:
    reasons = many(range(200))
    assert {"too late", "no capital", "unprofitable: gas", "unprofitable: depth"} <= {reason for _, reason in reasons}
    assert {"too late", "unprofitable: gas"} <= {reason for protocol, reason in reasons if protocol == "compound_v3"}


def many(seeds: range) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for seed in seeds:
        protocol = list(SETUPS)[seed % 3]
        moment = Moment(3)
        played = play("", text=random_scenario(seed, protocol), seed=seed, hooks=[moment])
        for row in check(played):
            if row.reason not in {"", "no collateral"}:
                found.append((protocol, confirm(played, moment, row, SETUPS[protocol])))
    return found


COMPOUND = """\
name: compound
chain: ethereum
steps: 4
step_time: 1h
prices: {WETH: {process: ramp, at: 1, steps: 2, size: -55%}}
agents:
  people:
    kind: borrower
    protocol: compound_v3
    count: 6
    collateral: WETH
    debt: USDC
    size_usd: {lognormal: {median: 20_000, sigma: 1}}
    health_factor: {uniform: [1.05, 1.5]}
  bot: {kind: liquidator, protocol: compound_v3, capital: {USDC: 10_000_000}}
"""


def test_losses_of_a_compound_market_are_split_over_the_absorbed_accounts() -> None:
    played = play("", text=COMPOUND)
    rows = check(played)
    lost = [row for row in rows if int(row.bad_debt)]
    assert len(lost) > 2
    assert played.kpis["bad_debt"] > 1_000 * 10**8
    assert all(row.liquidations == 1 and int(row.debt) == 0 for row in lost)


def test_an_account_that_nobody_watches_says_so() -> None:
    text = COMPOUND.partition("  bot:")[0]
    rows = check(play("", text=text))
    assert {row.reason for row in rows if row.reason} == {"no liquidator"}


@pytest.mark.slow(0.3)
def test_accounts_are_stored_exported_and_part_of_the_digest(tmp_path: Path) -> None:
    file = tmp_path / "market.yaml"
    file.write_text(COMPOUND)
    run = mayavi.run(file, seed=3, store=tmp_path / "runs.duckdb")
    assert [row.account for row in run.accounts] == [f"people-{at}" for at in range(6)]
    total = sum(int(row.bad_debt) for row in run.accounts)
    assert str(total) == run.kpis.exact("bad_debt").value
    assert run.store.digest(run.run_id) == run.digest
    files = run.store.export(run.run_id, tmp_path / "out")
    assert tmp_path / "out" / "accounts.parquet" in files
    sums = run.store.sql("SELECT sum(bad_debt::HUGEINT), sum(bad_debt_number) FROM accounts").fetchall()
    assert sums[0][0] == total
    assert sums[0][1] == pytest.approx(total / 10**8)
    with duckdb.connect(run.store.path) as shell:
        shell.execute("UPDATE accounts SET reason = 'too late' WHERE account = 'people-0'")
    assert run.store.digest(run.run_id) != run.digest
