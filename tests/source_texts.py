"""Texts and signatures in the package's source, read without importing it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
GAP = "¤"
"""Stands for a value that an f-string puts in."""


class Text(NamedTuple):
    """A string of the source that is no docstring; `package` is `evm` for a file in `mayavi/evm`."""

    path: str
    line: int
    package: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def texts() -> list[Text]:
    """All strings of the package, f-strings with gaps; without docstrings and what `repr` shows."""
    return _read()[0]


def signatures() -> Signatures:
    """Signatures of the whole package."""
    return _read()[1]


@cache
def _read() -> tuple[list[Text], Signatures]:
    """Read file by file and keep no syntax tree: together they are more objects than all tests make."""
    found: list[Text] = []
    signatures = Signatures()
    for path in sorted((REPOSITORY / "mayavi").rglob("*.py")):
        name = str(path.relative_to(REPOSITORY))
        package = name.removeprefix("mayavi/").partition("/")[0]
        nodes = _nodes(ast.parse(path.read_text(encoding="utf-8")))
        found += _texts(name, package, nodes)
        signatures.add(package, nodes)
    return found, signatures


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """Nodes of a syntax tree that have parts, level by level: `ast.walk` takes twice as long."""
    found = [tree]
    for node in found:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                found.append(value)
    return found


def _texts(path: str, package: str, nodes: list[ast.AST]) -> Iterator[Text]:
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    shown = [each for each in nodes if isinstance(each, ast.FunctionDef) and each.name == "__repr__"]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    docs |= {id(node) for each in shown for node in ast.walk(each)}
    left_out = inner | docs
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in left_out:
            text = _text(node)
            if text:
                yield Text(path, node.lineno, package, text)


class Signatures:
    """Parameters of functions, methods and classes of the package, by name."""

    def __init__(self) -> None:
        self.functions: dict[str, set[str]] = defaultdict(set)
        """Parameters of every function and method of a name."""
        self.members: dict[str, dict[str, set[str]]] = defaultdict(dict)
        """By class: parameters of its methods; of `__init__`, also its annotated fields."""
        self.bases: dict[str, list[str]] = defaultdict(list)
        self.of_package: dict[str, set[str]] = defaultdict(set)
        """By package: every parameter and annotated field."""

    def add(self, package: str, nodes: list[ast.AST]) -> None:
        """Add those of a file of `package`."""
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] |= _parameters(node)
                self.of_package[package] |= _parameters(node)
            elif isinstance(node, ast.ClassDef):
                self._add_class(node)
                self.of_package[package] |= self.members[node.name].get("__init__", set())

    def _add_class(self, node: ast.ClassDef) -> None:
        methods = {each.name: _parameters(each) for each in node.body if isinstance(each, ast.FunctionDef)}
        fields = {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        methods["__init__"] = methods.get("__init__", set()) | fields
        self.members[node.name] |= methods
        self.bases[node.name] += [base.id for base in node.bases if isinstance(base, ast.Name)]

    def parameters(self, dotted: str) -> set[str] | None:
        """Parameters of what is called as `Class`, `Class.method`, `fork.method` or `function`; None if unknown."""
        *owner, name = dotted.split(".")
        of = "Fork" if owner[-1:] == ["fork"] else owner[-1] if owner else None
        if of in self.members:
            return self._inherited(of, name)
        if of is None and name in self.members:
            return self._inherited(name, "__init__")
        return self.functions.get(name)

    def _inherited(self, owner: str, name: str) -> set[str] | None:
        found = self.members[owner].get(name)
        for base in self.bases[owner] if found is None or name == "__init__" else ():
            if base in self.members and (more := self._inherited(base, name)) is not None:
                found = (found or set()) | more
        return found


def _parameters(node: ast.FunctionDef) -> set[str]:
    given = node.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self", "cls"}


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    assert isinstance(node, ast.JoinedStr)
    return "".join(_text(part) if isinstance(part, ast.Constant) else GAP for part in node.values)
