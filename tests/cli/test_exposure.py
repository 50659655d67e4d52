"""`mayavi exposure`: tables, JSON, and mistakes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from tests.evm.native.devices import needs_device
from tests.interruption import heed_interruptions

SMALL = ("exposure", "depeg_cascade", "--steps", "4", "--seeds", "0:3", "--set", "agents.borrowers.count=8")


def test_tables_of_the_worst_moments_and_of_the_course(run_mayavi) -> None:
    finished = run_mayavi(*SMALL)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert re.fullmatch(
        r"depeg_cascade · ethereum · 8 accounts with \$[\d,]+ of debt on 3 paths of 4 steps, nobody acts", lines[0]
    )
    assert [line.split("  ")[0] for line in lines[3:6]] == ["liquidatable accounts", "liquidatable debt", "bad debt"]
    assert [line.split()[:3] for line in lines[8:12]] == [[str(at), str(at), "h" if at else "s"] for at in range(4)]
    assert lines[13].startswith("worst path: seed ")
    assert lines[14].startswith("96 valuations in ")
    assert lines[15].startswith("digest ")


def test_a_path_without_risk_is_no_worst_one(run_mayavi) -> None:
    calm = run_mayavi(*SMALL, "--set", "prices.WETH={process: gbm, volatility: 1%}", "--seeds", "3")
    assert "\nno account can be liquidated on any path\n" in calm.stdout
    assert " on 1 path of 4 steps" in calm.stdout


def test_json_has_the_digest_of_the_device(run_mayavi) -> None:
    here, emulated = (run_mayavi(*SMALL, "--json", "--device", device) for device in ("cpu", "emulated"))
    assert here.returncode == 0, here.stderr
    found, other = json.loads(here.stdout), json.loads(emulated.stdout)
    assert found["digest"] == other["digest"]
    assert (found["device"], other["device"]) == ("cpu", "emulated")
    assert (found["seeds"], found["paths"], found["accounts"], found["steps"]) == ("0:3", 3, 8, 4)
    assert (found["groups"][0]["name"], found["groups"][0]["market"]) == ("borrowers", "AaveV3")
    assert found["groups"][0]["figures"] == found["figures"]
    assert len(found["by_step"]["bad_debt"]) == 4
    assert found["worst"][0]["seed"] in (0, 1, 2)
    assert "nobody acts" in here.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("depeg_cascade", "--seeds", "5:1"), "it ends before it begins"),
        (("depeg_cascade", "--device", "gpu"), "did you mean 'cuda'?  there are: cpu, cuda, cuda:1, …, emulated"),
        (("depeg_casade",), "depeg_cascade"),
        (("vesting_cliff",), "no price processes"),
        (("morpho_depeg",), "neither Aave V3 nor SparkLend"),
    ],
)
def test_misuse_is_explained(run_mayavi, arguments: tuple[str, ...], said: str) -> None:
    finished = run_mayavi("exposure", *arguments)
    assert finished.returncode == 2, finished.stdout
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.slow(3)
def test_an_interruption_says_that_nothing_is_kept() -> None:
    command = [sys.executable, "-m", "mayavi", "exposure", "depeg_cascade", "--seeds", "0:50000"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interruptions
    )
    assert process.stdout
    assert "nobody acts" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"interrupted after \d+ paths?: nothing is kept", said)


@pytest.mark.gpu
@needs_device
def test_a_gpu_gives_the_digest_of_the_processor(run_mayavi) -> None:
    here, there = (json.loads(run_mayavi(*SMALL, "--json", "--device", device).stdout) for device in ("cpu", "cuda"))
    assert here["digest"] == there["digest"]
