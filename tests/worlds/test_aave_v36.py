"""Aave V3.6 as we compile it is the code of mainnet: CREATE2 addresses, which depend on the code, come out."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mayavi.evm.address import checksum, to_address
from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.worlds.aave_v36 import LIBRARIES, aave_v36_contracts
from mayavi.worlds.artifacts import Artifact

pytestmark = pytest.mark.slow

FACTORY = to_address("0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7")
PROVIDER = to_address("0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e")
POOL = to_address("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2")
STRATEGY = to_address("0x9ec6F08190DeA04A54f8Afc53Db96134e5E3FdFB")
REWARDS = to_address("0x8164Cc65827dcFe994AB23944CBC90e0aa80bFcb")
TREASURY = to_address("0x464C71f6c2F760DdA6093dCB91C24c39e5d6e18c")
ON_CHAIN = {
    "BorrowLogic": "0x1Fb8f7C906cddD28B42ae6Eb76abC04A91188635",
    "PoolInstance": "0x8147b99DF7672A21809c9093E6F6CE1a60F119Bd",
    "PoolConfiguratorInstance": "0x6fDdde45f777a4E461B0721a578b169b44579623",
    "ATokenInstance": "0xadC45Df3cf1584624C97338BEF33363BF5b97AdA",
    "VariableDebtTokenInstance": "0xb27C52c7f84819e3157993489741cB60786aE330",
}
BEGINNINGS = {
    "ConfiguratorLogic": "0x6E2aFD57",
    "FlashLoanLogic": "0xE66AdcF1",
    "LiquidationLogic": "0x8dc095F2",
    "PoolLogic": "0x25Ed699a",
    "SupplyLogic": "0x33654b16",
}


@pytest.fixture(scope="module")
def contracts() -> Mapping[str, Artifact]:
    return aave_v36_contracts()


@pytest.fixture(scope="module")
def libraries(contracts: Mapping[str, Artifact]) -> dict[str, bytes]:
    salt = keccak_text("AAVE_V3_LIBRARIES_BATCH")
    found: dict[str, bytes] = {}
    for name in sorted(LIBRARIES, key=lambda each: len(contracts[each].links)):
        found[name] = create2(salt, contracts[name].initcode(libraries=found))
    return found


def create2(salt: bytes, initcode: bytes) -> bytes:
    return keccak256(b"\xff" + FACTORY + salt + keccak256(initcode))[-20:]


def test_the_six_libraries_have_their_addresses(libraries: dict[str, bytes]) -> None:
    assert checksum(libraries["BorrowLogic"]) == ON_CHAIN["BorrowLogic"]
    assert {name: checksum(libraries[name])[:10] for name in BEGINNINGS} == BEGINNINGS


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("PoolInstance", [PROVIDER, STRATEGY]),
        ("PoolConfiguratorInstance", []),
        ("ATokenInstance", [POOL, REWARDS, TREASURY]),
        ("VariableDebtTokenInstance", [POOL, REWARDS]),
    ],
)
def test_the_implementations_have_their_addresses(
    contracts: Mapping[str, Artifact], libraries: dict[str, bytes], name: str, arguments: list[object]
) -> None:
    artifact = contracts[name]
    needed = {library: libraries[library] for library in artifact.links}
    salt = b"v1".ljust(32, b"\0")
    assert checksum(create2(salt, artifact.initcode(arguments, needed))) == ON_CHAIN[name]
