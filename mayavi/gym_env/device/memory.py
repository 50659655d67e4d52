"""Memory of rows on a device: torch tensors that kernels work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.evm.devices import explained
from mayavi.gym_env.device.wiring import Limbs, Wiring

if TYPE_CHECKING:
    import torch

PLANE_BYTES = 8


class RowMemory:
    """Planes (planes, rows) of what steps are given and of what rows keep, those of all starts, and floats."""

    def __init__(self, kernel: _kernel.DeviceFleet, wiring: Wiring, rows: int, device: torch.device) -> None:
        import torch

        self.kernel, self.rows, self.device = kernel, rows, device
        self.given = torch.zeros((wiring.planes, rows), dtype=torch.int64, device=device)
        self.kept = torch.zeros((kernel.planes, rows), dtype=torch.int64, device=device)
        self.singles = torch.zeros((rows, wiring.columns), dtype=torch.float32, device=device)
        self.present = torch.zeros_like(self.singles)
        self.left = torch.zeros(rows, dtype=torch.int32, device=device)
        self.counter = torch.zeros(1, dtype=torch.int32, device=device)
        self.leaves = torch.zeros(rows, dtype=torch.int32, device=device)
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

    def step(self) -> int:
        """Run a step of all rows; returns how many were left out."""
        self.counter.zero_()
        order = (0, 0) if self.order is None else _place(self.order)
        places = (self.given, self.kept, self.singles, self.left, self.counter)
        memory = [*map(_place, places), order, _place(self.leaves)]
        self._launch(self.kernel.step, self.rows, memory)
        return int(self.counter.item())

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
        except _kernel.DeviceError as error:
            raise explained(error) from None

    def download(self, tensor: torch.Tensor, rows: torch.Tensor) -> Limbs:
        """Columns of planes for some rows."""
        found = tensor.index_select(1, rows).cpu().numpy()
        return np.ascontiguousarray(found).view(np.uint64)


def _place(tensor: torch.Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def bytes_needed(wiring: Wiring, planes: int, rows: int, starts: int) -> int:
    """Bytes of device memory for so many rows and starts."""
    plane = PLANE_BYTES * (wiring.planes + planes)
    return rows * (plane + 8 * wiring.columns + 32) + starts * (plane + 4 * wiring.columns)
