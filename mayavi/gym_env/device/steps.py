"""What the rows of an environment need on a device: planes of its steps, starts of its episodes, and tables of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.device.wiring import Limbs, PlaneTable, Wiring

E = TypeVar("E", bound=ChainRowsEnv[Any])


class Table(NamedTuple):
    """Words that are known before an episode begins, one for each of its steps."""

    ahead: int
    """A step takes the entry that is so far ahead of its number."""
    words: Limbs
    """(limbs, starts, horizon + 1), the lowest limb first."""


class DeviceSteps(ABC, Generic[E]):
    """Steps of `env` as programs that run one after the other."""

    settings: ClassVar[dict[str, Any]] = {}
    """Class attributes that the environment has on a device."""
    renewed: ClassVar[tuple[str, ...]]
    """Planes that the start of an episode sets; `steps` is one."""
    over: ClassVar[tuple[str, int]]
    """Plane that says whether an episode has terminated, and its value then."""

    def __init__(self, env: E) -> None:
        self.env = env

    @abstractmethod
    def wired(self) -> list[Wiring]:
        """Programs of a step on planes."""

    @abstractmethod
    def begun(self, table: PlaneTable, starts: int) -> tuple[Limbs, NDArray[np.float32]]:
        """What a step is given at the start of the episodes of the first rows, and their observations."""

    @abstractmethod
    def tables(self, starts: int) -> dict[str, Table]:
        """By plane: what each step of the episodes of the first rows is given."""


def as_limbs(words: NDArray[np.uint8]) -> Limbs:
    """Words (…, 32) as limbs (4, …), the lowest first."""
    limbs = np.ascontiguousarray(words).view(">u8").astype(np.uint64)
    return np.ascontiguousarray(np.moveaxis(limbs, -1, 0)[::-1])


def put_floats(given: Limbs, table: PlaneTable, floats: dict[str, NDArray[Any]]) -> None:
    """Put floats of rows, (rows,) or (rows, count), into their planes."""
    for name, values in floats.items():
        columns = values.reshape(len(values), -1).T
        given[table.planes[name]] = np.ascontiguousarray(columns, dtype=np.float64).view(np.uint64)
