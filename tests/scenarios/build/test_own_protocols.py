"""Protocols of one's own: a scenario names them, they are deployed before the agents, and their figures recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

import mayavi
from mayavi.errors import BadScenario, SetupError, SimulationError
from mayavi.protocols.registry import adapter, installed_protocols
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario
from tests.own_code import VAULT, OwnCode
from tests.scenarios.play import _world

SCENARIO = """chain: ethereum
steps: 2
step_time: 1h
protocols:
  vault: {kind: vault:Vault, ether: 3}
agents:
  traders: {kind: traders, pool: WETH/USDC.500, trades_a_step: 0, size: 5, capital: {}}
"""


@pytest.fixture
def vault(own_code: OwnCode) -> Path:
    own_code.write(vault=VAULT)
    return own_code.scenario(SCENARIO, "vault.yaml")


def test_it_is_deployed_and_its_figures_are_recorded(own_code: OwnCode, vault: Path) -> None:
    run = mayavi.run(vault, store=own_code.folder / "runs.duckdb")
    rows = [row for row in run.snapshots if row.subject == "vault"]
    assert {(row.metric, row.value, row.number, row.unit) for row in rows} == {("assets", str(3 * 10**18), 3.0, "e18")}
    assert len(rows) == 3
    assert run.store.run(run.run_id).versions["protocol vault:Vault"].startswith("vault, sha256 ")
    assert adapter("vault:Vault").__name__ == "Vault"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ether: 3", "ethr: 3", "vault.yaml:5:30: unknown key 'ethr' in protocols.vault"),
        ("ether: 3", "ether: -3", "vault.yaml:5:37: protocols.vault.ether is -3, and must be above zero"),
        ("vault:Vault", "vault:Valt", "protocols.vault: 'vault' ("),
        ("vault:Vault", "pathlib:Path", "protocols.vault: 'pathlib:Path' has no deploy(fork, settings)"),
        ("vault:Vault", "volt", "vault.yaml:5:17: unknown protocol 'volt'"),
        ("vault:Vault", "aave_v3", "unknown protocol 'aave_v3'"),
        ("{kind: vault:Vault, ether: 3}", "{ether: 3}", "'kind' is missing from protocols.vault"),
    ],
)
def test_bad_input_is_refused_where_it_stands(own_code: OwnCode, vault: Path, old: str, new: str, message: str) -> None:
    own_code.scenario(SCENARIO.replace(old, new), "vault.yaml")
    with pytest.raises(BadScenario) as refused:
        load_scenario(vault)
    assert message in refused.value.message


def test_import_paths_can_be_forbidden(vault: Path) -> None:
    with pytest.raises(BadScenario, match=r"protocols.vault names the import path 'vault:Vault'"):
        load_scenario(vault, import_paths=False)


def test_code_that_raises_gives_one_line(own_code: OwnCode, vault: Path) -> None:
    own_code.write(vault=VAULT.replace('fork.labels["Vault"] =', "fork.lables ="))
    with pytest.raises(BadScenario) as refused:
        build(load_scenario(vault).config, _world("ethereum").copy())
    assert "protocols.vault: " in refused.value.message
    own_code.forget()
    own_code.write(vault=VAULT.replace('{"assets": (', '{"assets": 1, "x": ('))
    simulation = build(load_scenario(vault).config, _world("ethereum").copy())
    with pytest.raises(SimulationError, match=r"protocols.vault: its figures cannot be read: TypeError: "):
        simulation.scheduler.tick()


def test_a_package_offers_one_by_an_entry_point(own_code: OwnCode) -> None:
    lines = "vault = vault:Vault\naave_v3 = vault:Vault\nbad = vault:Positive"
    own_code.install("vaults", {"mayavi.protocols": lines}, {"vault.py": VAULT})
    path = own_code.scenario(SCENARIO.replace("vault:Vault", "vault"), "vault.yaml")
    assert float(load_scenario(path).config.protocols["vault"].ether) == 3  # type: ignore[attr-defined]
    assert adapter("vault").__name__ == "Vault"
    assert adapter("AaveV3").__name__ == "AaveV3"
    found = {each.name: each.error for each in installed_protocols()}
    assert found["vault"] == ""
    assert "built-in protocol" in found["aave_v3"]
    assert "not a class" in found["bad"]
    with pytest.raises(SetupError, match="'bad' of 'vault:Positive' cannot be used"):
        adapter("bad")
