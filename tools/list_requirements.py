"""Print the requirements of a development environment, one per line, from pyproject.toml.

The Makefile installs them before the package itself is built, in the versions of constraints.txt. An argument names the
extra to list instead of `dev`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def list_requirements(extra: str = "dev") -> list[str]:
    """Build backend, run-time dependencies and `extra` with the extras it includes."""
    document = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = document["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    own = f"{project['name']}["

    requirements = [*document["build-system"]["requires"], *project["dependencies"]]
    wanted = [extra]
    for name in wanted:  # grows while it is walked
        for requirement in extras[name]:
            if requirement.startswith(own):
                wanted += requirement[len(own) :].rstrip("]").split(",")
            else:
                requirements.append(requirement)
    return sorted(set(requirements))


if __name__ == "__main__":
    print(*list_requirements(*sys.argv[1:2]), sep="\n")
