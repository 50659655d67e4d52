"""Write a case as a Python script that needs nothing but the project's public API."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.fuzz import assembly, playing
from benchmarks.fuzz.playing import Account, Case, Difference

_FUTURE = "from __future__ import annotations\n"


def write_reproduction(case: Case, found: Difference, command: str, path: Path) -> Path:
    """Write the script, which exits with 1 as long as the modes differ."""
    sources = [inspect.getsource(module).partition(_FUTURE)[2] for module in (assembly, playing)]
    code = "\n".join(sources).replace("from benchmarks.fuzz.assembly import assemble\n", "")
    text = f'''"""Replayed execution differs from interpreted execution. Found by `{command}`."""

{_FUTURE}{code}

CASE = {described(case)}


if __name__ == "__main__":
    found = difference(CASE, ({found.mode!r},))
    print(found.what if found else "no difference")
    raise SystemExit(int(found is not None))
'''
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.resolve()


def described(case: Case) -> str:
    """Return a case as Python source, with a line for each account, operation and event."""
    fields = {name: source(value) for name, value in vars(case).items()}
    fields["accounts"] = listed((f"{source(at)}: {source(each)}" for at, each in case.accounts.items()), "{}")
    fields["programs"] = listed(
        (f"({whole}, {listed(map(source, operations), '[]', 2)})" for whole, operations in case.programs), "[]"
    )
    repeated = [(source(event), len(list(same))) for event, same in groupby(case.events)]
    fields["events"] = listed((f"*[{event}] * {count}" if count > 1 else event for event, count in repeated), "[]")
    return listed((f"{name}={value}" for name, value in fields.items()), "()", 0).replace("(", "Case(", 1)


def listed(items: Iterable[str], brackets: str, depth: int = 1) -> str:
    """Return items as source, one a line."""
    indent = "    " * depth
    lines = [f"{indent}    {item},\n" for item in items]
    return f"{brackets[0]}\n{''.join(lines)}{indent}{brackets[1]}" if lines else brackets


def source(value: Any) -> str:
    """Return a value as source, without line breaks."""
    match value:
        case Account():
            given = {name: each for name, each in vars(value).items() if each}
            return f"Account({', '.join(f'{name}={source(each)}' for name, each in given.items())})"
        case bytes() if len(value) > 4 and len(set(value)) == 1:
            return f"b'\\x{value[0]:02x}' * {len(value)}"
        case bytes():
            return f"bytes.fromhex({value.hex()!r})"
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case dict():
            return f"{{{', '.join(f'{source(key)}: {source(each)}' for key, each in value.items())}}}"
        case list():
            return f"[{', '.join(map(source, value))}]"
        case tuple():
            return f"({', '.join(map(source, value))}{',' if len(value) == 1 else ''})"
    return repr(value)
