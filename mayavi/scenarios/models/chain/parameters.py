"""Protocol parameters that a scenario sets, from the start or at a step.

A key names a reserve, an efficiency mode, a Comet market or one of its collaterals: `aave_v3.WETH`, `aave_v3.emode.1`,
`spark.DAI`, `compound_v3.cUSDCv3`, `compound_v3.cUSDCv3.WETH`; or a Morpho market, a vault, or a market of a vault:
`morpho.wstETH/USDC.86`, `morpho.steakUSDC`, `morpho.steakUSDC.wstETH/USDC.86`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from mayavi.errors import did_you_mean
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.chain.morpho import PROTOCOL as MORPHO
from mayavi.scenarios.models.values.quantities import NotNegative, Share, fault, ratio_of
from mayavi.settings.model import Model
from mayavi.worlds.tables.morpho_market import MarketName

AAVE_FORKS = ("aave_v3", "spark")
COMPOUND = "compound_v3"
EXAMPLES = (
    "aave_v3.WETH, aave_v3.emode.1, compound_v3.cUSDCv3, compound_v3.cUSDCv3.WETH, morpho.wstETH/USDC.86 or"
    " morpho.steakUSDC.wstETH/USDC.86"
)


def _whole_points(value: Decimal) -> Decimal:
    if not 0 <= value <= 1:
        raise fault(f"is {value}, and must be from 0 to 1, or 0% to 100%")
    if value * 10_000 != int(value * 10_000):
        raise fault(f"is {value}, and the protocol counts in hundredths of a percent")
    return value


def _bonus(value: Decimal) -> Decimal:
    if value >= 1:
        raise fault(f"is {value * 100:f}%: give what a liquidator gets on top, such as 6% rather than 106%")
    return _whole_points(value)


_RATIO = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[0-9._]+ *%?$"}]}
Points = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_whole_points), WithJsonSchema(_RATIO)]
"""A share in whole basis points: `81%`."""
Bonus = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_bonus), WithJsonSchema(_RATIO)]


class ParameterChange(Model):
    """Parameters to set. Which exist depends on the key; those left out keep their values."""

    at: Annotated[int, Field(ge=0, le=10_000_000), Mark.IN_STEPS] | None = None
    """Step in which agents first see the change; by default it holds from the start, before positions are opened."""
    ltv: Points | None = None
    """Aave, Spark: loan to value, the share of collateral that can be borrowed."""
    liquidation_threshold: Points | None = None
    """Aave, Spark: share of collateral that debt may reach before liquidation."""
    liquidation_bonus: Bonus | None = None
    """Aave, Spark: what a liquidator receives on top of the debt it repays, such as 6%."""
    liquidation_protocol_fee: Points | None = None
    """Aave, Spark: share of the bonus that goes to the treasury."""
    reserve_factor: Points | None = None
    """Aave, Spark: share of interest that goes to the treasury."""
    supply_cap: NotNegative | None = None
    """Most that can be supplied, in whole tokens; 0 is no cap on Aave and Spark, and nothing at all on Compound. On
    Morpho it is the most that a vault lends to a market."""
    borrow_cap: NotNegative | None = None
    """Aave, Spark: most that can be borrowed, in whole tokens; 0 is no cap."""
    debt_ceiling: NotNegative | None = None
    """Aave, Spark: most debt in dollars against an isolated asset; 0 ends its isolation."""
    borrowing: bool | None = None
    """Aave, Spark: whether the asset can be borrowed."""
    frozen: bool | None = None
    """Aave, Spark: whether supplying and borrowing are stopped."""
    paused: bool | None = None
    """Aave, Spark: whether everything is stopped, liquidations included."""
    borrow_collateral_factor: Share | None = None
    """Compound: share of a collateral that can be borrowed."""
    liquidate_collateral_factor: Share | None = None
    """Compound: share of a collateral that debt may reach before absorption."""
    liquidation_factor: Share | None = None
    """Compound: share of a collateral's value credited to an absorbed account."""
    store_front_price_factor: Share | None = None
    """Compound, market: share of the liquidation penalty that buyers of absorbed collateral get as a discount."""
    target_reserves: NotNegative | None = None
    """Compound, market: reserves in whole base tokens from which on nothing absorbed is sold."""
    minimum_borrow: NotNegative | None = None
    """Compound, market: smallest debt in whole base tokens."""
    fee: Share | None = None
    """Morpho: share of the interest that a market or a vault keeps; at most 25% of a market, 50% of a vault."""

    @property
    def values(self) -> dict[str, Decimal | bool]:
        """The parameters that are given."""
        own = ((name, getattr(self, name)) for name in type(self).model_fields if name != "at")
        return {name: value for name, value in own if value is not None}


