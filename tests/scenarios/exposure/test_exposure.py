"""Exposures on the replica: equal to runs in which nobody acts, equal on every device, and clear about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mayavi
from mayavi.errors import UsageError
from mayavi.scenarios.exposure.exposure import exposure
from mayavi.scenarios.exposure.result import Exposure, GroupExposure
from tests.evm.native.devices import needs_device

PASSIVE = """
name: passive
title: borrowers who hold, and a price
chain: {chain}
steps: 5
step_time: 1h
prices:
  WETH: {{process: step, at: 2, size: -35%, then: {{process: gbm, volatility: 150%}}}}
agents:
  borrowers: {{kind: borrower, count: 12, protocol: {protocol}, collateral: WETH, debt: {debt},
              size_usd: {{lognormal: {{median: 20_000, sigma: 1}}}}, health_factor: {{uniform: [1.02, 1.9]}},
              behaviour: {{hold: 100%}}}}
"""
MARKETS = [("ethereum", "aave_v3", "USDC"), ("ethereum", "spark", "DAI"), ("base", "aave_v3", "USDC")]
DEVICES = ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])]


@pytest.fixture
def passive(tmp_path: Path) -> Any:
    def write(chain: str = "ethereum", protocol: str = "aave_v3", debt: str = "USDC") -> str:
        path = tmp_path / "passive.yaml"
        path.write_text(PASSIVE.format(chain=chain, protocol=protocol, debt=debt))
        return str(path)

    return write


@pytest.mark.slow(0.4)
@pytest.mark.parametrize(("chain", "protocol", "debt"), MARKETS)
def test_an_exposure_is_what_a_run_records_if_nobody_acts(
    passive: Any, tmp_path: Path, chain: str, protocol: str, debt: str
) -> None:
    scenario = passive(chain, protocol, debt)
    for seed in (3, 7):
        found = exposure(scenario, seeds=[seed], population_seed=seed).groups[0]
        run = mayavi.run(scenario, seed=seed, store=tmp_path / "runs.duckdb", specialise="off")
        rows = {(row.step, row.metric): int(row.value) for row in run.snapshots if row.subject == "borrowers"}
        for step in range(5):
            assert found.liquidatable[0, step] == rows[step, "liquidatable"]
            assert found.bad_debt_usd_e8[0, step] == rows[step, "bad_debt"]
            assert found.debt_usd_e8[0, step] == rows[step, "debt"]
        assert found.liquidatable[0, -1] > 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_gives_the_digest_of_the_processor(passive: Any, device: str) -> None:
    scenario, done = passive(), []
    here = exposure(scenario, seeds="0:6", progress=lambda *counts: done.append(counts))
    there = exposure(scenario, seeds="0:6", device=device)
    assert there.digest == here.digest
    assert (there.device, there.groups[0].liquidatable.shape) == (device, (6, 5))
    assert done == [(6, 6)]
    assert exposure(scenario, seeds="0:6", population_seed=5).digest != here.digest
    assert there.figures["bad_debt"].maximum > 0
    assert here.worst(1)[0]["bad_debt"] == here.figures["bad_debt"].maximum


def test_paths_in_portions_are_those_at_once(passive: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, done = passive(), []
    at_once = exposure(scenario, seeds="0:5").digest
    monkeypatch.setattr("mayavi.scenarios.exposure.exposure.PORTION", 2 * 12 * 5)
    found = exposure(scenario, seeds="0:5", progress=lambda *counts: done.append(counts))
    assert found.digest == at_once
    assert done == [(2, 5), (4, 5), (5, 5)]


def test_several_groups_are_added_up(passive: Any) -> None:
    more = "{kind: borrower, count: 3, protocol: spark, collateral: WETH, debt: DAI, health_factor: 1.5}"
    found = exposure(passive(), seeds="0:2", overrides=[f"agents.others={more}"])
    assert [(group.market, group.accounts) for group in found.groups] == [("AaveV3", 12), ("Spark", 3)]
    assert all(group.debt_usd_e8.all() for group in found.groups)
    titles = [row[0] for row in found.rows()]
    assert titles[:4] == ["liquidatable accounts", "liquidatable debt", "bad debt", "liquidatable accounts, borrowers"]
    assert len(titles) == 9
    assert found.to_json()["groups"][1]["figures"]["bad_debt"]["unit"] == "usd"
    assert found.accounts == sum(group.accounts for group in found.groups)
    added = sum(group.liquidatable_debt_usd_e8 for group in found.groups)
    assert found.by_step["liquidatable_debt"].tolist() == (added.astype(float) / 1e8).tolist()


def test_what_cannot_be_analysed_is_named(passive: Any) -> None:
    with pytest.raises(UsageError, match="no price processes"):
        exposure("depeg_cascade", overrides={"prices": {}})
    with pytest.raises(UsageError, match="no borrowers"):
        exposure("vesting_cliff", overrides=["prices.WETH={process: gbm, volatility: 80%}"])
    with pytest.raises(UsageError, match="neither Aave V3 nor SparkLend"):
        exposure("compound_v3_borrower", overrides=["prices.WETH={process: gbm, volatility: 80%}"])
    with pytest.raises(UsageError, match="shock moves a price by itself"):
        exposure(passive(), overrides=["agents.shock={kind: oracle_shock, asset: WBTC, at: 1, size: -10%}"])
    with pytest.raises(UsageError, match=r"cannot be set alone: Aave\.wstETH/USD"):
        exposure("steth_depeg")
    with pytest.raises(UsageError, match="unknown device 'tpu'"):
        exposure(passive(), device="tpu")
    with pytest.raises(UsageError, match="names no seeds"):
        exposure(passive(), seeds="all")
    with pytest.raises(UsageError, match="takes no 'paths'"):
        exposure(passive(), paths=3)


def test_paths_that_do_not_differ_are_named(passive: Any) -> None:
    found = exposure(passive(), seeds="0:3", overrides=["prices.WETH={process: step, at: 1, size: -20%}"])
    assert found.notes == ("all 3 paths are the same: no price has a random part within these steps",)
    assert found.to_json()["distinct_paths"] == 1
    assert exposure(passive(), seeds="0:3").notes == ()


def test_governance_does_not_act(passive: Any) -> None:
    change = ["parameters.aave_v3.WETH={at: 2, liquidation_threshold: 81%}"]
    found = exposure(passive(), seeds="0:2", overrides=change)
    assert found.notes == ("governance does not act: parameters stay those of the start",)


def test_the_table_by_time_spreads_steps() -> None:
    paths = np.arange(40).reshape(2, 20)
    group = GroupExposure("some", "AaveV3", 40, paths, paths * 10**8, paths * 10**8, paths * 10**8)
    found = Exposure("s", "ethereum", (4, 9), 7, 21_600, (group,), None, 0, 0.0, 2)
    rows = found.step_rows()
    assert [row[0] for row in rows] == ["0", "3", "5", "8", "11", "14", "16", "19"]
    assert rows[-1][1:4] == ("114 h", "39", "39")
    assert found.to_json()["seeds"] == "4,9"
    assert found.figures["liquidatable_accounts"].maximum == 39
