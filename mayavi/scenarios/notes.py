"""What has to be known of a run before its figures are believed, in sentences made from the figures themselves."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.scenarios.figures import percent

FAR_APART = 0.05
"""So far from the oracle's price a pool may end before it is worth a word."""
NOTED = ("accounts_at_limit", "health_factor_limit", "accounts", "never_opened", "pool_gap")
"""The kinds of figures that notes are made of."""


def notes(kpis: Mapping[str, float]) -> list[str]:
    """What the figures of a run warn of; nothing where all is as the scenario wants it."""
    told = []
    for name, number in kpis.items():
        kind, _, of = name.partition(".")
        if kind == "accounts_at_limit" and number:
            all_of, limit = kpis[f"accounts.{of}"], kpis[f"health_factor_limit.{of}"]
            told.append(
                f"{number:,.0f} of {all_of:,.0f} accounts of {of} start at the market's limit, a health factor of "
                f"{limit:.3f}: they were to start lower, and the market does not lend so much"
            )
        elif kind == "never_opened" and number:
            told.append(f"{of} never opened its loan; `mayavi runs explain` shows why")
        elif kind == "pool_gap" and abs(number) > FAR_APART:
            told.append(
                f"{of} ends {percent(number, sign=True)} from the oracle's price: what is sold there is not sold at "
                "the price of the shock; an arbitrageur with more capital brings it there"
            )
    return told
