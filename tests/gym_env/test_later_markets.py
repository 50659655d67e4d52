"""Environments on a world whose Aave is V3.6: the same books, to the unit, and the same episodes twice."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import mayavi.gym_env  # noqa: F401  (registers the environments)
from mayavi import Fork
from mayavi.errors import UsageError
from mayavi.evm.fleet import Fleet, Program, Words
from mayavi.gym_env.liquidator.env import AaveLiquidatorRows
from mayavi.gym_env.registry import make_rows
from mayavi.protocols import AaveV3
from mayavi.protocols.aave.rules.liquidation import Claim, ClaimWords, Priced
from mayavi.protocols.aave.rules.v36 import RulesV36
from mayavi.scenario_env import ScenarioEnv
from mayavi.worlds.missing import hint_for_missing
from tests.protocols.aave.market_v36 import market_v36_fork

WORLD = "ethereum@2025-12"
PLAYED = {"aave": "hold_band", "aave-shock": "hold_band", "compound": "hold_band", "vesting": "twap"} | {
    "liquidator": "close_factor_max"
}


def played(name: str, strategy: str, steps: int = 6) -> Any:
    env = make_rows(name, 3, world=WORLD)
    env.begin(range(3), [1, 2, 3])
    for _ in range(steps):
        env.step(env.strategies[strategy](env))
    return env


@pytest.mark.parametrize("name", PLAYED)
def test_an_episode_is_the_same_twice(name: str) -> None:
    first, again = (played(name, PLAYED[name]).identities(np.arange(3)) for _ in range(2))
    assert first == again


def test_gymnasium_takes_the_world_by_name() -> None:
    env = gymnasium.make("mayavi/AaveBorrower-v0", world=WORLD)
    assert AaveV3(env.unwrapped.env.fleet.fork(0)).generation.version == "3.6"
    env.reset(seed=1)
    env.close()
    assert make_rows("aave", 1, world="base").config.chain == "base"
    assert make_rows("aave", 1, world="base@2025-12").config.chain == "base"
    with pytest.raises(UsageError, match="is a market of base, not of ethereum"):
        make_rows("aave", 1, world="base@2025-12", chain="ethereum")


def test_several_agents_play_on_it() -> None:
    env = make_rows("market", 2, world=WORLD)
    env.begin(range(2), [1, 2])
    for _ in range(4):
        env.step({role.name: role.strategies[role.reference](env) for role in env.roles})
    assert env.columns["steps"].tolist() == [4, 4]


def test_the_borrowers_books_are_read_from_storage() -> None:
    """The adapter compares slots with the pool's views after a day of interest, and finds them equal."""
    assert make_rows("aave", 1, world=WORLD).adapter.by_slots


def test_the_liquidators_books_are_the_pools_own() -> None:
    env = played("liquidator", "close_factor_max", steps=4)
    assert isinstance(env, AaveLiquidatorRows)
    loans, row = env.loans, 1
    market = AaveV3(env.fleet.fork(row))
    assert market.generation.version == "3.6"
    for at, borrower in enumerate(loans.borrowers):
        account = market.account(borrower)
        assert Words(loans.of_accounts("collateral")[row, at : at + 1])[0] == account.supplied("WETH")
        assert Words(loans.of_accounts("debt")[row, at : at + 1])[0] == account.debt("USDC")
        assert Words(loans.of_accounts("health")[row, at : at + 1])[0] == account.data().health_factor_wad


def test_an_environment_without_a_chain_takes_no_world() -> None:
    with pytest.raises(UsageError, match="'rwa' stands on no chain"):
        make_rows("rwa", 1, world=WORLD)
    with pytest.raises(UsageError, match="both a world and a source"):
        make_rows("aave", 1, world=WORLD, source="replica")


@pytest.mark.parametrize("env_id", ["mayavi/AaveBorrower-v0", "mayavi/Scenario-v0"])
def test_a_world_that_is_none_is_refused(env_id: str) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"world": "ethereum@2025-13"}, "unknown world 'ethereum@2025-13'", "did you mean 'ethereum@2025-12'"),
        ({"world": 5}, "the world is 5, of type int", 'world="ethereum@2025-12"'),
        ({"wrld": WORLD}, "this environment has no setting 'wrld'", "did you mean 'world'?"),
    ]
    for given, message, hint in cases:
        with pytest.raises(UsageError, match=message) as caught:
            gymnasium.make(env_id, **given)
        assert hint in str(caught.value.hint)
    with pytest.raises(UsageError, match="'rwa' stands on no chain"):
        gymnasium.make("mayavi/RWAYield-v0", world=WORLD)


def test_a_scenario_is_played_on_a_named_world() -> None:
    env = gymnasium.make("mayavi/Scenario-v0", scenario="learning_borrower", world=WORLD)
    assert isinstance(env.unwrapped, ScenarioEnv)
    assert env.unwrapped.env.world_name == WORLD
    assert env.unwrapped.env.world_digest == make_rows("scenario", 1, source=f"replica:{WORLD}").world_digest
    env.close()


def test_what_a_chain_without_an_older_world_lacks_is_not_sought_there() -> None:
    for world, older in (("plasma", ""), ("polygon@2025-12", "; 'polygon' may have it")):
        fork = Fork.replica(world)
        name = fork.source["world"]
        assert hint_for_missing(fork, "") == f"`mayavi world info {name}` says what that world has{older}"


@pytest.mark.parametrize("cover_usd", [0, 100, 900, 1_200, 2_500, 4_100, 4_999, 5_000])
@pytest.mark.parametrize(("debt_usd", "held_eth"), [(900, 1), (1_500, 1), (5_000, 2), (5_000, 3)])
def test_programs_avoid_dust_as_the_rules_do(cover_usd: int, debt_usd: int, held_eth: int) -> None:
    """What a program repays leaves no dust, and is what was asked for if that leaves none."""
    rules, unit, price = RulesV36(), 10**6, 2_400 * 10**8
    debt = Priced(10**8, unit)
    claim = Claim(debt_usd * unit, held_eth * 10**18, None, 9 * 10**17, 0, debt, Priced(price, 10**18), 10_500, 1_000)
    program = Program()
    words = [program.input(name) for name in ("owed", "held", "funds", "price", "cover")]
    asked = min(cover_usd, debt_usd) * unit
    repaid = rules.cover_word(program, words[4], ClaimWords(*words[:4], 10**18, debt, 10_500))
    program.output("repaid", repaid)
    inputs = {"owed": claim.owed, "held": claim.held, "funds": 10**12, "price": price, "cover": asked}
    found = Fleet(market_v36_fork(), 1).run(
        program, threads=1, **{name: Words.of([value]).words for name, value in inputs.items()}
    )["repaid"][0]
    exact = rules.liquidation(claim._replace(offered=asked)) if asked else None
    if exact is not None and exact.covered == asked:
        assert found == asked
    elif exact is not None and exact.asks < asked:
        assert exact.covered - found in range(3)
    elif asked and exact is None:
        assert found == claim.owed
