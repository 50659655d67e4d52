"""Packages that only some runs need, installed at their first use or ahead by `mayavi setup --all`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mayavi.compilers.package_folder import Say
from mayavi.compilers.solc_install import PINNED, ensure_solc, solc_folder
from mayavi.worlds.aave_v36 import aave_v36_contracts, built_path
from mayavi.worlds.deploy.pendle import PENDLE
from mayavi.worlds.deploy.uniswap_v4 import UNISWAP_V4
from mayavi.worlds.published import Publication, published_contracts

SET_UP_ALL = "mayavi setup --all"
"""Command that installs them all."""


@dataclass(frozen=True, slots=True)
class LaterPackages:
    """Contracts or a compiler: `purpose` says what needs them, `where` where they are kept."""

    name: str
    purpose: str
    where: Callable[[], str]
    is_there: Callable[[], bool]
    install: Callable[[Say], object]


def later_packages() -> list[LaterPackages]:
    """Return all of them, in the order in which they are installed."""
    return [
        LaterPackages(
            "Solidity compiler",
            "a Solidity file is compiled",
            lambda: f"solc {PINNED} in {solc_folder().packages}",
            lambda: not solc_folder().missing_packages(),
            lambda say: ensure_solc(say=say),
        ),
        LaterPackages(
            "Aave V3.6",
            "a world of Aave V3.6 is built",
            lambda: f"compiled in {built_path()}",
            lambda: built_path().is_file(),
            aave_v36_contracts,
        ),
        _published(UNISWAP_V4),
        _published(PENDLE),
    ]


def _published(publication: Publication) -> LaterPackages:
    return LaterPackages(
        publication.title,
        f"{publication.title} is first deployed",
        lambda: f"compiled in {publication.path}",
        publication.path.is_file,
        lambda say: published_contracts(publication, say),
    )
