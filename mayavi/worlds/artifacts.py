"""Compiled contracts: what npm packages publish and what our own Vyper sources compile to.

Nothing is vendored. `make setup` installs the packages under `contracts/node_modules` and compiles the Vyper sources
to `contracts/build`; a contract that is not there is a `SetupError` that says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mayavi.errors import BadArgument, SetupError, UnknownName
from mayavi.evm.abi.codec import Codec
from mayavi.evm.abi.signature import signature_from_json

CONTRACTS_VARIABLE = "MAYAVI_CONTRACTS"

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
    **dict.fromkeys(["UniswapV3Factory", "UniswapV3Pool"], _UNISWAP_CORE),
    **dict.fromkeys(
        ["SwapRouter", "NonfungiblePositionManager", "NonfungibleTokenPositionDescriptor"], _UNISWAP_PERIPHERY
    ),
    **dict.fromkeys(["Quoter", "QuoterV2", "TickLens", "UniswapInterfaceMulticall"], f"{_UNISWAP_PERIPHERY}/lens"),
    "NFTDescriptor": f"{_UNISWAP_PERIPHERY}/libraries",
}
_TRUFFLE = {
    "WETH9": "canonical-weth/build/contracts/WETH9.json",
    "VestingWallet": "@openzeppelin/contracts/build/contracts/VestingWallet.json",
}


@dataclass(frozen=True)
class Artifact:
    """One compiled contract. `links` maps a library's name to the byte offsets where its address goes."""

    name: str
    abi: Sequence[Mapping[str, Any]]
    bytecode_hex: str
    links: Mapping[str, Sequence[int]]

    def initcode(self, arguments: Sequence[object] = (), libraries: Mapping[str, bytes] | None = None) -> bytes:
        """The creation code, linked against `libraries`, with the constructor's `arguments` behind it."""
        return self._linked(libraries or {}) + self._constructor.encode(arguments)

    @cached_property
    def _constructor(self) -> Codec:
        for entry in self.abi:
            if entry["type"] == "constructor" and (signature := signature_from_json(entry)):
                return Codec(signature.input_tuple)
        return Codec.of("")

    def _linked(self, libraries: Mapping[str, bytes]) -> bytes:
        if missing := sorted(set(self.links) - set(libraries)):
            raise BadArgument(f"{self.name} needs the libraries {', '.join(missing)}, which were not given")
        text = self.bytecode_hex
        if not self.links:
            return bytes.fromhex(text)
        # Unlinked places are not hex, so they are cut out of the text before it is read.
        digits = list(text)
        for library, offsets in self.links.items():
            for offset in offsets:
                digits[2 * offset : 2 * offset + 40] = libraries[library].hex()
        return bytes.fromhex("".join(digits))


class ArtifactStore:
    """Finds and reads artifacts below one `contracts` folder, each once."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or contracts_root()
        self._loaded: dict[str, Artifact] = {}

    def get(self, name: str) -> Artifact:
        """The artifact of the contract `name`; `SetupError` when it is not installed."""
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def _read(self, name: str) -> Artifact:
        if name in _PACKAGED:
            return self._read_npm(name, f"{_PACKAGED[name]}/{name}.sol/{name}.json")
        if name in _TRUFFLE:
            return self._read_npm(name, _TRUFFLE[name])
        from mayavi.worlds.vyper import built_contract, vyper_contracts

        ours = vyper_contracts(self.root)
        if name in ours:
            data = built_contract(self.root, name)
            return Artifact(name, data["abi"], data["bytecode"].removeprefix("0x"), {})
        if not (self.root / "vyper").is_dir():
            raise SetupError(
                f"no contract sources in '{self.root}'",
                f"run from a checkout of the project, or point {CONTRACTS_VARIABLE} at its contracts folder",
            )
        raise UnknownName.of("contract", name, [*_PACKAGED, *_TRUFFLE, *ours])

    def _read_npm(self, name: str, relative: str) -> Artifact:
        path = self.root / "node_modules" / relative
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            package = "/".join(relative.split("/")[: 2 if relative.startswith("@") else 1])
            raise SetupError(
                f"the compiled contract '{name}' of the npm package '{package}' is not installed",
                "run `make setup`, which installs the contract packages",
            ) from None
        except ValueError as error:
            raise SetupError(
                f"the compiled contract '{path}' cannot be read: {error}",
                "remove contracts/node_modules and run `make setup`",
            ) from None
        links = {
            library: [place["start"] for place in places]
            for libraries in (data.get("linkReferences") or {}).values()
            for library, places in libraries.items()
        }
        return Artifact(name, data["abi"], data["bytecode"].removeprefix("0x"), links)


def contracts_root() -> Path:
    """The folder with the contract packages: `MAYAVI_CONTRACTS`, else `contracts` beside the package."""
    named = os.environ.get(CONTRACTS_VARIABLE, "").strip()
    return Path(named).expanduser() if named else Path(__file__).resolve().parents[2] / "contracts"
