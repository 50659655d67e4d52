"""Every page of the dashboard: its address and the heading by which a reader knows it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.subjects.service import ServiceProcess


@dataclass(frozen=True)
class Stored:
    """Ids of what the service of a test has stored."""

    run: str
    other_run: str
    sweep: str


PAGES = {
    "runs": ("runs", "Runs"),
    "run": ("runs/{run}", "depeg_cascade"),
    "actions": ("runs/{run}/actions", "depeg_cascade"),
    "steps": ("runs/{run}/steps", "depeg_cascade"),
    "agents": ("runs/{run}/agents", "depeg_cascade"),
    "accounts": ("runs/{run}/accounts", "depeg_cascade"),
    "scenario of a run": ("runs/{run}/scenario", "depeg_cascade"),
    "new run": ("new", "New run"),
    "form": ("new?scenario=depeg_cascade", "New run"),
    "new sweep": ("sweeps/new?scenario=depeg_cascade", "New sweep"),
    "sweeps": ("sweeps", "Sweeps"),
    "sweep": ("sweeps/{sweep}", ""),
    "compare": ("compare?run={run}&run={other_run}", ""),
    "trainings": ("trainings", "Trainings"),
    "evaluations": ("evaluations", "Evaluations"),
    "scenarios": ("scenarios", "Scenarios"),
    "scenario": ("scenarios/depeg_cascade", ""),
    "worlds": ("worlds", "Worlds"),
    "keys": ("keys", "Keys"),
    "nothing": ("no-such-page", ""),
}


def address(name: str, stored: Stored) -> str:
    """Return the address of a page below `/app/`."""
    return PAGES[name][0].format(run=stored.run, other_run=stored.other_run, sweep=stored.sweep)


def store_examples(service: ServiceProcess) -> Stored:
    """Execute two short runs and a sweep, and wait for them."""
    short = {"scenario": "depeg_cascade", "steps": 5, "overrides": {"agents.borrowers.count": 12}}
    with service.client() as client:
        runs = [service.submit(client, **short, seed=seed) for seed in (1, 2)]
        sweep = client.post("/sweeps", json=short | {"seeds": "0:3", "grid": {"agents.liquidators.count": [1, 2]}})
        assert set(service.wait_for_runs(client, runs).values()) == {"finished"}
        sweep_id = sweep.raise_for_status().json()["sweep_id"]
        assert service.wait_for_sweep(client, sweep_id) == "finished"
    return Stored(*runs, sweep_id)
