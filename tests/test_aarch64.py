"""`tools/aarch64` says what it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRESENT = ("dirname", "bash", "dpkg", "grep")


def refusal(folder: Path, *more: str) -> str:
    """Run it where only the tools named are found; return what it says."""
    for tool in (*PRESENT, *more):
        found = shutil.which(tool)
        (folder / tool).symlink_to(found or "/bin/true")
    finished = subprocess.run(
        [ROOT / "tools/aarch64", "-c", "pass"], capture_output=True, text=True, env=os.environ | {"PATH": str(folder)}
    )
    assert finished.returncode == 1
    return finished.stderr


@pytest.mark.parametrize(
    ("present", "said", "hint"),
    [
        ((), "qemu-aarch64 is not on the PATH", "apt-get install qemu-user"),
        (("qemu-aarch64",), "aarch64-linux-gnu-gcc is not on the PATH", "gcc-aarch64-linux-gnu"),
        (("qemu-aarch64", "aarch64-linux-gnu-gcc"), "rustup is not on the PATH", "rustup.rs"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, present: tuple[str, ...], said: str, hint: str) -> None:
    found = refusal(tmp_path, *present)
    assert f"error: {said}" in found
    assert hint in found
