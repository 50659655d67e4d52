"""Import the code that a scenario names by import paths, where that is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mayavi.errors import PluginError
from mayavi.plugins.import_path import is_import_path
from mayavi.plugins.permission import forbidden_hint, import_paths_allowed
from mayavi.settings.document import Document
from mayavi.settings.document_kind import Place

SECTIONS = ("agents", "protocols")


def import_named_code(document: Document, allowed: bool | None) -> None:
    """Import every `kind: package.module:Name` of a document; raise `BadScenario` with the place of what is wrong.

    Nothing is imported where import paths are not allowed: `allowed` is False, or the environment forbids them.
    """
    for section in SECTIONS:
        mappings = document.data.get(section)
        for name, mapping in mappings.items() if isinstance(mappings, dict) else ():
            kind = mapping.get("kind") if isinstance(mapping, dict) else None
            if not isinstance(kind, str) or not is_import_path(kind):
                continue
            place = (section, name, "kind")
            subject = f"{section}.{name}"
            if not import_paths_allowed(allowed):
                message = f"{subject} names the import path '{kind}', and import paths are not allowed here"
                raise document.fault(place, message, forbidden_hint())
            try:
                _importer(section)(kind, _folder(document, place, kind))
            except PluginError as error:
                raise document.fault(place, f"{subject}: {error.message}", error.hint) from error


def _folder(document: Document, place: Place, kind: str) -> Path | None:
    """Return the folder of the file, or the current one for code that only an option names."""
    here, top = Path.cwd(), kind.partition(":")[0].partition(".")[0]
    if document.folder is None or not any(document.options(place[:length]) for length in (2, 3)):
        return document.folder
    beside, current = ((each / f"{top}.py", each / top) for each in (document.folder, here))
    return here if any(map(Path.exists, current)) and not any(map(Path.exists, beside)) else document.folder


def _importer(section: str) -> Callable[[str, Path | None], object]:
    if section == "protocols":
        from mayavi.protocols.registry import import_protocol

        return import_protocol
    from mayavi.scenarios.build.agents.registry import import_kind

    return import_kind
