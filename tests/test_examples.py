"""Every example runs and prints what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
EXPECTED = {
    "borrow_on_aave": "one thousand more: 36 COLLATERAL_CANNOT_COVER_NEW_BORROW",
    "many_at_once": "repaid {1}",
    "quote_on_uniswap": "CALL UniswapV3.QuoterV2",
    "stress_test": "a deeper shock costs more: True",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path: Path) -> None:
    finished = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert EXPECTED[path.stem] in finished.stdout
