"""Deploy Pendle V2 on a fork: factories, oracle and static router, and markets of a yield token.

The factories are upgradeable, so each stands behind a minimal proxy. They assemble YT and market from creation code
that is stored in two halves, because it is longer than a contract may be.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

from mayavi.compilers.package_folder import Say, announce
from mayavi.errors import ActionRefused, BadArgument, CallReverted
from mayavi.evm.abi.interface import Function, Interface
from mayavi.evm.address import AddressLike, checksum, to_address
from mayavi.evm.units import Amount
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account
from mayavi.worlds.published import Publication, published_contracts, require_cancun

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ARTIFACTS = "@pendle/core-v2/build/artifacts/contracts"
_CORE, _ORACLES = f"{_ARTIFACTS}/core", f"{_ARTIFACTS}/oracles"
_STATIC = f"{_ARTIFACTS}/offchain-helpers/router-static"
_FACETS = ("ActionStorageStatic", "ActionMarketCoreStatic", "ActionMarketAuxStatic", "ActionMintRedeemStatic")
PENDLE = Publication(
    "pendle",
    "Pendle V2",
    "pendle",
    {
        "YieldContractFactory": (
            f"{_CORE}/YieldContracts/PendleYieldContractFactoryUpg.sol/PendleYieldContractFactoryUpg.json"
        ),
        "YieldToken": f"{_CORE}/YieldContracts/PendleYieldToken.sol/PendleYieldToken.json",
        "MarketFactory": f"{_CORE}/Market/PendleMarketFactoryV7Upg.sol/PendleMarketFactoryV7Upg.json",
        "Market": f"{_CORE}/Market/PendleMarketV7.sol/PendleMarketV7.json",
        "OracleLib": f"{_CORE}/Market/OracleLib.sol/OracleLib.json",
        "Oracle": f"{_ORACLES}/PtYtLpOracle/PendlePYLpOracle.sol/PendlePYLpOracle.json",
        "ChainlinkOracle": f"{_ORACLES}/PtYtLpOracle/chainlink/PendleChainlinkOracle.sol/PendleChainlinkOracle.json",
        "LinearDiscountOracle": (
            f"{_ORACLES}/internal/PendleSparkLinearDiscountOracle.sol/PendleSparkLinearDiscountOracle.json"
        ),
        "RouterStatic": f"{_STATIC}/PendleRouterStatic.sol/PendleRouterStatic.json",
        **{facet: f"{_STATIC}/base/{facet}.sol/{facet}.json" for facet in _FACETS},
    },
)
"""Pendle's own artifacts."""

ADDRESSES = {
    1: {
        "Pendle.YieldContractFactory": "0x3E6EBa46AbC5ab18ED95F6667d8B2fd4020E4637",
        "Pendle.MarketFactory": "0x6d247b1c044fA1E22e6B04fA9F71Baf99EB29A9f",
        "Pendle.Oracle": "0x5542be50420E88dd7D5B4a3D488FA6ED82F6DAc2",
        "Pendle.RouterStatic": "0x263833d47eA3fA4a30f269323aba6a107f9eB14C",
        "PENDLE": "0x808507121b80c02388fad14726482e061b8da827",
    },
}
"""Real addresses by chain id, from the deployments in Pendle's package. Other chains get addresses of ours."""

TREASURY = named_account("Pendle.Treasury")
EXPIRY_DIVISOR = 86_400
"""Expiries are whole days."""
_FEE_OF_YIELD, _FEE_TO_TREASURY_PERCENT, _BLOCK_CYCLE = 3 * 10**16, 80, 11_000
"""Pendle's own settings on Ethereum: 3 % of interest and rewards, 80 % of swap fees, blocks of at least 11 seconds."""
_REMEMBERED = 180
"""Rates that a new market remembers, one a block: half an hour of blocks of eleven seconds."""
_PROXY = "3d602d80600a3d3981f3363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3"  # EIP-1167
_STORE = "61{:04x}80600a3d393df3"  # creation code that stores what follows it
_DIGITS = Context(prec=60)
_YEAR = 365 * 86_400


class PendleContracts(NamedTuple):
    """Contracts of one new market."""

    sy: str
    pt: str
    yt: str
    market: str


