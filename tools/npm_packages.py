"""Fetch, unpack and read the npm packages that tables take facts from."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from common_choices import ADDRESS_BOOK, CURVE_API, DEPLOY_V3


def fetch_packages(folder: Path, packages: Sequence[str] = (ADDRESS_BOOK, DEPLOY_V3, CURVE_API)) -> Path:
    """Fetch the packages and unpack each into `folder/<name>`."""
    for package in packages:
        command = ["npm", "pack", "--silent", package]
        archive = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
        target = folder / package.rpartition("@")[0]
        with tarfile.open(folder / archive) as tar:
            tar.extractall(folder / "unpacked", filter="data")
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / "unpacked" / "package").rename(target)
    return folder


class Packages:
    """Packages unpacked into `root/<name>`."""

    def __init__(self, root: Path) -> None:
        self._book = root / "@aave-dao" / "aave-address-book"
        self._markets = root / "@aave" / "deploy-v3" / "dist" / "markets"
        self._curve = root / "@curvefi" / "api" / "lib" / "constants" / "pools"

    def book(self, library: str) -> dict[str, str]:
        """`NAME -> 0x…` of every address constant in a Solidity library of the address book, such as `AaveV3Base`."""
        text = (self._book / "src" / f"{library}.sol").read_text()
        return dict(re.findall(r"constant\s+(\w+)\s*=\s*(?:\w+\(\s*)?(0x[0-9a-fA-F]{40})", text))

    def book_decimals(self, library: str) -> dict[str, int]:
        """`SYMBOL -> decimals` of every asset in a library of the address book."""
        text = (self._book / "src" / f"{library}.sol").read_text()
        return {name: int(value) for name, value in re.findall(r"constant\s+(\w+)_DECIMALS\s*=\s*(\d+)", text)}

    def tokens(self, chain_id: int) -> dict[str, dict[str, Any]]:
        """The token list of a chain, by address: underlying tokens and aTokens with name, symbol and decimals."""
        return {token["address"]: token for token in self._token_list if token["chainId"] == chain_id}

    def market(self, name: str) -> tuple[str, int]:
        """Market and provider id of a market of the deployment package."""
        text = (self._markets / name / "index.js").read_text()
        market_id, provider_id = re.search(r'MarketId: "([^"]+)"', text), re.search(r"ProviderId: (\d+)", text)
        assert market_id, f"no market id of '{name}' in the deployment package"
        assert provider_id, f"no provider id of '{name}' in the deployment package"
        return market_id[1], int(provider_id[1])

    def curve_pools(self, chain: str) -> str:
        """The list of Curve's pools on a chain, as JavaScript text."""
        return (self._curve / f"{chain}.js").read_text()

    @cached_property
    def flash_loan_premium_bps(self) -> dict[str, int]:
        """Total flash loan premium and the protocol's share, in basis points."""
        text = (self._markets / "aave" / "commons.js").read_text()
        premium = re.search(r"FlashLoanPremiums: \{\s*total: ([\d.e]+),\s*protocol: ([\d.e]+)", text)
        assert premium, "no flash loan premiums in the deployment package"
        return {"total": int(float(premium[1])), "protocol": int(float(premium[2]))}

    @cached_property
    def _token_list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self._book / "tokenlist.json").read_text())["tokens"]
        return found
