"""Import errors that a set-up command repairs."""

from __future__ import annotations

from mayavi.errors import SetupError

RL_HINT = "`pip install 'mayavi-sim[rl]'` installs it; in a checkout: `make rl`"
"""Hint of errors about a missing package of the extra `rl`."""
_EXTRA_RL = {
    *("gymnasium", "matplotlib", "modal", "ray", "sb3_contrib", "scipy", "stable_baselines3", "tensorboard", "torch"),
    # What these import. `make setup` installs Ray without the requirements of RLlib.
    *("cloudpickle", "fsspec", "lz4", "ormsgpack", "tensorboardX", "tree"),
    "farama_notifications",
    *("PIL", "contourpy", "cycler", "fontTools", "kiwisolver", "pyparsing"),
    *("aiohttp", "grpclib", "synchronicity", "toml", "watchfiles"),
    *("absl", "grpc", "markdown", "tensorboard_data_server"),
    *("networkx", "sympy", "triton"),
}
"""Packages of the extra `rl` and of its packages, which `make setup` does not install."""
_EXTRA_SERVICE = {"fastapi", "httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"}
"""Packages of the extra `service`, which a plain installation of the wheel does not have."""


def setup_fault(error: ImportError) -> SetupError | None:
    """The `SetupError` for a kernel that is not built or does not load, or for a package that is not installed.

    None where `error` is a fault of the code.
    """
    package = (error.name or "").partition(".")[0]
    ours = error.name in {"mayavi._kernel", "_kernel"}  # the second is the name in the system loader's errors
    if ours and not isinstance(error, ModuleNotFoundError):
        return SetupError(f"the Rust kernel does not load: {error}", "run `make clean setup`, which builds it anew")
    if ours or (error.name == "mayavi" and "'_kernel'" in str(error)):
        return SetupError("the Rust kernel is not built", "run `make setup`, which builds it")
    if isinstance(error, ModuleNotFoundError) and package not in {"", "mayavi"}:
        remedy = "run `make setup`, which installs it"
        if package in _EXTRA_RL:
            remedy = RL_HINT
        elif package in _EXTRA_SERVICE:
            remedy = "`pip install 'mayavi-sim[service]'` installs it"
        return SetupError(f"the Python package '{package}' is not installed", remedy)
    return None
