"""The page on agents names every agent there is; tests/test_pages.py runs its examples."""

from __future__ import annotations

import mayavi.agents
from tests.pages import page


def test_every_name_of_the_package_is_there_and_every_agent_on_the_page() -> None:
    text = page("how-to/write-an-agent.md").text
    for name in mayavi.agents.__all__:
        assert getattr(mayavi.agents, name).__name__ == name
        made = getattr(mayavi.agents, name)
        if isinstance(made, type) and issubclass(made, mayavi.agents.Agent) and made is not mayavi.agents.Agent:
            assert f"`{name}`" in text
    assert dir(mayavi.agents) == sorted(mayavi.agents.__all__)
