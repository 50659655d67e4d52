"""Published results: bundles verify, and the picture shows its evaluation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="`pip install 'mayavi-sim[rl]'` installs it")


ARTIFACTS = Path(__file__).parents[1] / "docs" / "artifacts"
BUNDLES = sorted(each.name for each in ARTIFACTS.glob("*.zip"))


def test_every_published_file_is_on_the_page() -> None:
    named = set(re.findall(r"\]\(([\w.-]+)\)", (ARTIFACTS / "README.md").read_text(encoding="utf-8")))
    assert named == {each.name for each in ARTIFACTS.iterdir()} - {"README.md"}
    assert len(BUNDLES) == 4
    assert sum(each.stat().st_size for each in ARTIFACTS.iterdir()) < 4_000_000


@pytest.mark.slow(3)
@pytest.mark.parametrize("name", BUNDLES)
def test_a_published_bundle_verifies(run_mayavi, name: str) -> None:
    finished = run_mayavi("artifact", "verify", str(ARTIFACTS / name))
    assert finished.returncode == 0, finished.stderr
    assert "verified: the evaluations gave the same results again" in finished.stdout


@pytest.mark.slow(0.5)
def test_the_picture_shows_the_published_evaluation(tmp_path: Path) -> None:
    from tools.study_picture import PICTURE, draw

    draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == PICTURE.read_bytes()
