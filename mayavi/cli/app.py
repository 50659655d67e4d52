"""The command tree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from typing import Annotated

import typer

from mayavi import __version__
from mayavi.cli import (
    artifact,
    backtest,
    demo,
    doctor,
    position,
    run,
    runs,
    scenarios,
    sensitivity,
    setup,
    snapshot,
    sweep,
    train,
    trainings,
    validate,
    world,
)
from mayavi.cli import eval as eval_command
from mayavi.cli.console.group import command_group

app = command_group(
    "Economic agents on the real bytecode of DeFi protocols, offline and reproducible.", completion=True
)


def show_version(wanted: bool) -> None:
    """Print the version and exit if `--version` was given."""
    if wanted:
        print(f"mayavi {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (also MAYAVI_DEBUG=1).")] = False,
) -> None:
    """Options before the command. `--debug` is put into the environment for child processes."""
    if debug:
        os.environ["MAYAVI_DEBUG"] = "1"


app.command("demo", short_help="Run a borrower on the real Aave V3 contracts, offline.")(demo.demo)
app.command("position", short_help="Show an account's collateral, debt and liquidation prices.")(position.position)
app.command("run", short_help="Run a scenario and store every action.")(run.run)
app.command("sweep", short_help="Run a scenario for many seeds: mean, quantiles, VaR, LaR.")(sweep.sweep)
app.command("sensitivity", short_help="Rank the assumptions of a scenario by their effect.")(sensitivity.sensitivity)
app.command("train", short_help="Train a policy with RLlib or Stable-Baselines3.")(train.train)
app.command("eval", short_help="Compare a trained policy with baselines.")(eval_command.evaluate)
app.command("backtest", short_help="Backtest portfolio policies and rules, with fees.")(backtest.backtest)
app.add_typer(runs.app, name="runs")
app.add_typer(trainings.app, name="trainings")
app.add_typer(artifact.app, name="artifact")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(validate.app, name="validate")
app.add_typer(world.app, name="world")
app.add_typer(snapshot.app, name="snapshot")
app.command("setup", short_help="Install contract packages, compile contracts and build replicas, once.")(setup.setup)
app.command("doctor", short_help="Check the installation and name the command that repairs it.")(doctor.doctor)


def app_for(words: Sequence[str]) -> typer.Typer:
    """The command tree with only the command that `words` name: parsing all options takes 40 ms."""
    named = words[0] if words else None
    commands = [each for each in app.registered_commands if each.name == named]
    groups = [each for each in app.registered_groups if each.name == named]
    if not commands and not groups:  # options first, help for all commands, or an unknown name
        return app
    lean = copy(app)
    lean.registered_commands, lean.registered_groups = commands, groups
    return lean
