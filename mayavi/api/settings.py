"""Settings of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of `mayavi serve`. Limits apply per key unless stated otherwise."""

    data: Path
    """Folder of `service.sqlite`: keys, sessions, queue and events."""
    store: Path
    """The database of runs, shared with the command line."""
    models: Path | None = None
    """Folder of trainings; None: the usual one."""
    workers: int = 1
    """Processes that execute jobs."""
    ray: str | None = None
    """Ray cluster that executes sweeps: `ray://host:10001`, `host:6379`, `auto`."""
    job_seconds: float = 3600.0
    """Longest time of one run; a sweep may take it for each of its runs."""
    job_memory_mb: int = 4096
    """Most memory of one job."""
    queue_length: int = 1000
    """Most jobs that wait, of all keys."""
    body_bytes: int = 1_048_576
    """Largest request body."""
    requests_per_minute: int = 6000
    concurrent_jobs: int = 100
    """Most jobs of one key that wait or run."""
    session_hours: float = 12.0
    secure_cookies: bool = False
    """Whether cookies travel over HTTPS only: behind a proxy that terminates TLS."""
    failed_logins_per_minute: int = 10
    """Most failed logins of one client address."""
    body_seconds: float = 20.0
    """Longest time that a request body may take to arrive."""
    allowed_hosts: tuple[str, ...] | None = None
    """Host names that the service answers to, beside `localhost` and IP addresses; None: all. `*.example.org` matches
    subdomains. Protects a service on a private address from pages that rebind their own name to it."""
    least_free_mb: int = 200
    """Free disk space below which the service is not ready."""
    log_requests: bool = True
    """Whether each request writes a line to standard error."""
