"""What a training costs: hours of its machines times their price, over all sessions."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from mayavi.errors import UsageError
from mayavi.rl.training.cost import Meter, Rental, describe_cost, dollars
from mayavi.rl.training.hardware import describe_hardware, hardware

pytest.importorskip("torch", reason="`pip install 'mayavi-sim[rl]'` installs torch")


def new_record() -> dict[str, Any]:
    return {"steps": 0, "seconds": 0.0}


def hours_ago(hours: float) -> float:
    return time.time() - 3600 * hours


def test_sessions_add_up_and_attempts_of_one_request_share_its_maximum() -> None:
    record = new_record()
    on_modal: dict[str, Any] = {"where": "modal", "usd_per_hour": Decimal("1.4181"), "most_usd": Decimal("5.6724")}
    first = Meter(record, Rental(request="a", since=hours_ago(0.25), **on_modal))
    record |= {"steps": 600, "seconds": 800.0}
    first.update(record)
    second = Meter(record, Rental(request="a", since=hours_ago(0.5), **on_modal))
    record |= {"steps": 1_000, "seconds": 2_000.0}
    second.update(record)
    assert [each["steps"] for each in record["sessions"]] == [600, 400]
    assert record["cost"]["usd"] == pytest.approx(0.75 * 1.4181, abs=0.01)
    assert record["cost"]["most_usd"] == 5.6724
    assert record["steps_per_second"] == 0.5
    assert describe_cost(record) == "$1.06 of at most $5.68"

    Meter(record, Rental(request="b", since=hours_ago(0), **on_modal))
    assert describe_cost(record).endswith("of at most $11.35")


def test_a_machine_of_ones_own_costs_nothing_unless_it_has_a_price() -> None:
    record = new_record()
    Meter(record, Rental.local({}))
    assert record["cost"] == {"usd": 0.0, "most_usd": None}
    assert describe_cost(record) == ""
    rented = Rental.local({"MAYAVI_LOCAL_USD_PER_HOUR": "36"})
    Meter(record, Rental(usd_per_hour=rented.usd_per_hour, since=hours_ago(1 / 3600)))
    assert describe_cost(record).startswith("$0.01")
    assert describe_cost({"steps": 1}) == ""  # a record of an older version
    assert [dollars(each) for each in (0.0, 0.0123, 0.36, 1234.5)] == ["$0.00", "$0.0123", "$0.36", "$1,234.50"]


@pytest.mark.parametrize("price", ["-1", "much", "nan", "1e9"])
def test_a_price_that_is_none_is_refused(price: str) -> None:
    with pytest.raises(UsageError, match="MAYAVI_LOCAL_USD_PER_HOUR is") as refused:
        Rental.local({"MAYAVI_LOCAL_USD_PER_HOUR": price})
    assert "dollars an hour" in (refused.value.hint or "")


def test_the_hardware_is_named() -> None:
    found = hardware()
    assert found["cores"] >= 1
    assert found["cpu"]
    assert found["memory_gib"] > 0
    assert describe_hardware(found).startswith(found["cpu"])
    gpu = {"name": "NVIDIA A10G", "memory_gb": 23.8, "count": 1}
    assert (
        describe_hardware({"cpu": "AMD EPYC 7B13", "cores": 4, "memory_gib": 16.0, "gpu": gpu})
        == "AMD EPYC 7B13, 4 cores, 16 GiB, NVIDIA A10G 23.8 GB"
    )
    assert describe_hardware({"cpu": "x", "cores": 1, "memory_gib": None, "gpu": None}) == "x, 1 core, no GPU"
