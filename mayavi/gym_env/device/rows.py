"""`DeviceRows`: rows of a borrower environment in a GPU's memory, stepped there by one kernel.

    rows = DeviceRows("aave-shock", None, 65_536, episodes=range(4_096), device="cuda")
    rows.begin()
    rows.step(actions)          # a torch tensor on the device
    rows.rewards                # another one, in the memory that the kernel writes

A step is the environment's program, with all its transactions: the paths that rows take are recorded on the processor,
as in specialised execution, and printed as kernels with branches, one for each part of a step. A row that takes another
path changes nothing on the device; the processor plays the rest of its step and puts the result in its place. All bits
are those of the environment on the processor. `device="emulated"` runs the same kernels on the processor: slow, for
tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UsageError
from mayavi.evm.devices import EMULATED, check_device, check_specialised
from mayavi.gym_env.configuration import EnvConfig, configured
from mayavi.gym_env.device.host import MOST_ROOM, HostRows
from mayavi.gym_env.device.kinds import PROCESSOR, whole_environment
from mayavi.gym_env.device.making import KernelMaker
from mayavi.gym_env.device.memory import RowMemory, bytes_needed, check_memory
from mayavi.gym_env.device.parts import Style, make_parts
from mayavi.gym_env.device.whole_numbers import whole_number
from mayavi.gym_env.registry import entry, split_name

if TYPE_CHECKING:
    import torch

    from mayavi.evm.fork import Fork
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.worlds.source import WorldSource

PATIENCE = 256
"""Steps that the processor had to play after which kernels are made again; then twice as many, and so on."""


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
        style: Style | None = None,
    ) -> None:
        """Open the starts of `episodes`, record the paths of a step, and make the kernels."""
        import torch

        name, settings = split_name(env) if isinstance(env, str) else (env.name, {})
        kind, steps = whole_environment(entry(name).load() if isinstance(env, str) else env)
        if not isinstance(style, Style | None):
            raise BadArgument(f"the style is {style!r}", "give a Style, such as Style(threads=128)")
        self.rows, self.style = whole_number("rows", rows, 1), style or Style()
        self.table = [int(each) for each in episodes]
        if not self.table:
            raise UsageError("there are no episodes", "give at least one")
        check_specialised(specialise)
        check_device(device, PROCESSOR)
        starts, room = len(self.table), MOST_ROOM
        chosen = configured(kind.config_type, settings, config)
        host = kind(chosen, starts + room, world=world, threads=threads, specialise=specialise)
        self.config, self.observation_space, self.action_space = host.config, host.observation_space, host.action_space
        self.env = host
        host.begin(range(starts), self.table)
        self._steps = steps(host)
        wirings = self._steps.wired()
        planes = self._planes = wirings[0].table.planes
        renewed = [plane for name in steps.renewed for plane in range(planes[name].start, planes[name].stop)]
        self.parts = make_parts(wirings, renewed, device, self.style)
        self.torch_device = torch.device("cpu" if device == EMULATED else device)
        self.host = HostRows(host, self.parts, starts)
        given, singles = self._steps.begun(wirings[0].table, starts)
        self._begun, self._schedule = given, self._steps.tables(starts)
        self.host.learn(given, self.host.read_starts(), self._schedule)
        self.left = 0
        """Steps of rows that the processor had to play, or to finish."""
        self._memory: RowMemory | None = None
        # A step adds at most one entry to a mapping: the round of a price.
        self._maker = KernelMaker(self.host, device, self.config.horizon + 2, self.style.most_leaves)
        self._patience, self._waiting, self._playing = PATIENCE, 0, False
        self._maker.make()
        check_memory(self.host.kernel, bytes_needed(wirings[0].table, self.host.kernel.planes, rows, starts), device)
        self._memory = RowMemory(self.parts, rows, self.torch_device)
        self._memory.set_starts(given, self.host.read_starts(), singles)
        self._tables = {name: self._memory.upload(table.words) for name, table in self._schedule.items()}
        self._make_tensors()

    @property
    def memory(self) -> RowMemory:
        """Memory on the device."""
        if self._memory is None:
            raise UsageError("the rows are closed", "make new ones")
        return self._memory

    @property
    def leaves(self) -> int:
        """Paths of all kernels."""
        return sum(part.leaves for part in self.parts)

    def _make_tensors(self) -> None:
        import torch

        memory, planes, device = self.memory, self._planes, self.torch_device
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
        numbers = self.action_space.shape or ()
        self.last_order: torch.Tensor | None = None
        """Order in which threads took the rows for the last transactions; None for that of their numbers."""
        self._history = torch.zeros((self.config.horizon, self.rows, *numbers), dtype=kind, device=device)

    def _grow(self, *, at_once: bool) -> None:
        """Compile kernels of all known paths."""
        planes = len(self.memory.kept)
        if at_once:
            self._maker.make()
        else:
            self._maker.begin()
        self._waiting = 0
        if self.host.kernel.planes > planes:
            self.memory.keep_more(self.host.read_starts(planes))

    # -- episodes and steps -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the first episode of every row: row r takes entry r modulo the size of the table."""
        self._rounds.zero_()
        self.memory.ended.fill_(1)
        self._renew()
        self._playing = True

    def _renew(self) -> None:
        """Start the next episode in every row that ended; `_rounds` counts each row's turns."""
        import torch

        memory = self.memory
        torch.remainder(self._numbers + self._rounds * self.rows, len(self.table), out=memory.entries)
        memory.renew()
        torch.index_select(self._table, 0, memory.entries, out=self.episodes)

    def step(self, actions: torch.Tensor) -> None:
        """Play a step of all rows; rows whose episode ended begin their next one."""
        import torch

        memory = self.memory
        self._check_actions(actions)
        self._maker.adopt()
        self._take_actions(actions)
        self._history.scatter_(0, self._at_steps(self.steps), actions[None].to(self._history.dtype))
        self._play()
        self.steps += 1
        plane, value = self._steps.over
        torch.eq(memory.given[self._planes[plane].start], value, out=self.terminated)
        torch.logical_and(self.steps >= self.config.horizon, ~self.terminated, out=self.truncated)
        ended = self.terminated | self.truncated
        memory.ended.copy_(ended)
        self._rounds += ended
        self._renew()

    def _check_actions(self, actions: torch.Tensor) -> None:
        import torch

        if not self._playing:
            raise UsageError("no episode has begun", "call begin first")
        wanted = (self.rows, *(self.action_space.shape or ()))
        kind = "int64" if self.config.actions == "discrete" else "float32"
        hint = f"give a torch tensor of {' × '.join(map(str, wanted))} {kind} on {self.torch_device}"
        if not isinstance(actions, torch.Tensor):
            raise BadArgument(f"the actions are of the type {type(actions).__name__}", hint)
        if tuple(actions.shape) != wanted:
            raise BadArgument(f"the actions have the shape {tuple(actions.shape)}", hint)
        if actions.device != self.memory.given.device:
            raise BadArgument(f"the actions are on {actions.device}, and the rows on {self.torch_device}", hint)

    def _play(self) -> None:
        """Run a step of all rows with the actions that were taken."""
        memory = self.memory
        for name, table in self._tables.items():
            at = (self.steps + self._schedule[name].ahead).clamp_(max=self.config.horizon)
            memory.given[self._planes[name]] = table[:, memory.entries, at]
        self.last_order = None if self.style.bucket == 0 else self._by_path()
        for number, part in enumerate(self.parts, 1):
            memory.order = self.last_order if number == 1 else None
            memory.step(number, part.kernel)
        if len(left := memory.take_left()):
            self._play_left(left)

    def _by_path(self) -> torch.Tensor:
        """An order of rows: buckets of neighbours, sorted by action and by the path of the last step."""
        import torch

        memory = self.memory
        plane = memory.given[self._planes["action"].start]
        action = plane if self.config.actions == "discrete" else plane.view(torch.float64).sign().to(torch.int64) + 1
        key = (self._numbers // (self.style.bucket or self.rows) << 16) + (action << 8) + memory.leaves[0]
        return key.argsort().to(torch.int32)

    def _take_actions(self, actions: torch.Tensor) -> None:
        import torch

        planes = self.memory.given[self._planes["action"]]
        if self.config.actions == "discrete":
            planes[0].copy_(actions.clamp(0, self.action_space.n - 1))  # type: ignore[attr-defined]
        else:
            planes.view(torch.float64).copy_(actions.T.clamp(-1.0, 1.0))

    def _at_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """Places of the actions of these steps, one for each row, in the history."""
        shape = self._history.shape[1:]
        return steps.view(1, -1, *[1] * (len(shape) - 1)).expand(1, *shape)

    def _play_left(self, rows: torch.Tensor) -> None:
        """Play the steps of rows that left the known paths on the processor, from the part on in which they did."""
        memory, host = self.memory, self.host
        self.left += len(rows)
        for some in rows.split(len(host.room)):
            since, entries = memory.parts[some].cpu().numpy(), memory.entries[some].cpu().numpy()
            given, singles = memory.download(memory.given, some), memory.singles[some].cpu().numpy()
            host.put(entries, memory.download(memory.kept, some))
            for number, part in enumerate(self.parts, 1):
                part.left += int((since == number).sum())
                host.play(part, np.flatnonzero(since <= number), given, singles)
            planes = len(memory.kept)
            kept, grown = host.take(entries)
            if grown:
                memory.keep_more(host.read_starts(planes))
            memory.given[:, some] = memory.upload(given)
            memory.kept[:, some] = memory.upload(kept)
            memory.singles[some] = memory.upload(singles)
        memory.parts.zero_()
        self._waiting += len(rows)
        if not host.is_current():
            # Something that was taken for constant has changed: no row may be stepped by these kernels any more.
            host.learn(self._begun, host.read_starts(), self._schedule)
            self._grow(at_once=True)
        elif self._waiting >= self._patience:
            # New paths, or values wider than those seen so far.
            self._patience *= 2
            self._grow(at_once=False)

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
        if not same or state["actions"].size != self._history.numel():
            raise UsageError(
                f"the saved state is of {len(state['rounds'])} rows and {len(state['table'])} episodes, not of "
                f"{self.rows} and {len(self.table)}, or of another horizon",
                "give the rows, episodes and settings of the run that saved it",
            )
        self._rounds.copy_(self.memory.upload(state["rounds"]))
        self.memory.ended.fill_(1)
        self._renew()
        actions = self.memory.upload(state["actions"]).view(self._history.shape)
        done = self.memory.upload(state["steps"])
        most = int(state["steps"].max())
        # Rows begin one after the other so that all arrive together; before that they play what does not count.
        for at in range(most + 1):
            self.memory.ended.copy_(done == most - at)
            self._renew()
            if at == most:
                break
            played = (done - most + at).clamp_(min=0)
            self._take_actions(actions.gather(0, self._at_steps(played))[0])
            self._play()
            self.steps += 1
        self._history.copy_(actions)
        for name in ("rewards", "terminated", "truncated", "final_observations"):
            getattr(self, name).copy_(self.memory.upload(state[name]))
        self._playing = True

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
        """Let go of the device's memory; it is given back when nothing else holds its tensors."""
        self._maker.close()
        self._memory = None
