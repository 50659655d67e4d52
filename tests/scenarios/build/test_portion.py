"""Runs of a portion share what does not depend on their seed, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from mayavi.evm.fork import Fork
from mayavi.markets import PricePaths
from mayavi.scenarios.build.build import Built, build, set_up
from mayavi.scenarios.build.portion import Portion
from mayavi.scenarios.loading import load_scenario
from tests.agents.stage import replica

SEEDS = (5, 2, 9)


@pytest.fixture(scope="module")
def world() -> Fork:
    fork = replica()
    set_up(load_scenario("aave_borrower").config, fork)
    return fork.frozen()


def built(world: Fork, seeds: tuple[int, ...] = SEEDS) -> list[Built]:
    portion = Portion(load_scenario("aave_borrower").config, seeds)
    return [build(portion.config, world.copy(), seed, is_set_up=True, portion=portion) for seed in seeds]


def settings(run: Built) -> list[dict[str, Any]]:
    return [vars(agent) for agent in run.world.agents]


def test_each_run_has_the_agents_and_prices_that_it_would_have_alone(world: Fork) -> None:
    for run, seed in zip(built(world), SEEDS, strict=True):
        (alone,) = built(world, (seed,))
        assert settings(run) == settings(alone)
        assert isinstance(run.world.prices, PricePaths)
        assert isinstance(alone.world.prices, PricePaths)
        assert run.world.prices["WETH"].tobytes() == alone.world.prices["WETH"].tobytes()


def test_what_a_run_does_to_its_agents_leaves_those_of_the_others(world: Fork) -> None:
    first, second, third = built(world)
    before = [dict(each) for each in settings(second)]
    for _ in range(first.steps):
        first.scheduler.tick()
    assert settings(second) == before == settings(third)
    assert not {*map(id, first.world.agents)} & {*map(id, second.world.agents)}


def test_agents_are_built_anew_after_a_builder_has_written(world: Fork) -> None:
    from mayavi.agents.oracle.price_path import PricePathAgent
    from mayavi.scenarios.build.agents.agent_set import AgentSet

    portion = Portion(load_scenario("aave_borrower").config, SEEDS)
    made: list[PricePathAgent] = []

    def make() -> list[PricePathAgent]:
        made.append(PricePathAgent("prices", feeds={"ETH": "Chainlink.ETH/USD"}))
        return made[-1:]

    for seed in SEEDS:
        agents = AgentSet(portion.config, world.copy(), portion, seed)
        agents.alike("prices", make)
        agents.fork.set_balance(b"\x01" * 20, 7)
        assert agents.alike("prices", make) == made[-1:]
    assert len(made) == 1 + len(SEEDS)
