"""The page on figures has every reader with its real signature; tests/test_pages.py runs its examples."""

from __future__ import annotations

import inspect
import re

import mayavi.sim
from mayavi.sim import market_figures, population_figures
from tests.pages import page


def test_every_reader_is_on_the_page_with_its_signature_and_can_be_imported_from_the_package() -> None:
    text = page("how-to/record-figures.md").text
    documented = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", text, re.MULTILINE))
    readers = {
        name: each
        for module in (market_figures, population_figures)
        for name, each in vars(module).items()
        if inspect.isclass(each) and each.__module__ == module.__name__ and hasattr(each, "read")
    }
    del readers["Reader"]
    assert set(documented) == set(readers)
    for name, reader in {**readers, "MarketSnapshotHook": mayavi.sim.MarketSnapshotHook}.items():
        assert getattr(mayavi.sim, name) is reader
        shown = [
            each.replace(annotation=inspect.Parameter.empty) for each in inspect.signature(reader).parameters.values()
        ]
        signature = str(inspect.Signature(shown))[1:-1]
        assert f"`{name}({signature})`" in text
        for parameter in inspect.signature(reader).parameters if name in readers else ():
            assert f"| `{parameter}` |" in text or parameter == "name"
