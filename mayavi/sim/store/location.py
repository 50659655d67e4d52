"""Location of the store: `--store`, MAYAVI_STORE, the configuration file, or `data/runs/runs.duckdb`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mayavi.errors import UnknownName, UsageError

DEFAULT = Path("data/runs/runs.duckdb")
VARIABLE = "MAYAVI_STORE"
PROJECT_FILE = "mayavi.toml"
KNOWN_KEYS = ("store",)


def store_path(named: str | Path | None = None) -> Path:
    """Return the path `named`, or the configured one if None.

    The configuration is `store = "path"` in the nearest `mayavi.toml` of the working directory and its parents, else in
    `mayavi/config.toml` of the user's configuration folder. A relative path starts at the folder of its file.
    """
    if named is not None and not str(named).strip():
        raise UsageError("the store is named ''", "name a file, such as `--store data/runs/runs.duckdb`")
    chosen = named or os.environ.get(VARIABLE, "").strip() or None
    if chosen is not None:
        return Path(chosen).expanduser()
    for file in configuration_files():
        if (configured := _store_in(file)) is not None:
            return configured
    return DEFAULT


def configuration_files() -> Iterator[Path]:
    """Yield the existing configuration files, nearest first."""
    here = Path.cwd()
    candidates = [folder / PROJECT_FILE for folder in (here, *here.parents)]
    base = os.environ.get("XDG_CONFIG_HOME", "").strip()
    candidates.append((Path(base) if base else Path.home() / ".config") / "mayavi" / "config.toml")
    return (file for file in candidates if file.is_file())


def _store_in(file: Path) -> Path | None:
    import tomllib

    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{file}' is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from error
    for key in settings:
        if key not in KNOWN_KEYS:
            raise UnknownName.of(f"setting of '{file}'", key, KNOWN_KEYS)
    named = settings.get("store")
    if named is None:
        return None
    if not isinstance(named, str) or not named.strip():
        raise UsageError(f"`store` in '{file}' is {named!r}", 'it is a path: store = "data/runs/runs.duckdb"')
    return file.parent / Path(named).expanduser()
