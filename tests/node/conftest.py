from __future__ import annotations

from tests.node.fixtures import deployed_market as deployed_market
from tests.node.fixtures import hardhat as hardhat
from tests.node.fixtures import market as market
from tests.node.fixtures import proxy as proxy
