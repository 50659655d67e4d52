"""Templates of the files that `mayavi new` writes."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from string import Template

from mayavi.errors import UsageError

FILES = {
    "agent": {"{name}.py": "agent.py.in", "{name}.yaml": "agent.yaml.in", "test_{name}.py": "agent_test.py.in"},
    "env": {"{name}.py": "env.py.in", "test_{name}.py": "env_test.py.in"},
    "protocol": {
        "{name}.py": "protocol.py.in",
        "{name}.yaml": "protocol.yaml.in",
        "test_{name}.py": "protocol_test.py.in",
    },
    "scenario": {"test_{name}.py": "scenario_test.py.in"},
}
"""By kind: the template of each file. The scenario itself is that of `mayavi scenarios new`."""


def starter_files(kind: str, name: str) -> dict[str, str]:
    """Return the text of each new file by its name."""
    words = {"name": name, "Name": class_name(name)}
    texts = {file.format(name=name): Path(__file__).with_name(each) for file, each in FILES[kind].items()}
    return {file: Template(path.read_text(encoding="utf-8")).substitute(words) for file, path in texts.items()}


def class_name(name: str) -> str:
    """Return `MySaver` for `my_saver`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def check_name(name: str, folder: Path) -> None:
    """Raise `UsageError` unless `name` can be the name of a new module in `folder`."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        hint = "take lower-case letters, digits and single '_', with a letter first: my_saver"
        raise UsageError(f"'{name}' cannot be the name of a Python module", hint)
    if len(name) > 50:
        raise UsageError(f"the name has {len(name)} letters", "take 50 at most")
    if name.startswith("test_"):
        raise UsageError(f"'{name}' is the name of a test", "leave 'test_' out: the test is written too")
    try:
        found = find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is not None and Path(found.origin or "").parent != folder.resolve():
        place = found.origin or "a package"
        raise UsageError(f"there is a module '{name}' already: {place}", "it would hide yours; take another name")
