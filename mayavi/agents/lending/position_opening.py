"""Open given positions on a lending market: supply, enter efficiency modes, borrow.

A position may owe more than the market lends now, because prices moved since it was opened. Such debts are borrowed
while the market's oracle values the borrowed asset at next to nothing; then the old price source is back. The position
that results is the one a market reaches when prices fall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mayavi.agents.lending.aave import AaveLending
from mayavi.agents.lending.aave_v2 import AaveV2Lending
from mayavi.agents.lending.behaviours import format_health
from mayavi.agents.lending.compound import CompoundLending
from mayavi.errors import BadArgument, CallReverted, ExecutionError
from mayavi.evm.units import format_units
from mayavi.protocols.aave.configurator import AaveConfigurator
from mayavi.protocols.chainlink.price_feed import PriceFeed

if TYPE_CHECKING:
    from mayavi.agents.lending.market import LendingMarket

LISTED = 20
"""Most accounts that an error lists."""

_BEYOND_LIMIT = {
    "collateralcannotcovernewborrow",
    "healthfactorlowerthanliquidationthreshold",
    "notcollateralized",
}
"""Refusals that depend on prices alone."""


@dataclass(frozen=True, slots=True)
class OpeningPosition:
    """Position to open: amounts by asset in smallest units, and the efficiency mode (0: none).

    `source` names it in errors, such as `'book.csv', line 3: account 'alice'`, and `lines` the line of each asset.
    """

    account: str
    collateral: Mapping[str, int]
    debt: Mapping[str, int]
    emode: int = 0
    source: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)

    def at(self, asset: str) -> str:
        """Return the words before an error about `asset`."""
        if asset not in self.lines:
            return self.source or f"account '{self.account}'"
        return f"{self.source}, line {self.lines[asset]}: account '{self.account}'"


Opening = tuple[bytes, OpeningPosition]
"""Address of an account, and its position."""


def supply_all(lending: LendingMarket, openings: Sequence[Opening], payer: bytes) -> None:
    """Give `payer` all collateral, supply it for the accounts and enter their efficiency modes."""
    for asset in sorted({asset for _, position in openings for asset in position.collateral}):
        holders = [(address, position) for address, position in openings if position.collateral.get(asset)]
        amounts = [position.collateral[asset] for _, position in holders]
        lending.fork.deal(asset, payer, sum(amounts))
        try:
            lending.supply_for(asset, amounts, [address for address, _ in holders], payer)
        except ExecutionError as error:
            _explain_supply(lending, asset, holders, payer)
            raise BadArgument(f"{asset} cannot be supplied: {error.message}", error.hint) from error
        if isinstance(lending, AaveLending):
            _enable(lending, asset, holders)
    for address, position in openings:
        if position.emode:
            try:
                _aave(lending).market.account(address).set_emode(position.emode)
            except ExecutionError as error:
                raise _refused(position, "", f"cannot enter eMode {position.emode}", error) from error


def _explain_supply(lending: LendingMarket, asset: str, holders: Sequence[Opening], payer: bytes) -> None:
    """Repeat the supplies one by one, and raise for the first that the market refuses."""
    for address, position in holders:
        amount = position.collateral[asset]
        try:
            lending.supply_for(asset, [amount], [address], payer)
        except ExecutionError:
            lending.fork.deal(asset, address, amount)
            try:
                lending.account(address).supply(asset, amount)  # explains the refusal with the market's figures
            except ExecutionError as error:
                raise _refused(position, asset, f"cannot supply {_text(lending, asset, amount)}", error) from error


def _enable(lending: AaveLending, asset: str, holders: Sequence[Opening]) -> None:
    """Make the supplied `asset` collateral where Aave does not by itself, as with isolated assets."""
    number = lending.asset(asset).id
    for address, position in holders:
        flags: int = lending.market.pool.getUserConfiguration(address)
        if not flags >> 2 * number + 1 & 1:
            try:
                lending.market.account(address).set_collateral(asset)
            except ExecutionError as error:
                raise _refused(position, asset, f"cannot use {asset} as collateral", error) from error


def borrow_all(lending: LendingMarket, openings: Sequence[Opening], *, beyond_limit: bool = False) -> list[bytes]:
    """Borrow what the positions owe; return the accounts that owe more than the market lends at current prices.

    Without `beyond_limit` such a debt is an error.
    """
    beyond: list[tuple[bytes, OpeningPosition, str, CallReverted]] = []
    for address, position in openings:
        account = lending.account(address)
        for asset, amount in position.debt.items():
            try:
                account.borrow(asset, amount)
            except CallReverted as error:
                name = error.reason.name.replace("_", "").casefold() if error.reason else ""
                if not beyond_limit or name not in _BEYOND_LIMIT:
                    raise _no_loan(lending, position, asset, error) from error
                beyond.append((address, position, asset, error))
            except ExecutionError as error:
                raise _no_loan(lending, position, asset, error) from error
    for asset in sorted({asset for _, _, asset, _ in beyond}):
        rows = [each for each in beyond if each[2] == asset]
        owed = sorted({debt for _, position, _, _ in rows for debt in position.debt})
        with _valued_near_zero(lending, owed):
            for address, position, _, first in rows:
                try:
                    lending.account(address).borrow(asset, position.debt[asset])
                except ExecutionError as error:
                    same = error.message == first.message
                    raise _no_loan(lending, position, asset, first if same else error) from error
    return list(dict.fromkeys(address for address, *_ in beyond))


@contextmanager
def _valued_near_zero(lending: LendingMarket, assets: Sequence[str]) -> Iterator[None]:
    if isinstance(lending, CompoundLending | AaveV2Lending):
        if isinstance(lending, CompoundLending):
            places = [lending.market.contract.baseTokenPriceFeed()]
        else:
            market = lending.market
            places = [market.oracle.getSourceOfAsset(market.address_of(asset)) for asset in assets]
        feeds = [PriceFeed(lending.fork, place) for place in places]
        before = [feed.answer for feed in feeds]
        try:
            for feed in feeds:
                feed.move(1)
            yield
        finally:
            for feed, answer in zip(feeds, before, strict=True):
                feed.move(answer)
        return
    with AaveConfigurator(_aave(lending).market).priced_near_zero(list(assets)):
        yield


def require_healthy(lending: LendingMarket, openings: Sequence[Opening], source: str) -> None:
    """Raise `BadArgument` with a list of the accounts whose health factor is below 1."""
    healths = lending.healths([address for address, _ in openings])
    factors = healths.health_factor_wad.ints()
    low = [
        f"'{position.account}' {format_health(factor)}"
        for (_, position), factor, bad in zip(openings, factors, healths.liquidatable.tolist(), strict=True)
        if bad
    ]
    if not low:
        return
    more = f" and {len(low) - LISTED:,} more" if len(low) > LISTED else ""
    raise BadArgument(
        f"{source}: {len(low):,} of {len(openings):,} accounts start with a health factor below 1: "
        f"{', '.join(low[:LISTED])}{more}",
        "they can be liquidated at once; `allow_unhealthy: true` accepts them, or remove them",
    )


def _no_loan(lending: LendingMarket, position: OpeningPosition, asset: str, error: ExecutionError) -> BadArgument:
    return _refused(position, asset, f"cannot borrow {_text(lending, asset, position.debt[asset])}", error)


def _refused(position: OpeningPosition, asset: str, what: str, error: ExecutionError) -> BadArgument:
    reason = error.reason.message if isinstance(error, CallReverted) and error.reason else error.message
    hint = error.hint
    for word, remedy in (("cap", "`parameters` can raise the cap"), ("frozen", "`parameters` can unfreeze it")):
        if re.search(rf"\b{word}\b", reason):
            hint = "; ".join(filter(None, (hint, remedy)))
    return BadArgument(f"{position.at(asset)} {what}: {reason}", hint)


def _text(lending: LendingMarket, asset: str, amount: int) -> str:
    return f"{format_units(amount, lending.decimals(asset))} {asset}"


def _aave(lending: LendingMarket) -> AaveLending:
    if not isinstance(lending, AaveLending):
        raise BadArgument(f"{lending.name} has no efficiency modes", "leave `emode` away")
    return lending
