"""Send scenarios to nodes of a cluster together with the code of their own agents and protocols.

Nodes have neither our files nor our folder. Source files are sent as bytes; packages must be installed in the same
version.
"""

from __future__ import annotations

import atexit
import importlib
import pickle
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import WorkerError
from mayavi.plugins.failures import last_line
from mayavi.plugins.provenance import source_files
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.plugin_versions import plugin_sources, plugin_versions


@dataclass(frozen=True, slots=True)
class ShippedScenarios:
    """Pickled scenarios, the source files they need, and the versions of the code that they ran with here."""

    scenarios: bytes
    files: dict[str, bytes]
    versions: dict[str, str]


def ship(scenarios: Sequence[Scenario]) -> ShippedScenarios:
    """Pack scenarios with the source files of code that is not in an installed package."""
    files: dict[str, bytes] = {}
    versions: dict[str, str] = {}
    for each in scenarios:
        versions |= plugin_versions(each.config)
        for source in plugin_sources(each.config).values():
            files |= {} if source.distribution else source_files(source.module)
    return ShippedScenarios(pickle.dumps(tuple(scenarios)), files, versions)


def unpack(shipped: ShippedScenarios) -> tuple[Scenario, ...]:
    """Write the source files to a temporary folder, and load the scenarios; `WorkerError` if code differs here."""
    if shipped.files:
        folder = Path(tempfile.mkdtemp(prefix="mayavi-code-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for name, content in shipped.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        sys.path.append(str(folder))
        importlib.invalidate_caches()
    try:
        scenarios: tuple[Scenario, ...] = pickle.loads(shipped.scenarios)
    except (ImportError, AttributeError) as error:
        message = f"a node of the cluster lacks the code of an agent or protocol: {last_line(error)}"
        raise WorkerError(message, "install that package on all nodes") from error
    found: dict[str, str] = {}
    for each in scenarios:
        found |= plugin_versions(each.config)
    for name, wanted in shipped.versions.items():
        if found.get(name) != wanted:
            message = f"a node of the cluster has other code: {name} is {found.get(name)}, not {wanted}"
            raise WorkerError(message, "install the same version on all nodes")
    return scenarios
