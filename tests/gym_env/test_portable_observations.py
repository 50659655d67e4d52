"""Observations have the same bits on every machine: environments use the portable logarithm and exponential alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FORBIDDEN = {"log", "log2", "log10", "log1p", "exp", "exp2", "expm1"}
MODULES = {"np", "numpy", "math"}


def platform_logarithms(source: str) -> Iterator[int]:
    """Lines that call a logarithm or exponential of NumPy or `math`, or import one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names, module = {node.attr}, node.value.id
        elif isinstance(node, ast.ImportFrom):
            names, module = {each.name for each in node.names}, node.module or ""
        else:
            continue
        if module in MODULES and names & FORBIDDEN:
            yield node.lineno


@pytest.mark.parametrize("folder", ["gym_env", "portfolio/env"])
def test_environments_use_the_portable_functions(repository: Path, folder: str) -> None:
    sources = sorted((repository / "mayavi" / folder).rglob("*.py"))
    assert sources
    found = [
        f"{path.relative_to(repository)}:{line}"
        for path in sources
        for line in platform_logarithms(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"use mayavi.numerics.portable instead: {', '.join(found)}"


@pytest.mark.parametrize(
    "source",
    ["x = np.log(y)", "x = numpy.expm1(y)", "x = math.exp(y)", "from math import log", "from numpy import exp"],
)
def test_what_differs_between_machines_is_found(source: str) -> None:
    assert list(platform_logarithms(source)) == [1]
