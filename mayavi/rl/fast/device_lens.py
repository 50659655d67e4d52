"""Normalise observations and rewards of rows on a device, by statistics that stay there.

The rules are those of `Lens`. Statistics are float64, as those of a training on the processor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mayavi.rl.training.normaliser import LIMIT, Normaliser, RunningStats, merge_stats

_TINY = 1e-8


@dataclass(slots=True)
class DeviceStats:
    """Running count, mean and variance as tensors; the host knows the count without asking."""

    count: float
    mean: Tensor
    variance: Tensor

    @classmethod
    def of(cls, stats: RunningStats, device: torch.device) -> DeviceStats:
        """Upload statistics."""
        uploaded = (torch.as_tensor(np.asarray(each).copy(), device=device) for each in (stats.mean, stats.variance))
        return cls(stats.count, *uploaded)

    def empty(self) -> DeviceStats:
        """Statistics of the same shape without samples."""
        return DeviceStats(0.0, torch.zeros_like(self.mean), torch.zeros_like(self.variance))

    def add(self, values: Tensor) -> None:
        """Add samples along the first axis."""
        variance, mean = torch.var_mean(values, 0, correction=0)
        self.merge(DeviceStats(float(len(values)), mean, variance))

    def merge(self, other: DeviceStats) -> None:
        """Add the samples of `other`."""
        merge_stats(self, other)

    @property
    def deviation(self) -> Tensor:
        """Standard deviation; one where the samples never varied."""
        return torch.where(self.variance > _TINY**2, self.variance.sqrt(), 1.0)

    def download(self) -> RunningStats:
        """Copy to the host."""
        return RunningStats(self.count, self.mean.cpu().numpy(), self.variance.cpu().numpy())


class DeviceLens:
    """Normalises the values of a rollout with fixed statistics, and records them for the next update."""

    def __init__(self, gamma: float, rows: int, now: Normaliser, device: torch.device) -> None:
        self.gamma = gamma
        self._seen, self._returned = (
            None if each is None else DeviceStats.of(each, device) for each in (now.observation_stats, now.return_stats)
        )
        self.sums = torch.zeros(rows, dtype=torch.float64, device=device)
        """Discounted return of each row's episode so far."""
        self._clear()

    def observations(self, raw: Tensor) -> Tensor:
        """Normalise observations."""
        if self._seen is None:
            return raw
        return ((raw.double() - self._seen.mean) / self._seen.deviation).clamp_(-LIMIT, LIMIT).float()

    def observe(self, raw: Tensor) -> None:
        """Record the observations of all rows."""
        if self._new_seen is not None:
            self._new_seen.add(raw.double())

    def reward(self, raw: Tensor, done: Tensor) -> Tensor:
        """Record and normalise the rewards of all rows."""
        if self._returned is None or self._new_returned is None:
            return raw
        self.sums.mul_(self.gamma).add_(raw)
        self._new_returned.add(self.sums)
        self.sums.masked_fill_(done, 0.0)
        return (raw / self._returned.deviation).clamp_(-LIMIT, LIMIT).float()

    def update(self) -> None:
        """Merge what was recorded since the last update into the statistics in use."""
        for own, new in ((self._seen, self._new_seen), (self._returned, self._new_returned)):
            if own is not None and new is not None:
                own.merge(new)
        self._clear()

    def download(self) -> Normaliser:
        """Copy the statistics in use to the host."""
        return Normaliser(*(None if each is None else each.download() for each in (self._seen, self._returned)))

    def _clear(self) -> None:
        self._new_seen, self._new_returned = (
            None if each is None else each.empty() for each in (self._seen, self._returned)
        )
