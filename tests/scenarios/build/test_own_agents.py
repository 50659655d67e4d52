"""Agents of one's own in scenarios: named by an import path, checked by their own model, built like any other kind."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import mayavi
from mayavi.errors import BadScenario
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.assumptions.found import find_assumptions
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.scenarios.schema import json_schema
from mayavi.settings.document import Document
from tests.own_code import SAVER, SCENARIO, OwnCode
from tests.scenarios.play import _world
from tests.scenarios.refusals import assert_refused


def agents_of(path: Path, *overrides: str, seed: int = 7) -> list:
    config = load_scenario(path, overrides=overrides).config
    return list(build(config, _world("ethereum").copy(), seed).world.agents)


@pytest.fixture
def saving(own_code: OwnCode) -> Path:
    own_code.write(saver=SAVER)
    return own_code.scenario()


def test_members_are_numbered_have_their_fee_and_draw_from_streams_of_their_own(saving: Path) -> None:
    three = agents_of(saving)
    assert [agent.name for agent in three] == ["savers-0", "savers-1", "savers-2"]
    assert {agent.priority_fee_wei for agent in three} == {3 * 10**9}
    assert {agent.asset for agent in three} == {"USDC"}
    amounts = [agent.amount for agent in three]
    assert len(set(amounts)) == 3
    assert all(1 <= each <= 1_000 for each in amounts)
    assert [agent.amount for agent in agents_of(saving)] == amounts
    assert [agent.amount for agent in agents_of(saving, "agents.savers.count=5")][:3] == amounts
    assert [agent.amount for agent in agents_of(saving, seed=8)] != amounts
    assert [agent.name for agent in agents_of(saving, "agents.savers.count=1")] == ["savers"]
    assert {agent.amount for agent in agents_of(saving, "agents.savers.amount=12.5")} == {12.5}


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("count: 3", "cuont: 3", "saving.yaml:5:31: unknown key 'cuont' in agents.savers", "did you mean 'count'?"),
        ("count: 3", "count: 0", "saving.yaml:5:38: agents.savers.count is '0', and must be at least 1", ""),
        ("[1, 1_000]", "[9, 1]", "saving.yaml:5:59: agents.savers.amount.uniform goes from 9 down to 1", ""),
        ("3 gwei", "soon", "saving.yaml:5:86: agents.savers.priority_fee is 'soon'", ""),
        ("saver:Saver", "savr:Saver", "saving.yaml:5:18: agents.savers: there is no module 'savr'", "'saver'?"),
        ("saver:Saver", "saver:Savr", "saver.py) has no 'Savr'", "did you mean 'Saver'?"),
        ("saver:Saver", "saver:Symbol", "agents.savers: 'saver:Symbol' is a ", "subclass mayavi.agents.Agent"),
        ("saver:Saver", "pathlib:Path", "'pathlib:Path' is the class Path, not a subclass of Agent", "subclass"),
        ("saver:Saver", "saver:Agent", "'saver:Agent' does not implement step", "write-an-agent.md"),
        ("saver:Saver", "saver", "unknown kind 'saver' of agents.savers", ""),
        ("saver:Saver", "'saver:'", "'saver:' is not a valid import path", "package.module:Name"),
    ],
)
def test_bad_input_is_refused_where_it_stands(
    own_code: OwnCode, saving: Path, old: str, new: str, message: str, hint: str
) -> None:
    own_code.scenario(SCENARIO.replace(old, new))
    assert_refused(saving, message, hint=hint, error=BadScenario)


def test_a_module_that_raises_gives_one_line_with_file_and_place(own_code: OwnCode, saving: Path) -> None:
    own_code.write(saver=SAVER + "\n\nboom()\n")
    with pytest.raises(BadScenario) as refused:
        load_scenario(saving)
    line = len(SAVER.splitlines()) + 3
    assert refused.value.message == (
        f"{saving}:5:18: agents.savers: 'saver' cannot be imported: "
        f"NameError: name 'boom' is not defined (saver.py:{line})"
    )


def test_an_override_that_names_code_is_named_in_the_error(saving: Path) -> None:
    with pytest.raises(BadScenario, match=r"--set agents.savers.kind=savr:X: agents.savers: there is no module 'savr'"):
        load_scenario(saving, overrides=["agents.savers.kind=savr:X"])


def test_settings_that_are_no_model_of_ours_are_refused(own_code: OwnCode, saving: Path) -> None:
    own_code.write(saver=SAVER.replace("class Settings(OwnAgentSettings)", "class Settings"))
    with pytest.raises(BadScenario, match=r"the settings of 'saver:Saver' are not OwnAgentSettings"):
        load_scenario(saving)


def test_a_constructor_that_does_not_take_the_settings_says_so(own_code: OwnCode, saving: Path) -> None:
    own_code.write(saver=SAVER.replace("self, name, *, asset, amount", "self, name, *, asset, amuont"))
    with pytest.raises(BadScenario) as refused:
        agents_of(saving)
    assert "agents.savers: Saver cannot be made: TypeError: Saver.__init__() got an unexpected" in refused.value.message
    assert refused.value.hint == "its constructor is given the name, and as keywords: asset, amount"


def test_a_class_may_build_its_members_itself(own_code: OwnCode, saving: Path) -> None:
    build_one = """
    @classmethod
    def build(cls, agents, name, settings):
        agents.use_pool("WETH/USDC.500")
        return [cls(f"{name}-all", asset=settings.asset, amount=float(settings.count))]
