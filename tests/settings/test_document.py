"""YAML with places: what is read, what is refused, and where an error points."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.settings.document import Document
from mayavi.settings.document_kind import DocumentKind
from mayavi.settings.yaml_text import to_yaml


class RecipeError(UsageError):
    """Error class of the kind of document that these tests define."""


RECIPE = DocumentKind("recipe", RecipeError, named_sections=("agents",), tag_keys=("kind",))
TEXT = """\
chain: ethereum
agents:
  bob:  {kind: borrower, count: 1_000}
  "USDC.e": 3
list: [1, 2.50, -25%, 1_700 USDC, true, ~, 2023-03-11, 1:30, .5, 1e3, yes]
"""


def test_values_are_read_as_they_are_written() -> None:
    data = Document.parse(TEXT, "a.yaml", kind=RECIPE).data
    assert data["agents"]["bob"] == {"kind": "borrower", "count": 1000}
    assert data["list"] == [
        *(1, Decimal("2.50"), "-25%", "1_700 USDC", True, None, "2023-03-11", "1:30"),
        *(Decimal("0.5"), Decimal("1e3"), "yes"),
    ]


def test_a_place_is_told_by_line_and_column_counted_from_one() -> None:
    document = Document.parse(TEXT, "a.yaml", kind=RECIPE)
    assert document.where(("agents", "bob", "count")) == "a.yaml:3:33"
    assert document.where(("agents", "bob", "count"), key=True) == "a.yaml:3:26"
    assert document.where(("list", 2)) == "a.yaml:5:17"
    assert document.where(("agents", "bob", "nothing")) == "a.yaml:3:9"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("- 1\n- 2\n", "a.yaml:1:1: a recipe is a mapping"),
        ("a: 1\na: 2\n", "a.yaml:2:1: the key 'a' is given twice"),
        ("a: {b: 1, b: 2}\n", "a.yaml:1:11: the key 'b' is given twice"),
        ("a: [1, 2\nb: 3\n", "not YAML"),
        ("a: !!python/object:os.system {}\n", "the tag 'tag:yaml.org,2002:python/object:os.system' means nothing"),
        ("a: !secret x\n", "means nothing here"),
        ("? [1, 2]\n: 3\n", "a key is a word"),
        ("a: &a [*a]\n", "an anchor that holds itself"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: \t- b\n\t c\n", "not YAML"),
        ("a: \x00\n", "not YAML"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Document.parse(text, "a.yaml", kind=RECIPE)
    assert message in caught.value.message


@pytest.mark.slow(1)
def test_a_few_aliases_cannot_fill_the_memory() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for one, two in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{two}: &{two} [{', '.join(['*' + one] * 10)}]")
    with pytest.raises(RecipeError, match="more than"):
        Document.parse("\n".join(lines), "a.yaml", kind=RECIPE)


@pytest.mark.slow(1)
def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(RecipeError):
        Document.parse("a: " + "[" * 5000 + "]" * 5000, "a.yaml", kind=RECIPE)


def test_an_override_replaces_one_value_and_is_named_in_errors() -> None:
    document = Document.parse(TEXT, "a.yaml", kind=RECIPE)
    document.override("agents.bob.count=7")
    document.override("list.0={x: -5%}")
    document.override("agents.USDC.e=4")
    document.override('agents.bob."a.b"=1')
    assert document.data["agents"] == {"bob": {"kind": "borrower", "count": 7, "a.b": 1}, "USDC.e": 4}
    assert document.data["list"][0] == {"x": "-5%"}
    assert document.where(("agents", "bob", "count")) == "--set agents.bob.count=7"
    assert document.where(("agents", "bob", "kind")) == "a.yaml:3:16"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("agents.bob.count", "does not set anything"),
        ("=5", "does not set anything"),
        ("agents.bib.count=5", "there is no 'bib' in agents"),
        ("chain.x=5", "chain is 'ethereum', and nothing is inside it"),
        ("list.99=5", "list is a list of 11"),
        ("list.x=5", "list is a list of 11"),
        ("agents.bob.count=[1", "'--set agents.bob.count=[1': the value is not YAML at column 3: expected"),
        ("agents.bob.count={a: 1, a: 2}", "': the key 'a' is given twice, at column 8 of the value"),
        ("agents.bob.count=\x00", "the value is not YAML: "),
    ],
)
def test_an_override_that_goes_nowhere_says_so(option: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Document.parse(TEXT, "a.yaml", kind=RECIPE).override(option)
    assert message in caught.value.message
    assert option in caught.value.message


def test_what_differs_on_a_chain_goes_over_the_rest_and_keeps_its_place() -> None:
    text = "steps: 4\nagents:\n  bob: {kind: a, count: 1}\nchains:\n  base: {agents: {bob: {count: 2}}}\n"
    document = Document.parse(text, "a.yaml", kind=RECIPE)
    document.graft(("chains", "base"))
    assert document.data["agents"] == {"bob": {"kind": "a", "count": 2}}
    assert document.where(("agents", "bob", "count")) == "a.yaml:5:32"


def test_a_thing_of_another_kind_replaces_the_old_one_whole() -> None:
    text = "agents:\n  bob: {kind: a, count: 1}\nchains:\n  base: {agents: {bob: {kind: b}}}\n"
    document = Document.parse(text, "a.yaml", kind=RECIPE)
    document.graft(("chains", "base"))
    assert document.data["agents"] == {"bob": {"kind": "b"}}


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_is_not_there_is_a_misuse(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Document.open(tmp_path / name)


def test_a_file_that_is_no_text_says_which_byte(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: \xff\xfe")
    with pytest.raises(RecipeError, match="byte 3 is not UTF-8"):
        Document.open(tmp_path / "a.yaml", kind=RECIPE)


SCALARS = (
    st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, places=6)
    | st.booleans()
    | st.none()
    | st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")))
)
TREES = st.dictionaries(
    st.text(alphabet="abcXYZ._0129-", min_size=1),
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)),
    min_size=1,
)


@given(TREES)
@example({"0": "0E0"})
@example({"a": "1_000", "b": "-.5", "c": "1e3"})
def test_what_is_written_reads_back_the_same(data: dict[str, object]) -> None:
    assert Document.parse(to_yaml(data), "again").data == data


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("rules.a.b.limit=1", ("a.b", "limit")),
        ("rules.a.mode.1.limit=1", ("a.mode.1", "limit")),
        ("rules.many.x.1.limit=1", ("many.x", 1, "limit")),
        ("rules.many.x.0=1", ("many.x", 0)),
        ("rules.a.b.lmit=1", ("a.b", "lmit")),
        ("rules.a.b=1", ("a.b",)),
        ("rules.many.y={limit: 1}", ("many.y",)),
        ("rules.many.x.y.limit=1", ("many.x.y", "limit")),
    ],
)
def test_keys_with_dots_need_no_quotes_in_a_section_of_such_keys(option: str, place: tuple[str | int, ...]) -> None:
    kind = DocumentKind(dotted_sections={"rules": frozenset({"limit", "at"})})
    document = Document({"rules": {"many.x": [{"limit": 5}, {"limit": 6}]}}, "", kind=kind)
    document.override(option)
    found: Any = document.data["rules"]
    for key in place:
        found = found[key]
    assert found in (1, {"limit": 1})


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("agents.A/B.500={x: 1}", ("agents", "A/B.500", "x")),
        ("deep.markets.A/B.96.5.x=1", ("deep", "markets", "A/B.96.5", "x")),
        ('deep.markets."A/B.96.5".x=1', ("deep", "markets", "A/B.96.5", "x")),
        ('deep."a.b".x=1', ("deep", "a.b", "x")),
        ("deep.routes.A/B.0=1", ("deep", "routes", "A/B", 0)),
        ("deep.routes.A/B.7.x=1", ("deep", "routes", "A/B.7", "x")),
    ],
)
def test_keys_with_dots_are_added_at_any_depth(option: str, place: tuple[str | int, ...]) -> None:
    document = Document({"deep": {"routes": {"A/B": [5], "A/B.7": {}}}}, "", kind=RECIPE)
    document.override(option)
    found: Any = document.data
    for key in place:
        found = found[key]
    assert found == 1


def test_a_misspelt_entry_says_how_a_new_one_is_added() -> None:
    with pytest.raises(UsageError, match=r"there is no 'A/B.500' in agents") as caught:
        Document.parse(TEXT, "a.yaml", kind=RECIPE).override("agents.A/B.500.x=1")
    assert "a new one is set whole: agents.A/B.500={…}" in str(caught.value.hint)


def test_a_section_of_keys_with_dots_is_made_where_it_is_missing() -> None:
    document = Document({}, "", kind=DocumentKind(dotted_sections={"rules": frozenset({"limit"})}))
    document.override("rules.a.b.limit=1")
    document.override("rules.a.b.c.limit=2")
    assert document.data == {"rules": {"a.b": {"limit": 1}, "a.b.c": {"limit": 2}}}


def test_a_text_that_is_read_again_is_not_parsed_again_and_gives_data_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = f"{TEXT}once: {{more: [1]}}\n"
    first = Document.parse(text, "first.yaml", kind=RECIPE)
    monkeypatch.setattr("yaml.compose", lambda *_arguments, **_options: pytest.fail("parsed again"))
    first.data["once"]["more"].append(2)
    first.put(("chain",), "base", "--chain base")
    again = Document.parse(text, "again.yaml", kind=RECIPE)
    assert (again.data["chain"], again.data["once"]) == ("ethereum", {"more": [1]})
    assert again.where(("once", "more")) == f"again.yaml:{text.count(chr(10))}:14"
