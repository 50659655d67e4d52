"""Interface of agents: observe the world, then return intents.

In a block every agent observes the same state and returns intents; nothing is executed until all have decided. Then the
scheduler orders the intents and executes them one by one, so no agent gains from its place in a list.
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
"""Facts recorded with an action: exact integers, names, reasons."""


class World(Protocol):
    """Agent's view of a simulation. Implemented by `mayavi.sim.world_state.WorldState`."""

    @property
    def fork(self) -> Fork:
        """The chain. Agents only read it in `step`; intents act on it."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def threads(self) -> int:
        """Kernel threads for batch reads; results do not depend on it."""

    @property
    def step(self) -> int:
        """Step of the run, from 0; -1 while agents prepare."""

    @property
    def gas_price_wei(self) -> int:
        """Gas price of an intent without its own tip; 0 if gas is free."""

    def rng(self, name: str) -> np.random.Generator:
        """Return the random stream of the agent `name`, independent of all other agents."""

    def address(self, name: str) -> bytes:
        """Return the account of `name`; a name has the same address in every run."""

    def price_usd(self, symbol: str) -> float:
        """Return the outside price of one whole `symbol` at this step, from the price processes."""

    def price_usd_e8(self, symbol: str) -> int:
        """Return the outside price with 8 decimals, exact: the answer of a feed that follows it."""

    def observe(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the result of `read`, cached per block: all agents that ask for `key` share one object."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One action of an agent: a transaction, or several executed together.

    `run` acts on the fork, through adapters, and returns facts about the result (or None). It may read the receipt of
    one transaction before it sends the next: liquidate, then sell the seized tokens. An `ExecutionError` makes the
    action fail; the fork is then restored, except for the gas if gas is paid.
    """

    kind: str
    run: Callable[[], Details | None]
    details: Details = field(default_factory=dict)
    account: str = ""
    """Account name of the action, if an agent acts for many; by default the agent's name."""
    priority_fee_wei: int = 0
    """Tip per unit of gas; 0 means the agent's or the run's. With free gas it still decides the order."""
    gas: int = 0
    """Expected gas. The scheduler drops an intent of an `every_block` agent that exceeds the block's gas limit."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """Intents of an agent in this block, and a note on the reason: `health factor 1.42 is inside the band`."""

    intents: tuple[Intent, ...] = ()
    note: str = ""
    waits: bool = False
    """Ask this `every_block` agent again in the next block, even if no agent acts in this one."""


class Agent(ABC):
    """Base class of agents. The name is unique in a run and determines random stream, addresses and order.

    Subclasses implement `step`, and `prepare` if they need an initial balance or position.
    """

    priority_fee_wei: int = 0
    """Default tip of its intents."""
    learner_actions: tuple[str, ...] = ()
    """Own actions that a learner may choose in its place; `act` returns the intents of each."""
    every_block: bool = False
    """Whether it also acts in later blocks of a step, as liquidators and arbitrageurs do."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, world: World) -> None:
        """Set up initial balances and positions before the first step. Not recorded as actions."""
        del world

    @abstractmethod
    def step(self, world: World, step_idx: int) -> StepResult:
        """Observe the world and return the intents of this block."""

    def act(self, world: World, action: str, share_ppm: int) -> StepResult:
        """Return the intents of one of `learner_actions`, at a share of its full size in millionths."""
        raise NotImplementedError(f"{type(self).__name__} lists '{action}' in learner_actions and does not define act")

    def own_figures(self, world: World) -> Mapping[str, tuple[int, str]]:
        """Return figures of its own that a learner may observe: by name, the exact integer and its unit."""
        del world
        return {}

    def does(self, kind: str, run: Callable[[], Details | None], **options: Any) -> StepResult:
        """Return one intent; `options` are those of `Intent`, and `note`."""
        note = options.pop("note", "")
        return StepResult((Intent(kind, run, **options),), note)

    def rests(self, note: str = "") -> StepResult:
        """Return no intents, with a note on the reason."""
        return StepResult((), note)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
