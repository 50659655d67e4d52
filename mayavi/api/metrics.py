"""`Metrics`: counters of the service in Prometheus' text format."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from mayavi import __version__

if TYPE_CHECKING:
    from mayavi.api.database import ServiceDatabase

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters in a registry of their own. Those of the queue are read from the database on each request."""

    def __init__(self, database: ServiceDatabase) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "mayavi_requests", "Answered requests.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "mayavi_request_seconds",
            "Time of a request.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rate_limited = Counter(
            "mayavi_rate_limited_requests", "Requests refused with 429.", ["route"], registry=self.registry
        )
        self.worker_restarts = Counter(
            "mayavi_worker_restarts", "Workers that ended unexpectedly and were replaced.", registry=self.registry
        )
        info = Gauge("mayavi_info", "Version of the service.", ["version"], registry=self.registry)
        info.labels(__version__).set(1)
        self.registry.register(_QueueMetrics(database))
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        children = self._children.get((method, route, status))
        if children is None:
            children = self.requests.labels(method, route, str(status)), self.seconds.labels(method, route)
            self._children[method, route, status] = children
        children[0].inc()
        children[1].observe(seconds)
        if status == 429:
            self.rate_limited.labels(route).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class _QueueMetrics(Collector):
    """Jobs by status, and how long ended ones took."""

    def __init__(self, database: ServiceDatabase) -> None:
        self.database = database

    def collect(self) -> Iterator[Metric]:
        """Read the figures from the database."""
        jobs = GaugeMetricFamily("mayavi_jobs", "Jobs by kind and status.", labels=["kind", "status"])
        durations = SummaryMetricFamily(
            "mayavi_job_seconds", "Time from start to end of a job.", labels=["kind", "status"]
        )
        for row in self._rows():
            jobs.add_metric([row["kind"], row["status"]], row["jobs"])
            if row["timed"]:
                durations.add_metric([row["kind"], row["status"]], row["timed"], row["seconds"])
        yield jobs
        yield durations

    def _rows(self) -> list[sqlite3.Row]:
        return (
            self.database.reading()
            .execute(
                "SELECT kind, status, count(*) AS jobs, count(ended_at - started_at) AS timed,"
                " coalesce(sum(ended_at - started_at), 0) AS seconds FROM jobs GROUP BY kind, status ORDER BY 1, 2"
            )
            .fetchall()
        )
