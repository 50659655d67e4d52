"""Copy of recorded blocks in which single files can be changed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def copy_blocks(cases: Path, target: Path, *blocks: int) -> Path:
    """Link the blocks and the bytecodes of `cases` below `target`; returns the new folder of cases."""
    source, folder = cases / "mainnet" / "blocks", target / "mainnet" / "blocks"
    (folder / "receipts").mkdir(parents=True)
    (folder / "bytecodes.json.gz").symlink_to(source / "bytecodes.json.gz")
    for block in blocks:
        (folder / str(block)).mkdir()
        for file in (source / str(block)).iterdir():
            (folder / str(block) / file.name).symlink_to(file)
        receipts = f"receipts/{block}.json.gz"
        (folder / receipts).symlink_to(source / receipts)
    return target


def change(path: Path, mend: Callable[[Any], object]) -> None:
    """Replace the gzipped JSON file at `path` by a changed one."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    mend(content)
    path.unlink()
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