NAMES = frozenset(ParameterChange.model_fields)
"""Keys of a change; no part of a target's name is one of them."""
_COLLATERAL = ("ltv", "liquidation_threshold", "liquidation_bonus")
FIELDS: dict[str, tuple[str, ...]] = {
    "reserve": (
        *_COLLATERAL,
        "liquidation_protocol_fee",
        "reserve_factor",
        "supply_cap",
        "borrow_cap",
        "debt_ceiling",
        "borrowing",
        "frozen",
        "paused",
    ),
    "emode": _COLLATERAL,
    "comet asset": ("borrow_collateral_factor", "liquidate_collateral_factor", "liquidation_factor", "supply_cap"),
    "comet market": ("store_front_price_factor", "target_reserves", "minimum_borrow"),
    "morpho market": ("fee",),
    "vault": ("fee",),
    "vault market": ("supply_cap",),
}
"""Parameters by kind of target."""


class Target(NamedTuple):
    """What a key of `parameters` names; `kind` is a key of `FIELDS`."""

    kind: str
    protocol: str
    market: str
    """Comet or Morpho market; empty elsewhere."""
    name: str
    """Asset, number or label of an efficiency mode, or vault; empty for a market."""


def target_of(key: str) -> Target | None:
    """Parse a key; None if it names nothing that has parameters."""
    protocol, _, rest = key.partition(".")
    if not rest:
        return None
    if protocol in AAVE_FORKS:
        mode = rest.removeprefix("emode.")
        if mode != rest:
            return Target("emode", protocol, "", mode) if mode else None
        return Target("reserve", protocol, "", rest)
    if protocol == COMPOUND:
        market, _, asset = rest.partition(".")
        return Target("comet asset" if asset else "comet market", protocol, market, asset)
    return _morpho_target(rest) if protocol == MORPHO else None


def _morpho_target(rest: str) -> Target | None:
    """Parse what follows `morpho.`: a market, a vault, or a market of a vault."""
    if MarketName.parse(rest):
        vault, dot, market = rest.partition(".")
        of_vault = "/" not in vault and dot and MarketName.parse(market)
        return Target("vault market", MORPHO, market, vault) if of_vault else Target("morpho market", MORPHO, rest, "")
    return Target("vault", MORPHO, "", rest) if "/" not in rest and "." not in rest else None


def fault_of(key: str, changes: list[ParameterChange], steps: int) -> tuple[str, str] | None:
    """Return message and hint of what is wrong with an entry of `parameters`; None if it fits."""
    target = target_of(key)
    if target is None:
        nearest = did_you_mean(key.partition(".")[0], (*AAVE_FORKS, COMPOUND, MORPHO))
        return f"'{key}' names nothing that has parameters", nearest or f"write {EXAMPLES}"
    if not changes:
        return f"parameters.{key} changes nothing", "give parameters, or leave it out"
    known = FIELDS[target.kind]
    for change in changes:
        if change.at is not None and change.at >= steps:
            return (
                f"parameters.{key} changes at step {change.at}, and the last step is {steps - 1}",
                "take more steps, or let it change earlier",
            )
        if not change.values:
            return f"parameters.{key} changes nothing", f"it has {', '.join(known)}"
        for name, value in change.values.items():
            if name not in known:
                return f"'{name}' is not a parameter of {key}", f"it has {', '.join(known)}"
            whole = name in ("supply_cap", "borrow_cap") and target.protocol in AAVE_FORKS
            if whole and value != int(value):
                return f"parameters.{key}.{name} is {value}, and Aave's caps are whole tokens", "round it"
    return None


def misplaced_value(key: str, value: Any) -> tuple[str, str] | None:
    """Return message and hint for an entry of `parameters` that is a single value, or for the LLTV of a market."""
    if isinstance(value, dict | list):
        given = {name for each in _as_list(value) if isinstance(each, dict) for name in each}
        fixed = "lltv" in given and key.startswith(f"{MORPHO}.")
        return (f"parameters.{key}: the LLTV of a Morpho market never changes", _OTHER_LLTV) if fixed else None
    rest, _, name = key.rpartition(".")
    target = target_of(rest)
    if target is not None:
        return f"'{name}' is not a parameter of {rest}", f"it has {', '.join(FIELDS[target.kind])}"
    own = target_of(key)
    if own is None:
        return None
    known = FIELDS[own.kind]
    return (
        f"parameters.{key} is '{value}', not a mapping of its parameters",
        f"such as {{{known[0]}: …}}; it has {', '.join(known)}",
    )


_OTHER_LLTV = "name another market in `morpho.markets` and in its agents: wstETH/USDC.91.5 has an LLTV of 91.5%"


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Changes = Annotated[
    list[ParameterChange],
    BeforeValidator(_as_list, json_schema_input_type=ParameterChange | list[ParameterChange]),
]
"""One change of parameters, or several at different steps."""
