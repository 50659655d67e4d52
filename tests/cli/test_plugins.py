"""Plugins of installed packages in the commands: listed, used, and broken ones that harm nothing."""

from __future__ import annotations

import json

import pytest

from mayavi.cli.remote import submission
from mayavi.errors import BadScenario
from mayavi.runs.bundle import read_bundle, write_bundle
from tests.own_code import SAVER, SCENARIO, VAULT, WALK, OwnCode

GROUPS = {
    "mayavi.agents": "saver = savings.saver:Saver\nborrower = savings.saver:Saver\ngone = savings.gone:X",
    "mayavi.scenarios": "saving = savings\ndepeg_cascade = savings",
    "mayavi.protocols": "vault = savings.vault:Vault",
    "mayavi.environments": "walk = savings.walk:WalkRows\nbroken = savings.broken:Rows",
}
FILES = {
    "savings/__init__.py": "",
    "savings/saver.py": SAVER,
    "savings/vault.py": VAULT,
    "savings/walk.py": WALK,
    "savings/broken.py": "import os\n\nraise RuntimeError('no licence')\n",
    "savings/saving.yaml": "title: people save\n" + SCENARIO.replace("saver:Saver", "saver"),
}
GONE = "the agent kind 'gone' of 'savings.gone:X' cannot be loaded: ModuleNotFoundError: No module named 'savings.gone'"
BROKEN = "'broken' of 'savings.broken:Rows' cannot be loaded: RuntimeError: no licence (broken.py:3)"


@pytest.fixture
def installed(own_code: OwnCode) -> OwnCode:
    own_code.install("savings", GROUPS, FILES)
    return own_code


@pytest.mark.slow(1)
def test_the_list_shows_them_and_why_one_cannot_be_used(start_mayavi, installed: OwnCode) -> None:
    finished = start_mayavi("scenarios", "list", "--json", env=installed.environment, cwd=installed.folder)
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    (saving,) = [each for each in document["scenarios"] if each.get("of")]
    assert saving == {
        "name": "saving", "title": "people save", "chains": ["ethereum"], "parked": False, "of": "savings 1.0"
    }  # fmt: skip
    found = {(each["group"], each["name"]): each for each in document["plugins"]}
    assert len(found) == 8
    good = {name for (_, name), each in found.items() if each["status"] == "ok"}
    assert good == {"saver", "saving", "vault", "walk"}
    assert found["mayavi.agents", "gone"]["error"].startswith(GONE)
    assert BROKEN in found["mayavi.environments", "broken"]["error"]
    assert found["mayavi.agents", "borrower"]["error"].startswith("'borrower' is the name of a built-in agent kind")
    plain = start_mayavi("scenarios", "list", env=installed.environment, cwd=installed.folder)
    assert plain.returncode == 0
    assert "Traceback" not in plain.stdout + plain.stderr
    assert "people save (savings 1.0)" in plain.stdout
    assert "broken: " in plain.stdout


@pytest.mark.slow(1)
def test_the_doctor_shows_them_and_a_broken_one_is_unhealthy(start_mayavi, installed: OwnCode) -> None:
    finished = start_mayavi("doctor", "--json", env=installed.environment, cwd=installed.folder)
    assert finished.returncode == 1
    found = {each["name"]: each for each in json.loads(finished.stdout)["findings"]}
    assert found["agent kind saver"] == {
        "name": "agent kind saver", "status": "ok", "detail": "savings.saver:Saver of savings 1.0", "mend": ""
    }  # fmt: skip
    assert found["agent kind gone"]["status"] == "broken"
    assert GONE in found["agent kind gone"]["detail"]
    assert found["agent kind gone"]["mend"] == "repair or remove savings 1.0"
    assert found["environment walk"]["status"] == found["protocol vault"]["status"] == "ok"


