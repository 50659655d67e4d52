"""Parse times and format times and durations."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (math.inf, 1e9))


def to_seconds(moment: object) -> float:
    """Convert ISO 8601 text, a date, or a count of (milli-, micro-, nano-)seconds to Unix seconds.

    The size of a count determines its unit: seconds stay below 10¹¹ until the year 5138. A time without a zone is UTC.
    Raises `ValueError` for anything else.
    """
    if isinstance(moment, bool):
        raise ValueError(f"{moment} is not a valid time")
    if isinstance(moment, str):
        text = moment.strip()
        try:
            return _from_count(float(text)) if "_" not in text else float("no time")
        except ValueError:
            return _seconds_of(datetime.fromisoformat(text.removesuffix(" UTC")))
    if isinstance(moment, datetime):
        return _seconds_of(moment)
    if isinstance(moment, date):
        return _seconds_of(datetime(moment.year, moment.month, moment.day, tzinfo=UTC))
    if isinstance(moment, int | float):
        return _from_count(float(moment))
    raise ValueError(f"{moment!r} is not a valid time")


def say_time(seconds: float) -> str:
    """Format as `2023-03-11 07:15:00 UTC`; a bare number outside the calendar's range."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{seconds:g} s"
    return moment.isoformat(sep=" ", timespec="microseconds" if moment.microsecond else "seconds")[:-6] + " UTC"


def say_duration(seconds: float) -> str:
    """Format as `15 minutes`, `2.25 hours`."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size or seconds == size:
            return f"{seconds / size:.4g} {name if seconds != size else name[:-1]}"
    return f"{seconds:.4g} seconds"


def _from_count(count: float) -> float:
    if not math.isfinite(count):
        raise ValueError("no time")
    return next(count / unit for limit, unit in _UNITS if abs(count) < limit)


def _seconds_of(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
