"""`Client`: submit runs and sweeps to a service, wait for them, and read their results."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from mayavi.api.models.base import Listing
from mayavi.api.models.jobs import Event, Progress
from mayavi.api.models.rows import RowsPage, TableName
from mayavi.api.models.runs import Override, RunDetails, RunSubmission, RunSummary, Submission
from mayavi.api.models.scenarios import ScenarioSummary
from mayavi.api.models.sweeps import SweepDetails, SweepSubmission, SweepSummary
from mayavi.client.following import follow
from mayavi.client.transport import Transport
from mayavi.errors import RunHalted, SimulationError, UsageError

OnProgress = Callable[[Progress], None]
_PAGE = 1000
_ROWS = 50_000


class Client:
    """Client of the service at `url`, with a key of `mayavi keys create`.

        client = Client("http://127.0.0.1:8420", key)
        run = client.run("depeg_cascade", seed=7, progress=lambda at: print(at.done, at.total))
        client.rows(run.run_id, "actions")

    Refusals of the service raise errors of `mayavi.errors` with a message and a hint. While a service restarts,
    requests are repeated for up to `patience_s` seconds; a submission has an idempotency key, so that it counts once.
    """

    def __init__(self, url: str, key: str, *, patience_s: float = 60.0) -> None:
        self._transport = Transport(url, key, patience_s=patience_s)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._transport.url

    def check(self) -> None:
        """Raise `ServiceUnreachable` at once if no service answers, and another error if it refuses the key."""
        self._transport.request_json("GET", "/session", patience_s=0.0)

    # -- runs ---------------------------------------------------------------------------------------------------------

    def run(
        self,
        scenario: str | None = None,
        *,
        yaml: str | None = None,
        chain: str | None = None,
        seed: int | None = None,
        steps: int | None = None,
        overrides: Mapping[str, Override] | None = None,
        progress: OnProgress | None = None,
    ) -> RunDetails:
        """Submit a run, wait for its end and return it; raise `SimulationError` if it failed or was cancelled."""
        submitted = self.submit_run(scenario, yaml=yaml, chain=chain, seed=seed, steps=steps, overrides=overrides)
        ended = self.wait(submitted.run_id, progress)
        check_finished("run", ended.run_id, ended.status, ended.error)
        return ended

    def submit_run(
        self,
        scenario: str | None = None,
        *,
        yaml: str | None = None,
        chain: str | None = None,
        seed: int | None = None,
        steps: int | None = None,
        overrides: Mapping[str, Override] | None = None,
        idempotency_key: str | None = None,
    ) -> RunSummary:
        """Queue a run of a library scenario, or of a `yaml` text, and return at once."""
        wanted = {"scenario": scenario, "yaml": yaml, "chain": chain, "seed": seed, "steps": steps}
        body = _checked(RunSubmission, wanted | {"overrides": dict(overrides or {})})
        return RunSummary.model_validate(self._post("/runs", body, idempotency_key))

    def wait(self, run_id: str, progress: OnProgress | None = None) -> RunDetails:
        """Wait for the end of a run, through restarts of the server, and return it, however it ended."""
        _report_progress(self.events(run_id), progress)
        return self.show(run_id)

    def events(self, run_id: str) -> Iterator[Event]:
        """Yield the events of a run from its submission to its end."""
        return follow(self._transport, f"/runs/{_name(run_id)}/events")

    def show(self, run_id: str) -> RunDetails:
        """Return a run with its key figures."""
        return RunDetails.model_validate(self._get(f"/runs/{_name(run_id)}"))

    def runs(self, **filters: Any) -> Iterator[RunSummary]:
        """Yield runs, newest first: `runs(scenario="depeg_cascade", status="finished")`; see `GET /runs`."""
        cursor: str | None = None
        while True:
            query = {"limit": _PAGE} | filters | ({} if cursor is None else {"cursor": cursor})
            page = Listing[RunSummary].model_validate(self._get("/runs", query))
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def cancel(self, job_id: str) -> RunSummary | SweepSummary:
        """Cancel a run or a sweep that waits or runs."""
        if job_id.startswith("sweep-"):
            return SweepSummary.model_validate(self._request("DELETE", f"/sweeps/{_name(job_id)}"))
        return RunSummary.model_validate(self._request("DELETE", f"/runs/{_name(job_id)}"))

    # -- results ------------------------------------------------------------------------------------------------------

    def rows(
        self,
        run_id: str,
        table: TableName,
        *,
        where: Sequence[str] = (),
        columns: Sequence[str] = (),
        sort: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return rows of a run: `actions`, `market_snapshots`, `kpis` or `accounts`.

        Each of `where` is `COLUMN:OPERATOR:VALUE`, such as `status:eq:failed`.
        """
        found: list[dict[str, Any]] = []
        while True:
            query = _rows_query(where, columns, sort) | {"offset": len(found)}
            page = RowsPage.model_validate(self._get(f"/runs/{_name(run_id)}/rows/{table}", query))
            found += [dict(zip(page.columns, row, strict=True)) for row in page.rows]
            if not page.rows or len(found) >= page.total:
                return found

    def arrow(
        self,
        run_id: str,
        table: TableName,
        *,
        where: Sequence[str] = (),
        columns: Sequence[str] = (),
        sort: str | None = None,
    ) -> Any:
        """Return rows of a run as a `pyarrow.Table`."""
        import pyarrow as pa

        parts: list[Any] = []
        while True:
            query = _rows_query(where, columns, sort) | {"offset": sum(map(len, parts)), "format": "arrow"}
            answer = self._transport.request("GET", f"/runs/{_name(run_id)}/rows/{table}", params=query)
            part = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
            parts.append(part)
            if len(part) < _ROWS:
                return pa.concat_tables(parts)

    def report(self, run_id: str, path: str | Path) -> Path:
        """Write the report of a run to a file: HTML, or PDF if its name ends with `.pdf`."""
        file = Path(path)
        suffix = ".pdf" if file.suffix.lower() == ".pdf" else ""
        self._transport.save(f"/runs/{_name(run_id)}/report{suffix}", file)
        return file

    def artifact(self, run_id: str, path: str | Path) -> Path:
        """Write the bundle of a run, which `mayavi artifact verify` checks, to a file."""
        self._transport.save(f"/runs/{_name(run_id)}/artifact", Path(path))
        return Path(path)

    def scenarios(self) -> list[ScenarioSummary]:
        """Return the scenarios of the service's library."""
        return Listing[ScenarioSummary].model_validate(self._get("/scenarios")).items

    # -- sweeps -------------------------------------------------------------------------------------------------------

    def sweep(
        self,
        scenario: str | None = None,
        *,
        seeds: str = "0:20",
        grid: Mapping[str, Sequence[Override]] | None = None,
        yaml: str | None = None,
        chain: str | None = None,
        steps: int | None = None,
        overrides: Mapping[str, Override] | None = None,
        progress: OnProgress | None = None,
    ) -> SweepDetails:
        """Submit a sweep, wait for its end and return it; raise `SimulationError` if it failed or was cancelled."""
        submitted = self.submit_sweep(
            scenario, seeds=seeds, grid=grid, yaml=yaml, chain=chain, steps=steps, overrides=overrides
        )
        ended = self.wait_sweep(submitted.sweep_id, progress)
        check_finished("sweep", ended.sweep_id, ended.status, ended.error)
        return ended

    def submit_sweep(
        self,
        scenario: str | None = None,
        *,
        seeds: str = "0:20",
        grid: Mapping[str, Sequence[Override]] | None = None,
        yaml: str | None = None,
        chain: str | None = None,
        steps: int | None = None,
        overrides: Mapping[str, Override] | None = None,
        idempotency_key: str | None = None,
    ) -> SweepSummary:
        """Queue a sweep and return at once."""
        wanted = {"scenario": scenario, "yaml": yaml, "chain": chain, "steps": steps, "seeds": seeds}
        axes = {path: list(values) for path, values in (grid or {}).items()}
        body = _checked(SweepSubmission, wanted | {"overrides": dict(overrides or {}), "grid": axes})
        return SweepSummary.model_validate(self._post("/sweeps", body, idempotency_key))

    def wait_sweep(self, sweep_id: str, progress: OnProgress | None = None) -> SweepDetails:
        """Wait for the end of a sweep and return it, however it ended; progress counts its runs."""
        _report_progress(self.sweep_events(sweep_id), progress)
        return self.show_sweep(sweep_id)

    def sweep_events(self, sweep_id: str) -> Iterator[Event]:
        """Yield the events of a sweep from its submission to its end."""
        return follow(self._transport, f"/sweeps/{_name(sweep_id)}/events")

    def show_sweep(self, sweep_id: str) -> SweepDetails:
        """Return a sweep with its statistics."""
        return SweepDetails.model_validate(self._get(f"/sweeps/{_name(sweep_id)}"))

    # -- parts --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.url}>"

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return self._request("GET", path, params=dict(query or {}))

    def _post(self, path: str, body: Mapping[str, Any], idempotency_key: str | None) -> Any:
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return self._request("POST", path, json=dict(body), headers=headers)

    def _request(self, method: str, path: str, **options: Any) -> Any:
        return self._transport.request_json(method, path, **options)


def _report_progress(events: Iterable[Event], progress: OnProgress | None) -> None:
    """Read events to the last one and report progress."""
    for event in events:
        if event.progress is not None and progress is not None:
            progress(event.progress)


def _checked(model: type[Submission], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a submission; raise `UsageError` for a value of the wrong type."""
    try:
        return model.model_validate(values).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"'{where}': {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def check_finished(what: str, job_id: str, status: str, error: str) -> None:
    """Raise the error of a job that did not finish."""
    if status == "finished":
        return
    message, _, hint = error.partition("\n")
    if status == "halted":
        raise RunHalted(message, hint.rstrip() or None, traceback=hint)
    raise SimulationError(f"{what} {job_id} {status}" + (f": {message}" if message else ""), hint or None)


def _rows_query(where: Sequence[str], columns: Sequence[str], sort: str | None) -> dict[str, Any]:
    query: dict[str, Any] = {"limit": _ROWS, "where": list(where)}
    if columns:
        query["columns"] = ",".join(columns)
    return query if sort is None else query | {"sort": sort}


def _name(identifier: str) -> str:
    """Return an id as part of a path."""
    from mayavi.runs.run_id import check_id

    return check_id(identifier)
