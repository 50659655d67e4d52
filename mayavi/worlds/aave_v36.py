"""Compile Aave V3.6 from its npm package, to the bytes that stand on chain.

The package has sources only. They are compiled when a world first needs them, and kept beside the other compiled
contracts. Libraries and contracts were deployed for different rules of the EVM: two compilations, at the same time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from mayavi.cache_directory import write_cache_file
from mayavi.compilers.package_folder import PackageFolder, Say, announce, unwritable
from mayavi.compilers.packages import ensure_packages, read_json
from mayavi.compilers.solidity import compile_packages
from mayavi.compilers.solidity_project import SoliditySettings
from mayavi.worlds.artifact import Artifact
from mayavi.worlds.contract_folder import SOURCES, contracts_root

_PACKAGE = "@aave-dao/aave-v3-origin/src/contracts"
_LOGIC = ("BorrowLogic", "ConfiguratorLogic", "FlashLoanLogic", "LiquidationLogic", "PoolLogic", "SupplyLogic")
LIBRARIES = {name: f"{_PACKAGE}/protocol/libraries/logic/{name}.sol" for name in _LOGIC}
_INSTANCES = (
    *("PoolInstance", "L2PoolInstance", "PoolConfiguratorInstance", "ATokenInstance", "VariableDebtTokenInstance"),
    *("ATokenWithDelegationInstance", "VariableDebtTokenMainnetInstanceGHO"),
)
CONTRACTS = {
    **{name: f"{_PACKAGE}/instances/{name}.sol" for name in _INSTANCES},
    "DefaultReserveInterestRateStrategyV2": f"{_PACKAGE}/misc/DefaultReserveInterestRateStrategyV2.sol",
    "AaveProtocolDataProvider": f"{_PACKAGE}/helpers/AaveProtocolDataProvider.sol",
}
_REMAPPINGS = (
    "openzeppelin-contracts/contracts/=@openzeppelin/contracts/",
    "openzeppelin-contracts-upgradeable/contracts/=@openzeppelin/contracts-upgradeable/",
    "solidity-utils/=@bgd-labs/solidity-utils/src/",
)
_VERSION = "0.8.27"
_JOBS = (
    (LIBRARIES, SoliditySettings(_VERSION, evm_version="shanghai", metadata=True)),
    (CONTRACTS, SoliditySettings(_VERSION, evm_version="cancun", metadata=True)),
)


def source_packages() -> PackageFolder:
    """Folder of the npm packages with the sources."""
    return PackageFolder(contracts_root() / "aave-v3.6", SOURCES / "aave_v36", "packages of Aave V3.6")


def aave_v36_contracts(say: Say = announce) -> Mapping[str, Artifact]:
    """Return the compiled contracts by name; install and compile them first where that was not done yet."""
    path = built_path()
    if (found := _read(path)) is not None:
        return found
    folder = source_packages()
    ensure_packages(folder, say=say)
    with folder.lock(say):
        if (found := _read(path)) is not None:
            return found
        say("compiling Aave V3.6 (once, about half a minute of two cores)")
        with ThreadPoolExecutor(len(_JOBS)) as pool:
            jobs = [pool.submit(compile_packages, folder.root, each, how, _REMAPPINGS) for each, how in _JOBS]
            compiled = {name: artifact for job in jobs for name, artifact in job.result().items()}
        facts = {name: asdict(artifact) for name, artifact in compiled.items()}
        try:
            write_cache_file(path, json.dumps(facts).encode())
        except OSError as error:
            raise unwritable(folder.root, error) from None
    return {name: Artifact(**each) for name, each in facts.items()}


def built_path() -> Path:
    """File of the compiled contracts, named after the lock file and the settings of the compiler."""
    lock = (SOURCES / "aave_v36" / "package-lock.json").read_bytes()
    settings = json.dumps([[names, asdict(how)] for names, how in _JOBS])
    key = hashlib.sha256(lock + settings.encode()).hexdigest()[:16]
    return contracts_root() / "build" / f"aave-v3.6.{key}.json"


def _read(path: Path) -> dict[str, Artifact] | None:
    found = read_json(path)
    return None if found is None else {name: Artifact(**each) for name, each in found.items()}
