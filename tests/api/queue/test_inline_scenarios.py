"""Submitted scenarios read no file, name no code, and stay within limits; each refusal says where and what to do."""

from __future__ import annotations

import builtins
import importlib.metadata
import json
from pathlib import Path

import pytest

import mayavi
from mayavi.api.errors import ApiError
from mayavi.api.models.runs import RunSubmission, Submission
from mayavi.api.models.sweeps import SweepSubmission
from mayavi.api.queue.scenarios.inline_scenarios import MOST_WORK, check_submission, check_sweep
from mayavi.api.queue.workers.execution import execute_task
from mayavi.api.queue.workers.task import Task
from mayavi.api.reading.results.result_task import ResultTask, build
from mayavi.errors import BadScenario
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.registry import LIBRARY, names
from tests.own_code import SAVER, OwnCode
from tests.own_code import SCENARIO as SAVING

HEAD = """chain: ethereum
steps: 4
step_blocks: 100
"""
AGENT = """agents:
  borrower: {kind: borrower, collateral: 1 WETH, debt: 1_700 USDC}
"""
GOOD = HEAD + AGENT


def refusal(**fields: object) -> ApiError:
    with pytest.raises(ApiError) as refused:
        check_submission(RunSubmission(**fields))
    assert refused.value.status == 422
    assert refused.value.problems
    return refused.value


