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


KINDS = frozenset(kind for model in get_args(_BuiltIn) for kind in get_args(model.model_fields["kind"].annotation))


def _other_kinds(data: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check settings of a kind that another package registered against that package's model."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        from mayavi.scenarios.build.agents.registry import find_plugin

        plugin = find_plugin(kind)  # an import path was imported by `load_scenario`, or is unknown
        if plugin is not None:
            return plugin.model.model_validate(data)
    return check(data)


AgentModel = Annotated[_BuiltIn, Field(discriminator="kind"), WrapValidator(_other_kinds), SerializeAsAny()]
