"""The tutorial can be followed to the letter: save its file, run its commands, execute its Python."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import page


@pytest.mark.slow
def test_the_tutorial_can_be_followed(tmp_path: Path, run_mayavi) -> None:
    text = page("tutorials/first-stress-test.md").text
    parts = re.findall(r"^```(yaml|python)\n(.*?)^```|^    (mayavi [^\n]*)$", text, re.MULTILINE | re.DOTALL)
    commands = 0
    for kind, content, command in parts:
        if kind == "yaml":
            (tmp_path / "crash.yaml").write_text(content, encoding="utf-8")
        elif kind == "python":
            finished = subprocess.run(
                [sys.executable, "-c", content], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert (finished.returncode, finished.stderr) == (0, "")
            assert "liquidate" in finished.stdout
        else:
            finished = run_mayavi(*shlex.split(command)[1:], cwd=tmp_path)
            assert finished.returncode == 0, f"{command}\n{finished.stderr}"
            assert finished.stdout
            commands += 1
    assert commands >= 8
    assert (tmp_path / "data/runs/runs.duckdb").exists()
    (bundle,) = tmp_path.glob("*.zip")
    verified = run_mayavi("artifact", "verify", str(bundle), cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