def deploy_pendle(fork: Fork, *, owner: bytes = DEPLOYER, say: Say = announce) -> dict[str, str]:
    """Deploy Pendle V2 without markets; return its labels, which the fork has from then on: `Pendle.MarketFactory`, …

    Downloads Pendle's package once. Does nothing where the fork has these contracts already. Raises `ActionRefused`
    where the fork's rules are older than Cancun's.
    """
    require_cancun(fork, "Pendle V2")
    known = pendle_labels(fork)
    if known:
        fork.labels.update(known)
        return known
    code = published_contracts(PENDLE, say)
    real = ADDRESSES.get(fork.chain_id, {})
    places: dict[str, bytes] = {}

    def place(label: str, initcode: bytes) -> bytes:
        at = places[label] = to_address(real[label]) if label in real else named_account(label)
        if not fork.code(at):
            fork.create_at(at, initcode, sender=owner)
        return at

    def behind_proxy(label: str, implementation: bytes, initialise: str, *values: object) -> bytes:
        made = fork.deploy(implementation, sender=owner)
        at = place(label, bytes.fromhex(_PROXY.format(bytes(made).hex())))
        fork.send(at, Function.parse(initialise).encode(*values), sender=owner)
        return at

    def halves(name: str) -> list[object]:
        libraries = {each: bytes(fork.deploy(code[each].initcode(), sender=owner)) for each in code[name].links}
        whole = code[name].linked(libraries)
        parts = whole[: len(whole) // 2], whole[len(whole) // 2 :]
        made: list[object] = []
        for part in parts:
            made += [fork.deploy(bytes.fromhex(_STORE.format(len(part))) + part, sender=owner), len(part)]
        return made

    store = ArtifactStore()
    token = place("PENDLE", store.get("Token").initcode(["Pendle", "PENDLE", 18, "1", owner]))
    gauge = place("Pendle.GaugeController", store.get("PendleGaugeController").initcode([token]))
    yields = behind_proxy(
        "Pendle.YieldContractFactory",
        code["YieldContractFactory"].initcode(halves("YieldToken")),
        "initialize(uint96,uint128,uint128,address,address)",
        *(EXPIRY_DIVISOR, _FEE_OF_YIELD, _FEE_OF_YIELD, TREASURY, owner),
    )
    behind_proxy(
        "Pendle.MarketFactory",
        code["MarketFactory"].initcode([yields, *halves("Market"), gauge]),
        "initialize(address,address,uint8)",
        *(owner, TREASURY, _FEE_TO_TREASURY_PERCENT),
    )
    behind_proxy("Pendle.Oracle", code["Oracle"].initcode(), "initialize(uint16,address)", _BLOCK_CYCLE, owner)
    facets = {name: bytes(fork.deploy(code[name].initcode(), sender=owner)) for name in _FACETS}
    static = place("Pendle.RouterStatic", code["RouterStatic"].initcode([owner, facets[_FACETS[0]]]))
    selectors = [(facet, _selectors(code[name])) for name, facet in facets.items()]
    fork.send(static, Function.parse("setFacetForSelectors((address,bytes4[])[])").encode(selectors), sender=owner)
    labels = {label: checksum(address) for label, address in sorted(places.items())}
    fork.labels.update(labels)
    return labels


def pendle_labels(fork: Fork) -> dict[str, str]:
    """Return the labels of Pendle V2 where it stands on the fork; empty where it does not."""
    real = ADDRESSES.get(fork.chain_id, {})
    names = ("Pendle.YieldContractFactory", "Pendle.MarketFactory", "Pendle.Oracle", "Pendle.RouterStatic")
    found = {label: fork.labels.get(label) or real.get(label, "") for label in names}
    return found if all(address and fork.code(address) for address in found.values()) else {}


def create_pendle_market(
    fork: Fork,
    yield_token: AddressLike,
    *,
    expiry: int,
    implied_rate: Amount,
    rate: Amount = 1,
    growth: Amount = 0,
    asset: AddressLike | None = None,
    scalar_root: Amount = 75,
    fee: Amount = "0.001",
    owner: bytes = DEPLOYER,
) -> PendleContracts:
    """Create SY, PT, YT and market of a yield token, without liquidity; return their labels.

    `expiry` is a Unix time at the end of a day. One whole yield token is worth `rate` whole assets, which grows by
    `growth` a year; `asset` is the yield token itself unless given. With as much PT as assets in it the market trades
    at `implied_rate`, a yearly rate of 0.05 for 5 %. `scalar_root` is the slope of its curve, `fee` a yearly rate too.
    Labels are `SY-sDAI`, `PT-sDAI-26DEC2024`, `YT-sDAI-26DEC2024` and `Pendle.sDAI-26DEC2024`.
    """
    if expiry <= fork.timestamp:
        ends, now = (f"{datetime.fromtimestamp(each, UTC):%d %B %Y}" for each in (expiry, fork.timestamp))
        raise BadArgument(f"expiry {expiry}, {ends}, is not after the world's time, {now}", "take a later day")
    if expiry % EXPIRY_DIVISOR:
        raise BadArgument(
            f"expiry {expiry} is not the end of a day", f"expiries are multiples of {EXPIRY_DIVISOR:,} seconds"
        )
    deploy_pendle(fork, owner=owner)
    token = fork.address_of(yield_token)
    behind = token if asset is None else fork.address_of(asset)
    symbol, decimals = _text(fork, token, "symbol()(string)"), _number(fork, token, "decimals()(uint8)")
    asset_decimals = _number(fork, behind, "decimals()(uint8)")
    sy_label = f"SY-{symbol}"
    if sy_label not in fork.labels:
        scale = Decimal(10) ** (18 + asset_decimals - decimals)
        settings = [int(Decimal(rate) * scale), int(Decimal(growth) * 10**18), owner]
        described = [f"SY {symbol}", sy_label, decimals, token, behind, asset_decimals]
        made = fork.deploy(ArtifactStore().get("StandardizedYield").initcode([*described, *settings]), sender=owner)
        fork.labels[sy_label] = checksum(bytes(made))
    sy = fork.address_of(sy_label)
    with localcontext(_DIGITS):
        years = Decimal(expiry - fork.timestamp) / _YEAR
        anchor = ((1 + Decimal(implied_rate)) ** years * 10**18).to_integral_value()
        fee_root = ((1 + Decimal(fee)).ln() * 10**18).to_integral_value()
    create = Function.parse("createYieldContract(address,uint32,bool)(address,address)")
    sent = fork.send("Pendle.YieldContractFactory", create.encode(sy, expiry, True), sender=owner)
    pt, yt = create.decode(sent.output)
    create = Function.parse("createNewMarket(address,int256,int256,uint80)(address)")
    curve = int(Decimal(scalar_root) * 10**18), int(anchor), int(fee_root)
    market = create.decode(fork.send("Pendle.MarketFactory", create.encode(pt, *curve), sender=owner).output)
    fork.send(market, Function.parse("increaseObservationsCardinalityNext(uint16)").encode(_REMEMBERED))
    pt_symbol = _text(fork, pt, "symbol()(string)")
    name = pt_symbol.removeprefix("PT-")
    labels = PendleContracts(sy_label, pt_symbol, f"YT-{name}", f"Pendle.{name}")
    fork.labels.update(zip(labels[1:], map(checksum, (pt, yt, market)), strict=True))
    return labels


def deploy_pt_feed(
    fork: Fork, market: AddressLike, asset_feed: AddressLike, *, average_s: int = 900, discount: Amount | None = None
) -> str:
    """Deploy a Chainlink-like price feed of a market's PT; return its label, `Pendle.PT-sDAI-26DEC2024/USD`.

    Its answer is that of `asset_feed`, the feed of the PT's asset, times the PT's rate: Pendle's oracle over the last
    `average_s` seconds, or, with `discount`, 1 minus that yearly rate over the time to expiry. Raises `ActionRefused`
    if the market does not remember that long: let time pass after its creation.
    """
    code = published_contracts(PENDLE)
    place = fork.address_of(market)
    tokens = Function.parse("readTokens()(address,address,address)")
    pt = tokens.decode(fork.call(place, tokens.encode()))[1]
    if discount is None:
        initcode = code["ChainlinkOracle"].initcode([place, average_s, _PT_TO_ASSET])
    else:
        initcode = code["LinearDiscountOracle"].initcode([pt, int(Decimal(discount) * 10**18)])
    rate_oracle = bytes(fork.deploy(initcode))
    try:
        fork.call(rate_oracle, Function.parse("latestRoundData()").encode())
    except CallReverted as error:
        raise ActionRefused(
            f"the market remembers less than {average_s} seconds: {error.reason}",
            "let that much time pass after its creation, take a shorter average, or give a `discount`",
        ) from None
    label = f"Pendle.{_text(fork, pt, 'symbol()(string)')}/USD"
    feed = ArtifactStore().get("PtPriceFeed").initcode([label[:64], fork.address_of(asset_feed), rate_oracle])
    fork.labels[label] = checksum(bytes(fork.deploy(feed)))
    return label


_PT_TO_ASSET = 1


def _selectors(artifact: Artifact) -> list[bytes]:
    return [function.selector for function in Interface.of(artifact.abi).functions.values()]


def _text(fork: Fork, token: bytes, view: str) -> str:
    function = Function.parse(view)
    return str(function.decode(fork.call(token, function.encode())))


def _number(fork: Fork, token: bytes, view: str) -> int:
    function = Function.parse(view)
    return int(function.decode(fork.call(token, function.encode())))
