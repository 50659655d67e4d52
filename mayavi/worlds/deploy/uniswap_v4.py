"""Deploy Uniswap V4 on a fork: pool manager, position manager, quoter, state view and Permit2.

No replica has it from the start, because V4 needs the rules of Cancun and the replicas are older.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.compilers.package_folder import Say, announce
from mayavi.evm.address import ZERO_ADDRESS, checksum, to_address
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account
from mayavi.worlds.published import Publication, published_contracts, require_cancun

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_PERIPHERY = "@uniswap/v4-periphery/foundry-out"
UNISWAP_V4 = Publication(
    "uniswap-v4",
    "Uniswap V4",
    "uniswap_v4",
    {
        "PoolManager": "@uniswap/v4-core/out/PoolManager.sol/PoolManager.json",
        "PositionManager": f"{_PERIPHERY}/PositionManager.sol/PositionManager.json",
        "Quoter": f"{_PERIPHERY}/V4Quoter.sol/V4Quoter.json",
        "StateView": f"{_PERIPHERY}/StateView.sol/StateView.json",
        "Permit2": "@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol",
    },
)
"""Uniswap's own artifacts."""

PERMIT2 = to_address("0x000000000022D473030F116dDEE9F6B43aC78BA3")
ADDRESSES = {
    1: {
        "PoolManager": "0x000000000004444c5dc75cB358380D2e3dE08A90",
        "PositionManager": "0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e",
        "Quoter": "0x52F0E24D1c21C8A0cB1e5a5dD6198556BD9E1203",
        "StateView": "0x7fFE42C4a5DEeA5b0feC41C94C136Cf115597227",
    },
    8453: {
        "PoolManager": "0x498581fF718922c3f8e6A244956aF099B2652b2b",
        "PositionManager": "0x7C5f5A4bBd8fD63184577525326123B519429bDc",
        "Quoter": "0x0d5e0F971ED27FBfF6c2837bf31316121532048D",
        "StateView": "0xA3c0c9b65baD0b08107Aa264b0f3dB444b867A71",
    },
}
"""Real addresses by chain id, from docs.uniswap.org/contracts/v4/deployments. Other chains get addresses of ours."""

_WRAPPED = {137: "WMATIC", 43114: "WAVAX"}
_UNSUBSCRIBE_GAS = 300_000
"""Gas that a position's subscriber gets to unsubscribe, as on Ethereum."""


def deploy_uniswap_v4(fork: Fork, *, owner: bytes = DEPLOYER, say: Say = announce) -> dict[str, str]:
    """Deploy Uniswap V4 without pools; return its labels, which the fork has from then on: `UniswapV4.PoolManager`, …

    `owner` may set protocol fees. Downloads Uniswap's packages once. Does nothing where the fork has them already.
    Raises `ActionRefused` where the fork's rules are older than Cancun's.
    """
    require_cancun(fork, "Uniswap V4")
    known = uniswap_v4_labels(fork)
    if known:
        fork.labels.update(known)
        return known
    contracts = published_contracts(UNISWAP_V4, say)
    at = {name: to_address(address) for name, address in ADDRESSES.get(fork.chain_id, {}).items()}
    at = {name: at.get(name) or named_account(f"UniswapV4.{name}") for name in UNISWAP_V4.files} | {"Permit2": PERMIT2}
    manager = at["PoolManager"]
    arguments: dict[str, list[object]] = {
        "PoolManager": [owner],
        "Permit2": [],
        "PositionManager": [manager, PERMIT2, _UNSUBSCRIBE_GAS, ZERO_ADDRESS, wrapped_coin(fork)],
        "Quoter": [manager],
        "StateView": [manager],
    }
    for name, given in arguments.items():
        if not fork.code(at[name]):
            fork.create_at(at[name], contracts[name].initcode(given))
    labels = {_label(name): checksum(at[name]) for name in sorted(at)}
    fork.labels.update(labels)
    return labels


def wrapped_coin(fork: Fork) -> bytes:
    """Return the wrapped native coin of the fork's chain; the zero address if it has no label."""
    label = _WRAPPED.get(fork.chain_id, "WETH")
    return fork.address_of(label) if label in fork.labels else ZERO_ADDRESS


def uniswap_v4_labels(fork: Fork) -> dict[str, str]:
    """Return the labels of Uniswap V4 where it stands on the fork; empty where it does not."""
    real = ADDRESSES.get(fork.chain_id, {}) | {"Permit2": checksum(PERMIT2)}
    found = {_label(name): fork.labels.get(_label(name)) or real.get(name, "") for name in UNISWAP_V4.files}
    return found if all(address and fork.code(address) for address in found.values()) else {}


def _label(name: str) -> str:
    return "Permit2" if name == "Permit2" else f"UniswapV4.{name}"
