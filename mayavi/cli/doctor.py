"""`mayavi doctor`: what is here, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from mayavi.cli.output import Column, print_json, print_table

ROOT = Path(__file__).resolve().parents[2]
SET_UP = "make setup"
INSTALLERS = {
    "cargo": "Rust from https://rustup.rs",
    "node": "Node.js from https://nodejs.org",
    "npm": "Node.js from https://nodejs.org",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    `missing` is needed and not there, `stale` is there but older than what it is made from, `absent` is not there and
    not needed by most commands.
    """

    name: str
    status: Literal["ok", "stale", "missing", "absent"]
    detail: str
    mend: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Look at everything Mayavi stands on, and name the command that mends what is missing.

    Exit code 1 when something needed is missing.
    """
    findings = [finding for look in LOOKS for finding in look()]
    healthy = all(finding.status != "missing" for finding in findings)
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
        yield Finding("kernel", "missing", f"the Rust extension does not load: {error}", SET_UP)
        return
    if not right:
        yield Finding("kernel", "missing", "the Rust extension computes wrong hashes", SET_UP)
        return
    built = max((path.stat().st_mtime for path in (ROOT / "mayavi").glob("_kernel*.so")), default=0.0)
    newer = [path.name for path in (ROOT / "kernel" / "src").rglob("*.rs") if path.stat().st_mtime > built > 0]
    if newer:
        yield Finding("kernel", "stale", f"built before the last change of {', '.join(sorted(newer)[:3])}", SET_UP)
    else:
        yield Finding("kernel", "ok", "the Rust extension loads and computes")


def look_at_contracts() -> Iterator[Finding]:
    """The contract packages are installed in the versions asked for, and our Vyper contracts are compiled."""
    try:
        from mayavi.worlds.artifacts import contracts_root
        from mayavi.worlds.vyper import sources_key, vyper_contracts
    except ImportError:
        yield Finding("contracts", "missing", "cannot be looked at without the kernel", SET_UP)
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
    try:
        description = json.loads((root / "node_modules" / package / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    return str(description.get("version"))


def look_at_replicas() -> Iterator[Finding]:
    """Replicas that are built already open at once; the others are built when first asked for."""
    try:
        from mayavi.worlds import describe_world, world_names
    except ImportError:
        return  # the kernel's finding says why
    for name in world_names():
        snapshot = describe_world(name).snapshot
        if snapshot:
            yield Finding(f"replica {name}", "ok", f"{snapshot.stat().st_size:,} bytes in {snapshot.parent}")
        else:
            yield Finding(f"replica {name}", "absent", "built when first used", f"mayavi world build {name}")


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
    if shutil.which(tool) is None:
        return None
    finished = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return finished.stdout.strip() or None if finished.returncode == 0 else None


def look_at_data() -> Iterator[Finding]:
    """Real chain data for the proofs, and a node for forks of a live chain."""
    cases = Path(os.environ.get("MAYAVI_CASES") or ROOT.parent / "shared")
    if (cases / "mainnet" / "blocks").is_dir():
        yield Finding("reference data", "ok", f"{cases}")
    else:
        yield Finding(
            "reference data", "absent", "no recorded mainnet blocks; some tests are skipped", "set MAYAVI_CASES"
        )
    named = [name for name in ("MAYAVI_RPC_URL", "ALCHEMY_RPC_URL") if os.environ.get(name)]
    named += sorted(name for name in os.environ if name.startswith("MAYAVI_RPC_URL_"))
    if named:
        yield Finding("RPC endpoint", "ok", f"named by {', '.join(named)}")  # its address may hold a key
    else:
        yield Finding("RPC endpoint", "absent", "only `Fork.from_rpc` needs one", "set MAYAVI_RPC_URL")


LOOKS: list[Callable[[], Iterator[Finding]]] = [
    look_at_python,
    look_at_kernel,
    look_at_contracts,
    look_at_replicas,
    look_at_tools,
    look_at_data,
]
