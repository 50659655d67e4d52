"""Choices shared by all chains: packages, date, market usage and pool liquidity."""

from __future__ import annotations

from decimal import Decimal

ADDRESS_BOOK = "@aave-dao/aave-address-book@4.68.1"
DEPLOY_V3 = "@aave/deploy-v3@1.56.2"
CURVE_API = "@curvefi/api@2.70.1"

TIMESTAMP = 1705173443  # 2024-01-13 19:17:23 UTC, Ethereum's block 19,000,000

# How much of each cap the rest of the market uses. Elsewhere than on Ethereum stablecoins weigh more, some of them no
# collateral; with more debt the account that stands for everybody would not survive a crash.
SUPPLIED_SHARE_OF_CAP = Decimal("0.5")
USAGE_SHARE_OF_OPTIMAL = Decimal("0.9")
USAGE_SHARE_OF_OPTIMAL_ELSEWHERE = Decimal("0.6")
BORROWED_SHARE_OF_CAP = Decimal("0.9")

# Shares of a pool's value, each spread over the price times or divided by (1 + width); null is the whole range.
PROFILES = {
    "volatile": [[None, "0.05"], ["1.00", "0.25"], ["0.35", "0.30"], ["0.12", "0.25"], ["0.04", "0.15"]],
    "pegged": [[None, "0.01"], ["0.05", "0.09"], ["0.01", "0.30"], ["0.002", "0.60"]],
}

# Where Uniswap stands on Ethereum, Arbitrum, Optimism and Polygon alike.
UNISWAP = {
    "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
    "swap_router": "0xE592427A0AEce92De3Edee1F18E0157C05861564",
    "quoter": "0xb27308f9F90D607463bb33eA1BeBb41C27CE5AB6",
    "quoter_v2": "0x61fFE014bA17989E743c5F6cB21bF9697530B21e",
    "position_manager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
    "position_descriptor": "0x91ae842A5Ffd8d12023116943e72A606179294f3",
    "nft_descriptor": "0x42B24A95702b9986e82d421cC3568932790A48Ec",
    "tick_lens": "0xbfd8137f7d1516D3ea5cA83523914859ec47F573",
    "interface_multicall": "0x1F98415757620B543A52E61c46B32eB19261F984",
}
