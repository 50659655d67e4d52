"""Write JSON files atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PARTIAL = ".partial"
"""Suffix of files and folders that are still being written."""


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace `path` atomically: readers see the old file or the new one, never a part."""
    partial = path.with_name(f"{path.name}{PARTIAL}")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