"""
    own_code.write(saver=SAVER + build_one)
    (only,) = agents_of(saving)
    assert (only.name, only.amount) == ("savers-all", 3.0)
    for wrong, message in (("return [3]", "Saver.build gives a int, not an agent"), ("1 / 0", "ZeroDivisionError: ")):
        own_code.forget()
        own_code.write(saver=SAVER + build_one.replace("agents.use_pool", f"{wrong}; agents.use_pool"))
        with pytest.raises(BadScenario, match=rf"agents\.savers: .*{message}"):
            agents_of(saving)


def test_a_class_without_settings_takes_its_name_alone(own_code: OwnCode, saving: Path) -> None:
    own_code.write(saver="from mayavi.agents import Agent\n\nclass Saver(Agent):\n    def step(self, world, at): ...\n")
    own_code.scenario(SCENARIO.replace("amount: {uniform: [1, 1_000]}, ", ""))
    assert [agent.name for agent in agents_of(saving)] == ["savers-0", "savers-1", "savers-2"]
    own_code.scenario(SCENARIO)
    with pytest.raises(BadScenario, match=r"unknown key 'amount' in agents\.savers"):
        load_scenario(saving)


@pytest.mark.parametrize("how", ["argument", "variable", "both"])
def test_where_import_paths_are_forbidden_nothing_is_imported(
    own_code: OwnCode, saving: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    own_code.write(saver=f"import pathlib\npathlib.Path({str(own_code.folder / 'ran')!r}).touch()\n{SAVER}")
    if how != "argument":
        monkeypatch.setenv("MAYAVI_ALLOW_IMPORT_PATHS", "0")
    allowed = {"argument": False, "variable": None, "both": True}[how]
    monkeypatch.chdir(own_code.folder)
    for load in (
        lambda: load_scenario(saving, import_paths=allowed),
        lambda: load_text(SCENARIO, import_paths=allowed),
    ):
        with pytest.raises(BadScenario) as refused:
            load()
        assert "agents.savers names the import path 'saver:Saver', and import paths are not allowed here" in str(
            refused.value.message
        )
        assert ":5:18: " in refused.value.message
        assert refused.value.hint
    with pytest.raises(ValueError, match="saver:Saver"):  # the models alone never import
        ScenarioConfig.model_validate(Document.parse(f"name: x\n{SCENARIO}", "x").data)
    assert not (own_code.folder / "ran").exists()


def test_a_text_finds_code_in_the_current_folder(own_code: OwnCode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own_code.write(saver=SAVER))
    assert load_text(SCENARIO, name="saving").config.agents["savers"].count == 3


def test_an_option_finds_code_in_the_current_folder_and_beside_the_file(
    own_code: OwnCode, saving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_code.write(here__in__keeper=SAVER.replace("Saver", "Keeper"), other=SAVER.replace("Saver", "Other"))
    monkeypatch.chdir(own_code.folder / "here")
    load_scenario(saving, overrides=["agents.savers.kind=keeper:Keeper"])
    load_scenario(saving, overrides=["agents.savers.kind=other:Other"])
    load_scenario("depeg_cascade", overrides=["agents.keepers={kind: 'keeper:Keeper', count: 2}"])
    own_code.scenario(SCENARIO.replace("saver:Saver", "keeper:Keeper"))
    own_code.forget()
    with pytest.raises(BadScenario, match="there is no module 'keeper'"):
        load_scenario(saving)  # the file itself names what lies beside it


def test_a_loaded_scenario_can_be_pickled_and_its_numbers_are_assumptions(saving: Path) -> None:
    scenario = load_scenario(saving)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    found = {each.path for each in find_assumptions(scenario.config, Document.parse(scenario.text, "x").data)}
    assert {"agents.savers.count", "agents.savers.amount"} <= found
    assert scenario.config.model_dump(mode="json")["agents"]["savers"]["asset"] == "USDC"


def test_a_run_records_where_the_code_came_from_and_built_in_kinds_record_nothing(
    own_code: OwnCode, saving: Path
) -> None:
    run = mayavi.run(saving, store=own_code.folder / "runs.duckdb")
    versions = run.store.run(run.run_id).versions
    (code,) = [value for name, value in versions.items() if name == "agent saver:Saver"]
    assert code.startswith("saver, sha256 ")
    assert len(code) == len("saver, sha256 ") + 64
    saved = sorted(json.loads(row.details)["saved"] for row in run.actions)
    assert len(saved) == 6
    again = mayavi.run(saving, store=own_code.folder / "runs.duckdb")
    assert (again.digest, again.store.run(again.run_id).versions) == (run.digest, versions)
    assert plugin_versions(load_scenario("depeg_cascade").config) == {}


def test_other_code_of_an_agent_is_another_sweep_and_the_same_code_continues_it(
    own_code: OwnCode, saving: Path
) -> None:
    def swept(folder: str, code: str) -> tuple[str, int]:
        other = OwnCode(own_code.folder / folder)
        other.folder.mkdir()
        other.write(saver=code)
        found = mayavi.sweep(other.scenario(), seeds=[0], jobs=1, store=own_code.folder / "runs.duckdb")
        own_code.forget()
        return found.sweep_id, found.resumed

    first = swept("a", SAVER)
    assert swept("b", SAVER) == (first[0], 1)
    other = swept("c", SAVER + "# changed\n")
    assert other == (other[0], 0)
    assert other[0] != first[0]


def test_worker_processes_import_the_code_too(own_code: OwnCode, saving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_code.folder / "elsewhere").mkdir()
    monkeypatch.chdir(own_code.folder / "elsewhere")
    two = mayavi.sweep(saving, seeds="0:2", jobs=2, store=own_code.folder / "two.duckdb")
    one = mayavi.sweep(saving, seeds="0:2", jobs=1, store=own_code.folder / "one.duckdb")
    assert [run.digest for run in two.runs] == [run.digest for run in one.runs]
    versions = [two.runs[0].store.run(run.run_id).versions for run in two.runs]
    assert versions[0] == versions[1] == one.runs[0].store.run(one.runs[0].run_id).versions


def test_an_editor_accepts_code_of_ones_own_and_the_service_offers_none() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the validator comes with the cluster packages")
    import yaml

    document = yaml.safe_load(SCENARIO) | {"protocols": {"vault": {"kind": "vault:Vault", "ether": 3}}}
    errors = jsonschema.Draft202012Validator(json_schema()).iter_errors
    assert list(errors(document)) == []
    assert list(errors(document | {"agents": {"savers": {"kind": "saver"}}}))
    assert list(errors(document | {"protocols": {"vault": {"ether": 3}}}))
    offered = json_schema(own_code=False)
    assert "protocols" not in offered["properties"]
    assert list(jsonschema.Draft202012Validator(offered).iter_errors(yaml.safe_load(SCENARIO)))
