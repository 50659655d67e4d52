"""Deploy contracts of one's own on the chain of a scenario, and record their figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mayavi.compilers.artifact import Artifact
from mayavi.errors import BadScenario, ExecutionError, UsageError
from mayavi.evm.fork.creation_code import ContractCode
from mayavi.scenarios.models.chain.own_contracts import ContractFigure, OwnContract
from mayavi.sim.figure_table import Figure

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.models.config import ScenarioConfig
    from mayavi.sim.world_state import WorldState


def deploy_contracts(config: ScenarioConfig, fork: Fork) -> None:
    """Deploy the contracts of the scenario in their order; raise `BadScenario` with the reason of a refusal."""
    for name, contract in config.contracts.items():
        try:
            by_name = contract.constructor if isinstance(contract.constructor, dict) else {}
            in_order = contract.constructor if isinstance(contract.constructor, list) else []
            deployed = fork.deploy(
                _code(name, contract), *in_order, constructor=by_name, label=name, sender=contract.sender
            )
            for figure in contract.figures.values():
                _check_figure(deployed.interface.function(_as_figure(figure).function))
        except (UsageError, ExecutionError) as error:
            raise BadScenario(f"contracts.{name}: {error.message}", error.hint) from error


def contract_readers(config: ScenarioConfig) -> list[ContractFigures]:
    """Return a reader for each contract of the scenario that has figures."""
    return [ContractFigures(name, each) for name, each in config.contracts.items() if each.figures]


class ContractFigures:
    """Figures of a contract of one's own; the subject is its name in the scenario."""

    def __init__(self, name: str, contract: OwnContract) -> None:
        self.name = name
        self.figures = {metric: _as_figure(each) for metric, each in contract.figures.items()}

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Call the view functions."""
        del worth
        contract = world.fork.contract(self.name)
        for metric, figure in self.figures.items():
            yield Figure(self.name, metric, int(contract[figure.function].call()), figure.unit)


def _as_figure(figure: str | ContractFigure) -> ContractFigure:
    return ContractFigure(function=figure) if isinstance(figure, str) else figure


def _check_figure(function: Any) -> None:
    outputs = [each.type.canonical for each in function.signature.outputs or ()]
    if function.signature.inputs or len(outputs) != 1 or not outputs[0].startswith(("uint", "int")):
        raise UsageError(
            f"'{function.text}' is not a figure", "a figure is a function without arguments and one integer"
        )


def _code(name: str, contract: OwnContract) -> ContractCode:
    try:
        data = json.loads(contract.data or "")
        artifact = Artifact.from_json(data["contract"])
        libraries = {key: Artifact.from_json(each) for key, each in data.get("libraries", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError("`data` is not a compiled contract", "give `file`, and leave `data` out") from None
    return ContractCode(artifact, artifact.abi, libraries)
