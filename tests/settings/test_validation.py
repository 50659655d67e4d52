"""From a pydantic error to one for users: what, where, the value, what would fit, in the document's own words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError, model_validator
from pydantic_core._pydantic_core import list_all_errors

from mayavi.errors import UsageError
from mayavi.settings.document import Document
from mayavi.settings.document_kind import DocumentKind
from mayavi.settings.model import Model
from mayavi.settings.validation import checked, checked_values, user_error


class RecipeError(UsageError):
    """Error class of the kind of document that these tests define."""


class Step(Model):
    kind: Literal["bake", "cool"]
    minutes: int = Field(ge=1)


class Recipe(Model):
    title: str
    heat: Annotated[tuple[float, float], Field(strict=False)] = (1.0, 2.0)
    steps: dict[str, Step] = Field(default_factory=dict, min_length=0, max_length=2)
    vegan: bool = False
    butter: int = 0
    spoons: list[int] = Field(default_factory=lambda: [1], min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        if self.vegan and self.butter:
            raise ValueError("butter is not vegan; take oil")
        return self


FILE = DocumentKind("recipe", RecipeError, place_hints={("title",): "every dish has one"}, tag_keys=("kind",))
FLAT = DocumentKind("recipe", owner="a recipe", place_hints={("title",): "name it with --title"})


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("vegan: true", "a.yaml:1:1: 'title' is missing", "every dish has one"),
        ("title: a\nvegann: 1", "a.yaml:2:1: unknown key 'vegann'", "did you mean 'vegan'?"),
        ("title: a\nx: 1", "a.yaml:2:1: unknown key 'x'", "known here: butter, heat, spoons, steps, title, vegan"),
        ("title: a\nvegan: maybe", "a.yaml:2:8: vegan is 'maybe', not true or false", ""),
        ("title: a\nsteps: {b: {kind: bak, minutes: 1}}", "steps.b.kind is 'bak', and may be 'bake' or 'cool'", "bake"),
        ("title: a\nsteps: {b: {kind: bake, minutes: 0}}", "a.yaml:2:34: steps.b.minutes is '0', and must be at", ""),
        ("title: a\nsteps: {b: {kind: bake}}", "a.yaml:2:12: 'minutes' is missing from steps.b", ""),
        ("title: a\nvegan: true\nbutter: 1", "a.yaml:1:1: the recipe: butter is not vegan", "take oil"),
    ],
)  # fmt: skip
def test_an_error_in_a_file_has_position_value_and_what_fits(text: str, message: str, hint: str) -> None:
    with pytest.raises(RecipeError) as caught:
        checked(Recipe, Document.parse(text, "a.yaml", kind=FILE))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({}, "a recipe needs 'title'", "name it with --title"),
        ({"title": "a", "vegann": 1}, "a recipe has no setting 'vegann'", "did you mean 'vegan'?"),
        ({"title": "a", "x": 1}, "a recipe has no setting 'x'", "it has butter, heat, spoons, steps, title, vegan"),
        ({"title": 3}, "setting 'title' is 3, not text", ""),
        ({"title": "a", "heat": [1.0]}, "setting 'heat' is [1.0]: number 2 of it is missing", ""),
        ({"title": "a", "heat": (1.0,)}, "setting 'heat' is (1.0,): number 2 of it is missing", ""),
        ({"title": "a", "vegan": True, "butter": 1}, "butter is not vegan", "take oil"),
    ],
)
def test_an_error_in_plain_values_names_the_setting(values: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_values(Recipe, values, FLAT)
    assert caught.value.message == message
    assert hint in (caught.value.hint or "")


def test_all_problems_are_listed_the_first_as_the_message() -> None:
    with pytest.raises(RecipeError) as caught:
        checked(Recipe, Document.parse("title: 1\nvegan: 2\nbutter: b", "a.yaml", kind=FILE))
    assert caught.value.message == "a.yaml:1:8: title is '1', not text"
    assert caught.value.hint is not None
    assert "also a.yaml:2:8: vegan is '2', not true or false" in caught.value.hint
    assert "also a.yaml:3:9: butter is 'b', not a whole number" in caught.value.hint


def test_a_list_with_a_wrong_entry_is_not_called_too_short() -> None:
    with pytest.raises(UsageError) as caught:
        checked_values(Recipe, {"title": "a", "spoons": ["many"]}, FLAT)
    assert "'spoons.0' is 'many', not a whole number" in caught.value.message
    assert "entries" not in (caught.value.hint or "")
    with pytest.raises(UsageError, match="has 0 entries, and needs at least 1"):
        checked_values(Recipe, {"title": "a", "spoons": []}, FLAT)


def test_an_unknown_key_hides_no_other_problem() -> None:
    text = "titel: a\ncolour: b\nvegan: 2\nbutter: b"
    with pytest.raises(RecipeError) as caught:
        checked(Recipe, Document.parse(text, "a.yaml", kind=FILE))
    assert caught.value.message == "a.yaml:1:1: unknown key 'titel'"
    assert (caught.value.hint or "").splitlines() == [
        "did you mean 'title'?",
        "also a.yaml:2:1: unknown key 'colour'",
        "also a.yaml:3:8: vegan is '2', not true or false",
        "also a.yaml:4:9: butter is 'b', not a whole number",
    ]


ELSEWHERE = {"union_tag_invalid", "union_tag_not_found", "literal_error"}
"""Errors that the tests above cover."""


@pytest.mark.parametrize(
    "known", [each for each in list_all_errors() if each["type"] not in ELSEWHERE], ids=lambda known: known["type"]
)
def test_no_message_has_the_words_of_pydantic(known: dict[str, Any]) -> None:
    document = Document.parse("title: 1", "a.yaml", kind=FILE)
    facts = dict(known.get("example_context") or {})
    if known["type"] in {"value_error", "assertion_error"}:
        facts["error"] = ValueError("butter is sold out; wait")
    line: Any = {"type": known["type"], "loc": ("title",), "input": 1}
    error = ValidationError.from_exception_data("Recipe", [line | ({"ctx": facts} if facts else {})])
    (details,) = error.errors(include_url=False)
    found = user_error(error, document)
    words = details["msg"].split("'")[0].strip().lower()
    assert "a.yaml:1:" in found.message
    assert "should be" not in found.message
    assert known["type"] in {"value_error", "assertion_error"} or words not in found.message.lower()
