"""Warnings about a run, derived from its KPIs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mayavi.scenarios.figures.alike import one_of_each_kind
from mayavi.scenarios.figures.formatting import percent
from mayavi.scenarios.figures.limits import PREFIX, REFUSALS, TEXTS

LARGE_GAP = 0.05
"""Relative distance from the oracle's price above which pools and sales get a note."""
NOTED = (
    "accounts_at_limit",
    "accounts_beyond_limit",
    "accounts_without_pool",
    "without_pool",
    "constant_price",
    "health_factor_limit",
    "accounts",
    "never_opened",
    "opening_gap",
    "pool_gap",
    "limited",
    "largest_fall",
    "step_needed",
    "jump",
)
"""Kinds of KPIs that notes cover."""

CONSTANT_PRICE = "constant_price"
"""Kind of the KPIs that name debts whose price stayed constant: `constant_price.WBTC`."""

COARSE = 0.05
"""Fall of a price in one step above which a jump gets a note."""

Figures = Mapping[str, float]


def notes(kpis: Figures) -> list[str]:
    """Return the warnings of a run, one for each kind; empty if everything went as the scenario describes."""
    return list(one_of_each_kind(_warnings(kpis)).values())


def notes_of_many(runs: Sequence[Figures]) -> list[str]:
    """Return each kind of warning once, with the number of runs that have it.

    Numbers in which the runs differ are written as ranges; of warnings that differ in words the first is quoted.
    """
    if len(runs) == 1:
        return notes(runs[0])
    found: dict[str, list[str]] = {}
    for kpis in runs:
        for kind, text in one_of_each_kind(_warnings(kpis)).items():
            found.setdefault(kind, []).append(text)
    return [f"in {len(texts):,} of {len(runs):,} runs{_over_runs(texts)}" for texts in found.values()]


_NUMBER = re.compile(r"(?<![\w./])[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?: %)?(?![\w/])")


