"""Books of positions: a table with the collateral and debt of accounts on one lending market.

    account,asset,collateral,debt,emode
    alice,WETH,10,,
    alice,USDC,,12_000,
    bob,wstETH,50,,ETH correlated
    bob,WETH,,45,

Amounts are in whole tokens; an empty cell is zero. `emode` is a number or a label, the same in all rows of an account
or given once; the column may be missing. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from mayavi.errors import BadScenario, did_you_mean
from mayavi.scenarios.models.agents.book_errors import BookErrors
from mayavi.scenarios.models.agents.shared import AgentSettings, BehaviourName, Protocol
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.quantities import LARGEST, PositiveRatio, RatioFromZero, Share, fault

POSITIONS = "positions"
"""Name of the agent that a top-level `positions` becomes."""
COLUMNS = ("account", "asset", "collateral", "debt", "emode")
NEEDED = COLUMNS[:4]
MOST_ACCOUNTS = 100_000


class BookRow(NamedTuple):
    """One row: what an account has supplied and owes in one asset, in whole tokens."""

    line: int
    account: str
    asset: str
    collateral: Decimal
    debt: Decimal


class BookAccount(NamedTuple):
    """Position of one account: its rows in the order of the file, and its efficiency mode as written."""

    name: str
    rows: tuple[BookRow, ...]
    emode: str
    emode_line: int


def read_book(text: str, origin: str) -> list[BookAccount]:
    """Parse a book from CSV text; raise `BadScenario` that lists the errors with their lines, up to ten."""
    rows: dict[str, list[BookRow]] = {}
    modes: dict[str, tuple[str, int]] = {}
    errors = BookErrors()
    for line, cells in _table(text, origin, errors):
        with errors.collecting():
            _read_row(f"{origin}, line {line}", line, cells, rows, modes)
    errors.raise_any()
    if not rows:
        raise BadScenario(f"{origin} has no positions", f"its columns are {', '.join(COLUMNS)}")
    if len(rows) > MOST_ACCOUNTS:
        raise BadScenario(f"{origin} has {len(rows):,} accounts", f"at most {MOST_ACCOUNTS:,} are loaded")
    return [BookAccount(name, tuple(own), *modes.get(name, ("", own[0].line))) for name, own in rows.items()]


def _read_row(
    where: str, line: int, cells: dict[str, str], rows: dict[str, list[BookRow]], modes: dict[str, tuple[str, int]]
) -> None:
    """Add one row to the accounts and their efficiency modes."""
    account, asset = cells["account"], cells["asset"]
    for column in ("account", "asset"):
        if not cells[column]:
            raise BadScenario(f"{where}: the {column} is missing", f"a row names {', '.join(NEEDED)}")
    who = f"{where}: account '{account}', {asset}"
    amounts = [_amount(cells[column], f"{who}: {column}") for column in ("collateral", "debt")]
    if not any(amounts):
        raise BadScenario(f"{who}: neither collateral nor debt", "give an amount, or remove the row")
    earlier = next((row for row in rows.get(account, ()) if row.asset == asset), None)
    if earlier is not None:
        raise BadScenario(f"{who}: the same account and asset as in line {earlier.line}", "add the amounts up")
    rows.setdefault(account, []).append(BookRow(line, account, asset, *amounts))
    mode = cells.get("emode", "")
    if mode:
        first, first_line = modes.setdefault(account, (mode, line))
        if first != mode:
            raise BadScenario(
                f"{where}: account '{account}' is in eMode '{mode}' here and in '{first}' in line {first_line}",
                "an account has one eMode",
            )


def _table(text: str, origin: str, errors: BookErrors) -> Iterator[tuple[int, dict[str, str]]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if not lines:
        raise BadScenario(f"{origin} is empty", f"its columns are {', '.join(COLUMNS)}")
    separator = max(",;\t", key=lines[0][1].count)
    try:
        header, *rows = csv.reader(io.StringIO("\n".join(line for _, line in lines)), delimiter=separator, strict=True)
    except csv.Error as error:
        raise BadScenario(f"{origin} is not CSV: {error}", "check its quotes") from None
    names = [name.strip().lower() for name in header]
    for name in NEEDED:
        if name not in names:
            raise BadScenario(
                f"{origin} has no column '{name}'",
                f"it needs {', '.join(NEEDED)}, and may have emode: one row per account and asset",
            )
    for name in names:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS) or f"known: {', '.join(COLUMNS)}"
            raise BadScenario(f"{origin} has an unknown column '{name}'", hint)
    if len(set(names)) < len(names):
        raise BadScenario(f"{origin} has a column twice: {', '.join(names)}", "keep one of them")
    if len(rows) != len(lines) - 1:
        raise BadScenario(f"{origin} has a quoted cell over several lines", "write each row on one line")
    for (number, _), row in zip(lines[1:], rows, strict=True):
        if len(row) != len(names):
            message = f"{origin}, line {number}: {len(row)} cells where the header has {len(names)}"
            errors.found.append(BadScenario(message, "the line is cut or has a separator too many"))
            continue
        yield number, {name: cell.strip() for name, cell in zip(names, row, strict=True)}


def _amount(cell: str, what: str) -> Decimal:
    text = cell.replace("_", "")
    if not text:
        return Decimal(0)
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise BadScenario(f"{what} is '{cell}', not a number", "write whole tokens, such as 1250.5") from None
    if not amount.is_finite() or abs(amount) > LARGEST:
        raise BadScenario(f"{what} is '{cell}', which is not a valid amount", "write whole tokens, such as 1250.5")
    if amount < 0:
        raise BadScenario(f"{what} is {cell}, and an amount is not below zero", "debts have a column of their own")
    return amount


class Positions(AgentSettings):
    """Accounts that start with given positions on a lending market, from a table of account, asset, collateral, debt
    and emode. They are opened on the market's contracts before the first step."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"allow_unhealthy"})

    kind: Literal["positions"] = "positions"
    file: str | None = None
    """CSV or Parquet file with the columns account, asset, collateral, debt and, optionally, emode; relative to the
    scenario's folder. Amounts are in whole tokens."""
    data: str | None = None
    """The table as CSV text."""
    protocol: Protocol = "aave_v3"
    """Lending protocol: aave_v3, spark, compound_v3, or aave_v2 and morpho if the scenario creates their markets."""
    market: str = "cUSDCv3"
    """Market of Compound V3, or of Morpho: wstETH/USDC.86."""
    allow_unhealthy: bool = False
    """Accept accounts with a health factor below 1; by default they are refused with a list."""
    behaviour: dict[BehaviourName, RatioFromZero] | BehaviourName = "hold"
    """hold: never acts. band: keeps its health factor inside `band`. panic: repays all it can below `panic_below`. Or
    shares of each, drawn per account."""
    band: Annotated[list[Annotated[PositiveRatio, Mark.LEVEL]], Field(min_length=2, max_length=2)] = Field(
        default_factory=lambda: [Decimal("1.3"), Decimal("1.8")]
    )
    """Bounds for `behaviour: band`."""
    panic_below: Annotated[PositiveRatio, Mark.LEVEL] = Decimal("1.1")
    """Health factor below which `behaviour: panic` repays."""
    cash: Share = Decimal(0)
    """Share of the borrowed amounts that accounts keep to repay with; the rest is spent."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Positions:
        if self.file is None and self.data is None:
            raise fault("needs its table from a 'file' or as 'data'")
        if self.band[0] >= self.band[1]:
            raise fault(f"has a band from {self.band[0]} to {self.band[1]}; give the lower bound first")
        if isinstance(self.behaviour, dict) and not sum(self.behaviour.values()):
            raise fault("has a behaviour whose shares are all zero")
        if self.data is not None:
            try:
                _ = self.accounts
            except BadScenario as error:
                facts = {"message": error.message, "hint": error.hint}
                raise PydanticCustomError("rule", "{message}", facts) from None
        return self

    @property
    def origin(self) -> str:
        """Name of the table in messages."""
        return "the table of positions" if self.file is None else f"'{self.file}'"

    @cached_property
    def accounts(self) -> list[BookAccount]:
        """The accounts of the table."""
        return read_book(self.data or "", self.origin)

    @property
    def count(self) -> int:
        """Number of accounts."""
        return len(self.accounts)


def _short_form(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


TopLevelPositions = Annotated[Positions, BeforeValidator(_short_form, json_schema_input_type=str | Positions)]
"""A file, or the keys of `kind: positions`."""
