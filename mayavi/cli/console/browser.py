"""Open a file in the browser, and say so if there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_PATIENCE_S = 5
"""How long an opener may take to fail; one that runs longer has become the browser."""


def open_in_browser(path: Path) -> bool:
    """Open `path` in the browser. If that fails, print a line with its address on stderr and return False."""
    address = path.resolve().as_uri()
    if _opened(address):
        return True
    print(f"no browser could be opened; the page is at {address}", file=sys.stderr)
    return False


def _opened(address: str) -> bool:
    if sys.platform in {"win32", "darwin"} or os.environ.get("BROWSER"):
        import webbrowser

        return webbrowser.open(address)
    program = shutil.which("xdg-open")
    if program is None or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    quiet = subprocess.DEVNULL
    try:
        opener = subprocess.Popen([program, address], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        return opener.wait(_PATIENCE_S) == 0
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
