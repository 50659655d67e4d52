"""The bundle of a run, written to a temporary file and sent from there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fastapi.responses import StreamingResponse

from mayavi.api.errors import ApiError
from mayavi.api.reading.reading import Reading
from mayavi.api.reading.results.results import built, file_name

_CHUNK = 256 * 1024


async def artifact(reading: Reading, run_id: str) -> StreamingResponse:
    """Answer with the bundle that `mayavi artifact` writes; 409 for a run that nobody could verify."""
    run = await reading.run(run_id)
    if run.summary.status not in {"finished", "halted"}:
        raise ApiError(
            409,
            f"run '{run_id}' is {run.summary.status}",
            "only a finished or halted run can be verified, and so bundled",
        )
    descriptor, name = tempfile.mkstemp(prefix="mayavi-artifact-", suffix=".zip")
    os.close(descriptor)
    path = Path(name)
    try:
        await built(_written(reading, run_id, path), usage=409)
        size = path.stat().st_size
        file = path.open("rb")
    finally:
        path.unlink(missing_ok=True)  # the open file stays readable until it is sent

    def chunks() -> Iterator[bytes]:
        with file:
            while chunk := file.read(_CHUNK):
                yield chunk

    headers = {
        "Content-Disposition": f'attachment; filename="{file_name(f"{run.summary.scenario}-{run_id}")}.zip"',
        "Content-Length": str(size),
    }
    return StreamingResponse(chunks(), media_type="application/zip", headers=headers)


async def _written(reading: Reading, run_id: str, path: Path) -> bytes:
    await reading.artifact(run_id, path)
    return b""
