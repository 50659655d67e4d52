"""Maximum cost of a training on Modal, shown before anything is spent and refused above a ceiling.

The maximum is the whole timeout at the price of the machine: GPU, CPU cores and memory. The machine cannot exceed it:
cores and memory are hard limits, all attempts share the timeout, and start-up time counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from mayavi.errors import CostCeiling, UnknownName, UsageError

CEILING = "MAYAVI_MODAL_COST_CEIL_USD"
GPU_PRICE = "MAYAVI_MODAL_GPU_USD_PER_HOUR"
DEFAULT_CEILING_USD = Decimal(10)

# Modal's list prices in USD per hour, preemptible and without a chosen region. https://modal.com/pricing listed them in
# May and June 2026 per second: T4 0.000164, L4 0.000222, A10 0.000306, L40S 0.000542, A100 with 80 GB 0.000694,
# H100 0.001097; physical core 0.0000131, GiB 0.00000222. Prices change, so each can be set by a variable.
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
"""None: available, but its price must be given by the user."""
CORE_USD_PER_HOUR = Decimal("0.04716")
GIB_USD_PER_HOUR = Decimal("0.007992")

STARTUP_S = 300
"""Maximum start-up time of each attempt in seconds, which is paid for."""
LEAST_ATTEMPT_S = STARTUP_S + 60
MOST_TIMEOUT_S = 86_400
_HOUR_S = Decimal(3600)


@dataclass(frozen=True, slots=True)
class Machine:
    """Rented machine: its size, time limit and price."""

    gpu: str = "A10G"
    cores: Decimal = Decimal(4)
    memory_gib: Decimal = Decimal(16)
    timeout_s: int = 14_400
    """For all attempts together."""
    attempts: int = 2
    gpu_usd_per_hour: Decimal = GPU_USD_PER_HOUR["A10G"] or Decimal(0)
    core_usd_per_hour: Decimal = CORE_USD_PER_HOUR
    gib_usd_per_hour: Decimal = GIB_USD_PER_HOUR

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Machine:
        """Machine described by the variables MAYAVI_MODAL_…, with defaults for those not set."""
        given, default = os.environ if environment is None else environment, cls()
        gpu = _gpu(given.get("MAYAVI_MODAL_GPU", "").strip() or default.gpu)
        price = GPU_USD_PER_HOUR[gpu]
        if price is None and not given.get(GPU_PRICE, "").strip():
            raise UsageError(f"the price of a {gpu} is not known", f"set it from modal.com/pricing: {GPU_PRICE}=…")
        attempts = _whole(given, "MAYAVI_MODAL_ATTEMPTS", default.attempts, 1, 10)
        least = attempts * LEAST_ATTEMPT_S
        return cls(
            gpu=gpu,
            cores=_amount(given, "MAYAVI_MODAL_CPU_CORES", default.cores, Decimal("0.125"), Decimal(64)),
            memory_gib=_amount(given, "MAYAVI_MODAL_MEMORY_GIB", default.memory_gib, Decimal(1), Decimal(336)),
            timeout_s=_whole(given, "MAYAVI_MODAL_TIMEOUT_S", default.timeout_s, least, MOST_TIMEOUT_S),
            attempts=attempts,
            gpu_usd_per_hour=_amount(given, GPU_PRICE, price or Decimal(0)),
            core_usd_per_hour=_amount(given, "MAYAVI_MODAL_CPU_USD_PER_CORE_HOUR", default.core_usd_per_hour),
            gib_usd_per_hour=_amount(given, "MAYAVI_MODAL_MEMORY_USD_PER_GIB_HOUR", default.gib_usd_per_hour),
        )

    @property
    def usd_per_hour(self) -> Decimal:
        """Price of GPU, cores and memory together."""
        return self.gpu_usd_per_hour + self.cores * self.core_usd_per_hour + self.memory_gib * self.gib_usd_per_hour

    @property
    def worst_case_usd(self) -> Decimal:
        """Cost of the whole timeout."""
        return self.usd_per_hour * self.timeout_s / _HOUR_S

    @property
    def attempt_s(self) -> int:
        """Training time of an attempt in seconds: its share of the timeout minus the maximum start-up time."""
        return self.timeout_s // self.attempts - STARTUP_S

    def describe(self) -> str:
        """Maximum cost as a sum of its parts."""
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
    """Round up to whole cents."""
    return amount.quantize(Decimal("0.01"), rounding=ROUND_CEILING)


def ceiling_usd(environment: Mapping[str, str] | None = None) -> Decimal:
    """Cost ceiling: MAYAVI_MODAL_COST_CEIL_USD, else ten dollars."""
    return _amount(os.environ if environment is None else environment, CEILING, DEFAULT_CEILING_USD)


def check_cost(machine: Machine, ceiling: Decimal) -> None:
    """Raise `CostCeiling` with the figures and what to change if the maximum cost is above `ceiling`."""
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
        f"this training could cost more than ${ceiling:.2f}: {machine.describe()}",
        "; or ".join(changes),
    )


def check_total_cost(machine: Machine, trainings: int, ceiling: Decimal, say: Callable[[str], None]) -> None:
    """Show the maximum cost of several trainings, and raise `CostCeiling` if their sum is above `ceiling`."""
    total = machine.worst_case_usd * trainings
    each = f"{trainings:,} training{'' if trainings == 1 else 's'}"
    say(f"Modal, at most ${_cents_up(total)} for {each}; each {machine.describe()}; the ceiling is ${ceiling:.2f}")
    if total <= ceiling:
        return
    fits = int(ceiling / machine.worst_case_usd) if machine.worst_case_usd else trainings
    raise CostCeiling(
        f"{each} could cost ${_cents_up(total)}, more than ${ceiling:.2f}",
        f"{fits:,} of them fit; a shorter MAYAVI_MODAL_TIMEOUT_S allows more, or raise {CEILING} to {_cents_up(total)}",
    )


def _fits(machine: Machine, price: Decimal, ceiling: Decimal) -> bool:
    other = machine.usd_per_hour - machine.gpu_usd_per_hour + price
    return price < machine.gpu_usd_per_hour and other * machine.timeout_s / _HOUR_S <= ceiling


def _gpu(named: str) -> str:
    """Modal's spelling of a GPU, ignoring case."""
    for known in GPU_USD_PER_HOUR:
        if named.upper() == known.upper():
            return known
    raise UnknownName.of("GPU", named.upper(), GPU_USD_PER_HOUR, f"there are {', '.join(GPU_USD_PER_HOUR)}")


def _amount(
    given: Mapping[str, str],
    name: str,
    default: Decimal,
    least: Decimal = Decimal(0),
    most: Decimal = Decimal(10**6),
) -> Decimal:
    written = given.get(name, "").strip()
    if not written:
        return default
    try:
        value = Decimal(written)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not least <= value <= most:
        raise UsageError(f"{name} is '{written}'", f"give a number from {least} to {most:,}, such as {default or 1}")
    return value


def _whole(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    written = given.get(name, "").strip()
    is_whole = written.isascii() and written.isdigit() and len(written) < 10
    value = int(written) if is_whole else -1 if written else default
    if not least <= value <= most:
        raise UsageError(f"{name} is {written or default}", f"give a whole number from {least:,} to {most:,}")
    return value
