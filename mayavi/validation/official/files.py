"""Where the official tests are: folders of JSON files, or the packed archive, which is read as it is unpacked."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from mayavi.errors import MayaviError
from mayavi.validation.gate import GateContext, GateSkipped

FOLDER = "ethereum-tests"
"""Folder of the tests among the recorded data."""
KINDS = ("BlockchainTests", "GeneralStateTests")
"""Folders that the tests must have; the first part of each name."""


class UnreadableTests(MayaviError):  # noqa: N818  (a name says what happened)
    """Archive or file that cannot be read."""


@dataclass(frozen=True, slots=True)
class OfficialFiles:
    """JSON files below `KINDS`, in an unpacked folder or in an archive."""

    place: Path

    @property
    def packed(self) -> bool:
        """Whether they are in an archive."""
        return self.place.is_file()

    def names(self) -> list[str]:
        """Names of all files, sorted: `BlockchainTests/…/name.json`."""
        if not self.packed:
            return sorted(name for name, _ in _in_folder(self.place))
        return sorted(name for name, _ in _in_archive(self.place))

    def read(self, chosen: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of the chosen files, in the order in which they are stored."""
        for name, content in _in_archive(self.place) if self.packed else _in_folder(self.place):
            if chosen(name):
                yield name, content()


def find_files(context: GateContext) -> OfficialFiles:
    """Find the tests in the recorded data, or in a folder that is theirs; raise `GateSkipped` if there are none."""
    if context.cases is None:
        raise GateSkipped("no folder of recorded chain data", "name it with --cases DIR or MAYAVI_CASES")
    for folder in (context.cases, context.cases / FOLDER):
        if any((folder / kind).is_dir() for kind in KINDS):
            return OfficialFiles(folder)
        archives = sorted(folder.glob("*.tar*")) if folder.is_dir() else []
        if len(archives) > 1:
            names = ", ".join(each.name for each in archives)
            raise GateSkipped(f"'{folder}' has more than one archive: {names}", "leave the one that is to be checked")
        if archives:
            return OfficialFiles(archives[0])
    raise GateSkipped(
        f"there are no official tests in '{context.cases}' or its folder '{FOLDER}'",
        f"a folder of them holds tests.tar.xz, or {' and '.join(KINDS)} unpacked",
    )


_Entry = tuple[str, Callable[[], bytes]]


def _in_folder(folder: Path) -> Iterator[_Entry]:
    for kind in KINDS:
        for path in sorted((folder / kind).rglob("*.json")):
            yield path.relative_to(folder).as_posix(), partial(_content, path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableTests(f"'{path}' cannot be read: {error.strerror or error}") from error


def _in_archive(path: Path) -> Iterator[_Entry]:
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                name = _below_kind(member.name)
                if name and member.isfile():
                    yield name, partial(_extracted, archive, member)
    except (OSError, EOFError, tarfile.TarError, ValueError) as error:
        raise UnreadableTests(f"'{path}' cannot be unpacked: {error}") from error
    except Exception as error:
        if type(error).__name__ not in ("LZMAError", "ZstdError", "error"):  # of modules that not every Python has
            raise
        raise UnreadableTests(f"'{path}' cannot be unpacked: {error}") from error


def _extracted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _below_kind(name: str) -> str:
    """Return the name of a JSON file from its kind on; empty for any other."""
    parts = PurePosixPath(name).parts
    if not name.endswith(".json"):
        return ""
    at = next((at for at, part in enumerate(parts) if part in KINDS), None)
    return "" if at is None else "/".join(parts[at:])
