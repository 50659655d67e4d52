"""`mayavi scenarios`: list, check and create scenarios, and print their schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.files import write_new
from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.scenarios.loading import Scenario

app = command_group("List, check and create scenarios.")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("list", short_help="List the scenarios and their chains.")
def list_scenarios(as_json: JsonFlag = False) -> None:
    """List the scenarios that come with Mayavi or with installed packages, and the chains each runs on.

    Agents, protocols and environments of installed packages are listed below, with the reason if one cannot be used.
    """
    from mayavi.cli.printing.plugins import all_plugins, print_plugins
    from mayavi.scenarios.installed import described_scenarios
    from mayavi.scenarios.registry import entries

    found, others, plugins = entries(), described_scenarios(), all_plugins()
    if as_json:
        listed: list[dict[str, Any]] = [
            {"name": each.name, "title": each.title, "chains": list(each.chains), "parked": bool(each.parked)}
            for each in found
        ]
        listed += [
            {"name": each.name, "title": each.title, "chains": list(each.chains), "parked": False, "of": each.package}
            for each in others
        ]
        print_json({"scenarios": listed, "plugins": [each.to_json() for each in plugins]})
        return
    columns = [Column("scenario", right=False, style="bold"), Column("chains", right=False)]
    columns.append(Column("what happens", right=False))
    rows = [(each.name, _chains(each.chains), each.title + (" (parked)" if each.parked else "")) for each in found]
    rows += [(each.name, _chains(each.chains), f"{each.title} ({each.package})".strip()) for each in others]
    print_table(columns, rows)
    if plugins:
        print()
        print_plugins(plugins)


@app.command("show", short_help="Check a scenario and summarise it.")
def show(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A name from the list, or the path of a file.")],
    chain: Annotated[str | None, typer.Option("--chain", help="A chain it runs on.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Number of steps.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override a value; repeatable.")
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Print the file as written.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check a scenario and summarise it: chain, length, prices and agents, with overrides applied.

    Errors name file, line and column.
    """
    from mayavi.scenarios.loading import load_scenario, scenario_source

    loaded = load_scenario(scenario, chain=chain, steps=steps, overrides=settings or [])
    if as_json:
        print_json({"name": loaded.name, "text": loaded.text, "scenario": loaded.config.model_dump(mode="json")})
    elif source:
        print(scenario_source(scenario), end="")
    else:
        print_summary(loaded)
        print()
        print(loaded.text, end="")


@app.command("schema", short_help="Print the JSON Schema of scenario files.")
def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file.")
    ] = None,
) -> None:
    """Print the JSON Schema of scenario files, with which editors complete and check them.

    With the first line `# yaml-language-server: $schema=scenario.schema.json` an editor finds it beside the scenario.
    """
    from mayavi.scenarios.starter import schema_text

    text = schema_text()
    if output is None:
        print(text, end="")
    else:
        write_new({}, {output: text})
        print(f"the schema is in '{output}'")


@app.command("new", short_help="Write a first scenario, with comments, ready to run.")
def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as crash.yaml.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a first scenario with comments, ready to run, and the schema beside it.

    `mayavi new scenario NAME` also writes a test.
    """
    from mayavi.scenarios.starter import schema_file, starter

    if path.suffix not in {".yaml", ".yml"}:
        raise UsageError(f"'{path}' is not a name of a YAML file", f"call it '{path.with_suffix('.yaml')}'")
    beside, text = schema_file(path.parent)
    write_new({path: starter(str(path))}, {beside: text})
    if as_json:
        print_json({"scenario": str(path), "schema": str(beside)})
        return
    print(f"'{path}' is a scenario with comments; with '{beside}' your editor completes and checks it")
    print_note(f"`mayavi run {path}` runs it, `mayavi scenarios show {path}` checks it")


def print_summary(scenario: Scenario) -> None:
    """Print a summary of a scenario."""
    config = scenario.config
    pace = f"{config.step_blocks:,} blocks" if config.step_blocks else _time(config.step_time)
    facts = [
        (config.name, config.title),
        ("chain", f"{config.chain} (runs on {', '.join(config.chains)})"),
        ("steps", f"{config.steps:,} of {pace}"),
        ("prices", "\n".join(f"{symbol}: {price.process}" for symbol, price in config.prices.items()) or "constant"),
        ("agents", "\n".join(_agent(name, agent) for name, agent in config.agents.items())),
        ("ordering", config.ordering),
    ]
    if config.tokens or config.pools:
        facts.insert(4, ("creates", ", ".join([*config.tokens, *config.pools])))
    if config.parameters:
        facts.append(("parameters", ", ".join(config.parameters)))
    print_facts(facts)


def _agent(name: str, agent: Any) -> str:
    count = getattr(agent, "count", 1)
    return f"{name}: {agent.kind}" + (f" × {count:,}" if count > 1 else "")


def _time(seconds: int | None) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds and not seconds % size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _chains(chains: tuple[str, ...]) -> str:
    if not chains:
        return "none"
    return chains[0] if len(chains) == 1 else f"{len(chains)}: {', '.join(chains)}"
