"""`mayavi doctor`: what is here, what is missing, and the command that mends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from mayavi.cli.output import Column, print_json, print_table
from mayavi.errors import MayaviError
from mayavi.setup_errors import setup_fault

ROOT = Path(__file__).resolve().parents[2]
SET_UP, BUILD_ANEW = "make setup", "make clean setup"
INSTALLERS = {
    "cargo": "Rust from https://rustup.rs",
    "node": "Node.js from https://nodejs.org",
    "npm": "Node.js from https://nodejs.org",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    `missing` is needed and not there, `broken` is there and cannot be used, `stale` is there but older than what it is
    made from, `absent` is not there and not needed by most commands, `unknown` cannot be looked at before something
    else is mended.
    """

    name: str
    status: Literal["ok", "stale", "missing", "broken", "absent", "unknown"]
    detail: str
    mend: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Look at everything Mayavi stands on, and name the command that mends what is missing or broken.

    Exit code 1 when something needed is missing, or something is broken.
    """
    findings = [finding for look in LOOKS for finding in look()]
    healthy = all(finding.status not in {"missing", "broken"} for finding in findings)
    if as_json:
        print_json({"healthy": healthy, "findings": [asdict(finding) for finding in findings]})
    else:
        columns = [Column("what", right=False, style="bold"), Column("", right=False), Column("found", right=False)]
        columns.append(Column("mend with", right=False, style="cyan"))
        print_table(columns, [(each.name, each.status, each.detail, each.mend) for each in findings])
    if not healthy:
        raise typer.Exit(1)


def look_at_python() -> Iterator[Finding]:
    """Which interpreter runs this; one that is too old would not have come here."""
    yield Finding("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def look_at_kernel() -> Iterator[Finding]:
    """The compiled extension loads and computes, and is not older than its sources."""
    try:
        from mayavi.evm.hashing import keccak_text

        right = keccak_text("").hex().startswith("c5d24601")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            yield Finding("kernel", "missing", f"{setup_fault(error) or error}", SET_UP)
        else:
            yield Finding("kernel", "broken", f"{setup_fault(error) or error}", BUILD_ANEW)
        return
    if not right:
        yield Finding("kernel", "broken", "the Rust kernel computes wrong hashes", BUILD_ANEW)
        return
    built = max((path.stat().st_mtime for path in (ROOT / "mayavi").glob("_kernel*.so")), default=0.0)
    newer = [path.name for path in (ROOT / "kernel" / "src").rglob("*.rs") if path.stat().st_mtime > built > 0]
    if newer:
        yield Finding("kernel", "stale", f"built before the last change of {', '.join(sorted(newer)[:3])}", SET_UP)
    else:
        yield Finding("kernel", "ok", "the Rust kernel loads and computes")


def look_at_contracts() -> Iterator[Finding]:
    """The contract packages are installed in the versions asked for, and our Vyper contracts are compiled."""
    import json

    try:
        from mayavi.worlds.artifacts import contracts_root
        from mayavi.worlds.vyper import sources_key, vyper_contracts
    except ImportError:
        yield Finding("contracts", "unknown", "cannot be looked at without the kernel")
        return
    root = contracts_root()
    if not (root / "package.json").is_file():
        yield Finding("contracts", "missing", f"no contract packages are named in '{root}'", "set MAYAVI_CONTRACTS")
        return
    asked: dict[str, str] = json.loads((root / "package.json").read_bytes())["dependencies"]
    lacking = [f"{name}@{version}" for name, version in asked.items() if installed_version(root, name) != version]
    if lacking:
        yield Finding("contracts", "missing", f"not installed: {', '.join(lacking)}", SET_UP)
    else:
        yield Finding("contracts", "ok", f"{len(asked)} npm packages in the versions asked for")
    key, names = sources_key(root), vyper_contracts(root)
    uncompiled = [name for name in names if not (root / "build" / f"{name}.{key}.json").is_file()]
    if uncompiled:
        yield Finding("Vyper contracts", "missing", f"not compiled: {', '.join(uncompiled)}", SET_UP)
    else:
        yield Finding("Vyper contracts", "ok", f"{len(names)} compiled from the sources as they are")


def installed_version(root: Path, package: str) -> str | None:
    """The version of an npm package below `root`, or None where it is not installed."""
    import json

    try:
        description = json.loads((root / "node_modules" / package / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    return str(description.get("version"))


def look_at_cache() -> Iterator[Finding]:
    """The folder of everything that can be made again: there and writable, or one that can be made."""
    from mayavi.cache_directory import default_cache_dir

    folder = default_cache_dir()
    mend = "set MAYAVI_CACHE_DIR to a folder that can be written"
    try:
        # The nearest of what is there decides: all that lies below it is made when it is needed.
        there = next(each for each in (folder / "replicas", folder, *folder.absolute().parents) if each.exists())
    except OSError as error:
        yield Finding("cache", "broken", f"'{folder}' cannot be looked at: {error.strerror}", mend)
        return
    if not there.is_dir():
        yield Finding("cache", "broken", f"'{there}' is a file where a folder should be", mend)
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Finding("cache", "broken", f"'{there}' cannot be written to", mend)
    else:
        yield Finding("cache", "ok", f"{folder}" if folder.exists() else f"{folder}, made when first used")


def look_at_replicas() -> Iterator[Finding]:
    """Replicas that are built already open at once; the others are built when first asked for."""
    try:
        from mayavi.evm.snapshot import read_info
        from mayavi.worlds import describe_world, world_names
    except ImportError:
        return  # the kernel's finding says why
    for name in world_names():
        snapshot = describe_world(name).snapshot
        mend = f"mayavi world build {name}"
        if snapshot is None:
            yield Finding(f"replica {name}", "absent", "built when first used", mend)
            continue
        try:
            size = read_info(snapshot).file_bytes
        except MayaviError as error:
            yield Finding(f"replica {name}", "broken", str(error), mend)
        else:
            yield Finding(f"replica {name}", "ok", f"{size:,} bytes in {snapshot.parent}")


def look_at_tools() -> Iterator[Finding]:
    """Compilers and package managers: needed to build, not to run what is built."""
    for tool, purpose in [
        ("cargo", "to rebuild the kernel"),
        ("node", "for tests against a node"),
        ("npm", "to install contracts"),
    ]:
        version = version_of(tool)
        if version:
            yield Finding(tool, "ok", version)
        else:
            yield Finding(tool, "absent", f"not on the PATH; needed {purpose}", f"install {INSTALLERS[tool]}")


def version_of(tool: str) -> str | None:
    """What a tool says its version is, or None where it is not on the PATH or does not run."""
    import shutil
    import subprocess

    if shutil.which(tool) is None:
        return None
    finished = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return finished.stdout.strip() or None if finished.returncode == 0 else None


def look_at_data() -> Iterator[Finding]:
    """Real chain data for the proofs."""
    cases = Path(os.environ.get("MAYAVI_CASES") or ROOT.parent / "shared")
    if (cases / "mainnet" / "blocks").is_dir():
        yield Finding("reference data", "ok", f"{cases}")
    else:
        yield Finding(
            "reference data", "absent", "no recorded mainnet blocks; some tests are skipped", "set MAYAVI_CASES"
        )


def look_at_endpoints() -> Iterator[Finding]:
    """A node for forks of a live chain. No finding shows an address, which may hold a key; no node is asked."""
    from mayavi.evm.rpc.endpoint import Endpoint

    named = [name for name in ("MAYAVI_RPC_URL", "ALCHEMY_RPC_URL") if os.environ.get(name, "").strip()]
    named += sorted(name for name in os.environ if name.startswith("MAYAVI_RPC_URL_") and os.environ[name].strip())
    if not named:
        yield Finding("RPC endpoint", "absent", "only `Fork.from_rpc` needs one", "set MAYAVI_RPC_URL")
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


LOOKS: list[Callable[[], Iterator[Finding]]] = [
    look_at_python,
    look_at_kernel,
    look_at_contracts,
    look_at_cache,
    look_at_replicas,
    look_at_tools,
    look_at_data,
    look_at_endpoints,
]
