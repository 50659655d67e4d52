"""The committed tables of markets are the tool's, and the code stands where Aave's upgrade put it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.worlds.tables.paths import market_names, market_path
from tests.worlds.markets.reading import built_market

# Implementations of pool and aToken by the address book of the time.
ON_CHAIN = {
    "ethereum@2025-12": ("0x8147b99DF7672A21809c9093E6F6CE1a60F119Bd", "0xadC45Df3cf1584624C97338BEF33363BF5b97AdA"),
    "ethereum-lido@2025-12": (
        "0xC313A383D1838dCDA96f4c97698238F0A5499eA4",
        "0x80D786DF608603cCDcC83F5712B97C185A6A948d",
    ),
    "arbitrum@2025-12": ("0xb76c1a8da369FC39AAdCF39D2446828BcDF6Ee56", "0xadcb7e98A462AA2375D03145083eE68A2148F077"),
    "base@2025-12": ("0xDb578D67A83E94DE73c9e0C14280f804F6C1c3e4", "0x273E4B97C3f5280AFf4949Aa19a27fF54968458D"),
    "celo@2025-12": ("0x4A1DDf2757666a474CcCEBA735A9f69ed22b75a8", "0x444E85e29F3417E0Df6B697bfDfE5E9A96B550e5"),
    "linea@2025-12": ("0xeEdB446124322fA833f9A57985E780494bbDe217", "0x7b03821ac93Ff55d029A543B86c723aa3Ccb4faC"),
    "optimism@2025-12": ("0x9b8e56D890BfFBbd385FE8b0E73803A82FCef2F1", "0x7c03FA1A1d195Db5690E188bd6bBFA87816995eE"),
    "plasma@2025-12": ("0x2F762D4b63bd3c0e4E13D716E8BC8a49F95dCf09", "0x2fFB265D591809FB1c4bAbA84996507E3C168406"),
}


def test_no_table_was_edited_by_hand() -> None:
    paths = [market_path(name) for name in market_names()]
    sums = (paths[0].parent / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    committed = {name: digest for digest, name in (line.split("  ") for line in sums)}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert found == committed, "run tools/aave_markets.py, which writes the tables and their checksums"


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("world", ON_CHAIN)
def test_implementations_stand_where_they_do_on_chain(world: str) -> None:
    labels = built_market(world).labels
    pool, a_token = ON_CHAIN[world]
    assert labels["AaveV3.PoolImplementation"] == pool
    assert labels["AaveV3.Implementation.ATokenInstance"] == a_token
    assert labels["AaveV3.PoolConfiguratorImplementation"] == "0x6fDdde45f777a4E461B0721a578b169b44579623"


def test_the_tool_says_where_it_looked_for_parameters(repository: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(repository / "tools" / "aave_markets.py"), "--parameters", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert f"there is no README.md in '{tmp_path}', the folder of parameter files" in finished.stderr
