"""Every example runs and prints what it promises; every notebook runs to its end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parent.parent
EXAMPLES = sorted((HOME / "examples").glob("*.py"))
NOTEBOOKS = sorted((HOME / "examples").glob("*.ipynb"))
EXPECTED = {
    "borrow_on_aave": "one thousand more: 36 COLLATERAL_CANNOT_COVER_NEW_BORROW",
    "keeper": "in 12 episodes of the test split",
    "many_at_once": "repaid {1}",
    "quote_on_uniswap": "CALL UniswapV3.QuoterV2",
    "stress_test": "a deeper shock costs more: True",
}
ARGUMENTS = {"keeper": ("256", "12")}
"""Arguments that shorten an example."""
EXECUTE = """
import sys
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

path, folder, short = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
kernel = AsyncKernelManager(
    kernel_name="python3", transport="ipc", ip=f"{short}/kernel", connection_file=f"{short}/kernel.json"
)
NotebookClient(notebook, km=kernel, timeout=120, resources={"metadata": {"path": folder}}).execute()
nbformat.write(notebook, Path(folder) / "executed.ipynb")
"""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in ("keeper", "stress_test") else [])
        for path in EXAMPLES
    ],
)
def test_the_example_runs(path: Path) -> None:
    command = [sys.executable, str(path), *ARGUMENTS.get(path.stem, ())]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert EXPECTED[path.stem] in finished.stdout


@pytest.mark.slow
def test_the_notebook_leads_from_an_environment_to_a_plotted_comparison(tmp_path: Path) -> None:
    path = HOME / "examples" / "train_a_borrower.ipynb"
    with tempfile.TemporaryDirectory() as short:  # the name of a socket may not be long
        finished = subprocess.run(
            [sys.executable, "-c", EXECUTE, str(path), str(tmp_path), short],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={**os.environ, "PYTHONPATH": str(HOME), "IPYTHONDIR": str(tmp_path)},
        )
    assert finished.returncode == 0, finished.stderr
    cells = json.loads((tmp_path / "executed.ipynb").read_text())["cells"]
    outputs = [each for cell in cells if cell["cell_type"] == "code" for each in cell["outputs"]]
    assert [each for each in outputs if each.get("name") == "stderr"] == []
    printed = "".join("".join(each["text"]) for each in outputs if each["output_type"] == "stream")
    assert "still owes 0 millionths of a USDC" in printed
    for rule in ("noop", "repay_all", "hold_band"):
        assert re.search(rf"^better: ppo earns \S+ more than {rule} on the same 100 episodes", printed, re.MULTILINE)
    assert "than follow_spread" in printed
    assert sum("image/png" in each.get("data", {}) for each in outputs) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_a_run_left_in_it(path: Path) -> None:
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(cell["metadata"] == {} for cell in cells)
