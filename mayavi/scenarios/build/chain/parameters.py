"""Set the protocol parameters of a scenario through the protocols' own administration."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadScenario, ExecutionError, UnknownName, UsageError
from mayavi.scenarios.build.chain.lending_markets import MORPHO, find_emode, market_name, open_market
from mayavi.scenarios.models.chain.parameters import ParameterChange, Target, target_of
from mayavi.scenarios.models.config import GOVERNANCE, ScenarioConfig

if TYPE_CHECKING:
    from mayavi.agents.base import Agent, Details
    from mayavi.evm.fork import Fork

_WAD = 10**18


class _Control(NamedTuple):
    """Reader and setter of the parameters of one target, and the scale and name of each at the protocol."""

    read: Callable[[], dict[str, int]]
    write: Callable[[dict[str, int]], None]
    names: Callable[[str, Decimal | bool], tuple[str, int]]


def set_parameters(config: ScenarioConfig, fork: Fork) -> None:
    """Set the parameters that hold from the start; raise `BadScenario` with the protocol's reason if it refuses."""
    for key, change in _ordered(config):
        if change.at is None:
            _apply(fork, key, change)


def build_governance(config: ScenarioConfig, fork: Fork) -> list[Agent]:
    """Build the agent that changes parameters during the run; none if nothing changes.

    All changes are tried in advance, in their order, on a state that is then restored.
    """
    later = [(change.at, key, change) for key, change in _ordered(config) if change.at is not None]
    if not later:
        return []
    from mayavi.agents.lending.governance import GovernanceAgent, ParameterUpdate

    later.sort(key=lambda each: each[0])  # stable: within a step in the order of targets
    with fork.dry_run():
        for at, key, change in later:
            _apply(fork, key, change, f" at step {at}")

    def update(key: str, change: ParameterChange) -> Callable[[], Details]:
        return lambda: _change(_control(fork, key), change)

    return [
        GovernanceAgent(GOVERNANCE, updates=[ParameterUpdate(at, key, update(key, each)) for at, key, each in later])
    ]


def _ordered(config: ScenarioConfig) -> list[tuple[str, ParameterChange]]:
    """Return all changes in an order that does not depend on that of the file: reserves before efficiency modes."""
    keys = sorted(config.parameters, key=lambda key: (".emode." in key, key))
    return [(key, change) for key in keys for change in config.parameters[key]]


def _apply(fork: Fork, key: str, change: ParameterChange, when: str = "") -> None:
    try:
        _change(_control(fork, key), change)
    except (UsageError, ExecutionError) as error:
        raise BadScenario(f"parameters.{key}{when}: {error.message}", error.hint) from error


def _change(control: _Control, change: ParameterChange) -> Details:
    """Set the values of `change`; return what each was before and is now."""
    wanted = dict(control.names(name, value) for name, value in change.values.items())
    before = control.read()
    control.write(wanted)
    after = control.read()
    facts: dict[str, int] = {}
    for name in wanted:
        facts |= {f"{name}_before": before[name], name: after[name]}
    return facts


def _control(fork: Fork, key: str) -> _Control:
    from mayavi.protocols.aave.configurator import AaveConfigurator
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.compound.configuration import CometConfigurator
    from mayavi.protocols.compound.market import CompoundV3

    target = target_of(key)
    assert target is not None  # checked with the scenario
    if target.protocol == MORPHO:
        return _morpho_control(fork, target)
    market = open_market(fork, market_name(target.protocol, target.market))
    if isinstance(market, CompoundV3):
        comet = CometConfigurator(market)
        if not target.name:
            return _Control(comet.market_values, comet.set_market, _comet_names(market.base.decimals))
        asset = market.asset(target.name)
        return _Control(
            lambda: comet.asset_values(target.name),
            lambda values: comet.set_asset(target.name, values),
            _comet_names(asset.decimals),
        )
    assert isinstance(market, AaveV3)
    aave = AaveConfigurator(market)
    if target.kind == "emode":
        category = find_emode(market, target.name)
        return _Control(
            lambda: aave.emode_values(category), lambda values: aave.set_emode(category, values), _aave_name
        )
    _require_reserve(market.symbols, target)
    return _Control(
        lambda: aave.reserve_values(target.name), lambda values: aave.set_reserve(target.name, values), _aave_name
    )


def _morpho_control(fork: Fork, target: Target) -> _Control:
    from mayavi.protocols.morpho.blue import MorphoBlue
    from mayavi.protocols.morpho.configuration import MorphoConfigurator

    blue = MorphoBlue(fork)
    morpho, vault, market = MorphoConfigurator(blue), target.name, target.market
    if target.kind == "morpho market":
        blue.market(market)
        return _Control(
            lambda: morpho.market_values(market), lambda values: morpho.set_market(market, values), _wad_name
        )
    if target.kind == "vault":
        return _Control(lambda: morpho.vault_values(vault), lambda values: morpho.set_vault(vault, values), _wad_name)
    decimals = blue.vault(vault).asset.decimals
    return _Control(
        lambda: morpho.cap_values(vault, market),
        lambda values: morpho.set_cap(vault, market, values),
        lambda name, value: (name, int(Fraction(value) * 10**decimals)),
    )


def _wad_name(name: str, value: Decimal | bool) -> tuple[str, int]:
    return f"{name}_wad", int(Fraction(value) * _WAD)


def _require_reserve(symbols: tuple[str, ...], target: Target) -> None:
    if target.name not in symbols:
        raise UnknownName.of("reserve", target.name, symbols, f"there are: {', '.join(symbols)}")


def _aave_name(name: str, value: Decimal | bool) -> tuple[str, int]:
    if isinstance(value, bool):
        return name, int(value)
    if name.endswith("_cap"):
        return name, int(value)
    if name == "debt_ceiling":
        return "debt_ceiling_usd_e2", int(value * 100)
    return f"{name}_bps", int(value * 10_000) + (10_000 if name == "liquidation_bonus" else 0)


def _comet_names(decimals: int) -> Callable[[str, Decimal | bool], tuple[str, int]]:
    def names(name: str, value: Decimal | bool) -> tuple[str, int]:
        exact = Fraction(value)
        if name in ("supply_cap", "target_reserves", "minimum_borrow"):
            return name, int(exact * 10**decimals)
        return f"{name}_wad", int(exact * _WAD)

    return names
