"""What a training on Modal costs in the worst case, told before anything is spent and refused above a ceiling.

The worst case is all of the timeout at the price of the machine: its GPU, its CPU cores and its memory. A machine can
use no more than is counted: cores and memory are limits, all attempts share the timeout, and starting up is part of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from mayavi.errors import CostCeiling, UnknownName, UsageError

CEILING = "MAYAVI_MODAL_COST_CEIL_USD"
GPU_PRICE = "MAYAVI_MODAL_GPU_USD_PER_HOUR"
DEFAULT_CEILING_USD = Decimal(10)

# Modal's list prices in dollars an hour, preemptible and in no chosen region, as https://modal.com/pricing told them in
# May and June 2026 by the second: 0.000164 for a T4, 0.000222 L4, 0.000306 A10, 0.000542 L40S, 0.000694 A100 of 80 GB,
# 0.001097 H100; 0.0000131 for a physical core, 0.00000222 for a GiB. Prices move: each is a setting.
NO_GPU = "none"
GPU_USD_PER_HOUR: dict[str, Decimal | None] = {
    NO_GPU: Decimal(0),
    "T4": Decimal("0.5904"),
    "L4": Decimal("0.7992"),
    "A10": Decimal("1.1016"),
    "A10G": Decimal("1.1016"),
    "L40S": Decimal("1.9512"),
    "A100-40GB": None,
    "A100-80GB": Decimal("2.4984"),
    "H100": Decimal("3.9492"),
    "H200": None,
    "B200": None,
}
"""None: to be had, and its price is to be told."""
CORE_USD_PER_HOUR = Decimal("0.04716")
GIB_USD_PER_HOUR = Decimal("0.007992")

STARTUP_S = 300
"""Seconds a machine may take to start, in each attempt; they are paid for."""
LEAST_ATTEMPT_S = STARTUP_S + 60
MOST_TIMEOUT_S = 86_400
_HOUR_S = Decimal(3600)


@dataclass(frozen=True, slots=True)
class Machine:
    """What is rented, for how long at most, and at what price."""

    gpu: str = "A10G"
    cores: Decimal = Decimal(4)
    memory_gib: Decimal = Decimal(16)
    timeout_s: int = 14_400
    """Of all attempts together."""
    attempts: int = 2
    gpu_usd_per_hour: Decimal = GPU_USD_PER_HOUR["A10G"] or Decimal(0)
    core_usd_per_hour: Decimal = CORE_USD_PER_HOUR
    gib_usd_per_hour: Decimal = GIB_USD_PER_HOUR

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Machine:
        """What the variables MAYAVI_MODAL_… say, and the defaults for the rest."""
        given, usual = os.environ if environment is None else environment, cls()
        gpu = _gpu(given.get("MAYAVI_MODAL_GPU", "").strip() or usual.gpu)
        price = GPU_USD_PER_HOUR[gpu]
        if price is None and not given.get(GPU_PRICE, "").strip():
            raise UsageError(
                f"what a {gpu} costs is not known here", f"tell it, as modal.com/pricing does: {GPU_PRICE}=…"
            )
        attempts = _whole(given, "MAYAVI_MODAL_ATTEMPTS", usual.attempts, 1, 10)
        least = attempts * LEAST_ATTEMPT_S
        return cls(
            gpu=gpu,
            cores=_amount(given, "MAYAVI_MODAL_CPU_CORES", usual.cores, Decimal("0.125"), Decimal(64)),
            memory_gib=_amount(given, "MAYAVI_MODAL_MEMORY_GIB", usual.memory_gib, Decimal(1), Decimal(336)),
            timeout_s=_whole(given, "MAYAVI_MODAL_TIMEOUT_S", usual.timeout_s, least, MOST_TIMEOUT_S),
            attempts=attempts,
            gpu_usd_per_hour=_amount(given, GPU_PRICE, price or Decimal(0)),
            core_usd_per_hour=_amount(given, "MAYAVI_MODAL_CPU_USD_PER_CORE_HOUR", usual.core_usd_per_hour),
            gib_usd_per_hour=_amount(given, "MAYAVI_MODAL_MEMORY_USD_PER_GIB_HOUR", usual.gib_usd_per_hour),
        )

    @property
    def usd_per_hour(self) -> Decimal:
        """GPU, cores and memory together."""
        return self.gpu_usd_per_hour + self.cores * self.core_usd_per_hour + self.memory_gib * self.gib_usd_per_hour

    @property
    def worst_case_usd(self) -> Decimal:
        """All of the timeout."""
        return self.usd_per_hour * self.timeout_s / _HOUR_S

    @property
    def attempt_s(self) -> int:
        """Seconds that an attempt may train: its share of the timeout, less what starting may take."""
        return self.timeout_s // self.attempts - STARTUP_S

    def told(self) -> str:
        """The worst case as a sum that can be checked."""
        gpu = f"{self.gpu} ${self.gpu_usd_per_hour:.4f}" if self.gpu != NO_GPU else "no GPU"
        parts = (
            gpu,
            f"{self.cores.normalize():f} cores ${self.cores * self.core_usd_per_hour:.4f}",
            f"{self.memory_gib.normalize():f} GiB ${self.memory_gib * self.gib_usd_per_hour:.4f}",
        )
        return (
            f"at most ${_cents_up(self.worst_case_usd)}: {' + '.join(parts)} = ${self.usd_per_hour:.4f} an hour, "
            f"for {self.timeout_s:,} s"
        )


def _cents_up(amount: Decimal) -> Decimal:
    """What an amount is at most, in whole cents."""
    return amount.quantize(Decimal("0.01"), rounding=ROUND_CEILING)


def ceiling_usd(environment: Mapping[str, str] | None = None) -> Decimal:
    """MAYAVI_MODAL_COST_CEIL_USD, else ten dollars."""
    return _amount(os.environ if environment is None else environment, CEILING, DEFAULT_CEILING_USD)


def check_cost(machine: Machine, ceiling: Decimal) -> None:
    """`CostCeiling` with the figures, and what to change, where the worst case is above `ceiling`."""
    if machine.worst_case_usd <= ceiling:
        return
    fits = int(ceiling / machine.usd_per_hour * _HOUR_S)
    changes = [f"raise {CEILING} to {_cents_up(machine.worst_case_usd)}"]
    if fits >= machine.attempts * LEAST_ATTEMPT_S:
        changes.insert(0, f"MAYAVI_MODAL_TIMEOUT_S={fits} fits")
    cheaper = [name for name, price in GPU_USD_PER_HOUR.items() if price is not None and _fits(machine, price, ceiling)]
    if cheaper and machine.gpu not in cheaper:
        changes.insert(0, f"MAYAVI_MODAL_GPU={cheaper[-1]} fits")
    raise CostCeiling(
        f"this training could cost more than ${ceiling:.2f}: {machine.told()}",
        "; or ".join(changes),
    )


def _fits(machine: Machine, price: Decimal, ceiling: Decimal) -> bool:
    other = machine.usd_per_hour - machine.gpu_usd_per_hour + price
    return price < machine.gpu_usd_per_hour and other * machine.timeout_s / _HOUR_S <= ceiling


def _gpu(named: str) -> str:
    """The GPU as Modal writes it, whatever the case."""
    for known in GPU_USD_PER_HOUR:
        if named.upper() == known.upper():
            return known
    raise UnknownName.of("GPU", named.upper(), GPU_USD_PER_HOUR, f"there are {', '.join(GPU_USD_PER_HOUR)}")


def _amount(
    given: Mapping[str, str],
    name: str,
    otherwise: Decimal,
    least: Decimal = Decimal(0),
    most: Decimal = Decimal(10**6),
) -> Decimal:
    written = given.get(name, "").strip()
    if not written:
        return otherwise
    try:
        value = Decimal(written)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not least <= value <= most:
        raise UsageError(f"{name} is '{written}'", f"give a number from {least} to {most:,}, such as {otherwise or 1}")
    return value


def _whole(given: Mapping[str, str], name: str, otherwise: int, least: int, most: int) -> int:
    written = given.get(name, "").strip()
    is_whole = written.isascii() and written.isdigit() and len(written) < 10
    value = int(written) if is_whole else -1 if written else otherwise
    if not least <= value <= most:
        raise UsageError(f"{name} is {written or otherwise}", f"give a whole number from {least:,} to {most:,}")
    return value