ATTACKS = {
    "a file of prices": (
        GOOD + "prices:\n  WETH: {process: path, file: /etc/passwd}\n",
        (7, 25),
        "the service reads no files",
    ),
    "a file of positions": (GOOD + "positions: /etc/passwd\n", (6, 12), "the service reads no files"),
    "positions with a file": (GOOD + "positions: {file: ../secrets.csv}\n", (6, 13), "the service reads no files"),
    "a book of an agent": (
        HEAD + "agents:\n  book: {kind: positions, file: /etc/passwd}\n",
        (5, 27),
        "the service reads no files",
    ),
    "a launch record": (
        HEAD + "agents:\n  launch: {kind: launch, file: /dev/zero}\n",
        (5, 26),
        "the service reads no files",
    ),
    "a URL as file": (
        GOOD + "prices:\n  WETH: {process: path, file: 'http://169.254.169.254/'}\n",
        (7, 25),
        "the service reads no files",
    ),
    "a file for another chain": (
        GOOD + "chains:\n  base:\n    prices:\n      WETH: {process: path, file: /etc/passwd}\n  ethereum:\n",
        (9, 29),
        "the service reads no files",
    ),
    "a file that is a list": (
        GOOD + "prices:\n  WETH: {process: path, file: [/etc/passwd]}\n",
        (7, 25),
        "the service reads no files",
    ),
    "a file in a place nobody reads": (GOOD + "title: {file: /etc/passwd}\n", (6, 9), "the service reads no files"),
    "an import path": (
        HEAD + "agents:\n  evil: {kind: 'os:system', command: id}\n",
        (5, 16),
        "which the service does not run",
    ),
    "an import path of its own": (
        HEAD + "agents:\n  evil:\n    kind: my_agents:Evil\n",
        (6, 11),
        "which the service does not run",
    ),
    "a protocol of its own": (
        GOOD + "protocols:\n  evil: {kind: os:system}\n",
        (6, 1),
        "the service runs no protocols but Mayavi's own",
    ),
    "a protocol of an installed package": (
        GOOD + "protocols: {evil: {kind: vault}}\n",
        (6, 1),
        "the service runs no protocols but Mayavi's own",
    ),
    "a dotted path": (
        HEAD + "agents:\n  evil: {kind: subprocess.Popen}\n",
        (5, 16),
        "which the service does not run",
    ),
    "a kind of an installed package": (
        HEAD + "agents:\n  evil: {kind: whale}\n",
        (5, 16),
        "which the service does not run",
    ),
    "a snapshot as world": (GOOD + "source: snapshot:/etc/passwd\n", (6, 9), "is not open to the service"),
    "a node as world": (GOOD + "source: rpc\n", (6, 9), "the source 'rpc' is not open to the service"),
    "a source that is a list": (GOOD + "source: [snapshot]\n", (6, 9), "is not open to the service"),
    "a source of its chain": (
        GOOD + "chains:\n  ethereum:\n    source: snapshot:/etc/passwd\n",
        (8, 13),
        "is not open to the service",
    ),
    "a Python tag": (
        HEAD + "agents: !!python/object/apply:os.system [id]\n",
        (4, 9),
        "the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not allowed",
    ),
    "a tag of its own": (GOOD + "title: !evil x\n", (6, 8), "the tag '!evil' is not allowed"),
    "aliases": (
        HEAD + "agents: &a\n  x: &b {kind: borrower}\n  y: *b\n",
        (6, 6),
        "the alias '*b' is not allowed",
    ),
    "an alias bomb": (
        "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        (2, 8),
        "the alias '*a' is not allowed",
    ),
    "an anchor that holds itself": ("a: &a [*a]\n", (1, 8), "the alias '*a' is not allowed"),
    "deep nesting": ("a: " + "[" * 5000 + "\n", (1, 27), "nested more than 24 levels deep"),
    "a huge number": (HEAD.replace("4", "9" * 5000) + AGENT, (2, 8), "is too large to be meant"),
    "a huge exponent": (GOOD + "pool_depth: 1e999999999\n", (6, 13), "is too large to be meant"),
    "too many steps": (
        HEAD.replace("4", "9_999_999") + AGENT.replace("debt", "count: 90_000, debt"),
        None,
        "more work",
    ),
    "duplicate keys": (GOOD + "steps: 9\n", (6, 1), "the key 'steps' is given twice"),
    "two documents": (GOOD + "---\n" + GOOD, (6, 1), "not YAML"),
    "no mapping": ("- 1\n", (1, 1), "a scenario is a mapping"),
    "nothing": ("", None, "is empty"),
    "a broken line": (HEAD + "agents: {x: [\n", (5, 1), "not YAML"),
    "control characters": (HEAD + "title: \x00\x01\n", None, "not YAML"),
    "a wrong value": (HEAD.replace("4", "many") + AGENT, (2, 8), "steps is 'many', not a whole number"),
    "an unknown key": (GOOD + "stepz: 4\n", (6, 1), "unknown key 'stepz'"),
    "many values": ("a: [" + "1, " * 6000 + "]\n", (1, 14_996), "more than 5,000 values"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_inline_scenario_with_what_it_may_not_have_is_refused_where_it_stands(
    attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, place, message = ATTACKS[attack]
    check_submission(RunSubmission(yaml=GOOD))  # imports what it needs

    def opened(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a file was opened, or a package was looked for")

    for where, name in ((builtins, "open"), (Path, "read_text"), (Path, "read_bytes")):
        monkeypatch.setattr(where, name, opened)
    monkeypatch.setattr(importlib.metadata, "entry_points", opened)
    error = refusal(yaml=text)
    assert message in error.problems[0].message
    assert place is None or (error.problems[0].line, error.problems[0].column) == place
    assert len(error.message) < 400
    assert error.problems[0].hint or "unknown" in message or place is None or "whole number" in message


@pytest.mark.parametrize("scenario", ["depeg_cascade", "launch_replay"])
@pytest.mark.parametrize(
    ("overrides", "field", "message"),
    [
        ({"prices.WETH": "{process: path, file: /etc/passwd}"}, "prices.WETH", "reads no files"),
        ({"positions": "/etc/passwd"}, "positions", "reads no files"),
        ({"agents.evil": "{kind: 'os:system'}"}, "agents.evil", "does not run"),
        ({"protocols": "{evil: {kind: 'os:system'}}"}, "protocols", "runs no protocols"),
        ({"source": "snapshot:/etc/passwd"}, "source", "is not open to the service"),
        ({"source": "rpc"}, "source", "is not open to the service"),
        ({"title": "!!python/name:os.system"}, "title", "the tag"),
        ({"title": "[&a x, *a]"}, "title", "the alias"),
        ({"steps": "9" * 5000}, "steps", "too large"),
        ({"steps": "1e99999"}, "steps", "too large"),
        ({"a=b": 1}, None, "is not a valid key"),
        ({"": 1}, None, "is not a valid key"),
        ({"title": "x" * 20_000}, "title", "20,000 characters"),
    ],
)
def test_an_override_may_not_bring_what_an_inline_scenario_may_not_have(
    scenario: str, overrides: dict[str, object], field: str | None, message: str
) -> None:
    error = refusal(scenario=scenario, overrides=overrides)
    assert message in error.problems[0].message
    assert error.problems[0].field == (f"overrides.{field}" if field else "overrides")
    assert str(LIBRARY) not in error.message


def test_a_block_that_has_a_replica_is_open_to_all() -> None:
    assert check_submission(RunSubmission(yaml=GOOD + "source: replica\nblock: 17666333\n")).world().block == 17_666_333
    assert check_submission(RunSubmission(scenario="depeg_cascade", overrides={"block": 17_666_333})).config.block
    error = refusal(yaml=GOOD + "block: 7\n")
    assert (error.problems[0].line, error.problems[0].column) == (6, 8)
    assert "17666333, 18085863, 19000000" in (error.problems[0].hint or "")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.yaml", "mine.yml", "library/x", "C:\\x.yaml"])
def test_the_path_of_a_file_is_no_name_of_a_scenario(name: str) -> None:
    assert "send the text of the file as `yaml`" in (refusal(scenario=name).hint or "")


def test_an_unknown_name_suggests_the_nearest() -> None:
    error = refusal(scenario="depeg_casade")
    assert error.message == "unknown scenario 'depeg_casade'"
    assert "did you mean 'depeg_cascade'" in (error.hint or "")
    assert "path" not in (error.hint or "")


@pytest.mark.parametrize("fields", [{}, {"scenario": "depeg_cascade", "yaml": GOOD}])
def test_a_submission_has_a_name_or_a_text(fields: dict[str, str]) -> None:
    assert "give one of the two" in (refusal(**fields).hint or "")


def test_a_problem_of_the_library_text_says_where_without_the_path_of_the_library() -> None:
    error = refusal(scenario="depeg_cascade", chain="moon")
    assert error.problems[0].field == "chain"
    assert "unknown chain 'moon'" in error.message
    assert str(LIBRARY) not in f"{error.message}{error.hint}"


def test_several_problems_are_listed_with_their_places() -> None:
    error = refusal(yaml=GOOD.replace("steps: 4", "steps: x").replace("1 WETH", "-1 WETH").replace("100", "soon"))
    assert len(error.problems) >= 2
    assert all(problem.line for problem in error.problems)
    assert len({problem.line for problem in error.problems}) == len(error.problems)


@pytest.mark.parametrize("name", names())
def test_every_library_scenario_is_accepted_by_name_and_as_text(name: str) -> None:
    named = check_submission(Submission(scenario=name))
    assert (named.text, named.config) == (load_scenario(name).text, load_scenario(name).config)
    text = (LIBRARY / f"{name}.yaml").read_text()
    assert check_submission(Submission(yaml=text)).text == named.text
    assert "file:" not in named.text
    again = check_submission(Submission(yaml=named.text))
    assert (again.text, again.config) == (named.text, load_text(named.text).config)


def test_an_inline_scenario_takes_overrides_chain_and_steps() -> None:
    wanted = Submission(yaml=GOOD, steps=9, chain="base", overrides={"agents.borrower.count": 3, "title": "t"})
    found = check_submission(wanted).config
    assert (found.name, found.steps, found.chain, found.title) == ("inline", 9, "base", "t")
    assert found.agents["borrower"].count == 3


def test_the_budget_counts_steps_times_agents() -> None:
    for steps, refused in ((MOST_WORK // 1000, False), (MOST_WORK // 1000 + 1, True)):
        submission = Submission(yaml=GOOD, steps=steps, overrides={"agents.borrower.count": 1000})
        if refused:
            with pytest.raises(ApiError, match="more work than the service takes"):
                check_submission(submission)
        else:
            check_submission(submission)


def test_a_sweep_has_a_scenario_for_each_point_and_limits() -> None:
    grid = {"agents.borrower.count": [1, 2], "title": ["a, b", "c"]}
    scenarios, points, seeds = check_sweep(SweepSubmission(yaml=GOOD, grid=grid, seeds="0:3,7"))
    assert [(each.config.agents["borrower"].count, each.config.title) for each in scenarios] == [
        (1, "a, b"),
        (1, "c"),
        (2, "a, b"),
        (2, "c"),
    ]
    assert seeds == (0, 1, 2, 7)
    assert points[0] == ("agents.borrower.count=1", "title=a, b")
    for fields, message in (
        ({"seeds": "0:10_000"}, "names no seeds"),
        ({"seeds": "0:100000"}, "may have 10,000"),
        ({"grid": {"title": ["x"] * 300}}, "may have 200"),
        ({"grid": {"title": []}}, "no value"),
        ({"yaml": GOOD + "#" * 200_000, "grid": {"title": ["x"] * 100}}, "too long for a grid of 100 points"),
        ({"grid": {"prices.WETH": ["{process: path, file: /etc/passwd}"]}}, "reads no files"),
    ):
        with pytest.raises(ApiError, match=message):
            check_sweep(SweepSubmission(**{"yaml": GOOD} | fields))


def test_a_worker_imports_no_code_that_a_stored_text_names(own_code: OwnCode, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = own_code.folder / "ran"
    monkeypatch.chdir(own_code.write(saver=f"open({str(ran)!r}, 'w')\n{SAVER}"))
    text = f"name: x\n{SAVING}"
    task = Task(job_id="x", kind="run", submission=json.dumps({"text": text, "seed": 0}), store=own_code.folder / "r")
    outcome = execute_task(task, lambda _: None, lambda: False)
    assert outcome.status == "failed"
    assert "agents.savers names the import path 'saver:Saver', and import paths are not allowed here" in outcome.error
    assert not ran.exists()


def test_the_service_bundles_no_run_whose_code_it_may_not_import(
    own_code: OwnCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_code.write(saver=SAVER))
    run = mayavi.run(own_code.scenario(SAVING), store=own_code.folder / "runs.duckdb")
    task = ResultTask("run", (run.run_id,), "artifact", run.store_path, own_code.folder, own_code.folder / "b.zip")
    with pytest.raises(BadScenario, match="import paths are not allowed here"):
        build(task)


def test_the_service_knows_no_scenario_of_an_installed_package(own_code: OwnCode) -> None:
    own_code.install("mine", {"mayavi.scenarios": "mine = mine"}, {"mine/__init__.py": "", "mine/mine.yaml": GOOD})
    assert load_scenario("mine").config.steps == 4
    assert refusal(scenario="mine").message == "unknown scenario 'mine'"
