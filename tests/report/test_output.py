"""Files of reports: written whole or not at all, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import ReportError, SetupError, UnknownName, UnknownRun, UsageError
from mayavi.report import plotly
from mayavi.report.notebook import Report
from mayavi.report.output import require_chromium, write_html, write_pdf
from mayavi.report.page import Page, Provenance, Verdict
from mayavi.report.registry import Places, find, safe
from mayavi.report.render import prose, render

PAGE = Page(
    "t", "s", Verdict("Nothing <happens>.", "NONE"), (), (), None, (), Provenance((("seed", "0"),), "mayavi run x")
)


def test_a_page_without_charts_needs_no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotly, "ensure_plotly", lambda: pytest.fail("asked for Plotly"))
    html = render(PAGE)
    assert "Nothing &lt;happens&gt;." in html
    assert len(html) < 100_000


def test_without_plotly_the_error_names_the_setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAYAVI_CONTRACTS", str(tmp_path))
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    plotly.plotly_source.cache_clear()
    with pytest.raises(
        SetupError, match=r"report packages are not installed \(plotly\.js-cartesian-dist-min@"
    ) as error:
        plotly.plotly_source()
    assert "`mayavi setup`" in (error.value.hint or "")
    plotly.plotly_source.cache_clear()


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = write_html("one", tmp_path / "deep" / "page.html")
    write_html("two", path)
    assert path.read_text(encoding="utf-8") == "two"
    assert [each.name for each in path.parent.iterdir()] == ["page.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "page.html", tmp_path):
        with pytest.raises(UsageError, match=str(place)) as error:
            write_html("", place)
        assert "--out" in (error.value.hint or "")


def test_without_chromium_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MAYAVI_CHROMIUM", raising=False)
    monkeypatch.setattr("mayavi.report.output._APPS", ())
    with pytest.raises(SetupError, match="needs Chromium") as error:
        require_chromium()
    assert "apt install chromium" in (error.value.hint or "")
    monkeypatch.setenv("MAYAVI_CHROMIUM", "nowhere")
    with pytest.raises(SetupError, match="MAYAVI_CHROMIUM names 'nowhere'"):
        require_chromium()


def test_a_chromium_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'no display' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("MAYAVI_CHROMIUM", str(program))
    with pytest.raises(ReportError, match="exit code 3") as error:
        write_pdf("<p>", tmp_path / "page.pdf")
    assert error.value.hint == "no display"
    assert not (tmp_path / "page.pdf").exists()


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    shown = Report(PAGE)._repr_html_()
    assert shown.startswith('<iframe title="t" srcdoc="&lt;!DOCTYPE html&gt;')
    assert 'sandbox="allow-scripts' in shown


def test_unknown_names_and_kinds(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match="'nothing'"):
        find("nothing", Places(tmp_path / "runs.duckdb", tmp_path))
    with pytest.raises(UnknownName, match="unknown kind 'rnu'"):
        find("nothing", Places(tmp_path / "runs.duckdb"), "rnu")


def test_names_of_files_are_safe() -> None:
    assert safe("../<script> a") == "script-a"
    assert safe("///") == "report"


def test_backticks_become_code_and_nothing_else() -> None:
    assert prose("run `mayavi <x>` & go") == "run <code>mayavi &lt;x&gt;</code> &amp; go"
