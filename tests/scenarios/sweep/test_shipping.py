"""Scenarios on nodes of a cluster: the code of their own agents travels with them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.errors import WorkerError
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.scenarios.sweep.shipping import ship, unpack
from tests.own_code import SAVER, OwnCode

NODE = """
import pickle, sys
from mayavi.errors import MayaviError
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.scenarios.sweep.shipping import unpack

try:
    (scenario,) = unpack(pickle.load(open(sys.argv[1], "rb")))
    print(scenario.config.agents["savers"].count, sorted(plugin_versions(scenario.config).items()))
except MayaviError as error:
    print(error.message)
"""


def on_a_node(parcel: Path, folder: Path) -> str:
    """What a process prints that has neither our path nor our folder."""
    finished = subprocess.run(
        [sys.executable, "-c", NODE, str(parcel)], cwd=folder, capture_output=True, text=True, timeout=600, check=True
    )
    return finished.stdout.strip()


@pytest.mark.slow(1)
def test_a_node_imports_the_code_that_it_was_sent_and_refuses_other_code(own_code: OwnCode) -> None:
    own_code.write(saver="import helper\n" + SAVER, helper="X = 1\n", unused="")
    scenario = load_scenario(own_code.scenario())
    shipped = ship([scenario])
    assert sorted(shipped.files) == ["helper.py", "saver.py"]
    parcel, node = own_code.folder / "parcel", own_code.folder / "node"
    node.mkdir()
    parcel.write_bytes(pickle.dumps(shipped))
    assert on_a_node(parcel, node) == f"3 {sorted(plugin_versions(scenario.config).items())}"
    OwnCode(node).write(saver=SAVER)  # found first, since `python -c` looks into its folder
    assert "a node of the cluster has other code: agent saver:Saver is saver, sha256" in on_a_node(parcel, node)


@pytest.mark.slow(0.4)
def test_a_package_is_not_sent_and_a_node_without_it_says_so(own_code: OwnCode) -> None:
    own_code.install("savings", {"mayavi.agents": "saver = saver:Saver"}, {"saver.py": SAVER})
    text = "chain: ethereum\nsteps: 2\nstep_time: 1h\nagents:\n  savers: {kind: saver, count: 3}\n"
    shipped = ship([load_scenario(own_code.scenario(text))])
    assert shipped.files == {}
    assert shipped.versions["agent saver"].startswith("saver of savings 1.0, sha256 ")
    (own_code.folder / "parcel").write_bytes(pickle.dumps(shipped))
    said = on_a_node(own_code.folder / "parcel", own_code.folder)
    assert said.startswith(
        "a node of the cluster lacks the code of an agent or protocol: ModuleNotFoundError: No module"
    )


def test_built_in_scenarios_travel_without_code() -> None:
    scenario = load_scenario("aave_borrower")
    shipped = ship([scenario])
    assert (shipped.files, shipped.versions) == ({}, {})
    assert unpack(shipped) == (scenario,)


def test_a_version_that_differs_is_refused(own_code: OwnCode) -> None:
    own_code.write(saver=SAVER)
    shipped = ship([load_scenario(own_code.scenario())])
    shipped.versions["agent saver:Saver"] = "saver, sha256 other"
    with pytest.raises(WorkerError, match="a node of the cluster has other code"):
        unpack(shipped)
