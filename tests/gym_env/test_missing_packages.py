"""Where what trains policies is not installed, the error says which extra has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

_WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from mayavi.errors import SetupError
try:
    {act}
except SetupError as error:
    print(error, "|", error.hint)
"""


@pytest.mark.slow(0.5)
@pytest.mark.parametrize(
    ("missing", "act"),
    [
        ("gymnasium", "import mayavi.gym_env"),
        ("stable_baselines3", "import mayavi.gym_env.adapters.sb3"),
        ("ray", "import mayavi.gym_env.adapters.rllib"),
        ("ray", "import mayavi.gym_env.market.env"),
        (
            "matplotlib.figure",
            "from mayavi.gym_env.registry import make_single; e = make_single('vesting', render_mode='rgb_array'); "
            "e.reset(seed=1); e.render()",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_extra(missing: str, act: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(missing=missing, act=act)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert missing.split(".")[0] in done.stdout
    assert "not installed" in done.stdout
    assert "mayavi-sim[rl]" in done.stdout
