"""What an agent is: it looks at the world, and says what it wants to do.

In a block every agent looks at the same state and returns intents; nothing is executed until all have spoken. Then the
scheduler puts the intents in an order and executes them one by one, so that no agent gains from its place in a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from mayavi.evm.fork import Fork

T = TypeVar("T")

Details = Mapping[str, int | str | bool | None]
"""Facts of an action, kept with it: exact integers, names, reasons."""


class World(Protocol):
    """What an agent may see of a simulation. `mayavi.sim.world_state.WorldState` is one."""

    @property
    def fork(self) -> Fork:
        """The chain. Agents read from it in `step`; only intents act on it."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

    @property
    def threads(self) -> int:
        """How many kernel threads batch reads may use; results do not depend on it."""

    @property
    def step(self) -> int:
        """The step the run is in, from 0 on; -1 while agents prepare."""

    @property
    def gas_price_wei(self) -> int:
        """What a unit of gas costs an intent that names no tip of its own; 0 where gas is free."""

    def rng(self, name: str) -> np.random.Generator:
        """The random stream of the agent `name`: its own, whatever other agents there are."""

    def address(self, name: str) -> bytes:
        """The account of `name`; the same name has the same address in every run."""

    def price_usd(self, symbol: str) -> float:
        """What the outside market pays for one whole `symbol` at this step: the price processes' own figure."""

    def price_usd_e8(self, symbol: str) -> int:
        """The same with eight decimals, exact: what a feed that follows the market says."""

    def observe(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, read once a block: whoever asks for `key` in the same block sees the same object."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing an agent wants done: a transaction, or several that belong together, executed in one place.

    `run` acts on the fork, through adapters, and returns facts of what came out (or None). It may look at the receipt
    of one action before it starts the next: liquidate, then sell what was seized. What it raises as `ExecutionError` is
    a failed action; the fork is then as it was before, but for the gas where gas is paid for.
    """

    kind: str
    run: Callable[[], Details | None]
    details: Details = field(default_factory=dict)
    account: str = ""
    """Whose action it is, where an agent acts for many; by default the agent's own name."""
    priority_fee_wei: int = 0
    """The tip for each unit of gas; 0 is its agent's, or the run's. Where gas is free it still decides the place."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an agent wants in this block, and a note on why: `health factor 1.42 is inside the band`."""

    intents: tuple[Intent, ...] = ()
    note: str = ""


class Agent(ABC):
    """Somebody who acts. A name is unique in a run: random stream, addresses and ordering follow from it."""

    priority_fee_wei: int = 0
    """What its intents offer above the base fee where they say nothing themselves."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, world: World) -> None:
        """Set up what the agent starts with, before the first step: balances, positions. Not recorded as actions."""
        del world

    @abstractmethod
    def step(self, world: World, step_idx: int) -> StepResult:
        """Look at the world and say what to do in this block."""

    def does(self, kind: str, run: Callable[[], Details | None], **options: Any) -> StepResult:
        """One intent; `options` are those of `Intent`, and `note`."""
        note = options.pop("note", "")
        return StepResult((Intent(kind, run, **options),), note)

    def rests(self, note: str = "") -> StepResult:
        """Nothing, and why."""
        return StepResult((), note)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
