"""Borrowers against liquidators: RLlib's own checks, ends agent by agent, and the same episode as a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.gym_env import make_single, make_vector
from mayavi.gym_env.adapters.rllib import environment, multi_agent, vectorize_mode
from mayavi.gym_env.adapters.sb3 import make_sb3
from mayavi.gym_env.market.borrowers import OBSERVED
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.market.env import AaveMarketEnv, policy_of
from mayavi.gym_env.market.rows import AaveMarketRows
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.tokens import Erc20
from tests.gym_env.market.by_scheduler import Simulated, headroom, played

STORMY: dict[str, Any] = {"health_factor": (1.04, 1.15), "shock": (0.15, 0.4), "horizon": 8, "shock_steps": (1.0, 3.0)}
"""Episodes in which accounts are liquidated."""
DIFFERENTIAL_EPISODES, MORE_EPISODES = 5, 100
OFTEN = {(True, 0), (True, 1), (False, 0), (False, 1), (False, 2)}
"""What happens in a few episodes: borrowers rest or act, liquidators rest, take, or come too late and pay for it."""


def rows(count: int = 1, **settings: Any) -> AaveMarketRows:
    return AaveMarketRows(MarketConfig(**STORMY | settings), count)


def greedy(env: AaveMarketEnv) -> dict[str, int]:
    """Borrowers borrow, liquidators take all of the first account."""
    return {name: 4 if policy_of(name) == "borrower" else 3 for name in env.possible_agents}


@pytest.fixture(scope="module")
def market() -> AaveMarketEnv:
    return AaveMarketEnv(STORMY)


class TestEnvironment:
    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    @pytest.mark.parametrize("start", ["drawn", "fixed"])
    def test_rllibs_own_checks_pass(self, actions: str, start: str) -> None:
        check_multiagent_environments(AaveMarketEnv(STORMY, actions=actions, start=start))

    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    def test_observations_are_finite_and_in_their_spaces_until_everybody_is_done(self, actions: str) -> None:
        env = AaveMarketEnv(STORMY, actions=actions)
        for seed in range(4):
            seen, _ = env.reset(seed=seed)
            over = False
            while not over:
                for name, values in seen.items():
                    assert env.observation_spaces[name].contains(values)
                given = {name: env.action_spaces[name].sample() for name in seen}
                seen, rewards, terminated, truncated, _ = env.step(given)
                assert set(rewards) == set(seen) == set(terminated) - {"__all__"} == set(truncated) - {"__all__"}
                over = terminated["__all__"] or truncated["__all__"]
                seen = {name: each for name, each in seen.items() if not (terminated[name] or truncated[name])}
            assert not seen

    def test_a_liquidated_borrower_is_out_with_minus_one_and_the_others_play_on(self, market: AaveMarketEnv) -> None:
        ended = 0
        for episode in range(6):
            market.reset(options={"episode": episode})
            gone: set[str] = set()
            while True:
                actions = {name: move for name, move in greedy(market).items() if name not in gone}
                _, rewards, terminated, truncated, infos = market.step(actions)
                for name in actions:
                    if policy_of(name) == "borrower" and terminated[name]:
                        assert rewards[name] == -1
                        assert infos["__common__"]["liquidated"][int(name[-1])]
                        gone.add(name)
                        ended += 1
                if terminated["__all__"] or truncated["__all__"]:
                    break
                assert not any(truncated.values())
            if truncated["__all__"]:
                assert infos["__common__"]["step"] == STORMY["horizon"]
        assert ended > 3, "these episodes are made so that some are liquidated"

    def test_the_same_episode_and_actions_give_the_same_to_the_last_bit(self, market: AaveMarketEnv) -> None:
        def course() -> list[Any]:
            market.reset(seed=5)
            rng, told = np.random.default_rng(1), []
            for _ in range(STORMY["horizon"]):
                acting = market.rows.acting()[0]
                names = [name for name, acts in zip(market.possible_agents, acting, strict=True) if acts]
                step = market.step({name: int(rng.integers(market.action_spaces[name].n)) for name in names})
                told.append((*[{n: np.asarray(v).tolist() for n, v in each.items()} for each in step[:4]], step[4]))
                if step[2]["__all__"] or step[3]["__all__"]:
                    break
            return told

        assert course() == course()

    def test_who_comes_first_is_drawn_anew_each_step(self) -> None:
        env = rows()
        env.begin([0], [3])
        orders = {tuple(each) for each in env.columns["order"][0].tolist()}
        assert len(orders) > STORMY["horizon"] // 2
        assert all(sorted(each) == list(range(6)) for each in orders)

    def test_actions_of_strangers_and_missing_ones_are_refused(self, market: AaveMarketEnv) -> None:
        market.reset(seed=1)
        with pytest.raises(UnknownName, match="borrower_9"):
            market.step(greedy(market) | {"borrower_9": 1})
        with pytest.raises(UsageError, match="'borrower_0' has no action"):
            market.step({name: move for name, move in greedy(market).items() if name != "borrower_0"})
        with pytest.raises(BadArgument, match="not a number"):
            market.step(greedy(market) | {"borrower_1": float("nan")})

    def test_an_action_out_of_range_is_clipped_and_counted(self, market: AaveMarketEnv) -> None:
        market.reset(seed=1)
        infos = market.step(greedy(market) | {"borrower_1": 99, "liquidator_0": -3})[4]
        assert infos["__common__"]["clipped_actions"] == [0, 1, 0, 0, 1, 0]

    def test_every_entry_of_an_observation_is_described(self, market: AaveMarketEnv) -> None:
        assert market.observation_spaces["borrower_0"].shape == (len(OBSERVED),)


class TestRows:
    @pytest.mark.slow(0.5)
    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    def test_a_batch_of_n_is_n_batches_of_one_on_any_number_of_threads(self, actions: str) -> None:
        count, config = 5, MarketConfig(**STORMY | {"actions": actions})
        together = AaveMarketRows(config, count, threads=2)
        together.begin(range(count), range(count))
        alone = [AaveMarketRows(config, 1, threads=1) for _ in range(count)]
        for number, each in enumerate(alone):
            each.begin([0], [number])
        rng = np.random.default_rng(2)
        for _ in range(STORMY["horizon"]):
            actions_now = played(together, rng)
            whole = together.step(actions_now)
            for row, each in enumerate(alone):
                part = each.step({role: given[row : row + 1] for role, given in actions_now.items()})
                for role, seen in whole.observations.items():
                    np.testing.assert_array_equal(seen[row], part.observations[role][0])
                for name in ("rewards", "terminated", "truncated"):
                    np.testing.assert_array_equal(getattr(whole, name)[row], getattr(part, name)[0])
                mine = {name: values[row] for name, values in together.exact().items()}
                assert mine == {name: values[0] for name, values in each.exact().items()}

    def test_rows_that_are_not_live_stay(self) -> None:
        env = rows(2)
        env.begin([0, 1], [4, 5])
        before = {name: values[1] for name, values in env.exact().items()}
        env.step(played(env, np.random.default_rng(0)), np.array([True, False]))
        assert {name: values[1] for name, values in env.exact().items()} == before

    def test_rows_are_copied_in_the_middle_of_an_episode(self) -> None:
        env, rng = rows(2), np.random.default_rng(0)
        env.begin([0, 1], [4, 5])
        env.step(played(env, rng))
        env.copy_rows([0], [1])
        stepped = env.step({role: np.repeat(each[:1], 2, axis=0) for role, each in played(env, rng).items()})
        for seen in stepped.observations.values():
            np.testing.assert_array_equal(seen[0], seen[1])
        assert all(values[0] == values[1] for values in env.exact().values())

    def test_tokens_are_neither_made_nor_lost(self) -> None:
        """Whoever has them: agents, pool, market, bank, arbitrageur and treasury hold all that moved."""
        env = rows()
        rng = np.random.default_rng(7)
        for episode in range(3):
            env.begin([0], [episode])
            start = env.fleet.fork(0)
            holders = {
                *env.program.accounts, env.loans.trades.address, env.loans.book.collateral.a_token,
                env.loans.book.debt.a_token, *env.program.others,
            }  # fmt: skip
            for _ in range(STORMY["horizon"]):
                env.step(played(env, rng))
            end = env.fleet.fork(0)
            for symbol in ("WETH", "USDC"):
                before, after = Erc20(start, symbol), Erc20(end, symbol)
                assert after.total_supply == before.total_supply
                moved = {each: after.balance_of(each) - before.balance_of(each) for each in holders}
                assert any(moved.values())
                assert sum(moved.values()) == 0

    def test_headroom_is_the_most_the_pool_lends(self) -> None:
        env = rows()
        env.begin([0], [2])
        fork = env.fleet.fork(0)
        told = env.exact()["headroom_usdc"][0]
        assert told == [headroom(AaveV3(fork), each) for each in env.loans.borrowers]
        assert any(told)

    def test_what_is_rewarded_at_the_end_is_the_sum_of_what_is_rewarded_step_by_step(self) -> None:
        each_step, at_end = rows(4), rows(4, reward="at_end")
        sums = []
        for env in (each_step, at_end):
            rng, total = np.random.default_rng(3), np.zeros((4, 6))
            env.begin(range(4), range(4))
            for _ in range(STORMY["horizon"]):
                total += env.step(played(env, rng)).rewards
            sums.append(total)
        assert np.abs(sums[0][:, 4:]).sum() > 0
        np.testing.assert_allclose(sums[0], sums[1], atol=1e-12)


class TestScripts:
    @pytest.mark.slow(0.4)
    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    def test_every_script_of_a_role_gives_actions_in_range_to_the_end(self, actions: str) -> None:
        env = rows(3, actions=actions)
        assert {role.name: role.agents for role in env.roles} == {"borrower": 4, "liquidator": 2}
        for role in env.roles:
            for name in role.strategies:
                env.begin(range(3), range(3))
                for _ in range(STORMY["horizon"]):
                    chosen = {each.name: each.strategies[name if each == role else "noop"](env) for each in env.roles}
                    assert chosen[role.name].shape[:2] == (3, role.agents)
                    assert all(role.action_space.contains(one) for row in chosen[role.name] for one in row)
                    env.step(chosen)
                assert not env.columns["clipped_by"].any()

    def test_borrowers_do_what_the_pool_says_of_their_accounts(self) -> None:
        env = rows(actions="continuous", health_factor=(1.1, 2.5), cash_yield=(-0.02, 0.12))
        seen: set[int] = set()
        for episode in range(6):
            env.begin([0], [episode])
            market = AaveV3(env.fleet.fork(0))
            rate = market.reserve("USDC").variable_borrow_rate_ray / 10**27
            band, spread = (
                env.role("borrower").strategies[name](env)[0, :, 0] for name in ("hold_band", "follow_spread")
            )
            for at, borrower in enumerate(env.loans.borrowers):
                data = market.account(borrower).data()
                health = data.health_factor_wad / 10**18
                wanted = 0.25 if health > 2 else health / 1.65 - 1 if health < 1.3 else 0
                assert band[at] == pytest.approx(wanted, abs=1e-5)
                owed = data.debt_usd_e8
                goal = owed * health / 1.5 if env.columns["cash_yield_ppm"][0, at] / 1e6 > rate else 0
                room = env.exact()["headroom_usdc"][0][at] * 100
                share = goal / owed - 1 if goal < owed else (goal - owed) / room
                assert spread[at] == pytest.approx(min(share, 1), abs=1e-4)
                seen |= {int(np.sign(band[at])), 2 + (share > 0), 4 + (share == -1)}
        assert seen == {-1, 0, 1, 2, 3, 4, 5}

    def test_every_liquidator_looks_at_its_own_money_and_takes_what_pays(self) -> None:
        env = rows(4)
        env.begin(range(4), range(4))
        script = env.role("liquidator").strategies["close_factor_max"]
        taken = waited = 0
        for _ in range(STORMY["horizon"]):
            prizes = env.loans.accounts().liquidatable.any(axis=1)
            chosen = script(env)
            money = np.stack([each.money_usd for each in env.liquidators.views()], axis=1)
            np.testing.assert_allclose(money * 1e6, env.exact()["money_usdc"], rtol=1e-15)
            assert not chosen[~prizes].any()
            assert set(chosen[prizes].ravel() % 3) <= {0}  # all that may be taken, or nothing where it does not pay
            taken, waited = taken + int((chosen > 0).sum()), waited + int((chosen == 0).sum())
            env.step({"borrower": np.zeros((4, 4), dtype=np.int64), "liquidator": chosen})
        assert taken > 4
        assert waited > 4
        assert any(one != other for one, other in env.exact()["money_usdc"])

    def test_who_owes_nothing_is_shown_without_a_health_factor(self) -> None:
        env = AaveMarketEnv(STORMY, render_mode="ansi")
        env.reset(seed=2)
        env.step({name: 2 if policy_of(name) == "borrower" else 0 for name in env.agents})
        assert "health_factor_wad: no debt  no debt  no debt  no debt" in env.render().splitlines()


class TestAgainstTheScheduler:
    """Observations and rewards follow from these integers; they are compared step by step."""

    @pytest.mark.slow(0.5)
    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    def test_a_few_episodes(self, actions: str) -> None:
        assert self.compare(range(DIFFERENTIAL_EPISODES), actions) >= OFTEN

    @pytest.mark.slow
    @pytest.mark.parametrize("actions", ["discrete", "continuous"])
    def test_two_hundred_episodes(self, actions: str) -> None:
        assert self.compare(range(1_000, 1_000 + MORE_EPISODES), actions) >= OFTEN

    def compare(self, episodes: range, actions: str) -> set[tuple[bool, int]]:
        """What borrowers (true) and liquidators did, by status: 0 nothing, 1 done, 2 refused."""
        env = rows(len(episodes), actions=actions)
        env.begin(range(len(episodes)), episodes)
        simulated = [Simulated(env, row) for row in range(len(episodes))]
        rng = np.random.default_rng(11)
        statuses: set[tuple[bool, int]] = set()
        for _ in range(STORMY["horizon"]):
            given = played(env, rng)
            acting = env.acting()
            stepped = env.step(given)
            exact = env.exact()
            for row, each in enumerate(simulated):
                if not acting[row].any():
                    continue
                told = each.tick(given["borrower"][row], given["liquidator"][row])
                assert {name: exact[name][row] for name in told} == told
                statuses |= {(at < 4, status) for at, status in enumerate(told["status"])}
                self.check_rewards(env, row, acting[row], stepped.rewards[row], told)
        return statuses

    def check_rewards(self, env: AaveMarketRows, row: int, acting: Any, rewards: Any, told: dict[str, Any]) -> None:
        """From the simulation's integers alone, with the formulas of the documentation."""
        last = env.steps[row] == STORMY["horizon"]
        start = env.columns["start_wealth_e8"][row]
        debts = env.columns["debts_usd"][row]
        price = env.columns["price_e8"][row, env.steps[row] - 1] / 1e8
        for at in range(6):
            if not acting[at]:
                assert rewards[at] == 0
            elif at < 4:
                gain = (told["net_wealth_e8"][at] - int(start[at])) / int(start[at])
                assert rewards[at] == pytest.approx(-1 if told["liquidated"][at] else gain if last else 0, abs=1e-12)
            else:
                fees = told["gas"][at] * env.columns["gas_price_wei"][row] / 1e18 * price
                profit = (told["received_usdc"][at - 4] - told["paid_usdc"][at - 4]) / 1e6 - fees
                assert rewards[at] == pytest.approx(profit / (debts * 0.05), abs=1e-9)


class TestTraining:
    @pytest.mark.slow(1)
    def test_rllib_samples_both_policies(self) -> None:
        config = (
            PPOConfig()
            .environment(**environment("market", **STORMY))
            .env_runners(gym_env_vectorize_mode=vectorize_mode("market"), num_env_runners=0, num_envs_per_env_runner=2)
            .multi_agent(**multi_agent("market"))
            .debugging(seed=3)
        )
        runner = MultiAgentEnvRunner(config=config)
        samples = runner.sample(num_episodes=2, random_actions=True)
        seen = {policy_of(agent) for sample in samples for agent in sample.agent_ids}
        assert seen == {"borrower", "liquidator"}
        assert multi_agent("aave") == {}
        assert vectorize_mode("aave") == "vector_entry_point"

    @pytest.mark.parametrize("make", [make_single, make_vector, make_sb3])
    def test_what_knows_one_agent_only_refuses_and_says_what_does(self, make: Any) -> None:
        with pytest.raises(UsageError, match="several agents") as refused:
            make("market")
        assert "rllib" in (refused.value.hint or "")
