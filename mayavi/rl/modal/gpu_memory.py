"""Memory of Modal's machines: what a training there may use, instead of the ceiling of this machine."""

from __future__ import annotations

from decimal import Decimal

from mayavi.errors import MemoryCeiling
from mayavi.rl.modal.cost_guard import GPU_USD_PER_HOUR, NO_GPU, Machine
from mayavi.rl.training.memory_ceiling import MemoryEstimate, gigabytes

GPU_MEMORY_GB: dict[str, int] = {
    "T4": 15,
    "L4": 23,
    "A10": 23,
    "A10G": 23,
    "L40S": 47,
    "A100-40GB": 42,
    "A100-80GB": 84,
    "H100": 84,
    "H200": 150,
    "B200": 180,
}
"""Memory that CUDA reports for each GPU, in GB of 10⁹ bytes, rounded down."""
_GIB_IN_GB = Decimal(2**30) / 10**9


def memory_gb(machine: Machine) -> float:
    """Memory for model and batch on `machine`, in GB: that of its GPU, without one the main memory."""
    if machine.gpu == NO_GPU:
        return float(round(machine.memory_gib * _GIB_IN_GB, 1))
    return float(GPU_MEMORY_GB[machine.gpu])


def check_memory(found: MemoryEstimate, machine: Machine) -> None:
    """Raise `MemoryCeiling` with the figures if a training does not fit into the memory of `machine`."""
    limit = memory_gb(machine)
    if found.total_bytes <= limit * 10**9:
        return
    larger = [name for name in GPU_MEMORY_GB if GPU_MEMORY_GB[name] * 10**9 >= found.total_bytes]
    priced = [name for name in larger if GPU_USD_PER_HOUR[name] is not None] or larger
    changes = ["smaller: network, num_envs × rollout_steps, minibatch_size"]
    if priced:
        changes.insert(0, f"MAYAVI_MODAL_GPU={priced[0]} has {GPU_MEMORY_GB[priced[0]]} GB")
    where = f"the {machine.gpu} on Modal has {limit:g} GB"
    if machine.gpu == NO_GPU:
        where = f"the machine on Modal has {limit:g} GB of main memory"
        changes.insert(0, "more MAYAVI_MODAL_MEMORY_GIB")
    raise MemoryCeiling(
        f"this training needs {gigabytes(found.total_bytes)} ({found.describe()}; "
        f"{found.parameters:,} parameters), and {where}",
        "; or ".join(changes),
    )
