"""Packages of the training frameworks: whether they are installed, and in which version."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import mayavi
from mayavi.errors import SetupError
from mayavi.setup_errors import RL_HINT

PACKAGES = {
    "sb3": ("stable_baselines3", "sb3_contrib"),
    "rllib": ("ray",),
    "fast": (),
}


def check_installed(framework: str) -> None:
    """Raise `SetupError` naming the extra to install if a package of `framework` is missing."""
    for package in ("torch", "gymnasium", *PACKAGES[framework]):
        if find_spec(package) is None:
            raise SetupError(
                f"training with {framework} needs {package}, which is not installed",
                RL_HINT,
            )


def versions(framework: str, env: str | None = None) -> dict[str, str]:
    """Versions of Mayavi, Python and every package that the figures of a training depend on.

    `env` adds the code of an environment of another package.
    """
    found = {"mayavi": mayavi.__version__, "python": platform.python_version()}
    for name in ("numpy", "torch", "gymnasium", *PACKAGES[framework]):
        try:
            found[name] = version(name.replace("_", "-"))
        except PackageNotFoundError:
            found[name] = "unknown"
    if env is not None:
        from mayavi.gym_env.registry import env_versions

        found |= env_versions(env)
    return found
