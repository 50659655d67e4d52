"""Tables of results in notebooks: HTML and pandas data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from mayavi.errors import SetupError


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML."""
    from html import escape  # only notebooks need it

    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_notes(texts: Sequence[str]) -> str:
    """Return a paragraph of HTML for each note."""
    from html import escape

    return "".join(f"<p>note: {escape(text)}</p>" for text in texts)


def data_frame(rows: Sequence[Mapping[str, object]]) -> Any:
    """Return the rows as a pandas data frame."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise SetupError(
            "data frames need pandas, which is not installed", "run `pip install 'mayavi-sim[notebook]'`"
        ) from error
    return pandas.DataFrame(rows)
