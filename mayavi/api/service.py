"""`Service`: the parts behind the routes."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request

from mayavi.api.database import ServiceDatabase
from mayavi.api.log import hide
from mayavi.api.metrics import Metrics
from mayavi.api.queue.data_lock import DataLock
from mayavi.api.queue.event_hub import EventHub
from mayavi.api.queue.job import Kind
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.workers.supervisor import Supervisor
from mayavi.api.readiness import ReadinessChecks
from mayavi.api.reading.reading import Reading
from mayavi.api.security.authenticator import Authenticator
from mayavi.api.security.keys import BOOTSTRAP_VARIABLE, KeyRing
from mayavi.api.security.sessions import Sessions
from mayavi.api.settings import ServiceSettings
from mayavi.rl.training_runs.folder import models_path
from mayavi.sim.store import Store
from mayavi.sim.store.database.schema import literal


@dataclass(slots=True)
class Service:
    """Everything a route may need."""

    settings: ServiceSettings
    database: ServiceDatabase
    queue: JobQueue
    store: Store
    keys: KeyRing
    sessions: Sessions
    authenticator: Authenticator
    metrics: Metrics
    reading: Reading
    readiness: ReadinessChecks = field(init=False)
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set on shutdown; ends open event streams."""
    events: EventHub = field(init=False)
    openapi: bytes | None = None
    """The OpenAPI document, once somebody has asked for it."""
    lock: DataLock | None = None
    supervisor: Supervisor | None = None

    def __post_init__(self) -> None:
        self.events = EventHub(self.queue)
        self.readiness = ReadinessChecks(self)

    @classmethod
    def open(cls, settings: ServiceSettings) -> Service:
        """Open database, queue and store, and take the bootstrap key from the environment."""
        database = ServiceDatabase(settings.data)
        keys = KeyRing(
            database, requests_per_minute=settings.requests_per_minute, concurrent_jobs=settings.concurrent_jobs
        )
        bootstrap = os.environ.get(BOOTSTRAP_VARIABLE) or None
        keys.set_bootstrap(bootstrap)
        if bootstrap is not None:
            hide(bootstrap)
        sessions = Sessions(database, settings.session_hours)
        queue = JobQueue(database, queue_length=settings.queue_length)
        store = Store(settings.store)
        return cls(
            settings,
            database,
            queue,
            store,
            keys,
            sessions,
            Authenticator(settings, keys, sessions),
            Metrics(database),
            Reading(store, queue, models_path(settings.models)),
        )

    def claim_data(self) -> None:
        """Lock the data folder; raise `UsageError` if another server uses it."""
        if self.lock is None:
            self.lock = DataLock(self.settings.data)

    def knows(self, kind: Kind, identifier: str) -> bool:
        """Whether the store has the run or sweep with this full id, of whatever command."""
        table = "runs" if kind == "run" else "sweeps"
        query = f"SELECT 1 FROM {table} WHERE {kind}_id = {literal(identifier)}"
        return bool(self.store.sql(query).fetchall())

    def start(self) -> None:
        """Start the worker processes."""
        self.claim_data()
        assert self.lock is not None
        if self.settings.workers:
            held = [self.lock.descriptor]
            self.supervisor = Supervisor(
                self.queue,
                self.settings,
                self.store.path.absolute(),
                held,
                worker_died=self.metrics.worker_restarts.inc,
                run_stored=self.reading.index.offer,
            )
            self.supervisor.start()

    def worker_state(self) -> str:
        """Return `ok`, or why jobs are not executed."""
        if self.supervisor is None:
            return "no worker processes: jobs wait" if self.settings.workers else "ok"
        return "ok" if self.supervisor.ready_workers else "no worker process is ready"

    def stop(self) -> None:
        """Stop the worker processes: running jobs are queued again."""
        self.stopping.set()
        if self.supervisor is not None:
            self.supervisor.stop()
            self.supervisor = None
        if self.lock is not None:
            self.lock.release()
            self.lock = None
        self.reading.close()
        self.database.close()


async def service_of(request: Request) -> Service:
    """Return the service of the application."""
    return cast(Service, request.app.state.service)


Parts = Annotated[Service, Depends(service_of)]
