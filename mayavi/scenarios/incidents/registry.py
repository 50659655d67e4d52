"""Registry of the incidents that come with Mayavi. A new one is a folder here and a line in `NAMES`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import BadScenario, UnknownName
from mayavi.scenarios.incidents.models import IncidentConfig
from mayavi.settings.document import Document
from mayavi.settings.document_kind import DocumentKind
from mayavi.settings.validation import checked

FOLDER = Path(__file__).parent
FILE = "incident.yaml"
NAMES = (
    "steth_2022_06",
    "crv_2022_11",
    "usdc_depeg_2023_03",
    "ena_2025_03",
    "eigen_2025_10",
    "capo_2026_03",
)
"""Incidents by date."""

_KIND = DocumentKind("incident", BadScenario)


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident with the folder of its files."""

    config: IncidentConfig
    folder: Path

    def scenario(self, run: str) -> Path:
        """Return the scenario file of one of its runs."""
        return self.folder / self.config.runs[run].scenario


def load_incident(name: str | Path) -> Incident:
    """Load an incident by name, or from a folder of your own; raise `UnknownName` with the nearest names."""
    folder = name if isinstance(name, Path) else Path(name) if "/" in name else None
    if folder is None:
        known = str(name).replace("-", "_")
        if known not in NAMES:
            meant = next((each for each in NAMES if known in each), None)
            raise UnknownName.of("incident", str(name), NAMES, "`mayavi replay incidents` lists them", meant=meant)
        folder = FOLDER / known
    return Incident(checked(IncidentConfig, Document.open(folder / FILE, kind=_KIND)), folder)


def incidents() -> list[Incident]:
    """Return all incidents, by date."""
    return [load_incident(name) for name in NAMES]
