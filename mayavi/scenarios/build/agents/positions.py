"""Builders of accounts with several assets: books of positions, and borrowers with several collaterals and debts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, UnknownName, UsageError
from mayavi.scenarios.build.agents.agent_set import AgentSet, BorrowerGroup
from mayavi.scenarios.build.agents.behaviours import behaviours_of
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.build.chain.creation import units
from mayavi.scenarios.build.chain.lending_markets import find_emode, market_name, open_market
from mayavi.scenarios.build.chain.routes import route_between
from mayavi.scenarios.build.distributions import distribution
from mayavi.scenarios.models.agents.book_errors import BookErrors
from mayavi.scenarios.models.agents.lending import Borrower, Liquidator
from mayavi.scenarios.models.agents.positions import BookAccount, BookRow, Positions
from mayavi.scenarios.models.values.mixes import Mix
from mayavi.scenarios.models.values.quantities import Asset

if TYPE_CHECKING:
    from mayavi.agents.lending.market import LendingMarket
    from mayavi.agents.lending.position_holders import PositionHolders
    from mayavi.agents.lending.position_opening import OpeningPosition
    from mayavi.protocols.uniswap.route import RouteLike

Pairs = Sequence[tuple[str, str]]


@agent_kind(Positions)
def build_positions(agents: AgentSet, name: str, model: Positions) -> list[Agent]:
    """Build the accounts of a book of positions."""
    from mayavi.agents.lending.position_holders import PositionHolders

    market = market_name(model.protocol, model.market)
    positions = _book(agents, market, model)
    pairs = {(collateral, debt) for each in positions for collateral in each.collateral for debt in each.debt}
    holders = PositionHolders(
        name,
        positions=positions,
        market=market,
        behaviours=behaviours_of(model),
        routes=_routes(agents, pairs),
        cash_share=model.cash,
        opens_beyond_limit=True,
        allow_unhealthy=model.allow_unhealthy,
        source=model.origin,
    )
    _register(agents, name, holders, sorted(pairs))
    return [holders]


def build_mixed_borrowers(agents: AgentSet, name: str, model: Borrower) -> list[Agent]:
    """Build borrowers with several collaterals or debts, or with an efficiency mode."""
    from mayavi.agents.lending.mixed_borrowers import MixedBorrowers
    from mayavi.agents.lending.open_market import lending_market
    from mayavi.agents.lending.position_holders import PositionHolders
    from mayavi.agents.lending.position_opening import OpeningPosition

    market = market_name(model.protocol, model.market)
    lending = lending_market(agents.fork, market)
    emode = 0 if not model.emode else _emode(agents, market, str(model.emode))
    collateral, debt = _parts(model.collateral), _parts(model.debt)
    for asset in (*collateral, *debt):
        lending.price_e8(asset)  # raises for an asset that the market does not have
    pairs = sorted((asset, owed) for asset in collateral for owed in debt)
    shared: dict[str, Any] = {
        "market": market,
        "behaviours": behaviours_of(model),
        "routes": _routes(agents, pairs),
        "cash_share": model.cash,
    }
    amounts = {asset: units(amount, lending.decimals(asset)) for asset, amount in collateral.items()}
    holders: PositionHolders
    if model.fixed_debt:
        owed = {asset: units(amount, lending.decimals(asset)) for asset, amount in debt.items()}
        rows = [OpeningPosition(str(number), amounts, owed, emode, f"agents.{name}") for number in range(model.count)]
        holders = PositionHolders(name, positions=rows, source=f"agents.{name}", **shared)
    else:
        assert model.health_factor is not None
        holders = MixedBorrowers(
            name,
            members=model.count,
            collateral=collateral,
            debt=debt,
            size=distribution(model.size_usd),
            target=distribution(model.health_factor),
            emode=emode,
            amounts=amounts if model.fixed_collateral else None,
            **shared,
        )
    _register(agents, name, holders, pairs, (tuple(collateral), tuple(debt)))
    return [holders]


def _parts(side: Asset | Mix) -> dict[str, Decimal]:
    """Return the assets of a side, sorted, with shares or amounts; a token alone has all of it."""
    if isinstance(side, Mix):
        return {symbol: side.parts[symbol] for symbol in side.symbols}
    return {side.symbol: Decimal(1) if side.amount is None else side.amount}


def _register(
    agents: AgentSet,
    name: str,
    holders: PositionHolders,
    pairs: Pairs,
    assets: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
) -> None:
    """Add the group that liquidators watch; leave out pairs that no pool sells, and count accounts without another."""
    own = [(set(each.collateral), set(each.debt)) for each in holders.positions]
    if assets is None:
        collaterals = tuple(sorted({asset for each, _ in own for asset in each}))
        assets = collaterals, tuple(sorted({asset for _, each in own for asset in each}))
    saleable = _saleable(agents, holders, pairs)
    lost = set(pairs) - set(saleable)
    holders.without_pool = tuple(
        position.account
        for position, (collateral, debt) in zip(holders.positions, own, strict=True)
        if debt and all((one, other) in lost for one in collateral for other in debt)
    )
    first = saleable[0] if saleable else (assets[0][0], (assets[1] or assets[0])[0])
    agents.borrower_groups[name] = BorrowerGroup(holders.market, holders.accounts, *first, tuple(saleable), assets)


def _saleable(agents: AgentSet, holders: PositionHolders, pairs: Pairs) -> list[tuple[str, str]]:
    """Return the pairs of which a pool sells the collateral for the debt; all if no liquidator sells, or none can."""
    sellers = [
        model
        for model in agents.config.agents.values()
        if isinstance(model, Liquidator)
        and market_name(model.protocol, model.market) == holders.market
        and not model.frictionless
    ]
    found = [pair for pair in pairs if pair in holders.routes or pair[0] == pair[1]]
    return found if sellers and found else list(pairs)


def _routes(agents: AgentSet, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], RouteLike]:
    found = {pair: route_between(agents.fork, *pair) for pair in sorted(pairs) if pair[0] != pair[1]}
    return {pair: route for pair, route in found.items() if route is not None}


def _emode(agents: AgentSet, market: str, wanted: str) -> int:
    from mayavi.protocols.aave.market import AaveV3

    opened = open_market(agents.fork, market)
    if not isinstance(opened, AaveV3):
        title = "Morpho" if market.startswith("Morpho.") else "Compound V3"
        raise UsageError(f"{title} has no efficiency modes", "leave `emode` empty")
    return find_emode(opened, wanted)


# -- books ------------------------------------------------------------------------------------------------------------


def _book(agents: AgentSet, market: str, model: Positions) -> list[OpeningPosition]:
    """Convert the accounts of a book to positions in smallest units; errors name file, line, account and asset."""
    from mayavi.agents.lending.open_market import lending_market
    from mayavi.agents.lending.position_opening import OpeningPosition

    lending, modes = lending_market(agents.fork, market), {"": 0}
    decimals: dict[str, int] = {}
    unknown: set[str] = set()
    errors, found = BookErrors(), []
    for account in model.accounts:
        if account.emode not in modes:
            modes[account.emode] = 0
            with errors.collecting():
                modes[account.emode] = _emode_of(agents, market, model, account)
        amounts: dict[str, dict[str, int]] = {"collateral": {}, "debt": {}}
        for row in account.rows:
            if row.asset not in decimals and row.asset not in unknown:
                unknown.add(row.asset)
                with errors.collecting():
                    decimals[row.asset] = _decimals(lending, model, row)
            for side, amount in (("collateral", row.collateral), ("debt", row.debt)):
                if amount and row.asset in decimals:
                    with errors.collecting():
                        amounts[side][row.asset] = _units(lending, model, row, side, amount, decimals[row.asset])
        if not any(row.collateral for row in account.rows):
            where = _where(model, account.rows[0])
            message = f"{where}: it owes and has no collateral, and no market lends without"
            errors.found.append(BadScenario(message, "remove the account: what it owes is bad debt already"))
        lines = {row.asset: row.line for row in account.rows}
        mode = modes[account.emode]
        found.append(OpeningPosition(account.name, **amounts, emode=mode, source=model.origin, lines=lines))
    errors.raise_any()
    return found


def _emode_of(agents: AgentSet, market: str, model: Positions, account: BookAccount) -> int:
    try:
        return _emode(agents, market, account.emode)
    except UsageError as error:
        where = f"{model.origin}, line {account.emode_line}: account '{account.name}'"
        raise BadScenario(f"{where}: {error.message}", error.hint) from None


def _decimals(lending: LendingMarket, model: Positions, row: BookRow) -> int:
    try:
        return lending.decimals(row.asset)
    except UnknownName as error:
        raise BadScenario(f"{_where(model, row)}: {error.message}", error.hint) from None


def _units(lending: LendingMarket, model: Positions, row: BookRow, side: str, amount: Decimal, decimals: int) -> int:
    from mayavi.agents.lending.compound import CompoundLending

    where = _where(model, row)
    if isinstance(lending, CompoundLending):
        base = lending.market.base.symbol
        if (row.asset == base) != (side == "debt"):
            raise BadScenario(
                f"{where}: {row.asset} cannot be {side} on {lending.market.symbol}",
                f"it lends {base} against other assets",
            )
    exact = units(amount, decimals)
    if not exact:
        raise BadScenario(f"{where}: {amount} {row.asset} is less than its smallest unit", "remove the row")
    return exact


def _where(model: Positions, row: BookRow) -> str:
    return f"{model.origin}, line {row.line}: account '{row.account}', {row.asset}"
