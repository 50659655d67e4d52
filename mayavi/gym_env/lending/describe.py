"""Text of loan figures."""

from __future__ import annotations

from mayavi.protocols.health import NO_DEBT


def describe_debt_figure(name: str, value: object) -> str | None:
    """Text "no debt" for the health factor of an account that owes nothing; None for every other figure."""
    return "no debt" if name == "health_factor_wad" and value == NO_DEBT else None
