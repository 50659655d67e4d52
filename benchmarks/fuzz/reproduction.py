"""Write a case as a Python script that needs nothing but the project's public API."""

from __future__ import annotations

import inspect
from itertools import groupby
from pathlib import Path
from pprint import pformat

from benchmarks.fuzz import assembly, playing
from benchmarks.fuzz.playing import Case, Difference

WIDTH = 118
_FUTURE = "from __future__ import annotations\n"


def write_reproduction(case: Case, found: Difference, command: str, path: Path) -> Path:
    """Write the script, which exits with 1 as long as the modes differ."""
    sources = [inspect.getsource(module).partition(_FUTURE)[2] for module in (assembly, playing)]
    code = "\n".join(sources).replace("from benchmarks.fuzz.assembly import assemble\n", "")
    text = f'''"""{found.what}

Found by `{command}`.
"""

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
    """Return a case as Python source; events that repeat are counted."""
    lines = ["Case("]
    for name, value in vars(case).items():
        if name != "events":
            lines.append(f"    {name}={indented(value)},")
    lines.append("    events=[")
    for event, same in groupby(case.events):
        count = len(list(same))
        lines.append(f"        *[{indented(event, 10)}] * {count}," if count > 1 else f"        {indented(event)},")
    return "\n".join([*lines, "    ],", ")"])


def indented(value: object, by: int = 8) -> str:
    """Return a value as source whose further lines are indented."""
    return pformat(value, width=WIDTH - by, sort_dicts=False).replace("\n", "\n" + " " * by)
