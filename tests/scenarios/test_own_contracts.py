"""Contracts of one's own in a scenario: compiled once, embedded, deployed, and recorded."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

import mayavi
from mayavi.errors import CompileError, UsageError
from mayavi.evm import Fork
from mayavi.report.builder import run_page
from mayavi.report.page import Chart
from mayavi.scenarios.build.build import set_up
from mayavi.scenarios.loading import load_scenario, load_text
from tests.conftest import REPOSITORY
from tests.own_code import OwnCode

EXAMPLE = REPOSITORY / "examples" / "vault"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path / "vault")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose sources no test changes, so that they are compiled once."""
    return copied(tmp_path_factory.mktemp("contracts") / "vault")


def copied(place: Path) -> Path:
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    document = yaml.safe_load((EXAMPLE / "vault.yaml").read_text())
    document["agents"] = {"crash": {"kind": "oracle_shock", "asset": "WETH", "at": 4, "size": "-5%"}}
    (place / "vault.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return place


@pytest.mark.slow(2)
def test_the_example_runs_and_its_figures_follow_the_actions(own_code: OwnCode) -> None:
    place = own_code.folder / "vault"  # a copy, whose agents are forgotten afterwards
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("__pycache__"))
    run = mayavi.run(place / "vault.yaml", seed=7, store=own_code.folder / "runs.duckdb")
    kinds = [(row.kind, row.status) for row in run.actions]
    assert kinds.count(("deposit", "success")) == 10
    left = kinds.count(("leave", "success"))
    assert len(kinds) == 10 + left > 10
    prices = [int(row.value) for row in run.snapshots if (row.subject, row.metric) == ("vault", "share_price")]
    assert len(prices) == 25
    assert prices == sorted(prices)  # exit fees stay in the vault
    assert prices[0] == 10**18 < prices[-1]

    page = run_page(run.store, run.run_id)
    section = next((each for each in page.sections if each.title == "Your contracts"), None)
    drawn = [page.hero, *(section.blocks if section else ())]
    titles = {each.title.split()[0] for each in drawn if isinstance(each, Chart)}
    assert {f"{row.subject}.{row.metric}" for row in run.snapshots if row.subject in ("vault", "gold")} <= titles
    assert page.hero is not None
    assert page.hero.title in page.verdict.sentence


@pytest.mark.slow(3)
def test_the_text_needs_neither_files_nor_compilers(
    unchanged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = load_scenario(unchanged / "vault.yaml").text
    monkeypatch.setattr("mayavi.compilers.solidity.find_node", lambda: None)
    again = load_text(text, folder=tmp_path)
    fork = Fork.replica("ethereum")
    set_up(again.config, fork)
    assert fork.contract("vault").asset() == fork.address_of("gold")


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file": "Nope.sol"}, "there is no file"),
        ({"figures": {"a": "nothing"}}, "unknown function of vault 'nothing'"),
        ({"figures": {"a": "balanceOf"}}, "'balanceOf(address)' is not a figure"),
        ({"constructor": ["gold"]}, "takes 2 arguments, got 1"),
        ({"constructor": {"asset_": "silver", "exitFeeBps_": 1}}, "unknown address or contract 'silver'"),
        ({"contract": "Bank"}, "unknown contract 'Bank'"),
        ({"data": "{}"}, "`data` is not a compiled contract"),
        ({"sender": "nobody"}, "unknown address or contract 'nobody'"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_contracts_are_refused_with_the_reason(unchanged: Path, change: dict[str, object], message: str) -> None:
    document = yaml.safe_load((unchanged / "vault.yaml").read_text())
    document["contracts"]["vault"] |= change
    path = unchanged / "changed.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    with pytest.raises(UsageError) as caught:
        set_up(load_scenario(path).config, Fork.replica("ethereum"))
    assert message in str(caught.value)


@pytest.mark.slow(1)
def test_a_compile_error_names_the_place_in_the_scenario_and_in_the_source(folder: Path) -> None:
    (folder / "Vault.sol").write_text("pragma solidity ^0.8.0;\ncontract Vault { uint256 x = y; }\n")
    with pytest.raises(CompileError) as caught:
        load_scenario(folder / "vault.yaml")
    assert re.search(r"vault\.yaml:\d+:\d+: ", caught.value.message)
    assert "Vault.sol:2:30: DeclarationError" in caught.value.message
