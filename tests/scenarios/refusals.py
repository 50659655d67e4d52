"""Scenarios that are refused: the error, and what it must say."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import UsageError
from mayavi.scenarios.loading import load_scenario


def assert_refused(scenario: Path, *parts: str, hint: str = "", error: type[UsageError] = UsageError) -> None:
    """Load `scenario`: it must be refused with all `parts` in the message, and with `hint`."""
    with pytest.raises(error) as refused:
        load_scenario(scenario)
    assert [part for part in parts if part not in refused.value.message] == [], refused.value.message
    assert hint in (refused.value.hint or "")
