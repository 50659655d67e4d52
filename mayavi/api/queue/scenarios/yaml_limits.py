"""Limits of inline YAML, checked on its tokens before any value is built."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

MOST_BYTES = 262_144
MOST_VALUES = 5000
DEEPEST = 24
LONGEST_NUMBER = 80
LARGEST_EXPONENT = 60

_NUMBER = re.compile(r"[-+]?[0-9_.]+(?:[eE][-+]?([0-9_]+))?")


class YamlFault(NamedTuple):
    """What is wrong with a YAML text, and where, counted from 1."""

    message: str
    hint: str
    line: int
    column: int


def find_fault(text: str) -> YamlFault | None:
    """Return the first thing that inline YAML may not hold; None also for text that is not YAML, which parsers report.

    Tags could name Python objects, aliases multiply values, and huge numbers or depths exhaust memory.
    """
    size = len(text.encode())
    if size > MOST_BYTES:
        return YamlFault(f"the YAML has {size:,} bytes, and may have {MOST_BYTES:,}", "leave data out", 1, 1)
    depth = values = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            fault = _fault_of(event)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > DEEPEST:
                    fault = f"nested more than {DEEPEST} levels deep", "a scenario needs few levels"
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            values += isinstance(event, yaml.NodeEvent)
            if values > MOST_VALUES:
                fault = f"more than {MOST_VALUES:,} values", "leave data out"
            if fault is not None:
                mark = event.start_mark
                return YamlFault(*fault, mark.line + 1, mark.column + 1)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return None


def _fault_of(event: yaml.Event) -> tuple[str, str] | None:
    if isinstance(event, yaml.AliasEvent):
        return f"the alias '*{event.anchor}' is not allowed in an inline scenario", "write the value out"
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        return f"the tag '{event.tag}' is not allowed in an inline scenario", "leave it out"
    if isinstance(event, yaml.ScalarEvent) and event.style is None and (number := _NUMBER.fullmatch(event.value)):
        exponent = (number[1] or "0").replace("_", "").lstrip("0")
        if len(event.value) > LONGEST_NUMBER or len(exponent) > 3 or int(exponent or 0) > LARGEST_EXPONENT:
            shown = f"{event.value[:20]}…" if len(event.value) > 20 else event.value
            return f"the number {shown} is too large to be meant", "write a number of fewer digits"
    return None
