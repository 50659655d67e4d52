"""Draw `docs/artifacts/borrower-drawn-rllib-seeds.svg` from the evaluation published beside it.

    PYTHONPATH=. .venv/bin/python tools/study_picture.py

Needs the extra `rl` (matplotlib). The same evaluation draws the same file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

ARTIFACTS = Path(__file__).parents[1] / "docs" / "artifacts"
EVALUATION = ARTIFACTS / "borrower-drawn-rllib-seeds.json"
PICTURE = EVALUATION.with_suffix(".svg")
BLUE, GREY = "#2f5d9e", "#7b8794"


def main() -> None:
    """Draw the picture."""
    draw(PICTURE)
    print(f"wrote {PICTURE}, {PICTURE.stat().st_size:,} bytes")


def draw(path: Path) -> None:
    """Draw the mean reward of each strategy with its interval."""
    found: dict[str, Any] = json.loads(EVALUATION.read_text(encoding="utf-8"))
    names = [name for name in found["strategies"] if "mean" in found[name]]
    mpl.rcParams.update({"svg.hashsalt": "mayavi", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    picture, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for place, name in enumerate(names):
        mean, colour = found[name]["mean"], BLUE if name.startswith("ppo") else GREY
        axes.plot([mean["low"], mean["high"]], [place, place], color=colour, lw=2)
        axes.plot([mean["value"]], [place], color=colour, marker="o", ms=5)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color=GREY, lw=0.5)
    axes.set_xlabel("change of net wealth, share of the start: mean of 200 test episodes, 95 % interval")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    picture.savefig(path, metadata={"Date": None, "Creator": "tools/study_picture.py"})
    plt.close(picture)


if __name__ == "__main__":
    main()
