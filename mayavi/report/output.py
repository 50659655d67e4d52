"""Write a page to an HTML file, and print it to PDF by a headless Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mayavi.errors import ReportError, SetupError, UsageError

CHROMIUM_VARIABLE = "MAYAVI_CHROMIUM"
_NAMES = (
    "chromium-headless-shell",  # the same without windows: it starts faster, and needs less to be installed
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "msedge",
)
_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_PATIENCE_S = 180


def write_html(html: str, path: Path) -> Path:
    """Write a page; other readers see the old file or the new one, never a part.

    Raises `UsageError` if the place cannot be written.
    """
    with _replacing(path) as temporary:
        temporary.write_text(html, encoding="utf-8", newline="\n")
    return path


def write_pdf(html: str, path: Path) -> Path:
    """Print a page to PDF. Raises `SetupError` without a Chromium, `ReportError` if it fails."""
    program = require_chromium()
    with tempfile.TemporaryDirectory(prefix="mayavi-report-") as folder, _replacing(path) as temporary:
        page = Path(folder) / "report.html"
        page.write_text(html, encoding="utf-8", newline="\n")
        _print(program, page, temporary, Path(folder))
    return path


def require_chromium() -> str:
    """The path of a Chromium or Chrome; `SetupError`, which says how to get one, if there is none."""
    program = find_chromium()
    if program is None:
        raise SetupError(
            "a PDF needs Chromium or Chrome, and none was found",
            "install it, `apt install chromium` on Debian, or name the program with MAYAVI_CHROMIUM;\n"
            "the HTML report needs none, and every browser can print it",
        )
    return program


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome: MAYAVI_CHROMIUM, the PATH, or where macOS has it."""
    if named := os.environ.get(CHROMIUM_VARIABLE, "").strip():
        found = shutil.which(named)
        if found is None:
            raise SetupError(f"{CHROMIUM_VARIABLE} names '{named}', which is not a program", "correct or unset it")
        return found
    return next((found for name in (*_NAMES, *_APPS) if (found := shutil.which(name))), None)


def _print(program: str, page: Path, output: Path, folder: Path) -> None:
    command = [
        program,
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-pdf-header-footer",
        "--run-all-compositor-stages-before-draw",
        "--virtual-time-budget=20000",
        f"--user-data-dir={folder / 'profile'}",
        f"--print-to-pdf={output}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium refuses to run as root with its sandbox; the page is our own
    try:
        finished = subprocess.run(
            [*command, f"{page.as_uri()}#pdf"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        why = f"'{program}' did not print the page within {_PATIENCE_S} s"
        raise ReportError(why, "try again, or print the HTML page from a browser") from None
    except OSError as error:
        raise SetupError(f"'{program}' does not start: {error.strerror or error}", "install Chromium again") from None
    if finished.returncode or not output.is_file() or output.read_bytes()[:5] != b"%PDF-":
        said = finished.stderr.strip().splitlines()
        raise ReportError(
            f"'{program}' could not print the page (exit code {finished.returncode})", said[-1] if said else None
        )


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that replaces it at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_dir():
            raise UsageError(f"'{path}' is a folder", "name a file with `--out`")
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"cannot write to '{path}': {why[:1].lower()}{why[1:]}", "name another file with `--out`"
        ) from error
    finally:
        with suppress(OSError):  # if its folder is a file, for instance
            temporary.unlink()
