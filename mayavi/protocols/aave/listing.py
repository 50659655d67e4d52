"""List a new reserve on an Aave V3 market the way its governance does: oracle source, `initReserves`, parameters.

    list_reserve(AaveV3(fork), "PT-wstETH-11JUL2024", dollar_feed(fork, "PT-wstETH-11JUL2024"),
                 ReserveTerms(ltv_bps=7_500, liquidation_threshold_bps=8_000, liquidation_bonus_bps=10_800))

Its aToken and debt tokens have the code of those of the market's other reserves.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument, CallReverted
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum
from mayavi.evm.units import RAY
from mayavi.protocols.aave.configurator import AaveConfigurator
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20, atomic

if TYPE_CHECKING:
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.aave.reserve import Reserve

_IMPLEMENTATION_SLOT = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC  # EIP-1967
_SOURCES = ["setAssetSources(address[] assets, address[] sources)"]
_TREASURY = ["RESERVE_TREASURY_ADDRESS() view returns (address)"]
_INIT_V30 = Function.parse(
    "initReserves((address,address,address,uint8,address,address,address,address,"
    "string,string,string,string,string,string,bytes)[])"
)
_INIT_V36 = Function.parse("initReserves((address,address,address,string,string,string,string,bytes,bytes)[])")
_CURVE_V36 = Function.parse("curve(uint16,uint32,uint32,uint32)")
_STARTS = {
    "a": ("Aave ", "a"),
    "variable": ("Aave Variable Debt ", "variableDebt"),
    "stable": ("Aave Stable Debt ", "stableDebt"),
}
"""How name and symbol of each of a reserve's tokens begin."""
_STABLE_SPREAD_RAY, _OPTIMAL_STABLE_RAY = 2 * RAY // 100, 2 * RAY // 10
"""Of stable loans, which a new reserve does not have."""


class ReserveTerms(NamedTuple):
    """Terms of a new reserve. `AaveConfigurator.set_reserve` changes the others: caps, borrowing, fees."""

    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    """Counted from 100 %: 10,800 for 8 %."""
    reserve_factor_bps: int = 0
    optimal_usage_bps: int = 8_000
    base_rate_bps: int = 0
    slope1_bps: int = 400
    slope2_bps: int = 7_500
    emodes: tuple[int, ...] = ()
    """Efficiency modes in which it is collateral, by number; up to V3.1 one at most."""


def list_reserve(market: AaveV3, asset: AddressLike, price_feed: AddressLike, terms: ReserveTerms) -> Reserve:
    """List `asset`, which can then be supplied and be collateral, at the price of `price_feed`; return its reserve.

    Raises `BadArgument` if it is listed already or the market's version lists in another way, and `CallReverted` with
    the market's reason for terms that it refuses; nothing has changed then.
    """
    fork, token, version = market.fork, Erc20(market.fork, asset), market.generation.version
    if token.symbol in market.symbols:
        raise BadArgument(f"{market.title} lists {token.symbol} already", "change its parameters instead")
    if version not in ("3.0", "3.6"):
        raise BadArgument(f"reserves of Aave V{version} cannot be listed here", "take a market of V3.0 or V3.6")
    if len(terms.emodes) > 1 and not market.generation.emode_bitmaps:
        raise BadArgument(
            f"{token.symbol} joins {len(terms.emodes)} eModes, and on V{version} it can be in one", "name one"
        )
    configurator = AaveConfigurator(market)
    with atomic(fork):
        admin = configurator.admin
        oracle = fork.contract(market.oracle.address, _SOURCES)
        oracle.setAssetSources([token.address], [fork.address_of(price_feed)], sender=admin)
        call = _call_v30(market, token, terms) if version == "3.0" else _call_v36(market, token, terms)
        try:
            fork.send(configurator.address, call, sender=admin)
        except CallReverted as error:
            raise with_context(error, what=f"listing {token.symbol} on {market.title}") from None
        configurator.set_reserve(token.address, _parameters(terms))
        for category in terms.emodes:
            configurator.join_emode(token.address, category)
        reserve = market.reserve(token.address)
        for kind, place in (("a", reserve.a_token), ("variableDebt", reserve.variable_debt_token)):
            fork.labels[f"{market.prefix}.{kind}{token.symbol}"] = checksum(place)
    return reserve


def _parameters(terms: ReserveTerms) -> dict[str, int]:
    names = ("ltv_bps", "liquidation_threshold_bps", "liquidation_bonus_bps", "reserve_factor_bps")
    return {name: getattr(terms, name) for name in names}


def _call_v36(market: AaveV3, token: Erc20, terms: ReserveTerms) -> bytes:
    curve = _CURVE_V36.encode(terms.optimal_usage_bps, terms.base_rate_bps, terms.slope1_bps, terms.slope2_bps)[4:]
    codes = _code_of(market, "aToken"), _code_of(market, "variableDebtToken")
    return _INIT_V36.encode([(*codes, token.address, *_names(token, "a", "variable"), b"", curve)])


def _call_v30(market: AaveV3, token: Erc20, terms: ReserveTerms) -> bytes:
    first = market.reserve_data(market.pool.getReservesList()[0])
    treasury = market.fork.contract(first.aToken, _TREASURY).RESERVE_TREASURY_ADDRESS()
    codes = [_code_of(market, kind) for kind in ("aToken", "stableDebtToken", "variableDebtToken")]
    names = _names(token, "a", "variable", "stable")
    strategy = _strategy_v30(market, terms)
    listing = (*codes, token.decimals, strategy, token.address, treasury, ZERO_ADDRESS, *names, b"")
    return _INIT_V30.encode([listing])


def _strategy_v30(market: AaveV3, terms: ReserveTerms) -> bytes:
    """Deploy an interest rate curve; up to V3.0 each reserve may have one of its own."""
    from mayavi.worlds.artifacts import ArtifactStore

    optimal, base, slope1, slope2 = (
        each * RAY // 10_000
        for each in (terms.optimal_usage_bps, terms.base_rate_bps, terms.slope1_bps, terms.slope2_bps)
    )
    stable = (0, 0, _STABLE_SPREAD_RAY, 0, _OPTIMAL_STABLE_RAY)
    curve = [market.pool.ADDRESSES_PROVIDER(), optimal, base, slope1, slope2, *stable]
    code = ArtifactStore().get("DefaultReserveInterestRateStrategy").initcode(curve)
    return bytes(market.fork.deploy(code))


def _code_of(market: AaveV3, kind: str) -> bytes:
    """Return the implementation that most of the market's tokens of a `kind` have."""
    fork, listed = market.fork, market.pool.getReservesList()
    words = (fork.storage(getattr(market.reserve_data(each), kind), _IMPLEMENTATION_SLOT) for each in listed)
    ((word, _),) = Counter(words).most_common(1)
    return int(word).to_bytes(32)[12:]


def _names(token: Erc20, *kinds: str) -> list[str]:
    """Return names and symbols of a reserve's tokens."""
    return [f"{start}{token.symbol}" for kind in kinds for start in _STARTS[kind]]
