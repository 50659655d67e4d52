"""Settings of agents: each is a mapping with its `kind` and the keys of that kind."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import (
    Field,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from mayavi.scenarios.models.agents.lending import Borrower, CurveBorrower, Liquidator
from mayavi.scenarios.models.agents.oracle import OracleShock
from mayavi.scenarios.models.agents.positions import Positions
from mayavi.scenarios.models.agents.recorded import CurveBalances, RecordedLiquidations
from mayavi.scenarios.models.agents.trading import Arbitrageur, CurveHolders, LaunchTrader, Traders, VestingRecipient
from mayavi.settings.model import Model
from mayavi.settings.on_use import OnUse

_BuiltIn = (
    Borrower
    | Liquidator
    | Arbitrageur
    | OracleShock
    | VestingRecipient
    | Traders
    | CurveBorrower
    | CurveHolders
    | LaunchTrader
    | Positions
    | RecordedLiquidations
    | CurveBalances
)


_MODELS: dict[str, type[Model]] = {
    kind: model for model in get_args(_BuiltIn) for kind in get_args(model.model_fields["kind"].annotation)
}
KINDS = frozenset(_MODELS)


def _by_kind(data: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check settings against the model of their kind, ours or one that another package registered.

    `check` compares with all of ours, and says what is wrong with the kind.
    """
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and (model := _MODELS.get(kind)) is not None:
        return model.model_validate(data)
    if isinstance(kind, str):
        from mayavi.scenarios.build.agents.registry import find_plugin

        plugin = find_plugin(kind)  # an import path was imported by `load_scenario`, or is unknown
        if plugin is not None:
            return plugin.model.model_validate(data)
    return check(data)


_AnyOfOurs = OnUse(Annotated[_BuiltIn, Field(discriminator="kind")])
AgentModel = Annotated[_BuiltIn, _AnyOfOurs, WrapValidator(_by_kind), SerializeAsAny()]
