"""The table of positions: read exactly, and every fault named with its line."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import BadScenario
from mayavi.scenarios.models.agents.positions import BookRow, read_book

HEAD = "account,asset,collateral,debt,emode\n"


def test_rows_are_grouped_by_account_and_amounts_are_exact() -> None:
    text = (
        "# a comment\n"
        + HEAD
        + "alice,WETH,10.000000000000000001,,\n\nbob,USDC,,1_000.5,2\nalice,USDC,,3,1\nalice,DAI,1,2,1\n"
    )
    alice, bob = read_book(text, "book")
    assert (alice.name, alice.emode, alice.emode_line) == ("alice", "1", 6)
    assert alice.rows == (
        BookRow(3, "alice", "WETH", Decimal("10.000000000000000001"), Decimal(0)),
        BookRow(6, "alice", "USDC", Decimal(0), Decimal(3)),
        BookRow(7, "alice", "DAI", Decimal(1), Decimal(2)),
    )
    assert (bob.emode, bob.rows[0].debt) == ("2", Decimal("1000.5"))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_are_found_by_name_in_any_order_and_eMode_may_be_missing(separator: str) -> None:  # noqa: N802
    text = "Debt,account,asset,collateral\n,alice,WETH,1\n".replace(",", separator)
    (alice,) = read_book(text, "book")
    assert (alice.rows[0].collateral, alice.emode) == (1, "")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "book is empty", "account, asset, collateral, debt, emode"),
        (HEAD, "book has no positions", ""),
        ("account,asset,collateral\na,WETH,1\n", "book has no column 'debt'", "one row per account and asset"),
        ("account,asset,collateral,debt,emodes\na,WETH,1,,\n", "book has an unknown column 'emodes'", "'emode'"),
        ("account,asset,collateral,debt,debt\na,WETH,1,,\n", "book has a column twice", "keep one"),
        (HEAD + "a,WETH,1\n", "book, line 2: 3 cells where the header has 5", "cut"),
        (HEAD + ",WETH,1,,\n", "book, line 2: the account is missing", ""),
        (HEAD + "a,,1,,\n", "book, line 2: the asset is missing", ""),
        (HEAD + "a,WETH,-1,,\n", "book, line 2: account 'a', WETH: collateral is -1", "debts have a column"),
        (HEAD + "a,WETH,1,,\na,USDC,,-5,\n", "book, line 3: account 'a', USDC: debt is -5", ""),
        (HEAD + "a,WETH,one,,\n", "book, line 2: account 'a', WETH: collateral is 'one', not a number", "1250.5"),
        (HEAD + "a,WETH,nan,,\n", "collateral is 'nan', which is not a valid amount", ""),
        (HEAD + "a,WETH,1e40,,\n", "collateral is '1e40', which is not a valid amount", ""),
        (HEAD + "a,WETH,0,,\n", "book, line 2: account 'a', WETH: neither collateral nor debt", "remove the row"),
        (HEAD + "a,WETH,1,,\nb,WETH,1,,\na,WETH,2,,\n", "line 4: account 'a', WETH: the same account and", "add"),
        (HEAD + "a,WETH,1,,1\na,USDC,,1,2\n", "line 3: account 'a' is in eMode '2' here and in '1'", "one eMode"),
        (HEAD + 'a,"WETH,1,,\n', "book is not CSV", "quotes"),
        (HEAD + 'a,"WE\nTH",1,,\n', "book has a quoted cell over several lines", "one line"),
    ],
)  # fmt: skip
def test_every_fault_names_its_line_and_what_to_do(text: str, message: str, hint: str) -> None:
    with pytest.raises(BadScenario) as caught:
        read_book(text, "book")
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
