"""`mayavi backtest`: portfolios from the command line, and what it says when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from mayavi.rl.evaluation.verdict import Word

FEW = ("--episodes", "24", "--set", "horizon=48")
HOURS = 1_600


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mayavi.numerics.streams import stream
    from mayavi.portfolio.market.history import write_rwa
    from mayavi.portfolio.market.model import RWAModel

    file = tmp_path_factory.mktemp("past") / "past.csv"
    write_rwa(RWAModel().draw([stream(5, "past")], HOURS), file, begin="2024-01-01T00:00:00Z")
    return file


@pytest.mark.slow(0.3)
def test_rules_alone_are_told_compared_and_drawn(run_mayavi, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run_mayavi("backtest", "rwa", *FEW, "--html", str(page))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "rwa · test split · 24 drawn markets of 48 hours · 10 bps and gas"
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    for name in ("equal_weight", "usdy_only", "buy_and_hold", "risk_parity", "volatility_targeting", "hindsight"):
        assert name in names
    assert "log growth, 95 %" in done.stdout
    assert lines[-1] == f"drawn in {page}"
    text = page.read_text(encoding="utf-8")
    assert "mayavi backtest rwa --set horizon=48 --simulated --episodes 24 --split test --seed 0" in text


def test_one_rule_is_compared_with_nobody(run_mayavi) -> None:
    done = run_mayavi("backtest", "rwa", "--episodes", "1", "--set", "horizon=48", "--against", "buy_and_hold")
    assert done.returncode == 0, done.stderr
    assert "1 drawn market of 48 hours" in done.stdout
    assert done.stdout.splitlines()[-1].split()[0] == "hindsight"


@pytest.mark.slow(0.3)
def test_a_verdict_that_claims_nothing_says_why(run_mayavi) -> None:
    few = ("--episodes", "3", "--set", "horizon=24", "--against", "buy_and_hold,usdy_only")
    done = run_mayavi("backtest", "rwa", *few)
    assert done.stdout.splitlines()[-1].startswith("saturated: 3 episodes are too few: a claim needs 20")
    assert "saturated" not in run_mayavi("backtest", "rwa", *few, "--min-distinct", "2").stdout


@pytest.mark.slow
def test_the_command_in_the_document_makes_it_again(run_mayavi) -> None:
    import shlex

    more = ("--against", "momentum,random", "--seed", "3", "--min-distinct", "10")
    first = run_mayavi("backtest", "rwa", *FEW, *more, "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert (document["schema"], document["version"]) == ("mayavi-backtest", 2)
    assert list(document["strategies"]) == ["momentum", "random"]
    again = run_mayavi(*shlex.split(document["command"])[1:], "--json", "--threads", "1")
    assert again.stdout == first.stdout


@pytest.mark.slow
def test_a_real_market_from_one_file_and_from_columns(run_mayavi, past: Path) -> None:
    done = run_mayavi("backtest", "rwa", "--data", str(past), "--set", "horizon=48", "--against", "usdy_only,meth_only")
    assert done.returncode == 0, done.stderr
    assert f"rwa · test split · {past} · 2024-02-" in done.stdout
    assert " windows of 48 hours" in done.stdout
    columns = [f"{name}={past}:{name}" for name in ("eth_price", "btc_price", "fed_rate")]
    told = [part for column in columns for part in ("--data", column)]
    parts = run_mayavi("backtest", "rwa", *told, "--set", "horizon=48", "--against", "usdy_only,meth_only")
    assert parts.returncode == 0, parts.stderr
    assert "filled by a rule, for want of data: usdy_apy, meth_apy" in parts.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (("aave",), 2, "unknown portfolio 'aave'", "`mayavi eval` the others"),
        (
            ("rwa", "--policy", "nobody", "--models", "."),
            2,
            "unknown training run 'nobody'",
            "`mayavi train` makes one",
        ),
        (("rwa", "--episodes", "0"), 2, "a backtest cannot play 0 episodes", "from 1 to"),
        (("rwa", "--min-distinct", "1"), 2, "a minimum of 1 distinct trajectories is too low", "at least 2"),
        (("rwa", "--against", "momentun", "--episodes", "2"), 2, "unknown strategy 'momentun'", "mean 'momentum'?"),
        (("rwa", "--split", "tst"), 2, "unknown split 'tst'", "did you mean 'test'?"),
        (("rwa", "--set", "horizn=3"), 2, "has no setting 'horizn'", "did you mean 'horizon'?"),
        (("rwa", "--simulated", "--data", "x.csv"), 2, "exclude each other", "give --data or --simulated"),
        (
            ("rwa", "--data", "x.csv", "--episodes", "3"),
            2,
            "--episodes has no effect with --data",
            "leave --episodes out",
        ),
        (("rwa", "--begin", "2024-01-01"), 2, "drawn paths have no dates", "a part of --data"),
        (("rwa", "--data", "a.csv", "--data", "b.csv"), 2, "'a.csv' is one of several --data", "eth_price=FILE:COLUMN"),
        (("rwa", "--data", "eth_price=a.csv:close"), 2, "no file is named for the column 'btc_price'", "required are"),
        (("rwa", "--data", "eth_prise=a.csv:close"), 2, "unknown column 'eth_prise'", "did you mean 'eth_price'"),
        (("rwa", "--html", "nowhere/page.html"), 2, "there is no folder", "create it"),
        (("rwa", "--set", "horizon"), 2, "'--set horizon' does not set anything", "`--set KEY=VALUE`"),
        (("rwa", "--set", "split=train"), 2, "does not choose the split", "`--split train`"),
        (("rwa", "--set", "begin=2024-01-01"), 2, "error: begin and end choose a part of a file", ""),
        (("rwa", "--simulated", "--seed", "-1"), 2, "seed -1 is out of range", "a seed is from 0 to 2**63 - 1"),
        (("rwa", "--threads", "0"), 2, "0 threads do nothing", "at least one"),
    ],
)
def test_misuse_is_told_with_what_to_do(run_mayavi, tmp_path: Path, arguments, code, message, hint) -> None:
    done = run_mayavi("backtest", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert hint in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_files_that_are_no_market_are_told_with_the_place(run_mayavi, tmp_path: Path, past: Path) -> None:
    lines = past.read_text().splitlines()
    wrong = tmp_path / "wrong.csv"

    def told(text: list[str], *more: str) -> str:
        wrong.write_text("\n".join(text) + "\n")
        done = run_mayavi("backtest", "rwa", "--data", str(wrong), "--set", "horizon=48", *more)
        assert done.returncode in {1, 2}, done.stdout
        assert "Traceback" not in done.stderr
        return str(done.stderr)

    def changed(cell: str) -> list[str]:
        return [*lines[:40], ",".join([*cells[:eth], cell, *cells[eth + 1 :]]), *lines[41:]]

    eth, cells = lines[0].split(",").index("eth_price"), lines[40].split(",")
    assert "no column 'fed_rate'" in told([line.replace("fed_rate", "fedrate") for line in lines])
    assert "an episode needs" in told(lines[:200])
    assert "line 41: the price '-5.0' is not above zero in column 'eth_price'" in told(changed("-5.0"))
    assert "line 41: the price is 'nan' in column 'eth_price'" in told(changed("nan"))
    assert "line 42: 2024-01-02 15:00:00 UTC comes after 2024-01-02 16:00:00 UTC in line 41" in told(
        [*lines[:40], lines[41], lines[40], *lines[42:]]
    )
    assert "line 42: 2024-01-02 15:00:00 UTC is the time of line 41 too" in told([*lines[:41], lines[40], *lines[41:]])


@pytest.mark.slow
def test_a_policy_is_played_and_one_of_other_observations_refused(run_mayavi, tmp_path: Path) -> None:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    told = {"env": "rwa", "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 16, "minibatch_size": 32,
            "epochs": 1, "network": [8], "evaluate_episodes": 4, "env_config": {"horizon": 24}}  # fmt: skip
    run = train(TrainConfig.of(told), models=tmp_path, run_id="small").path
    asked = ("backtest", "rwa", "--models", str(tmp_path), "--simulated", "--episodes", "24", "--json")
    done = run_mayavi(*asked, "--policy", "small:best", "--against", "equal_weight,momentum")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["subjects"] == ["ppo"]
    assert [(each["strategy"], each["against"]) for each in document["comparisons"][::2]] == [
        ("ppo", "equal_weight"),
        ("ppo", "momentum"),
    ]
    assert {each["verdict"] for each in document["comparisons"]} <= set(get_args(Word))
    seen = run_mayavi(*asked, "--policy", "small", "--split", "train")
    assert seen.returncode == 2
    assert "was trained on the train split, which is to be played" in seen.stderr
    record = json.loads((run / "run.json").read_text())
    record["observation_space"]["shape"] = [18]
    (run / "run.json").write_text(json.dumps(record))
    other = run_mayavi(*asked, "--policy", "small")
    assert other.returncode in {1, 2}, other.stderr
    assert "trained on another observation space: it observes 18 numbers" in json.loads(other.stdout)["error"]


@pytest.mark.slow(0.3)
def test_without_the_extra_it_says_which_one() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; from mayavi.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "backtest", "rwa", "--json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["error"] == "environments need gymnasium, which is not installed"
    assert "mayavi-sim[rl]" in told["hint"]
