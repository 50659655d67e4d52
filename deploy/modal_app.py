"""The service on Modal: `make wheel && modal deploy deploy/modal_app.py`.

One container serves and executes. SQLite and DuckDB need a real disk, which a Modal volume is not: the service works on
the container's own disk, and a copy goes to the volume every minute and when the container stops. A new container
starts from the newest copy. The secret `mayavi-api` holds MAYAVI_API_KEY, the first key.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import modal

APP, VOLUME, SECRET = "mayavi-api", "mayavi-service", "mayavi-api"
MOUNT, PLACE = Path("/volume"), Path("/data")
CURRENT = "current"
"""File in the volume that names the folder of the newest copy."""
COPY_EVERY_S = 60.0
CORES, MEMORY_MIB = 2.0, 8192
log = logging.getLogger("mayavi.modal")


# -- in the container -------------------------------------------------------------------------------------------------


def restore(mount: Path, place: Path) -> bool:
    """Copy the newest copy of `mount` to the empty `place`; False if there is none."""
    from mayavi.api.backup import STORE_FILE
    from mayavi.api.database import FILE

    with suppress(FileNotFoundError):
        newest = mount / (mount / CURRENT).read_text(encoding="utf-8").strip()
        for name, target in ((FILE, place / "service" / FILE), (STORE_FILE, place / "runs" / STORE_FILE)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(newest / name, target)
        return True
    return False


def copy_to(mount: Path, place: Path, commit: Callable[[], object]) -> None:
    """Copy the service in `place` to a new folder of `mount`, make it the newest, and remove the others."""
    from mayavi.api.backup import STORE_FILE, back_up

    folder = mount / f"copy-{time.time_ns()}"
    try:
        back_up(place / "service", place / "runs" / STORE_FILE, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    unnamed = mount / f".{CURRENT}"
    unnamed.write_text(folder.name, encoding="utf-8")
    os.replace(unnamed, mount / CURRENT)
    for other in mount.glob("copy-*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    commit()


def stamp(place: Path) -> int:
    """Return a number that changes whenever the service writes."""
    return max((each.stat().st_mtime_ns for each in place.rglob("*") if each.is_file()), default=0)


def build(mount: Path, place: Path, commit: Callable[[], object]) -> Any:
    """Return the service as an ASGI application, whose data lies in `place` and is copied to `mount`."""
    from mayavi.api.app import create_app
    from mayavi.api.backup import STORE_FILE
    from mayavi.api.settings import ServiceSettings

    if restore(mount, place):
        log.warning("restored the newest copy of the volume")
    settings = ServiceSettings(
        data=place / "service", store=place / "runs" / STORE_FILE, workers=int(CORES), secure_cookies=True
    )
    app = create_app(settings)
    inner = app.router.lifespan_context

    async def copy_again_and_again() -> None:
        copied = 0
        while True:
            await asyncio.sleep(COPY_EVERY_S)
            if (now := stamp(place)) != copied:
                try:
                    await asyncio.to_thread(copy_to, mount, place, commit)
                    copied = now
                except Exception:
                    log.exception("the copy to the volume failed; the next one is tried in %.0f s", COPY_EVERY_S)

    @asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[Any]:
        copies = asyncio.create_task(copy_again_and_again())
        try:
            async with inner(served) as state:
                yield state
        finally:
            copies.cancel()
            with suppress(asyncio.CancelledError):
                await copies
            await asyncio.to_thread(copy_to, mount, place, commit)

    app.router.lifespan_context = lifespan
    return app


# -- on the deploying machine -----------------------------------------------------------------------------------------


def build_image(wheels: Path, constraints: Path) -> modal.Image:
    """Image with the wheel of `make wheel`, contracts and replicas, in the versions of constraints.txt."""
    found = sorted(wheels.glob("mayavi_sim-*linux*x86_64.whl"), key=lambda each: each.stat().st_mtime)
    if not found:
        raise SystemExit(f"'{wheels}' holds no wheel for Linux on x86-64: `make wheel` builds it there")
    wheel = found[-1]
    return (
        modal.Image.debian_slim(python_version="3.11")
        .add_local_file(constraints, "/build/constraints.txt", copy=True)
        .add_local_file(wheel, f"/build/{wheel.name}", copy=True)
        .run_commands(f"pip install -c /build/constraints.txt '/build/{wheel.name}[contracts,service]'")
        .env({"MAYAVI_CACHE_DIR": "/opt/mayavi"})
        .run_commands("mayavi setup")
        .env({"MAYAVI_OFFLINE": "1"})
    )


def image() -> modal.Image:
    """Return the image to build; a container, which runs in it already, needs no description of it."""
    if not modal.is_local():
        return modal.Image.debian_slim()
    root = Path(__file__).resolve().parent.parent
    return build_image(root / "dist", root / "constraints.txt")


app = modal.App(APP)
volume = modal.Volume.from_name(VOLUME, create_if_missing=True)


# One container for all requests, since the queue has one owner.
@app.function(  # type: ignore[untyped-decorator]
    image=image(),
    volumes={str(MOUNT): volume},
    secrets=[modal.Secret.from_name(SECRET, required_keys=["MAYAVI_API_KEY"])],
    cpu=(CORES, CORES),
    memory=(MEMORY_MIB, MEMORY_MIB),
    max_containers=1,
    scaledown_window=1200,
    timeout=86_400,
)
@modal.concurrent(max_inputs=1000)  # type: ignore[untyped-decorator]
@modal.asgi_app()  # type: ignore[untyped-decorator]
def fastapi_app() -> Any:
    """Serve the API and the dashboard."""
    return build(MOUNT, PLACE, volume.commit)
