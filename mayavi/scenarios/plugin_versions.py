"""Versions of the code of other packages that a scenario uses, for the record of its runs."""

from __future__ import annotations

from mayavi.plugins.provenance import Provenance
from mayavi.scenarios.models.config import ScenarioConfig


def plugin_sources(config: ScenarioConfig) -> dict[str, Provenance]:
    """Return where the code of each agent kind and protocol came from that is not Mayavi's own."""
    from mayavi.scenarios.models.agents.kinds import KINDS

    found: dict[str, Provenance] = {}
    kinds: set[str] = {each.kind for each in config.agents.values()}
    for kind in sorted(kinds - KINDS):
        from mayavi.scenarios.build.agents.registry import find_kind

        if provenance := find_kind(kind).provenance:
            found[f"agent {kind}"] = provenance
    for kind in sorted({each.kind for each in config.protocols.values()}):
        from mayavi.protocols.registry import find_protocol

        found[f"protocol {kind}"] = find_protocol(kind).provenance
    return found


def plugin_versions(config: ScenarioConfig) -> dict[str, str]:
    """Return the versions to record: `{"agent my_agents:Saver": "my_agents, sha256 …"}`; empty for built-in code."""
    return {name: str(each) for name, each in plugin_sources(config).items()}
