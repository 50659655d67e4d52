"""Write `docs/reference/scenario-keys.md`: every key of a scenario, from the schema that editors use.

    PYTHONPATH=. .venv/bin/python tools/generate_scenario_keys.py

The suite holds the page against the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mayavi.scenarios.schema import json_schema

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "scenario-keys.md"
_HEAD = """\
# Scenario keys

Every key that a scenario file accepts; [write-a-scenario.md](../how-to/write-a-scenario.md) shows how to write one.
Required keys are **bold**. Defaults are in brackets. `tools/generate_scenario_keys.py` writes this page from the
schema that `mayavi scenarios schema` prints.
"""


def page() -> str:
    """The whole page."""
    schema = json_schema()
    parts = [_HEAD, *_section("The scenario", "", schema, None)]
    for title, within, key in (("prices", "prices", "process"), ("agents", "agents", "kind")):
        mapping = schema["properties"][within]
        each = (mapping.get("additionalProperties") or next(iter(mapping["patternProperties"].values())))[
            "discriminator"
        ]
        named: dict[str, list[str]] = {}
        for value, reference in each["mapping"].items():
            named.setdefault(reference.rpartition("/")[2], []).append(value)
        for model, values in named.items():
            words = " or ".join(f"`{key}: {value}`" for value in values)
            parts += _section(f"{title}: {', '.join(values)}", f"{words}. ", schema["$defs"][model], key)
    others = {"pools": "NewPool", "curve_pools": "NewCurvePool", "tokens": "NewToken"}
    others |= {"aave_v3": "NewReserve", "aave_v2": "NewReserveV2"}
    others |= {"uniswap_v4_pools": "NewV4Pool", "pendle_markets": "NewPendleMarket", "routes": "SaleRouteModel"}
    others |= {"morpho": "NewMorpho", "morpho: markets": "NewMorphoMarket", "morpho: vaults": "NewVault"}
    others |= {"gas": "Gas", "watch": "Watch", "parameters": "ParameterChange", "learner": "Learner"}
    for title, model in others.items():
        parts += _section(title, "", schema["$defs"][model], None)
    return "\n".join(parts)


def _section(title: str, words: str, model: dict[str, Any], tag: str | None) -> Iterator[str]:
    yield f"## {title}\n\n{words}{' '.join(model.get('description', '').split())}\n\n| key | |\n|---|---|"
    for key, field in model["properties"].items():
        if key == tag:
            continue
        name = f"**`{key}`**" if key in model.get("required", ()) else f"`{key}`"
        default = field.get("default")
        shown = {True: "true", False: "false"}.get(default, default) if isinstance(default, bool) else default
        taken = "" if shown in (None, "", [], {}) else f" [{shown}]"
        choices = field.get("enum") or []
        told = " ".join(str(field.get("description", "")).split()).replace("|", "\\|")
        options = (
            f" ({', '.join(map(str, choices))})" if choices and not all(str(each) in told for each in choices) else ""
        )
        yield f"| {name}{taken} | {told}{options} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
