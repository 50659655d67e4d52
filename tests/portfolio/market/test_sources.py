"""A market by what one writes: a file, or a list of columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import BadArgument, UnknownKey
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.history import read_rwa, write_rwa
from mayavi.portfolio.market.model import RWAModel
from mayavi.portfolio.market.sources import data_files, open_rwa, parse_columns, relocate


def test_columns_of_files_with_commas_colons_and_delays():
    told = "eth_price=a/eth.csv:close, btc_price = b:c.csv:close,fed_rate=fed.csv:Rate, upper - limit@24"
    assert parse_columns(told) == {
        "eth_price": ("a/eth.csv", "close"),
        "btc_price": ("b:c.csv", "close"),
        "fed_rate": ("fed.csv", "Rate, upper - limit", 24.0),
    }


def test_files_are_named_once_and_can_be_moved():
    told = "eth_price=a.csv:close,btc_price=a.csv:open@1.5, fed_rate=fed.csv:Rate, upper - limit@24"
    assert data_files(told) == ["a.csv", "fed.csv"]
    there = relocate(told, {"a.csv": "b:c.csv", "fed.csv": "d/fed.csv"})
    assert parse_columns(there) == {
        "eth_price": ("b:c.csv", "close"),
        "btc_price": ("b:c.csv", "open", 1.5),
        "fed_rate": ("d/fed.csv", "Rate, upper - limit", 24.0),
    }
    assert data_files("market=1.csv") == ["market=1.csv"]
    assert relocate("market=1.csv", {"market=1.csv": "2.csv"}) == "2.csv"


def test_one_file_and_its_columns_one_by_one_are_the_same_market(tmp_path: Path):
    file = tmp_path / "market=1.csv"
    write_rwa(RWAModel().draw([stream(1, "x")], 60), file)
    whole = open_rwa(str(file))
    assert (whole.values == read_rwa(file).values).all()
    parts = open_rwa(", ".join(f"{name}={file}:{name}" for name in ("eth_price", "btc_price", "fed_rate")))
    for name in ("eth_price", "btc_price", "fed_rate"):
        assert np.array_equal(parts.column(name), whole.column(name))
    assert "sol_price" in parts.assumed
    later = open_rwa(str(file), begin="2025-01-01T10:00:00Z", end="2025-01-01T20:00:00Z")
    assert later.hours == 10


@pytest.mark.parametrize("told", ["eth_price=eth.csv", "eth_price=:close", "eth_price=eth.csv:"])
def test_a_column_needs_a_file_and_its_column(told: str):
    with pytest.raises(BadArgument, match="names no column of a file"):
        open_rwa(told)


def test_a_column_there_is_not_and_one_named_twice():
    with pytest.raises(UnknownKey, match="unknown column 'eth_prise'") as caught:
        open_rwa("eth_prise=eth.csv:close")
    assert "eth_price" in (caught.value.hint or "")
    with pytest.raises(BadArgument, match="named twice"):
        open_rwa("eth_price=a.csv:b, eth_price=a.csv:b")
