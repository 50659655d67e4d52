"""Put protocols of one's own on the chain of a scenario, and record their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mayavi.errors import BadScenario, ExecutionError, SimulationError, UsageError
from mayavi.plugins.failures import last_line
from mayavi.protocols.registry import find_protocol
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.sim.figure_table import Figure

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.sim.world_state import WorldState


def deploy_protocols(config: ScenarioConfig, fork: Fork) -> None:
    """Deploy the protocols that the scenario names; raise `BadScenario` with the last line of a traceback."""
    for name, settings in config.protocols.items():
        try:
            find_protocol(settings.kind).adapter.deploy(fork, settings)
        except (UsageError, ExecutionError) as error:
            raise BadScenario(f"protocols.{name}: {error.message}", error.hint) from error
        except Exception as error:
            message = f"protocols.{name}: {settings.kind} cannot be deployed: {last_line(error)}"
            raise BadScenario(message, "repair `deploy` of the adapter") from error


class ProtocolFigures:
    """Figures of a protocol of one's own; the subject is its name in the scenario."""

    def __init__(self, name: str, adapter: type[Any]) -> None:
        self.name, self.adapter = name, adapter

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures that the adapter returns."""
        del worth
        try:
            found = dict(self.adapter(world.fork).figures())
            figures = [Figure(self.name, str(metric), int(value), str(unit)) for metric, (value, unit) in found.items()]
        except Exception as error:
            message = f"protocols.{self.name}: its figures cannot be read: {last_line(error)}"
            raise SimulationError(message, "repair `figures` of the adapter") from error
        yield from figures


def protocol_readers(config: ScenarioConfig) -> list[ProtocolFigures]:
    """Return a reader for each protocol of the scenario that has figures."""
    found = {name: find_protocol(settings.kind).adapter for name, settings in config.protocols.items()}
    return [ProtocolFigures(name, each) for name, each in found.items() if callable(getattr(each, "figures", None))]
