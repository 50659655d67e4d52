"""Merge near-identical warnings: one line for each kind, with the number of cases and their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SHOWN = 5
"""Cases that a merged warning names before it counts the others."""
_PLURALS = {
    "accounts_at_limit": "groups of borrowers",
    "never_opened": "agents",
    "opening_gap": "prices",
    "pool_gap": "pools",
    "sold": "sellers",
    "step_needed": "prices",
}
_PLURAL_WORDS = {"never opened its loan": "never opened their loans"}
_LEAST_SHARED = 0.3
"""Share of the shortest warning that all must end with to be merged into one sentence."""

Warnings = Iterable[tuple[str, str]]
"""Name of the KPI that warns, `pool_gap.WETH/USDC.500`, and the warning."""


def one_of_each_kind(warnings: Warnings) -> dict[str, str]:
    """Return one warning for each kind of KPI, in the order of their first; a single one stays as it is."""
    kinds: dict[str, dict[str, str]] = {}
    for name, text in warnings:
        kind, _, subject = name.partition(".")
        kinds.setdefault(kind, {})[subject] = text
    return {kind: _merged(kind, texts) for kind, texts in kinds.items()}


def _merged(kind: str, texts: dict[str, str]) -> str:
    different = list(dict.fromkeys(texts.values()))
    if len(different) == 1:
        return different[0]
    noun, end = _PLURALS.get(kind, "cases"), _common_end(different)
    if len(end) < _LEAST_SHARED * min(map(len, different)):
        return f"{different[0]}; in all {len(texts)} {noun}: {_listed(list(texts))}"
    text = f"{len(different)} {noun}: {_listed([each.removesuffix(end) for each in different])}{end}"
    for one, many in _PLURAL_WORDS.items():
        text = text.replace(one, many)
    return text


def _common_end(texts: Sequence[str]) -> str:
    """Return the longest end that all texts share and that begins with a colon, or a space and a word."""
    shortest = min(texts, key=len)
    size = 0
    while size < len(shortest) and len({text[-size - 1] for text in texts}) == 1:
        size += 1
    end = shortest[len(shortest) - size :]
    while end and not (end[0] == ":" or (end[0] == " " and end[1:2].isalpha())):
        end = end[1:]
    return end


def _listed(parts: Sequence[str]) -> str:
    if len(parts) > SHOWN:
        return f"{', '.join(parts[:SHOWN])} and {len(parts) - SHOWN:,} more"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
