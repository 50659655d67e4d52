"""Compile a Vyper file, once for each state of the sources beside it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mayavi.compilers.artifact import Artifact
from mayavi.compilers.kept import read_kept, write_kept
from mayavi.compilers.package_folder import Say, announce
from mayavi.errors import CompileError, SetupError

EVM_VERSION = "shanghai"
"""Rules to compile for, unless the source names others: those of the oldest replica, which later ones include."""

_SCRIPT = """
import sys
from vyper.cli import vyper_compile
vyper_compile.combined_json_outputs = ["abi", "bytecode"]
vyper_compile._parse_args(sys.argv[1:])
"""
"""The compiler's own command, but for what nobody reads of its output, which takes a third of its time."""


def compile_vyper(file: Path, *, say: Say = announce) -> Artifact:
    """Compile a file, whose imports are looked up in its folder; raise `CompileError` with file and line."""
    folder = file.resolve().parent
    try:
        beside = sorted([*folder.rglob("*.vy"), *folder.rglob("*.vyi")])
        digests = {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in beside}
    except OSError as error:
        raise CompileError(f"'{file}' cannot be read: {error}") from None
    key = hashlib.sha256(json.dumps(["vyper", EVM_VERSION, str(file.resolve()), digests]).encode()).hexdigest()[:32]
    kept = read_kept(key)
    if kept is None:
        say(f"compiling {file}")
        named = "pragma evm-version" in file.read_text(encoding="utf-8", errors="replace")
        output = run_vyper(folder, [file.name], [] if named else ["--evm-version", EVM_VERSION])
        kept = {"contract": output[file.name], "imported": digests}
        write_kept(key, kept)
    return Artifact.from_json(kept["contract"], file.stem)


def run_vyper(folder: Path, files: list[str], options: Sequence[str] = ()) -> dict[str, Any]:
    """Compile files of `folder`; return `abi` and `bytecode` by file, and the compiler's `version`."""
    command = [sys.executable, "-c", _SCRIPT, "-f", "combined_json", "-p", str(folder)]
    command += [*options, *files]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        if "No module named 'vyper" in finished.stderr:
            raise SetupError(
                "the Vyper compiler is not installed", "run `pip install 'mayavi-sim[contracts]'`, or `make setup`"
            )
        raise _refusal(finished.stderr, files[0])
    combined: dict[str, Any] = json.loads(finished.stdout)
    return {Path(name).name if name != "version" else name: output for name, output in combined.items()}


def _refusal(output: str, file: str) -> CompileError:
    """The compiler's first message, with its place: `contract "Token.vy:3", function "mint", line 3:9`."""
    lines = [line.strip() for line in output.strip().splitlines()]
    message = next((line for line in lines if re.match(r"vyper\.exceptions\.\w+:", line)), lines[-1] if lines else "")
    message = message.removeprefix("vyper.exceptions.")
    place = re.search(r'contract "([^":]+)(?::\d+)?".*?line (\d+)(?::(\d+))?', output)
    if place is None:
        return CompileError(f"{file}: {message}")
    name, line, column = place.groups()
    return CompileError(f"{name}:{line}{f':{int(column) + 1}' if column else ''}: {message}")
