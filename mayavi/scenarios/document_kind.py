"""Wording of errors about scenario files."""

from __future__ import annotations

from mayavi.errors import BadScenario
from mayavi.scenarios.models.chain.parameters import NAMES
from mayavi.settings.document_kind import DocumentKind

SCENARIO = DocumentKind(
    "scenario",
    BadScenario,
    missing_hint="`mayavi scenarios new FILE` writes one",
    empty_hint="`mayavi scenarios new FILE` writes a first scenario",
    start_hint="begin with `chain: ethereum`",
    size_hint="prices belong in a CSV",
    place_hints={("agents",): "`mayavi scenarios new FILE` writes a scenario that has some"},
    override_example="agents.borrowers.count=50",
    named_sections=(
        "agents",
        "pools",
        "prices",
        "tokens",
        "aave_v3",
        "aave_v2",
        "curve_pools",
        "uniswap_v4_pools",
        "pendle_markets",
        "contracts",
        "protocols",
    ),
    dotted_sections={"parameters": NAMES, "pool_depth": frozenset()},
    tag_keys=("kind", "process"),
)