def _over_runs(texts: Sequence[str]) -> str:
    """Write one warning of several runs: numbers that differ as `LOW to HIGH`, else the first text as an example."""
    different = list(dict.fromkeys(texts))
    if len(different) == 1:
        return f": {different[0]}"
    if len({_NUMBER.sub("#", text) for text in different}) > 1:
        return f", with different details; in the first of them: {different[0]}"
    columns = zip(*(_NUMBER.findall(text) for text in different), strict=True)
    ranges = iter([_range(column) for column in columns])
    return f": {_NUMBER.sub(lambda _: next(ranges), different[0])}"


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(dict.fromkeys(numbers), key=lambda text: float(re.sub(r"[, %]", "", text).replace("−", "-")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _warnings(kpis: Figures) -> Iterator[tuple[str, str]]:
    """Yield the KPIs that warn of something, with the warning."""
    limits = [name for name in kpis if name.startswith(PREFIX) and kpis[name]]
    if own := [name for name in limits if name.removeprefix(PREFIX) in TEXTS]:
        yield PREFIX, _limited(kpis, own)
    if refusals := [name for name in limits if name.removeprefix(PREFIX) in REFUSALS]:
        yield "refused", _refused(kpis, refusals)
    if constant := _constant_prices(kpis):
        yield CONSTANT_PRICE, constant
    for name, number in kpis.items():
        kind, _, of = name.partition(".")
        if kind == "accounts_at_limit" and number:
            all_of, limit = kpis[f"accounts.{of}"], kpis[f"health_factor_limit.{of}"]
            yield (
                name,
                f"{number:,.0f} of {all_of:,.0f} accounts of {of} start at the market's limit, a health factor of "
                f"{limit:.3f}: they were to start lower, and the market does not lend that much",
            )
        elif kind == "accounts_beyond_limit" and number:
            yield (
                name,
                f"accounts of {of} that start with more debt than the market lends at these prices: {number:,.0f}; "
                "they were opened at a lower price of the debt, which was then put back",
            )
        elif kind == "accounts_without_pool" and number:
            yield (
                name,
                f"accounts of {of} that are never liquidated, because no pool sells their collateral for their debt: "
                f"{_named(kpis, f'without_pool.{of}.', number)}; add one under `pools`",
            )
        elif kind == "never_opened" and number:
            yield name, f"{of} never opened its loan; `mayavi runs explain` shows why"
        elif kind == "opening_gap" and abs(number) > LARGE_GAP:
            yield (
                name,
                f"the price of {of} begins {percent(number, sign=True)} from the oracle's, so that the first step is "
                "a shock by itself; `anchored: true` for a file, or no `start`, begins where the market stands",
            )
        elif kind == "jump" and number < -COARSE and kpis.get("bad_debt"):
            yield (
                name,
                f"{of} jumps by {percent(number, sign=True)} at once, as the scenario says, and nobody can act in "
                "between: bad debt follows from it. If the fall takes time, write it as `process: ramp` in short steps",
            )
        elif kind == "step_needed":
            yield name, _coarse(of, kpis[f"largest_fall.{of}"], int(number))
        elif kind == "liquidation_sale_gap" and abs(number) > LARGE_GAP:
            yield name, _sales_far_from_oracle(number)
        elif kind == "sold" and not number:
            who, _, token = of.partition(".")
            yield (
                name,
                f"{who} sold no {token}: none was released in time, or it was never worth the price asked for",
            )
        elif kind == "pool_gap" and abs(number) > LARGE_GAP:
            yield (
                name,
                f"{of} ends {percent(number, sign=True)} from the oracle's price: what is sold there is not sold at "
                "the price of the shock; an arbitrageur with enough capital brings it there",
            )


def _constant_prices(kpis: Figures) -> str:
    """Warn of collaterals and debts whose price stays while that of another collateral moves; empty if none does."""
    changes = {name.partition(".")[2]: number for name, number in kpis.items() if name.startswith("oracle_change.")}
    if not any(changes.values()):
        return ""
    still = [token for token, change in changes.items() if not change and not is_dollar(token)]
    still += [name.partition(".")[2] for name in kpis if name.startswith(f"{CONSTANT_PRICE}.")]
    if not still:
        return ""
    moving = ", ".join(token for token, change in changes.items() if change)
    return (
        f"the price of {', '.join(still)} stays constant while {moving} moves, because the scenario has no price "
        "process for it; give one under `prices`, and `correlations`"
    )


def _named(kpis: Figures, prefix: str, number: float) -> str:
    """The number of accounts, with the names that the KPIs with `prefix` have."""
    names = [name.removeprefix(prefix) for name in kpis if name.startswith(prefix)]
    more = ["…"] if len(names) < number else []
    return f"{number:,.0f} ({', '.join([*names, *more])})" if names else f"{number:,.0f}"


def _limited(kpis: Figures, names: Sequence[str]) -> str:
    touched = "liquidations and bad debt" if "bad_debt" in kpis else "arbitrage and pool prices"
    text = f"{touched} depend on what limited the agents at the end of some step: {_listed(kpis, names, TEXTS)}"
    if f"{PREFIX}depth" in names:
        text += "; the depth of a replica's pools is an assumption, which `pool_depth` moves"
    return text


def _refused(kpis: Figures, names: Sequence[str]) -> str:
    return (
        f"collateral, debt and bad debt depend on what the market refused: {_listed(kpis, names, REFUSALS)}; "
        "`mayavi runs explain` says which cap refused whom, and `parameters` can raise it"
    )


def _listed(kpis: Figures, names: Sequence[str], texts: Mapping[str, str]) -> str:
    parts = [texts[name.removeprefix(PREFIX)].format(f"{kpis[name]:,.0f}") for name in names]
    parts = [re.sub(r"\((1 \w+)s\)", r"(\1)", part) for part in parts]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _coarse(token: str, fall: float, seconds: int) -> str:
    time = f"{seconds}s" if seconds < 60 else f"{seconds // 60}m"
    return (
        f"the price of {token} falls by {percent(-fall)} in one step, and nobody can act on the way: liquidations come "
        f"late and bad debt is overstated; take steps of at most `step_time: {time}`, and as many more of them"
    )


def _sales_far_from_oracle(gap: float) -> str:
    text = f"liquidators sold what they seized at {percent(gap, sign=True)} from the oracle's price on average: "
    if gap < 0:
        return text + "that far their own sales, or earlier ones, moved the pools"
    return text + (
        "the pools had not followed it yet, and on a real market nobody would have paid that much; let an arbitrageur "
        "trade first, by `ordering: priority_fee` and a higher `priority_fee`"
    )


def is_dollar(token: str) -> bool:
    """Whether a token is a dollar stablecoin by its name, so that a constant price is no surprise."""
    return "USD" in token.upper() or token.upper() in {"DAI", "XDAI", "FRAX", "MAI", "GHO"}
