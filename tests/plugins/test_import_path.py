"""Import paths: what they find, and in one line why they cannot be used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mayavi.errors import PluginError, UsageError
from mayavi.plugins.import_path import import_object
from mayavi.plugins.permission import VARIABLE, import_paths_allowed
from tests.own_code import OwnCode


def test_a_module_of_the_folder_and_of_a_package_is_found(own_code: OwnCode) -> None:
    own_code.write(
        my_tools="class Hammer:\n    class Grip: ...\n", my_box__in____init__="", my_box__in__inner="SAW = 3\n"
    )
    hammer = import_object("my_tools:Hammer", own_code.folder)
    assert import_object("my_tools:Hammer.Grip", own_code.folder) is hammer.Grip
    assert import_object("my_box.inner:SAW", own_code.folder) == 3
    assert import_object("pathlib:Path", own_code.folder) is Path


def test_the_folder_comes_last_on_the_path_so_that_it_replaces_no_library(own_code: OwnCode) -> None:
    own_code.write(my_tools="X = 1\n")
    import_object("my_tools:X", own_code.folder)
    assert sys.path[-1] == str(own_code.folder)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import numpy\nimport nothing_of_that_name\n", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("x = 1\n\nprint(undefined)\n", "NameError: name 'undefined' is not defined (my_tools.py:3)"),
        ("def f(:\n", "SyntaxError: invalid syntax (my_tools.py:1)"),
        ("raise SystemExit(3)\n", "SystemExit: 3 (my_tools.py:1)"),
        ("raise ValueError('first\\nlast')\n", "ValueError: last (my_tools.py:1)"),
    ],
)
def test_a_module_that_does_not_import_gives_the_last_line_of_its_traceback(
    own_code: OwnCode, text: str, reason: str
) -> None:
    own_code.write(my_tools=text)
    with pytest.raises(PluginError) as refused:
        import_object("my_tools:Hammer", own_code.folder)
    assert refused.value.message.startswith("'my_tools' cannot be imported: ")
    assert reason in refused.value.message
    assert "\n" not in refused.value.message
    assert "Traceback" not in refused.value.message


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("my_tool:Hammer", "there is no module 'my_tool'", "did you mean 'my_tools'?"),
        ("my_tools.x:Hammer", "there is no module 'my_tools.x'", "modules are looked for in"),
        ("my_tools:Hamer", "has no 'Hamer'", "did you mean 'Hammer'?"),
        ("my_tools:Zzz", "has no 'Zzz'", "it defines Hammer"),
        ("my_tools:Hammer.Grp", "'my_tools:Hammer' has no 'Grp'", "did you mean 'Grip'?"),
        ("my_tools:", "is not a valid import path", "my_agents:Saver"),
        (":Hammer", "is not a valid import path", "my_agents:Saver"),
        ("my-tools:Hammer", "is not a valid import path", "my_agents:Saver"),
        ("../my_tools:Hammer", "is not a valid import path", "my_agents:Saver"),
        ("my_tools:Hammer()", "is not a valid import path", "my_agents:Saver"),
    ],
)
def test_a_path_that_names_nothing_says_what_is_near(own_code: OwnCode, path: str, message: str, hint: str) -> None:
    own_code.write(my_tools="class Hammer:\n    class Grip: ...\n")
    with pytest.raises(PluginError) as refused:
        import_object(path, own_code.folder)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


def test_a_file_that_another_module_hides_is_refused(own_code: OwnCode) -> None:
    own_code.write(json="class Saver: ...\n", first__in__my_tools="X = 1\n", second__in__my_tools="X = 2\n")
    with pytest.raises(PluginError, match="which hides"):
        import_object("json:Saver", own_code.folder)
    assert import_object("my_tools:X", own_code.folder / "first") == 1
    with pytest.raises(PluginError, match=r"first/my_tools.py', which hides '.*second/my_tools.py'"):
        import_object("my_tools:X", own_code.folder / "second")


@pytest.mark.parametrize(
    ("variable", "wanted", "allowed"),
    [
        (None, None, True), (None, True, True), (None, False, False),
        ("1", None, True), ("1", False, False),
        ("0", None, False), ("0", True, False), ("off", True, False),
    ],
)  # fmt: skip
def test_the_variable_forbids_and_nothing_overrules_it(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, wanted: bool | None, allowed: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    assert import_paths_allowed(wanted) is allowed


def test_a_variable_that_says_neither_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "perhaps")
    with pytest.raises(UsageError, match="MAYAVI_ALLOW_IMPORT_PATHS is 'perhaps'"):
        import_paths_allowed()
