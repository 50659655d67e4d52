"""Lending protocols of scenarios: the one place that knows which protocol a market belongs to.

A market is known by the name that agents use: `AaveV3`, `Spark`, `AaveV2`, a Compound V3 market such as `cUSDCv3`, or
`Morpho.wstETH/USDC.86`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mayavi.worlds.tables.morpho_market import PREFIX

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.compound.market import CompoundV3
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.scenarios.build.agents.agent_set import BorrowerGroup
    from mayavi.sim.market_figures import Reader

COMPOUND = "compound_v3"
MORPHO = "morpho"
_AAVE_FORKS = {"aave_v3": "AaveV3", "spark": "Spark", "aave_v2": "AaveV2"}
"""Protocols with one market per chain: the key in a scenario, and the name of that market."""


def market_name(protocol: str, compound_market: str = "") -> str:
    """Return the market that a scenario's `protocol` and `market` name."""
    if protocol == MORPHO:
        return f"{PREFIX}{compound_market.removeprefix(PREFIX)}"
    return _AAVE_FORKS.get(protocol, compound_market)


def figures_subject(market: str) -> str:
    """Return the name under which market figures record a market."""
    return market if market in _AAVE_FORKS.values() or market.startswith(PREFIX) else f"CompoundV3.{market}"


def price_subject(market: str, symbol: str, *, is_debt: bool = False) -> str:
    """Return the subject whose `price` figure is the market's price of `symbol`.

    The base token of a Compound V3 market, which is what is owed there, is recorded under the market itself.
    """
    subject = figures_subject(market)
    return subject if is_debt and subject != market else f"{subject}.{symbol}"


def open_market(fork: Fork, market: str) -> AaveV3 | CompoundV3 | MorphoMarket:
    """Return the protocol adapter of a market."""
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.aave.spark import SparkLend
    from mayavi.protocols.aave_v2.market import AaveV2

    for kind in (AaveV3, SparkLend, AaveV2):
        if market == kind.prefix:
            return kind(fork)
    if market.startswith(PREFIX):
        from mayavi.protocols.morpho.blue import MorphoBlue

        return MorphoBlue(fork).market(market)
    from mayavi.protocols.compound.market import CompoundV3

    return CompoundV3(fork, market)


def find_emode(market: AaveV3, wanted: str | int) -> int:
    """Return the number of an efficiency mode, given by number or label; 0 is none."""
    from mayavi.errors import UnknownName

    text = str(wanted).strip()
    if text in ("", "0"):
        return 0
    modes = market.emodes()
    for mode in modes:
        if text == str(mode.id) or text.casefold() == mode.label.casefold():
            return mode.id
    known = ", ".join(f"{mode.id} ({mode.label})" for mode in modes) or "none"
    raise UnknownName.of("eMode", text, [mode.label for mode in modes], f"{market.title} has here: {known}")


def market_reader(
    opened: AaveV3 | CompoundV3 | MorphoMarket, groups: Sequence[BorrowerGroup], extra_assets: Sequence[str] = ()
) -> Reader:
    """Return the reader of a market's figures, for the assets that `groups` use and, on Aave, `extra_assets`."""
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.sim.market_figures import AaveFigures, CompoundFigures

    if isinstance(opened, AaveV3):
        assets = sorted({asset for each in groups for asset in (*each.collaterals, *each.debts)})
        return AaveFigures(opened, [*assets, *(each for each in extra_assets if each not in assets)])
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.sim.morpho_figures import MorphoFigures

    if isinstance(opened, MorphoMarket):
        return MorphoFigures(opened)
    return CompoundFigures(opened, sorted({asset for each in groups for asset in each.collaterals}))


def has_aave(fork: Fork) -> bool:
    """Whether the chain has an Aave V3 market."""
    return f"{_AAVE_FORKS['aave_v3']}.Pool" in fork.labels


def price_feeds(fork: Fork, symbol: str, markets: Iterable[str]) -> list[str]:
    """Return the feeds that price `symbol` on Aave, Spark and those Compound V3 markets that are in `markets`.

    Where no market lists the token it is Chainlink's feed of its dollar price.
    """
    used = sorted({*markets})
    return list(fork.read_once(("price feeds", symbol, *used), lambda: _price_feeds(fork, symbol, used)))


def _price_feeds(fork: Fork, symbol: str, markets: Iterable[str]) -> list[str]:
    from mayavi.protocols.aave.market import AaveV3

    found: dict[bytes, None] = {}
    for name in _AAVE_FORKS.values():
        if f"{name}.Pool" in fork.labels:
            market = open_market(fork, name)
            assert isinstance(market, AaveV3)
            if symbol in market.symbols:
                found[market.oracle.getSourceOfAsset(market.address_of(symbol))] = None
    if used := set(markets) - set(_AAVE_FORKS.values()):
        found |= dict.fromkeys(_compound_feeds(fork, symbol, used))
    if not found:
        found[fork.address_of(f"Chainlink.{symbol}/USD")] = None
    return [fork.name(address) for address in found]


def _compound_feeds(fork: Fork, symbol: str, used: set[str]) -> Iterator[bytes]:
    """Yield the feeds that price `symbol` on those Compound V3 markets that are in `used`."""
    from mayavi.protocols.compound.market import CompoundV3, markets_of

    for name in markets_of(fork):
        if name not in used:
            continue
        comet = CompoundV3(fork, name)
        if comet.is_base(symbol):
            yield comet.contract.baseTokenPriceFeed()
        yield from (asset.price_feed for asset in comet.assets if asset.symbol == symbol)
