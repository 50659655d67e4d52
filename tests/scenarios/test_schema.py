"""The schema of scenario files, with which an editor checks them."""

from __future__ import annotations

from typing import Any

import pytest

from mayavi.scenarios import registry


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    from mayavi.scenarios.schema import json_schema

    return json_schema()


def test_the_schema_describes_every_scenario_of_the_library(schema: dict[str, Any]) -> None:
    kinds = schema["properties"]["agents"]["additionalProperties"]["discriminator"]["mapping"]
    assert set(kinds) >= {
        "borrower",
        "liquidator",
        "arbitrageur",
        "vesting",
        "oracle_shock",
        "curve_borrower",
        "launch",
    }
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"chain", "steps", "agents"} <= set(schema["required"])
    assert "name" not in schema["required"]
    assert "Blocks per step" in schema["properties"]["step_blocks"]["description"]
    assert "5_000_000" in schema["$defs"]["Liquidator"]["properties"]["capital"]["description"]
    assert "above the base fee" in schema["$defs"]["Liquidator"]["properties"]["priority_fee"]["description"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", registry.names())
def test_an_editor_finds_no_fault_with_the_library_and_finds_those_there_are(name: str, schema: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the validator comes with the cluster packages")
    import yaml

    validator = jsonschema.Draft202012Validator(schema)
    document = yaml.safe_load(registry.entry(name).path.read_text(encoding="utf-8"))
    assert list(validator.iter_errors(document)) == []
    for broken in (
        document | {"stepps": 5},
        document | {"steps": "many"},
        document | {"agents": {"x": {"kind": "borower"}}},
        document | {"agents": {"x": {"kind": "borrower", "collateral": "WETH", "debt": "USDC", "cuont": 3}}},
    ):
        assert list(validator.iter_errors(broken))
