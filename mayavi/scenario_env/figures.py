"""`FigureReader`: figures by name, of the learner's account, of time, and of the markets that the scenario records."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.errors import UnknownName
from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT
from mayavi.scenario_env.own_figures import PREFIX, STEP, TIME_LEFT, OwnFigures, Value
from mayavi.sim.market_figures import AaveFigures, CurveFigures, Reader, UniswapFigures
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.world_state import WorldState

_WITHOUT_DEBT = ("health_factor", "health_factor_lowest")
"""Metrics that are missing where nobody has debt."""
MOST_LISTED = 12

Key = tuple[str, str]
"""Subject and metric of a market figure."""


class FigureReader:
    """Reads the figures `names`; raises `UnknownName` with the nearest name for one that does not exist.

    Make it when the simulation is paused in its first step: which readers have the market figures is found by reading
    all of them. `places` are the indices of those readers, if another episode of the same scenario has found them.
    """

    def __init__(
        self,
        names: Sequence[str],
        world: WorldState,
        own: OwnFigures,
        readers: Sequence[Reader],
        steps: int,
        places: Sequence[int] | None = None,
    ) -> None:
        self.names, self.world, self.own, self.steps = tuple(names), world, own, steps
        self.over = False
        wanted = [each for each in self.names if not each.startswith(PREFIX) and each not in (STEP, TIME_LEFT)]
        self._keys: dict[str, Key] = {name: (name.rpartition(".")[0], name.rpartition(".")[2]) for name in wanted}
        self.places = self._find(readers) if places is None else tuple(places)
        keys = set(self._keys.values())
        chosen = [_narrowed(readers[at], keys) for at in self.places]
        self._hook = MarketSnapshotHook(chosen) if chosen else None

    def read(self) -> dict[str, Value]:
        """Read all figures now, from the state of the chain."""
        self.own.refresh()
        with self.world.observing():
            if self._hook is not None:
                self._hook.after_step(self.world, ())
            return {name: self._value(name) for name in self.names}

    def _value(self, name: str) -> Value:
        if name.startswith(PREFIX):
            return self.own.read(name.removeprefix(PREFIX))
        if name in (STEP, TIME_LEFT):
            done = self.steps if self.over else self.world.step
            return Value(done, "count") if name == STEP else Value((self.steps - done) * WAD // self.steps, "wad")
        assert self._hook is not None
        subject, metric = self._keys[name]
        found = self._hook.latest.get((subject, metric))
        if found is not None:
            return Value(found.value, found.unit)
        return Value(NO_DEBT, "wad") if metric in _WITHOUT_DEBT else Value(None, "count")

    # -- market figures -----------------------------------------------------------------------------------------------

    def _find(self, readers: Sequence[Reader]) -> tuple[int, ...]:
        """Return the indices of the readers that have the wanted figures."""
        if not self._keys:
            return ()
        with self.world.observing():
            found = [_keys_of(reader, self.world) for reader in readers]
        known = {f"{subject}.{metric}": (subject, metric) for keys in found for subject, metric in keys}
        subjects = {subject for subject, _ in known.values()}
        for name, (subject, metric) in self._keys.items():
            if name not in known and not (metric in _WITHOUT_DEBT and subject in subjects):
                self._refuse(name, known)
        keys = set(self._keys.values())
        places = [at for at, own in enumerate(found) if keys & own or _has(own, keys)]
        pools = any(isinstance(readers[at], UniswapFigures | CurveFigures) for at in places)
        if pools and any(metric == "tvl" for _, metric in keys):  # the first Aave market prices what pools hold
            places += [at for at, each in enumerate(readers) if isinstance(each, AaveFigures)][:1]
        return tuple(dict.fromkeys(places))

    def _refuse(self, name: str, known: dict[str, Key]) -> None:
        own = [f"{PREFIX}{each}" for each in self.own.known()]
        names = [*own, TIME_LEFT, STEP, *known]
        listed = ", ".join(names[:MOST_LISTED]) + (" …" if len(names) > MOST_LISTED else "")
        raise UnknownName.of(
            "figure", name, names, f"there are: {listed}; `watch:` adds pools and reserves that no agent uses"
        )


def _keys_of(reader: Reader, world: WorldState) -> set[Key]:
    return {(figure.subject, figure.metric) for figure in reader.read(world, lambda token: 10**8)}


def _has(own: set[Key], wanted: set[Key]) -> bool:
    """Whether a reader has the subject of a wanted figure that is missing now."""
    subjects = {subject for subject, _ in own}
    return any(metric in _WITHOUT_DEBT and subject in subjects for subject, metric in wanted)


def _narrowed(reader: Reader, wanted: set[Key]) -> Reader:
    """Return a reader of the wanted reserves alone, where no total of the market is wanted."""
    if type(reader) is not AaveFigures:
        return reader
    subjects = {subject for subject, _ in wanted if subject.partition(".")[0] == reader.name}
    if reader.name in subjects or not subjects:
        return reader
    return AaveFigures(reader.market, sorted(each.partition(".")[2] for each in subjects))
