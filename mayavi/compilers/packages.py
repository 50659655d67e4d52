"""Install npm packages by a lock file.

`mayavi setup` installs them up front. What is still missing when a contract is first read is installed then, with a
line on the logger `mayavi.worlds`; `MAYAVI_OFFLINE=1` forbids that.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from mayavi.compilers.npm import npm_ci
from mayavi.compilers.package_folder import PackageFolder, Say, announce, unwritable
from mayavi.errors import SetupError

OFFLINE_VARIABLE = "MAYAVI_OFFLINE"
_TEMPORARY = ".install-"


def ensure_packages(
    folder: PackageFolder, *, needed: Path | None = None, node: bool = False, say: Say = announce
) -> bool:
    """Install the packages unless they are there; return whether anything was installed.

    They are there if every pinned version is, and if `needed`, a JSON file of one of them, can be read. Processes that
    come at the same time wait for the first. Raises `SetupError` where that fails, and leaves everything as it was.
    """

    def complete() -> bool:
        return (
            not folder.missing_packages()
            and (needed is None or read_json(needed) is not None)
            and (not node or not folder.missing_packages(dev=True))
        )

    if complete():
        return False
    if is_offline():
        missing = ", ".join(folder.missing_packages()) or "damaged"
        raise forbidden_download(f"the {folder.what} are not installed ({missing})")
    with folder.lock(say):
        if complete():
            return False
        count = len(folder.locked_packages())
        what = folder.what if count != 1 else folder.what.replace("packages", "package")
        say(f"installing {count} {what} into {folder.root} (once, from the network)")
        _install(folder, dev=node or folder.has_dev_packages())
    return True


def is_offline() -> bool:
    """Whether `MAYAVI_OFFLINE` forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in {"", "0", "false", "no", "off"}


def forbidden_download(missing: str) -> SetupError:
    """The error for something that is missing where downloads are forbidden."""
    return SetupError(
        f"{missing}, and {OFFLINE_VARIABLE} forbids to download them",
        f"unset {OFFLINE_VARIABLE} and run `mayavi setup` once; it needs the network",
    )


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`, or None where there is none or it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def unfinished_install(folder: PackageFolder) -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder beside the packages, and remove those of killed processes; the caller holds the lock."""
    for left in folder.root.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder.root, ignore_cleanup_errors=True)


def _install(folder: PackageFolder, *, dev: bool) -> None:
    """Install beside the old packages, then swap; the caller holds the lock."""
    try:
        with unfinished_install(folder) as place:
            temporary = Path(place)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(folder.sources / name, temporary)
            npm_ci(temporary, dev=dev)
            if os.path.lexists(folder.packages):
                folder.packages.rename(temporary / "replaced")
            (temporary / "node_modules").rename(folder.packages)
    except OSError as error:
        raise unwritable(folder.root, error) from None
