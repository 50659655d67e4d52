"""`DeviceRows`: rows of a borrower environment in a GPU's memory, stepped there by one kernel.

    rows = DeviceRows("aave-shock", None, 65_536, episodes=range(4_096), device="cuda")
    rows.begin()
    rows.step(actions)          # a torch tensor on the device
    rows.rewards                # another one, in the memory that the kernel writes

A step is the environment's program, with all its transactions: the paths that rows take are recorded on the processor,
as in specialised execution, and printed as one kernel with branches. A row that takes another path changes nothing on
the device; the processor plays its step and puts the result in its place. All bits are those of the environment on the
processor. `device="emulated"` runs the same kernel on the processor: slow, for tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.errors import UsageError
from mayavi.evm.devices import explained
from mayavi.evm.fleet import SUCCESS
from mayavi.gym_env.configuration import EnvConfig, configured
from mayavi.gym_env.device.host import MOST_ROOM, HostRows
from mayavi.gym_env.device.lending import begun, whole_environment, wired
from mayavi.gym_env.device.memory import RowMemory, bytes_needed
from mayavi.gym_env.registry import entry, split_name

if TYPE_CHECKING:
    import torch

    from mayavi.evm.fork import Fork
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.worlds.source import WorldSource

EMULATED = "emulated"
MOST_LEAVES = 255
PATIENCE = 64
"""Steps that the processor had to play, for each path of the kernel, after which new paths make a new one."""


class DeviceRows:
    """Rows of an environment on a device; all episodes come from a table of starts."""

    def __init__(
        self,
        env: str | type[RowsEnv[Any]],
        config: Mapping[str, object] | EnvConfig | None,
        rows: int,
        *,
        episodes: Sequence[int],
        device: str = "cuda",
        specialise: str | None = None,
        world: WorldSource | Fork | None = None,
        threads: int | None = None,
        most_leaves: int = MOST_LEAVES,
        bucket: int = 0,
    ) -> None:
        """Open the starts of `episodes`, record the paths of a step, and make the kernel.

        `most_leaves` is the most paths of the kernel; the others are the processor's. With a `bucket`, threads take
        that many neighbouring rows sorted by action and by the path of the last step, so that most go the same way.
        """
        import torch

        if type(rows) is not int or rows < 1 or not len(episodes):
            raise UsageError(f"{rows!r} rows of {len(episodes)} episodes do nothing", "give at least one of each")
        name, settings = split_name(env) if isinstance(env, str) else (env.name, {})
        kind = whole_environment(entry(name).load() if isinstance(env, str) else env)
        self.rows, self.table, self._most_leaves = rows, [int(each) for each in episodes], most_leaves
        self._bucket = bucket
        starts, room = len(self.table), MOST_ROOM
        chosen = configured(kind.config_type, settings, config)
        host = kind(chosen, starts + room, world=world, threads=threads, specialise=specialise)
        self.config, self.observation_space, self.action_space = host.config, host.observation_space, host.action_space
        self.env = host
        host.begin(range(starts), self.table)
        wiring = self.wiring = wired(host)
        renewed = [plane for name, planes in wiring.given.items() for plane in range(planes.start, planes.stop)
                   if name not in {"action", "price_e8", "reward", "liquidation"}]  # fmt: skip
        try:
            self.kernel = _kernel.DeviceFleet(
                wiring.program, wiring.inputs, wiring.fixed, wiring.outputs, renewed, device
            )
        except _kernel.DeviceError as error:
            raise explained(error) from None
        self.torch_device = torch.device("cpu" if device == EMULATED else device)
        self.host = HostRows(host, wiring, self.kernel, starts)
        given, singles = begun(host, wiring, slice(0, starts))
        self._begun, self._paths_e8 = given, host.columns["path_e8"][:starts].copy()
        self.host.learn(given, self.host.read_starts(), self._paths_e8)
        self.left = 0
        """Steps of rows that the processor had to play."""
        self.took: dict[str, float] = {}
        """What compiling the kernel took, and what the kernel uses."""
        self.memory: RowMemory | None = None
        self._grow()
        try:
            self.kernel.require(bytes_needed(wiring, self.kernel.planes, rows, starts))
        except _kernel.DeviceError as error:
            raise explained(error) from None
        self.memory = RowMemory(self.kernel, wiring, rows, self.torch_device)
        self.memory.set_starts(given, self.host.read_starts(), singles)
        self._prices = self.memory.upload(self._paths_e8) if host.feed is not None else None
        self._make_tensors()

    def _make_tensors(self) -> None:
        import torch

        memory, planes, device = self.memory, self.wiring.given, self.torch_device
        self.observations, self.final_observations = memory.present, memory.singles
        self.rewards = memory.given[planes["reward"].start].view(torch.float64)
        self.steps = memory.given[planes["steps"].start]
        self.terminated, self.truncated = (torch.zeros(self.rows, dtype=torch.bool, device=device) for _ in "tt")
        self.episodes = torch.full((self.rows,), -1, dtype=torch.int64, device=device)
        self._rounds = torch.zeros(self.rows, dtype=torch.int64, device=device)
        self._numbers = torch.arange(self.rows, dtype=torch.int64, device=device)
        self._table = torch.tensor(self.table, dtype=torch.int64, device=device)
        # Actions of the episodes that are not over, by step.
        kind = torch.int16 if self.config.actions == "discrete" else torch.float32
        self._history = torch.zeros((self.config.horizon, self.rows), dtype=kind, device=device)

    def _grow(self) -> None:
        """Make the kernel of all paths that are known."""
        planes, self._known, self._waiting = self.kernel.planes, self.host.paths(), 0
        try:
            self.leaves = self.kernel.print(self.host.fleet, self.wiring.program, 1, self._most_leaves)
            self.took = self.kernel.compile()
        except _kernel.DeviceError as error:
            raise explained(error) from None
        if self.memory is not None and self.kernel.planes > planes:
            self.memory.keep_more(self.host.read_starts(planes))

    # -- episodes and steps -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the first episode of every row: row r takes entry r modulo the size of the table."""
        self._rounds.zero_()
        self.memory.ended.fill_(1)
        self._renew()

    def _renew(self) -> None:
        """Let rows that ended begin the next of their episodes; `_rounds` says which."""
        import torch

        memory = self.memory
        torch.remainder(self._numbers + self._rounds * self.rows, len(self.table), out=memory.entries)
        memory.renew()
        torch.index_select(self._table, 0, memory.entries, out=self.episodes)

    def step(self, actions: torch.Tensor) -> None:
        """Play a step of all rows; rows whose episode ended begin their next one."""
        import torch

        memory = self.memory
        self._take_actions(actions)
        given = actions if actions.ndim == 1 else actions[:, 0]
        self._history.scatter_(0, self.steps[None], given[None].to(self._history.dtype))
        self._play()
        self.steps += 1
        torch.eq(memory.given[self.wiring.given["liquidation"].start], SUCCESS, out=self.terminated)
        torch.logical_and(self.steps >= self.config.horizon, ~self.terminated, out=self.truncated)
        ended = self.terminated | self.truncated
        memory.ended.copy_(ended)
        self._rounds += ended
        self._renew()

    def _play(self) -> None:
        """Run a step of all rows with the actions that were taken."""
        memory = self.memory
        if self._prices is not None:
            following = (self.steps + 1).clamp_(max=self.config.horizon)
            memory.given[self.wiring.given["price_e8"].start] = self._prices[memory.entries, following]
        if self._bucket:
            memory.order = self._by_path()
        if left := memory.step():
            self._play_left(memory.left[:left])

    def _by_path(self) -> torch.Tensor:
        """An order of rows: buckets of neighbours, sorted by action and by the path of the last step."""
        import torch

        memory = self.memory
        plane = memory.given[self.wiring.given["action"].start]
        action = plane if self.config.actions == "discrete" else plane.view(torch.float64).sign().to(torch.int64) + 1
        key = (self._numbers // self._bucket << 16) + (action << 8) + memory.leaves
        return key.argsort().to(torch.int32)

    def _take_actions(self, actions: torch.Tensor) -> None:
        import torch

        plane = self.memory.given[self.wiring.given["action"].start]
        if self.config.actions == "discrete":
            plane.copy_(actions.clamp(0, len(self.env.shares_ppm) - 1))
        else:
            plane.view(torch.float64).copy_(actions[:, 0].clamp(-1.0, 1.0))

    def _play_left(self, left: torch.Tensor) -> None:
        """Play the steps of rows that leave the known paths on the processor."""
        import torch

        memory, host = self.memory, self.host
        rows = left.to(torch.int64).sort().values
        self.left += len(rows)
        for part in rows.split(len(host.room)):
            entries = memory.entries[part].cpu().numpy()
            given = memory.download(memory.given, part)
            host.put(entries, memory.download(memory.kept, part))
            singles = host.play(given)
            planes = len(memory.kept)
            kept, grown = host.take(entries)
            if grown:
                memory.keep_more(host.read_starts(planes))
            memory.given[:, part] = memory.upload(given)
            memory.kept[:, part] = memory.upload(kept)
            memory.singles[part] = memory.upload(singles)
        self._waiting += len(rows)
        if not host.is_current():
            # Something that was taken for constant has changed: no row may be stepped by this kernel any more.
            host.learn(self._begun, host.read_starts(), self._paths_e8)
            self._grow()
        elif self._waiting >= PATIENCE * self.leaves and host.paths() > self._known:
            self._grow()

    # -- saving -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """What `restore` needs: the episode of each row and the actions in it, and the results of the last step."""
        kept = {
            "rounds": self._rounds,
            "steps": self.steps,
            "actions": self._history,
            "rewards": self.rewards,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "final_observations": self.final_observations,
        }
        table = np.array(self.table, dtype=np.int64)
        return {name: tensor.cpu().numpy().copy() for name, tensor in kept.items()} | {"table": table}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Play the unfinished episodes of a saved state again, to the same bits."""
        same = state["rounds"].shape == (self.rows,) and np.array_equal(state["table"], self.table)
        if not same or state["actions"].shape != tuple(self._history.shape):
            raise UsageError(
                f"the saved state is of {len(state['rounds'])} rows and {len(state['table'])} episodes, not of "
                f"{self.rows} and {len(self.table)}, or of another horizon",
                "give the rows, episodes and settings of the run that saved it",
            )
        self._rounds.copy_(self.memory.upload(state["rounds"]))
        self.memory.ended.fill_(1)
        self._renew()
        actions, done = self.memory.upload(state["actions"]), self.memory.upload(state["steps"])
        most = int(state["steps"].max())
        # Rows begin one after the other so that all arrive together; before that they play what does not count.
        for at in range(most + 1):
            self.memory.ended.copy_(done == most - at)
            self._renew()
            if at == most:
                break
            played = (done - most + at).clamp_(min=0)
            chosen = actions.gather(0, played[None])[0]
            self._take_actions(chosen if self.config.actions == "discrete" else chosen[:, None])
            self._play()
            self.steps += 1
        self._history.copy_(actions)
        for name in ("rewards", "terminated", "truncated", "final_observations"):
            getattr(self, name).copy_(self.memory.upload(state[name]))

    # -- the processor's view -----------------------------------------------------------------------------------------

    def identities(self, rows: Sequence[int]) -> list[bytes]:
        """Hash of each chain's whole state, as `RowsEnv.identities`."""
        import torch

        found: list[bytes] = []
        for part in torch.tensor(list(rows), device=self.torch_device).split(len(self.host.room)):
            entries: NDArray[np.int64] = self.memory.entries[part].cpu().numpy()
            self.host.put(entries, self.memory.download(self.memory.kept, part))
            found += self.env.fleet.identities(self.host.room[: len(entries)].tolist())
        return found

    def close(self) -> None:
        """Give the device's memory back."""
        self.memory.given = self.memory.given[:0]
