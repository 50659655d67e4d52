"""Where the code of a plugin came from: its package and version, and a hash of its source files.

The hash covers the module and every file of the same package, or beside it, that it imports, directly or not. It does
not cover files that are imported by a computed name, nor data files.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_INSTALLED = {"site-packages", "dist-packages"}
_OURS = "mayavi"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Module of a plugin, its distribution if it has one, and the SHA-256 of its source files."""

    module: str
    sha256: str
    """Empty if there is no source file."""
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        package = f" of {self.distribution} {self.version}" if self.distribution else ""
        return f"{self.module}{package}, sha256 {self.sha256 or 'unknown'}"


_known: dict[tuple[str, str], tuple[ModuleType, Provenance]] = {}


def provenance_of(module: str, distribution: str = "", version: str = "") -> Provenance:
    """Describe an imported module. Its files are read once: what is edited later is not what runs."""
    loaded, key = sys.modules.get(module), (module, distribution)
    if loaded is None:  # a class may claim any module
        return Provenance(module, "", distribution, version)
    if key in _known and _known[key][0] is loaded:
        return _known[key][1]
    package = (distribution, version) if distribution else _distribution(loaded)
    found = Provenance(module, _digest(source_files(module)), *package)
    _known[key] = loaded, found
    return found


def source_files(module: str) -> dict[str, bytes]:
    """Source files of a module, by their path below the folder it is imported from."""
    loaded = sys.modules[module]
    path = Path(getattr(loaded, "__file__", None) or "")
    if path.suffix != ".py" or not path.is_file():
        return {}
    words = module.split(".")
    root = path.resolve().parents[len(words) - (path.name != "__init__.py")]
    installed = bool(_INSTALLED & set(root.parts))
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name.partition(".")[0] == _OURS or (installed and name.partition(".")[0] != words[0]):
            continue
        file = _file_of(root, name)
        if file is None or (key := file.relative_to(root).as_posix()) in found:
            continue
        found[key] = file.read_bytes()
        waiting += _imported(found[key], name, file.name == "__init__.py")
        waiting += [name.rpartition(".")[0]]
    return dict(sorted(found.items()))


def _file_of(root: Path, name: str) -> Path | None:
    place = root.joinpath(*name.split(".")) if name else root
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if name and file.is_file():
            return file
    return None


def _imported(source: bytes, name: str, is_package: bool) -> Iterator[str]:
    """Names in the import statements of a module."""
    package = name if is_package else name.rpartition(".")[0]
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            words = package.split(".") if package else []
            above = words[: len(words) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{each.name}" for each in node.names if base)


def _digest(files: dict[str, bytes]) -> str:
    if not files:
        return ""
    whole = hashlib.sha256()
    for path, content in files.items():
        whole.update(f"{path} {hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def _distribution(module: ModuleType) -> tuple[str, str]:
    """Name and version of the installed distribution of a module; both empty if it is a plain file."""
    path = Path(getattr(module, "__file__", None) or "")
    if not _INSTALLED & set(path.parts):
        return "", ""
    from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

    top = module.__name__.partition(".")[0]
    try:
        found = distribution(top)
    except PackageNotFoundError:  # named otherwise than its module: all packages have to be read
        names = packages_distributions().get(top, [])
        if not names:
            return "", ""
        found = distribution(names[0])
    return found.name, found.version
