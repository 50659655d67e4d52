"""Provenance of code: the same files give the same hash, and a change of any file of it another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mayavi.plugins.import_path import import_object
from mayavi.plugins.provenance import provenance_of, source_files
from tests.own_code import OwnCode

FILES = {
    "agent": "import json\n\nimport helper\nfrom box import inner\n\nX = 1\n",
    "helper": "import mayavi\n",
    "unused": "Y = 2\n",
    "box__in____init__": "",
    "box__in__inner": "from . import deep\nfrom .deep import Z\n",
    "box__in__deep": "Z = 3\n",
    "box__in__unused": "",
}


def written(own_code: OwnCode, folder: str, **changes: str) -> Path:
    place = own_code.folder / folder
    OwnCode(place).write(**FILES | changes)
    return place


def hashed(own_code: OwnCode, folder: str, **changes: str) -> str:
    import_object("agent:X", written(own_code, folder, **changes))
    found = provenance_of("agent").sha256
    own_code.forget()
    return found


def test_the_hash_covers_the_files_beside_a_module_that_it_imports(own_code: OwnCode) -> None:
    import_object("agent:X", written(own_code, "a"))
    assert list(source_files("agent")) == ["agent.py", "box/__init__.py", "box/deep.py", "box/inner.py", "helper.py"]


@pytest.mark.parametrize("changed", ["agent", "helper", "box__in__deep", "box__in____init__"])
def test_another_text_of_a_file_is_another_hash(own_code: OwnCode, changed: str) -> None:
    first = hashed(own_code, "a")
    assert len(first) == 64
    assert hashed(own_code, "b") == first  # the folder does not matter
    assert hashed(own_code, "c", **{changed: FILES[changed] + "# changed\n"}) != first
    assert hashed(own_code, "d", unused="Y = 4\n", box__in__unused="A = 1\n") == first


def test_what_is_edited_after_the_import_is_not_what_runs(own_code: OwnCode) -> None:
    folder = written(own_code, "a")
    import_object("agent:X", folder)
    before = provenance_of("agent")
    (folder / "agent.py").write_text("X = 2\n")
    assert provenance_of("agent") == before
    assert sys.modules["agent"].X == 1


@pytest.mark.slow(1)
def test_an_installed_module_names_its_package_and_version() -> None:
    import yaml

    found = provenance_of("yaml")
    assert (found.module, found.distribution, found.version) == ("yaml", "PyYAML", yaml.__version__)
    assert str(found) == f"yaml of PyYAML {yaml.__version__}, sha256 {found.sha256}"
    assert all(name.startswith("yaml/") for name in source_files("yaml"))


def test_a_module_without_a_source_file_has_no_hash() -> None:
    assert str(provenance_of("sys")) == "sys, sha256 unknown"
