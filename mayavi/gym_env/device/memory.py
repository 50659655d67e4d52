"""Memory of rows on a device: torch tensors that kernels work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SimulationError, UsageError
from mayavi.evm.devices import EMULATED, DeviceError, DeviceFleet, explained
from mayavi.gym_env.device.parts import Part
from mayavi.gym_env.device.wiring import Limbs, PlaneTable
from mayavi.parallel.machine_memory import machine_memory

if TYPE_CHECKING:
    import torch

PLANE_BYTES = 8


class RowMemory:
    """Planes (planes, rows) of what steps are given and of what rows keep, those of all starts, and floats."""

    def __init__(self, parts: Sequence[Part], rows: int, device: torch.device) -> None:
        import torch

        self.kernel, self.rows, self.device = parts[-1].kernel, rows, device
        table = parts[-1].wiring.table
        self.given = torch.zeros((table.count, rows), dtype=torch.int64, device=device)
        self.kept = torch.zeros((self.kernel.planes, rows), dtype=torch.int64, device=device)
        self.singles = torch.zeros((rows, table.columns), dtype=torch.float32, device=device)
        self.present = torch.zeros_like(self.singles)
        self.left = torch.zeros(rows, dtype=torch.int32, device=device)
        self.counter = torch.zeros(1, dtype=torch.int32, device=device)
        self.leaves = torch.zeros((len(parts), rows), dtype=torch.int32, device=device)
        """Number of the path that each row took in each part, from 1; 0 where the processor played it."""
        self.parts = torch.zeros(rows, dtype=torch.int32, device=device)
        """Part of the step that each row was left out of, from 1; 0 for none."""
        self.ended = torch.zeros(rows, dtype=torch.int32, device=device)
        self.entries = torch.zeros(rows, dtype=torch.int64, device=device)
        self.order: torch.Tensor | None = None
        """Order in which threads take rows; None for that of their numbers."""

    def set_starts(self, given: Limbs, kept: Limbs, singles: NDArray[np.float32]) -> None:
        """Upload the starts of all episodes."""
        self.starts_given, self.starts_kept = self.upload(given), self.upload(kept)
        self.starts_singles = self.upload(singles)

    def upload(self, values: NDArray[Any]) -> torch.Tensor:
        """An array on the device; limbs become signed."""
        import torch

        signed = values.view(np.int64) if values.dtype == np.uint64 else values
        return torch.from_numpy(np.ascontiguousarray(signed)).to(self.device)

    def keep_more(self, starts: Limbs) -> None:
        """Add planes that rows keep from now on, with what each row's start has there."""
        import torch

        more = self.upload(starts)
        self.starts_kept = torch.cat([self.starts_kept, more])
        self.kept = torch.cat([self.kept, more[:, self.entries]])

    def step(self, number: int, kernel: DeviceFleet) -> None:
        """Run part `number`, from 1, of a step on all rows that were not left out before."""
        order = (0, 0) if self.order is None else _place(self.order)
        places = (self.given, self.kept, self.singles, self.left, self.counter)
        memory = [*map(_place, places), order, _place(self.leaves[number - 1]), _place(self.parts)]
        self._launch(kernel.step, self.rows, number, memory)

    def take_left(self) -> torch.Tensor:
        """Wait for the device; returns the rows that were left out, in ascending order."""
        import torch

        try:
            count = int(self.counter.item())
            if count:
                self.counter.zero_()
            return self.left[:count].to(torch.int64).sort().values
        except RuntimeError as error:
            raise SimulationError(
                f"the device is lost: {error}", "run again, or resume from the last checkpoint"
            ) from None

    def renew(self) -> None:
        """Let the rows that ended begin the episodes of `entries`, and carry over what all rows see."""
        starts = (self.starts_given, self.starts_kept, self.starts_singles)
        places = (self.given, self.kept, self.singles, self.present, *starts, self.ended, self.entries)
        self._launch(self.kernel.renew, self.rows, self.starts_given.shape[1], [*map(_place, places)])

    def _launch(self, kernel: Any, *given: Any) -> None:
        stream = 0
        if self.device.type == "cuda":
            import torch

            stream = torch.cuda.current_stream(self.device).cuda_stream
        try:
            kernel(*given, stream)
        except DeviceError as error:
            raise explained(error) from None

    def download(self, tensor: torch.Tensor, rows: torch.Tensor) -> Limbs:
        """Columns of planes for some rows."""
        found = tensor.index_select(1, rows).cpu().numpy()
        return np.ascontiguousarray(found).view(np.uint64)


def _place(tensor: torch.Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def check_memory(kernel: DeviceFleet, needed: int, device: str) -> None:
    """Raise `UsageError` if `needed` bytes do not fit into the device's memory, or into the machine's that emulates."""
    hint = "take fewer rows or episodes"
    try:
        kernel.require(needed)
    except DeviceError as error:
        raise UsageError(explained(error).message, hint) from None
    if device == EMULATED and needed > machine_memory()[0]:
        gib, free, whole = (each / 2**30 for each in (needed, *machine_memory()))
        raise UsageError(
            f"the run needs {gib:,.1f} GiB of the device's memory, {free:.1f} of {whole:.1f} GiB are free", hint
        )


def bytes_needed(table: PlaneTable, planes: int, rows: int, starts: int) -> int:
    """Estimate the bytes of device memory that `rows` and `starts` need; a row has `planes` words of chain state."""
    plane = PLANE_BYTES * (table.count + planes)
    return rows * (plane + 8 * table.columns + 64) + starts * (plane + 4 * table.columns)
