"""Example runs and sweeps of `mayavi serve --demo`, and its key."""

from __future__ import annotations

import ipaddress
import logging
import threading
from pathlib import Path

from fastapi import Response

from mayavi.api.models.runs import RunSubmission
from mayavi.api.models.sweeps import SweepSubmission
from mayavi.api.routes.submissions import submit_run, submit_sweep
from mayavi.api.security.caller import Caller
from mayavi.api.service import Service
from mayavi.errors import UsageError

FOLDER = Path("data/demo-service")
STORE = "runs.duckdb"
KEY_NAME = "demo"
_FALL = "{process: ramp, at: 2, steps: 14, size: -35%, then: {process: gbm, volatility: 90%}}"

EXAMPLES: tuple[RunSubmission | SweepSubmission, ...] = (
    RunSubmission(scenario="aave_borrower", seed=7),
    RunSubmission(scenario="depeg_cascade", seed=7),
    RunSubmission(scenario="depeg_cascade", seed=7, overrides={"prices.WETH": _FALL}),
    RunSubmission(scenario="vesting_cliff", seed=1),
    RunSubmission(scenario="multi_cohort", seed=1),
    RunSubmission(scenario="compound_v3_borrower", seed=1),
    RunSubmission(scenario="curve_depeg", seed=1),
    RunSubmission(scenario="aave_borrower", chain="base", seed=8),
    SweepSubmission(
        scenario="depeg_cascade",
        seeds="0:60",
        steps=12,
        overrides={"agents.borrowers.count": 40},
        grid={"prices.WETH.size": ["-25%", "-35%"]},
    ),
)
"""In the order of their execution: the first takes about a second."""
log = logging.getLogger(__name__)


def check_loopback(host: str) -> None:
    """Raise `UsageError` unless only this machine can reach `host`: the demo prints a key that may do everything."""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise UsageError(f"--demo does not listen on {host}", "leave --host out, or serve without --demo")


def demo_login(service: Service) -> str:
    """Create the key of this start and revoke those of earlier ones; return its text."""
    for key in service.keys.all():
        if key.name == KEY_NAME and key.revoked_at is None:
            service.keys.revoke(key.key_id)
    return str(service.keys.create(KEY_NAME, "full")[1])


def start_examples(service: Service) -> None:
    """Queue the examples in the background, so that the first page does not wait; once for each folder."""
    if not service.queue.jobs():
        threading.Thread(target=_submit, args=(service,), name="demo", daemon=True).start()


def _submit(service: Service) -> None:
    caller = Caller(key_id=KEY_NAME, name=KEY_NAME, scope="full")
    for example in EXAMPLES:
        if service.stopping.is_set():
            return
        try:
            if isinstance(example, SweepSubmission):
                submit_sweep(example, Response(), caller, service)
            else:
                submit_run(example, Response(), caller, service)
        except Exception:  # the dashboard works without it
            log.exception("an example could not be queued")
