"""Compiled contracts: from npm packages and from our own Vyper sources.

No third-party code is in the repository. `mayavi setup` installs the packages and compiles the Vyper sources;
`mayavi.worlds.contract_folder` says where.
"""

from __future__ import annotations

from mayavi.compilers.packages import ensure_packages, read_json
from mayavi.errors import SetupError, UnknownName
from mayavi.worlds.aave_v36 import aave_v36_contracts
from mayavi.worlds.artifact import Artifact as Artifact
from mayavi.worlds.contract_folder import ContractFolder
from mayavi.worlds.vyper import built_contract, vyper_contracts

_AAVE = "@aave/core-v3/artifacts/contracts"
_UNISWAP_CORE = "@uniswap/v3-core/artifacts/contracts"
_UNISWAP_PERIPHERY = "@uniswap/v3-periphery/artifacts/contracts"
_PACKAGED = {
    **dict.fromkeys(
        ["ACLManager", "PoolAddressesProvider", "PoolAddressesProviderRegistry"], f"{_AAVE}/protocol/configuration"
    ),
    **dict.fromkeys(
        ["Pool", "L2Pool", "PoolConfigurator", "DefaultReserveInterestRateStrategy"], f"{_AAVE}/protocol/pool"
    ),
    **dict.fromkeys(
        ["AToken", "DelegationAwareAToken", "StableDebtToken", "VariableDebtToken"], f"{_AAVE}/protocol/tokenization"
    ),
    **dict.fromkeys(
        [
            "BorrowLogic",
            "BridgeLogic",
            "ConfiguratorLogic",
            "EModeLogic",
            "FlashLoanLogic",
            "LiquidationLogic",
            "PoolLogic",
            "SupplyLogic",
        ],
        f"{_AAVE}/protocol/libraries/logic",
    ),
    **dict.fromkeys(["AaveOracle", "AaveProtocolDataProvider", "L2Encoder"], f"{_AAVE}/misc"),
    "InitializableImmutableAdminUpgradeabilityProxy": f"{_AAVE}/protocol/libraries/aave-upgradeability",
    **dict.fromkeys(["UniswapV3Factory", "UniswapV3Pool"], _UNISWAP_CORE),
    **dict.fromkeys(
        ["SwapRouter", "NonfungiblePositionManager", "NonfungibleTokenPositionDescriptor"], _UNISWAP_PERIPHERY
    ),
    **dict.fromkeys(["Quoter", "QuoterV2", "TickLens", "UniswapInterfaceMulticall"], f"{_UNISWAP_PERIPHERY}/lens"),
    "NFTDescriptor": f"{_UNISWAP_PERIPHERY}/libraries",
}
_AAVE_V2_PACKAGE = "@aave/protocol-v2/artifacts/contracts"
_AAVE_V2 = {
    **dict.fromkeys(["LendingPoolAddressesProvider", "LendingPoolAddressesProviderRegistry"], "protocol/configuration"),
    **dict.fromkeys(
        [
            "LendingPool",
            "LendingPoolConfigurator",
            "LendingPoolCollateralManager",
            "DefaultReserveInterestRateStrategy",
        ],
        "protocol/lendingpool",
    ),
    **dict.fromkeys(["AToken", "StableDebtToken", "VariableDebtToken"], "protocol/tokenization"),
    **dict.fromkeys(["ReserveLogic", "GenericLogic", "ValidationLogic"], "protocol/libraries/logic"),
    **dict.fromkeys(["AaveOracle", "AaveProtocolDataProvider"], "misc"),
    "LendingRateOracle": "mocks/oracle",
}
AAVE_V2 = "AaveV2."
"""Prefix of the contracts of Aave V2, whose names are also those of Aave V3's: `AaveV2.AToken`."""
AAVE_V36 = "AaveV36."
"""Prefix of the contracts of Aave V3.6, compiled when one is first read: `AaveV36.PoolInstance`."""
_TRUFFLE = {
    "WETH9": "canonical-weth/build/contracts/WETH9.json",
    "VestingWallet": "@openzeppelin/contracts/build/contracts/VestingWallet.json",
}


class ArtifactStore:
    """Read artifacts, each once. Missing packages are installed and missing contracts compiled when first read."""

    def __init__(self, folder: ContractFolder | None = None) -> None:
        self.folder = folder or ContractFolder.default()
        self._loaded: dict[str, Artifact] = {}

    def get(self, name: str) -> Artifact:
        """The artifact of the contract `name`; `SetupError` if it is not there and cannot be installed."""
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def _read(self, name: str) -> Artifact:
        if name in _PACKAGED:
            return self._read_npm(name, f"{_PACKAGED[name]}/{name}.sol/{name}.json")
        if name in _TRUFFLE:
            return self._read_npm(name, _TRUFFLE[name])
        if (bare := name.removeprefix(AAVE_V2)) != name and bare in _AAVE_V2:
            return self._read_npm(name, f"{_AAVE_V2_PACKAGE}/{_AAVE_V2[bare]}/{bare}.sol/{bare}.json")
        if (bare := name.removeprefix(AAVE_V36)) != name:
            return self._read_v36(bare)
        ours = vyper_contracts(self.folder.sources)
        if name not in ours:
            raise UnknownName.of(
                "contract", name, [*_PACKAGED, *_TRUFFLE, *(AAVE_V2 + each for each in _AAVE_V2), *ours]
            )
        data = built_contract(self.folder, name)
        return Artifact(name, data["abi"], data["bytecode"].removeprefix("0x"), {})

    def _read_v36(self, bare: str) -> Artifact:
        contracts = aave_v36_contracts()
        if bare not in contracts:
            raise UnknownName.of("contract", AAVE_V36 + bare, [AAVE_V36 + each for each in contracts])
        self._loaded |= {AAVE_V36 + each: artifact for each, artifact in contracts.items()}
        return contracts[bare]

    def _read_npm(self, name: str, relative: str) -> Artifact:
        path = self.folder.packages / relative
        data = read_json(path)
        if data is None:
            ensure_packages(self.folder, needed=path)
            data = read_json(path)
        if data is None:
            package = "/".join(relative.split("/")[: 2 if relative.startswith("@") else 1])
            raise SetupError(
                f"the npm package '{package}' holds no compiled contract '{name}' at '{path}'",
                f"remove '{self.folder.packages}' and run `mayavi setup`",
            )
        return Artifact.from_json({**data, "contractName": name})