@pytest.mark.slow(1)
def test_a_scenario_of_a_package_runs_by_name_beside_broken_ones(start_mayavi, installed: OwnCode) -> None:
    place = ("--store", str(installed.folder / "runs.duckdb"), "--json")
    finished = start_mayavi("run", "saving", *place, env=installed.environment, cwd=installed.folder)
    assert finished.returncode == 0, finished.stderr
    shown = start_mayavi("runs", "show", "latest", *place, cwd=installed.folder)  # without the package
    versions = json.loads(shown.stdout)["versions"]
    assert versions["agent saver"].startswith("savings.saver of savings 1.0, sha256 ")
    used = start_mayavi("run", "saving", "--set", "agents.savers.kind=gone", env=installed.environment)
    assert used.returncode == 1
    assert GONE in used.stderr
    assert "Traceback" not in used.stderr


@pytest.mark.slow(1)
def test_a_bundle_runs_code_that_it_names_only_if_that_is_allowed(run_mayavi, own_code: OwnCode) -> None:
    ran = own_code.folder / "ran"
    own_code.write(saver=SAVER)
    own_code.scenario()
    place = ("--store", str(own_code.folder / "runs.duckdb"))
    assert run_mayavi("run", "saving.yaml", *place, cwd=own_code.folder).returncode == 0
    written = run_mayavi("artifact", "latest", "--output", "b.zip", "--no-report", *place, cwd=own_code.folder)
    assert written.returncode == 0, written.stderr
    changed = f"open({str(ran)!r}, 'w').close()\n{SAVER}"
    own_code.write(saver=changed)  # as code of a stranger
    refused = run_mayavi("artifact", "verify", "b.zip", cwd=own_code.folder)
    assert refused.returncode == 2
    assert "agents.savers names the import path 'saver:Saver', and import paths are not allowed here" in refused.stderr
    assert "--allow-import-paths" in refused.stderr
    assert not ran.exists()
    option = "--allow-import-paths"
    forbidden = run_mayavi(
        "artifact", "verify", "b.zip", option, cwd=own_code.folder, env={"MAYAVI_ALLOW_IMPORT_PATHS": "0"}
    )
    assert forbidden.returncode == 2
    assert not ran.exists()
    allowed = run_mayavi("artifact", "verify", "b.zip", option, cwd=own_code.folder)
    assert allowed.returncode == 0, allowed.stderr
    assert ran.exists()
    assert "agent saver:Saver was saver, sha256 " in allowed.stdout + allowed.stderr


@pytest.mark.slow(5)
def test_an_environment_of_a_package_is_trained_evaluated_bundled_and_verified(run_mayavi, installed: OwnCode) -> None:
    models = ("--models", str(installed.folder / "models"))

    def done(*arguments: str, code: int = 0) -> str:
        finished = run_mayavi(*arguments, env=installed.environment, cwd=installed.folder)
        assert finished.returncode == code, finished.stderr
        return finished.stdout + finished.stderr

    small = ("--timesteps", "256", "--set", "num_envs=8", "--set", "rollout_steps=8", "--set", "minibatch_size=32")
    done("train", "--env", "walk", "--framework", "sb3", *small, *models)
    assert "ppo against noop" in done("eval", "latest", "--episodes", "8", *models)
    done("artifact", "latest", "--output", "t.zip", "--no-report", *models)
    bundle = read_bundle(installed.folder / "t.zip")
    record = json.loads(bundle.text("run.json"))
    assert record["env"] == "walk"
    assert record["versions"]["environment walk"].startswith("savings.walk of savings 1.0, sha256 ")
    assert "verified" in done("artifact", "verify", "t.zip")

    # A stranger's bundle that names code beside the name of a built-in environment in its manifest.
    installed.write(trap=f"open({str(installed.folder / 'ran')!r}, 'w')\n{WALK}")
    record |= {"env": "trap:WalkRows", "config": record["config"] | {"env": "trap:WalkRows"}}
    files = {**bundle.files, "run.json": json.dumps(record).encode()}
    write_bundle(installed.folder / "trap.zip", bundle.kind, bundle.facts, files)
    said = done("artifact", "verify", "trap.zip", code=2)
    assert "the import path 'trap:WalkRows' is not allowed here" in said
    assert "--allow-import-paths" in said
    assert not (installed.folder / "ran").exists()


def test_a_scenario_with_own_code_is_not_sent_to_a_service(own_code: OwnCode) -> None:
    own_code.write(saver=SAVER)
    with pytest.raises(BadScenario, match="import paths are not allowed here"):
        submission(str(own_code.scenario()), None, None, [])
