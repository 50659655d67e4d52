"""Plugins of installed packages: what there is, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.cli.console.output import Column, print_table
from mayavi.errors import SetupError

if TYPE_CHECKING:
    from mayavi.plugins.entry_points import Plugin


def all_plugins() -> list[Plugin]:
    """Load the plugins of all installed packages; those that cannot be used have an `error`."""
    from mayavi.protocols.registry import installed_protocols
    from mayavi.scenarios.build.agents.registry import installed_kinds
    from mayavi.scenarios.installed import installed_scenarios

    return [*installed_kinds(), *installed_scenarios(), *installed_protocols(), *_environments()]


def _environments() -> list[Plugin]:
    from mayavi.plugins.entry_points import ENVIRONMENTS, plugins

    if not (found := plugins(ENVIRONMENTS)):
        return []
    try:
        from mayavi.gym_env.registry import installed_environments
    except SetupError as error:  # gymnasium is an extra
        return [replace(each, error=error.message) for each in found]
    return installed_environments()


def print_plugins(plugins: Sequence[Plugin]) -> None:
    """Print a table of plugins; a broken one with the reason."""
    columns = [Column("of installed packages", right=False), Column("name", right=False, style="bold")]
    columns += [Column("package", right=False), Column("", right=False)]
    rows = [(each.noun, each.name, each.package, f"broken: {each.error}" if each.error else "") for each in plugins]
    print_table(columns, rows)
