"""The pages on positions and parameters: their files are those of `examples/`, and what they promise happens."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mayavi.errors import BadScenario
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario, load_text
from tests.agents.stage import replica
from tests.pages import REPOSITORY, page

POSITIONS, PARAMETERS = page("how-to/load-positions.md"), page("how-to/change-parameters.md")
HEAD = "name: page\nchain: ethereum\nsteps: 6\nstep_time: 1 hour\n"
AGENTS = "agents: {bot: {kind: liquidator, frictionless: true}}\n"


@pytest.mark.slow(0.3)
def test_the_files_of_the_page_are_those_of_the_examples_and_run(run_mayavi, tmp_path: Path) -> None:
    scenario, *_ = POSITIONS.blocks("yaml")
    assert (REPOSITORY / "examples/book.yaml").read_text(encoding="utf-8") == scenario
    assert (REPOSITORY / "examples/book.csv").read_text(encoding="utf-8") == POSITIONS.only_block("csv")
    (command,) = POSITIONS.commands()
    done = run_mayavi(*shlex.split(command)[1:], "--store", str(tmp_path / "runs"), cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert "3 positions" in done.stdout
    assert "in 1 account" in done.stdout  # alice is liquidated


def test_the_other_forms_on_the_page_are_valid(tmp_path: Path) -> None:
    _, long, several, mixed = POSITIONS.blocks("yaml")
    for name in ("book", "funds", "loopers", "comet"):
        (tmp_path / f"{name}.csv").write_text(POSITIONS.only_block("csv"), encoding="utf-8")
    for text in (long + AGENTS, several, mixed):
        path = tmp_path / "page.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        load_scenario(path)
    build(load_text(HEAD + mixed).config, replica())


def test_the_errors_on_the_page_are_the_ones_that_are_raised(tmp_path: Path) -> None:
    unknown, mode, negative = POSITIONS.only_block().splitlines()
    book, path = tmp_path / "book.csv", tmp_path / "page.yaml"
    path.write_text(HEAD + "positions: book.csv\n" + AGENTS, encoding="utf-8")
    for old, new, message in (
        ("alice,USDC", "alice,USDX", unknown),
        ("correlated", "corelated", mode),
        ("WETH,10,", "WETH,-10,", negative),
    ):
        book.write_text(POSITIONS.only_block("csv").replace(old, new), encoding="utf-8")
        with pytest.raises(BadScenario) as caught:
            build(load_scenario(path).config, replica())
        assert caught.value.message.removeprefix(f"{path}:5:12: ") == message


def test_the_parameters_of_the_page_are_taken() -> None:
    block, on_morpho = PARAMETERS.blocks("yaml")
    agents = AGENTS.replace("frictionless: true", "capital: {USDC: 5}") + BORROWER
    build(load_text(HEAD + agents + block).config, replica())
    build(load_text(HEAD + agents + MORPHO + on_morpho).config, replica())


MORPHO = """
morpho:
  markets: {wstETH/USDC.86: {supplied: 1_000_000}}
  vaults: {steakUSDC: {caps: {wstETH/USDC.86: 10_000_000}, deposits: 100_000}}
"""
BORROWER = 'positions: {data: "account,asset,collateral,debt\\na,WETH,1,\\na,USDC,,5\\n"}\n'


def test_the_refusal_on_the_page_is_aaves() -> None:
    shown = PARAMETERS.blocks()[0].strip()
    text = HEAD + AGENTS + BORROWER + "parameters: {aave_v3.WETH: {liquidation_threshold: 70%}}\n"
    with pytest.raises(BadScenario) as caught:
        build(load_text(text).config, replica())
    assert caught.value.message == shown


@pytest.mark.slow
def test_the_commands_of_the_page_work(run_mayavi, tmp_path: Path) -> None:
    for command in PARAMETERS.commands():
        done = run_mayavi(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert "set_parameters" in done.stdout
