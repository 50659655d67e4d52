"""Put Morpho on a fork: Blue, its markets and vaults, by the protocol's own calls.

    blue = add_morpho(fork)                                # three markets that lend USDC, and the vault over them
    create_market(fork, "wstETH/WETH.94.5")                # one more: a recorded one, or with an LLTV of one's own
    create_vault(fork, "mine", {"wstETH/WETH.94.5": 10**21}, owner=alice)

Contracts stand at the addresses of Ethereum. Prices come from the dollar feeds of the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mayavi.errors import BadArgument, UnknownName
from mayavi.evm.address import AddressLike, checksum, to_address
from mayavi.protocols.arguments import address_on, chain_name
from mayavi.protocols.dollar_feed import dollar_feed
from mayavi.protocols.morpho.blue import MorphoBlue
from mayavi.protocols.tokens import Erc20, atomic
from mayavi.worlds.tables import morpho as facts
from mayavi.worlds.tables.morpho_market import BLUE_LABEL, PREFIX, VAULTS, MarketName, MarketParameters

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.protocols.morpho.vault import MetaMorphoVault
    from mayavi.worlds.deploy.deployment import Deployment
    from mayavi.worlds.deploy.morpho import OracleFeeds

MARKETS = ("wstETH/USDC.86", "WBTC/USDC.86", "sDAI/USDC.96.5")
"""Markets of `add_morpho`."""
VAULT = "steakUSDC"
"""Vault of `add_morpho`, over `MARKETS`."""
_CAP = 1_000_000_000 * 10**6


def add_morpho(fork: Fork) -> MorphoBlue:
    """Deploy Morpho with three recorded markets that lend USDC, and a vault over them. They are empty.

    Raises `UnknownName` if the chain lacks one of their tokens.
    """
    tokens = {token for name in MARKETS for token in name.partition(".")[0].split("/")}
    if absent := sorted(tokens - fork.labels.keys()):
        raise UnknownName(
            f"the markets of `add_morpho` need {', '.join(absent)}, which {chain_name(fork)} lacks",
            "make your own: `create_blue(fork)` and `create_market(fork, NAME)` of mayavi.protocols.morpho.creation",
        )
    blue = create_blue(fork)
    for name in MARKETS:
        create_market(fork, name)
    create_vault(fork, VAULT, dict.fromkeys(MARKETS, _CAP))
    return blue


def create_blue(fork: Fork) -> MorphoBlue:
    """Deploy Morpho Blue, the adaptive curve IRM and the public allocator, unless they are there."""
    if BLUE_LABEL not in fork.labels:
        from mayavi.worlds.deploy.morpho import deploy_blue

        with atomic(fork):
            deployment = _deployment(fork)
            deploy_blue(deployment)
            _label(fork, deployment)
    return MorphoBlue(fork)


def create_market(fork: Fork, name: str, feeds: OracleFeeds | None = None) -> MorphoMarket:
    """Create the market `COLLATERAL/LOAN.LLTV`, with the LLTV in percent and an oracle of `feeds`.

    By default the oracle divides the chain's dollar prices of the two tokens; that of a PT is its `deploy_pt_feed`'s.
    The oracle of a recorded market stands at its real address. Raises `BadArgument` if `name` is invalid or the market
    exists.
    """
    from mayavi.worlds.deploy.morpho import OracleFeeds, deploy_market

    parts = MarketName.parse(name)
    if parts is None:
        raise BadArgument(f"'{name}' is not the name of a Morpho market", "write COLLATERAL/LOAN.LLTV: wstETH/USDC.86")
    if PREFIX + name in fork.labels:
        raise BadArgument(f"there is a Morpho market '{name}' on this chain already", "take it, or give another LLTV")
    tokens = Erc20(fork, parts.collateral).address, Erc20(fork, parts.loan).address
    if feeds is None:
        base, quote = dollar_feed(fork, parts.collateral), dollar_feed(fork, parts.loan)
        feeds = OracleFeeds((base,), (quote,))
    blue = create_blue(fork)
    with atomic(fork):
        deployment = _deployment(fork)
        at = facts.ORACLES.get(name) if fork.chain_id == 1 else None
        parameters = deploy_market(deployment, parts, tokens, feeds, at=at)
        _label(fork, deployment)
    return blue.market(parameters)


def create_vault(
    fork: Fork,
    symbol: str,
    caps: Mapping[str, int] | Mapping[MarketParameters, int],
    *,
    owner: AddressLike | None = None,
    fee_wad: int = 0,
) -> MetaMorphoVault:
    """Create a vault over markets that lend one token, with a cap in each, in the order of deposits.

    `owner`, by default an account of its own, is also curator and allocator; the public allocator is one too.
    """
    from mayavi.worlds.deploy.deployment import named_account
    from mayavi.worlds.deploy.morpho import TIMELOCK_SECONDS, NewVault, deploy_vault, open_vault

    if VAULTS + symbol in fork.labels:
        raise BadArgument(f"there is a vault '{symbol}' on this chain already", "give the new one another name")
    if not caps:
        raise BadArgument(f"the vault '{symbol}' has no market", "give a cap for each of its markets")
    blue = create_blue(fork)
    chosen = {blue.market(market).parameters: cap for market, cap in caps.items()}
    loans = {each.loan_token for each in chosen}
    if len(loans) > 1:
        names = ", ".join(sorted(fork.name(each) for each in loans))
        raise BadArgument(f"the markets of the vault '{symbol}' lend {names}", "a vault has one asset")
    known = facts.VAULTS.get(symbol) if fork.chain_id == 1 else None
    asset = loans.pop()
    if known is not None and fork.address_of(known.asset) != asset:
        known = None
    place = named_account(f"owner of {symbol}") if owner is None else address_on(fork, owner)
    with atomic(fork):
        deployment = _deployment(fork)
        at = known.address if known else None
        vault = NewVault(asset, known.name if known else symbol, chosen, place, fee_wad, at)
        with at_time(fork, fork.timestamp - TIMELOCK_SECONDS):
            deploy_vault(deployment, symbol, vault)
        open_vault(deployment, symbol, vault)
        _label(fork, deployment)
    return blue.vault(symbol)


@contextmanager
def at_time(fork: Fork, timestamp: int) -> Iterator[None]:
    """Context manager in which the block has another time, for what has to wait for a timelock."""
    now = fork.timestamp
    fork.set_block(timestamp=timestamp)
    try:
        yield
    finally:
        fork.set_block(timestamp=now)


def _deployment(fork: Fork) -> Deployment:
    from mayavi.worlds.deploy.deployment import Deployment
    from mayavi.worlds.morpho_contracts import MorphoArtifacts

    deployment = Deployment(fork, MorphoArtifacts(), real_addresses=fork.chain_id == 1)
    deployment.labels = {
        label: to_address(place) for label, place in fork.labels.items() if label.startswith((PREFIX, VAULTS))
    }
    return deployment


def _label(fork: Fork, deployment: Deployment) -> None:
    fork.labels.update({label: checksum(place) for label, place in deployment.labels.items()})
