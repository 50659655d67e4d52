"""The imports between modules of the package form no cycle, those inside functions included."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

import mayavi

ROOT = Path(mayavi.__file__).parent


def _module_name(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below `node`, except the bodies of `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for other in child.orelse:
                yield other
                yield from _statements(other)
            continue
        yield child
        yield from _statements(child)


def _targets(node: ast.AST, modules: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield whole if whole in modules else node.module


def import_graph(files: list[Path], root: Path = ROOT.parent) -> dict[str, set[str]]:
    """Modules imported by each module. Packages with a lazy `__init__` (`__getattr__`) import nothing."""
    modules = {_module_name(file, root) for file in files}
    graph: dict[str, set[str]] = {}
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        name = _module_name(file, root)
        lazy = file.name == "__init__.py" and any(
            isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body
        )
        found = {target for node in _statements(tree) for target in _targets(node, modules)}
        graph[name] = set() if lazy else (found & modules) - {name}
    return graph


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components with more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for each in sorted(graph[node]):
            if each not in index:
                visit(each)
                low[node] = min(low[node], low[each])
            elif each in stack:
                low[node] = min(low[node], index[each])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def shortest_cycle(graph: dict[str, set[str]], component: set[str]) -> list[str]:
    """Shortest path through `component` that ends where it starts."""
    found: list[str] = []
    for start in sorted(component):
        paths = deque([[start]])
        reached = {start}
        while paths:
            path = paths.popleft()
            if start in graph[path[-1]]:
                if not found or len(path) < len(found) - 1:
                    found = [*path, start]
                break
            for each in sorted((graph[path[-1]] & component) - reached):
                reached.add(each)
                paths.append([*path, each])
    return found


@pytest.mark.slow(2)
def test_no_module_imports_itself_through_others() -> None:
    graph = import_graph(sorted(ROOT.rglob("*.py")))
    cycles = [shortest_cycle(graph, each) for each in components(graph)]
    assert not cycles, "import cycles:\n" + "\n".join(" -> ".join(cycle) for cycle in cycles)


def test_a_cycle_through_a_deferred_import_is_found_and_one_for_types_is_not(tmp_path: Path) -> None:
    package = tmp_path / "one"
    package.mkdir()
    (package / "__init__.py").write_text("def __getattr__(name):\n    from one import a\n")
    (package / "a.py").write_text("from one import b\n")
    (package / "b.py").write_text("def late():\n    from one.c import name\n")
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from one.b import late\nelse:\n    import one.a\n")
    graph = import_graph(sorted(package.rglob("*.py")), tmp_path)
    assert graph == {"one": set(), "one.a": {"one.b"}, "one.b": {"one.c"}, "one.c": {"one.a"}}
    (cycle,) = components(graph)
    assert shortest_cycle(graph, cycle) == ["one.a", "one.b", "one.c", "one.a"]
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from one.b import late\n")
    assert components(import_graph(sorted(package.rglob("*.py")), tmp_path)) == []
