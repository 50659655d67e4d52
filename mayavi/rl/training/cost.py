"""Cost of a training: hours of its machines times their price, session by session.

A session is one uninterrupted part of a training on one machine. Its time counts from the start of the machine to the
last write of the run, so that what a killed machine did after its last checkpoint is not included.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from mayavi.errors import UsageError
from mayavi.rl.training.hardware import hardware
from mayavi.rl.training_runs.folder import now

PRICE = "MAYAVI_LOCAL_USD_PER_HOUR"
LOCAL, MODAL = "local", "modal"
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Rental:
    """Machine that a training runs on: its price, and the most that the request for it may cost."""

    where: str = LOCAL
    usd_per_hour: Decimal = Decimal(0)
    most_usd: Decimal | None = None
    """Maximum cost of the request; all sessions of a request share it."""
    request: str = ""
    """Identifies the request; a second attempt of Modal's has the same."""
    since: float | None = None
    """Time (`time.time()`) at which the machine started; None: with the training."""

    @classmethod
    def local(cls, environment: Mapping[str, str] | None = None) -> Rental:
        """This machine, at the price in MAYAVI_LOCAL_USD_PER_HOUR, by default nothing."""
        given = os.environ if environment is None else environment
        written = given.get(PRICE, "").strip()
        try:
            price = Decimal(written or "0")
        except InvalidOperation:
            price = Decimal("NaN")
        if not price.is_finite() or not 0 <= price <= 10**6:
            raise UsageError(f"{PRICE} is '{written}'", "give dollars an hour, such as 1.42")
        return cls(usd_per_hour=price)


class Meter:
    """Records hardware, seconds, steps and cost of a session in the record of its run."""

    def __init__(self, record: dict[str, Any], rental: Rental) -> None:
        self._since = time.time() if rental.since is None else rental.since
        self._first_step = int(record["steps"])
        self._price = rental.usd_per_hour
        self._entry: dict[str, Any] = {
            "where": rental.where,
            "request": rental.request or now(),
            "started_at": now(),
            "hardware": hardware(),
            "usd_per_hour": float(rental.usd_per_hour),
            "most_usd": None if rental.most_usd is None else float(rental.most_usd),
        }
        record["sessions"] = [*record.get("sessions", []), self._entry]
        record["hardware"] = self._entry["hardware"]
        self.update(record)

    def update(self, record: dict[str, Any]) -> None:
        """Write the figures of the session so far, and the cost of all sessions, to `record`."""
        seconds = time.time() - self._since
        self._entry |= {
            "seconds": round(seconds, 3),
            "steps": int(record["steps"]) - self._first_step,
            "cost_usd": round(float(self._price) * seconds / _HOUR_S, 6),
        }
        record["cost"] = total_cost(record["sessions"])
        record["steps_per_second"] = round(record["steps"] / record["seconds"], 3) if record["seconds"] else None


def charged_until_now(record: Mapping[str, Any], rental: Rental) -> dict[str, Any]:
    """Record whose last session, on the machine of `rental`, ends now."""
    assert rental.since is not None
    seconds = time.time() - rental.since
    last = {
        **record["sessions"][-1],
        "seconds": round(seconds, 3),
        "cost_usd": round(float(rental.usd_per_hour) * seconds / _HOUR_S, 6),
    }
    sessions = [*record["sessions"][:-1], last]
    return {**record, "sessions": sessions, "cost": total_cost(sessions)}


def total_cost(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Cost of all sessions: `usd`, and `most_usd`, the sum of what the requests might have cost; None if unlimited."""
    most = {each["request"]: each["most_usd"] for each in sessions if each["most_usd"] is not None}
    return {
        "usd": round(sum(each["cost_usd"] for each in sessions), 6),
        "most_usd": round(sum(most.values()), 6) if most else None,
    }


def describe_cost(record: Mapping[str, Any]) -> str:
    """Cost in one phrase: `$0.36 of at most $5.68`; "" for a machine that costs nothing, or an older record."""
    cost, sessions = record.get("cost"), record.get("sessions") or ()
    if not cost or not any(each["usd_per_hour"] for each in sessions):
        return ""
    most = "" if cost["most_usd"] is None else f" of at most {dollars_up(cost['most_usd'])}"
    return f"{dollars(cost['usd'])}{most}"


def dollars_up(amount: float) -> str:
    """Format a maximum cost: rounded up to whole cents."""
    return f"${math.ceil(round(amount * 100, 6)) / 100:,.2f}"


def dollars(amount: float) -> str:
    """Format dollars: cents, and below ten cents four digits."""
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:,.4f}"
