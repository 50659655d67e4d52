"""Folders of npm packages and what is made from them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import SetupError

Say = Callable[[str], None]
# A library call that downloads or compiles must be seen: Python prints warnings where no logging is configured.
announce: Say = logging.getLogger("mayavi.worlds").warning


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """Folder for npm packages, and the folder with the lock file that pins them.

    `sources` holds package.json and package-lock.json, and is only read. `root` holds node_modules/.
    """

    root: Path
    sources: Path
    what: str = "npm packages"
    """Name of the packages in messages."""

    @property
    def packages(self) -> Path:
        """The folder of installed npm packages."""
        return self.root / "node_modules"

    def locked_packages(self, *, dev: bool = False) -> dict[str, str]:
        """Version of every runtime npm package by its path below `root`, as the lock file pins it.

        With `dev` what only tests need instead: the `devDependencies` themselves, without what they need.
        """
        packages: dict[str, Any] = json.loads((self.sources / "package-lock.json").read_bytes())["packages"]
        if dev:
            paths = [f"node_modules/{name}" for name in packages[""].get("devDependencies", {})]
            return {path: packages[path]["version"] for path in paths}
        return {path: each["version"] for path, each in packages.items() if path and not each.get("dev")}

    def missing_packages(self, *, dev: bool = False) -> list[str]:
        """Packages of `locked_packages`, as `name@version`, that are not installed in the pinned version."""
        return [
            f"{path.removeprefix('node_modules/')}@{version}"
            for path, version in self.locked_packages(dev=dev).items()
            if _installed_version(self.root / path) != version
        ]

    def has_dev_packages(self) -> bool:
        """Whether a package that only tests need is installed, in whatever version."""
        return any(_installed_version(self.root / path) for path in self.locked_packages(dev=True))

    @contextmanager
    def lock(self, say: Say) -> Iterator[None]:
        """Lock the folder for one process at a time; create it if needed.

        Calls `say` before waiting for another process. Raises `SetupError` if the folder cannot be written.
        """
        import fcntl

        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(self.root, error) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another process that sets up the contracts")
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:  # a file system without locks
                raise unwritable(self.root, error) from None
            yield
        finally:
            os.close(handle)  # which unlocks


def unwritable(folder: Path, error: OSError) -> SetupError:
    """The error for a contracts folder that cannot be written."""
    return SetupError(
        f"the contracts cannot be kept in '{folder}': {error.strerror or error}",
        "set MAYAVI_CACHE_DIR to a folder that can be written, or free some space",
    )


def _installed_version(package: Path) -> str | None:
    try:
        version: str = json.loads((package / "package.json").read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return version
