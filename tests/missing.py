"""What to do where something a test needs is not there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip_or_fail(what: str) -> NoReturn:
    """Skip the test for the reason that `what` is missing; fail where MAYAVI_REQUIRE_CASES=1 says it must be there."""
    __tracebackhide__ = True
    if os.environ.get("MAYAVI_REQUIRE_CASES") == "1":
        pytest.fail(f"{what}, and MAYAVI_REQUIRE_CASES=1 forbids to go on without it")
    pytest.skip(what)
