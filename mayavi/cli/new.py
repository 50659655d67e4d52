"""`mayavi new`: write an agent, a scenario, an environment or a protocol with its test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.files import write_new
from mayavi.cli.console.output import print_json, print_note
from mayavi.errors import UnknownName, UsageError

KINDS = ("agent", "scenario", "env", "protocol")
_NEXT = {
    "agent": "`mayavi run {name}.yaml`",
    "scenario": "`mayavi run {name}.yaml`",
    "env": "`mayavi train --env {name}:{class_name}Rows --framework sb3 --timesteps 4096`",
    "protocol": "`mayavi run {name}.yaml`",
}


def new(
    what: Annotated[str, typer.Argument(metavar="agent|scenario|env|protocol", help="What to write.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, which becomes a module: my_saver.")],
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Folder to write to; by default this one.")
    ] = Path(),
    artifact: Annotated[
        str | None,
        typer.Option(
            "--artifact",
            metavar="FILE[:NAME]",
            help="Write the protocol as an adapter of this contract: a .sol or .vy file, or a compiler's .json.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write an agent, a scenario, an environment or a protocol of your own, with a test that passes as written.

    Existing files are never replaced. docs/how-to/write-a-package.md says how a package offers it to others.
    """
    from mayavi.plugins.starters.files import check_name, class_name, starter_files

    if what not in KINDS:
        raise UnknownName.of("kind of file", what, KINDS, f"there are {', '.join(KINDS)}")
    if not folder.is_dir():
        raise UsageError(f"there is no folder '{folder}'", f"`mkdir -p {folder}` makes it")
    check_name(name, folder)
    if artifact is not None and what != "protocol":
        raise UsageError("--artifact is for protocols", "`mayavi new protocol NAME --artifact FILE`")
    found = starter_files(what, name) if artifact is None else adapter_of(artifact, name, folder)
    texts = {folder / file: text for file, text in found.items()}
    shared: dict[Path, str] = {}
    if what == "scenario":
        from mayavi.scenarios.starter import schema_file, starter

        texts = {folder / f"{name}.yaml": starter(f"{name}.yaml")} | texts
        shared = dict([schema_file(folder)])
    write_new(texts, shared)
    files = [str(path) for path in (*texts, *shared)]
    words = {"name": name, "class_name": class_name(name)}
    commands = [_NEXT[what].format(**words).strip("`"), f"pytest test_{name}.py"][artifact is not None :]
    if as_json:
        print_json({"kind": what, "name": name, "files": files, "next": commands})
        return
    for file in files:
        print(file)
    where = "" if folder == Path() else f" (in '{folder}')"
    if artifact is not None:
        print_note(f"`{commands[0]}` tests it{where}; a scenario names it as `kind: {name}:{words['class_name']}`")
        return
    print_note(f"`{commands[0]}` {'trains on' if what == 'env' else 'runs'} it, `{commands[1]}` tests it{where}")


def adapter_of(artifact: str, name: str, folder: Path) -> dict[str, str]:
    """Return the texts of an adapter for the contract that `artifact` names."""
    import os

    from mayavi.compilers.load import load_contract, split_name
    from mayavi.plugins.starters.adapter import adapter_files

    contract = load_contract(artifact).artifact
    source = os.path.relpath(split_name(artifact)[0].resolve(), folder.resolve())
    return adapter_files(name, contract.name, source, contract.abi)
