"""Markets and vaults of Morpho on Ethereum that can be put on a replica.

Parameters are those of `@morpho-org/morpho-test` 4.0.3, addresses those of `@morpho-org/blue-sdk` 6.4.0. A market's id
is the hash of its parameters, so that it is the real one where all five are. Balances, caps and the feeds behind the
oracles are on no registry: the feeds here are assumptions, the dollar prices of both tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

BLUE = "0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb"
ADAPTIVE_CURVE_IRM = "0x870aC11D48B15DB9a138Cf899d20F13F79Ba00BC"
PUBLIC_ALLOCATOR = "0xfd32fA2ca22c76dD6E550706Ad913FC6CE91c75D"
OWNER = "0xcBa28b38103307Ec8dA98377ffF9816C164f9AFa"
LLTVS_WAD = tuple(each * 10**15 for each in (0, 385, 625, 770, 860, 915, 945, 965, 980))
"""Every LLTV that is enabled on Ethereum."""

ORACLES = {
    "wstETH/USDC.86": "0x48F7E36EB6B826B2dF4B2E630B62Cd25e89E40e2",
    "WBTC/USDC.86": "0xDddd770BADd886dF3864029e4B377B5F6a2B6b83",
    "sDAI/USDC.96.5": "0x6CAFE228eC0B0bC2D076577d56D35Fe704318f6d",
    "wstETH/USDT.86": "0x95DB30fAb9A3754e42423000DF27732CB2396992",
    "WBTC/USDT.86": "0x008bF4B1cDA0cc9f0e882E0697f036667652E1ef",
    "WETH/USDT.86": "0xe9eE579684716c7Bb837224F4c7BeEfA4f1F3d7f",
    "WETH/USDT.91.5": "0xe9eE579684716c7Bb837224F4c7BeEfA4f1F3d7f",
    "sDAI/USDT.94.5": "0x7538C68d863b28E34b986C1E8daFEDa31D824923",
    "wstETH/WETH.94.5": "0xbD60A6770b27E084E8617335ddE769241B0e71D8",
    "rETH/WETH.94.5": "0x1b4A3F92e5Fffd1d35A98751c9FE4472483579bB",
    "WBTC/WETH.91.5": "0xc29B3Bc033640baE31ca53F8a0Eb892AdF68e663",
    "sDAI/WETH.86": "0x0f9bb760D76af1B5Ca89102084E1963F6698AFda",
}
"""Oracle of each recorded market, by its name: collateral, loan token and LLTV in percent."""


@dataclass(frozen=True, slots=True)
class VaultFacts:
    """Recorded vault: its address, and what its token is called."""

    address: str
    name: str
    asset: str


VAULTS = {
    "steakUSDC": VaultFacts("0xBEEF01735c132Ada46AA9aA4c54623cAA92A64CB", "Steakhouse USDC", "USDC"),
    "bbUSDT": VaultFacts("0x2C25f6C25770fFEC5959D34B94Bf898865e5D6b1", "BlockAnalytica USDT", "USDT"),
    "steakETH": VaultFacts("0xBEEf050ecd6a16c4e7bfFbB52Ebba7846C4b8cD4", "Steakhouse ETH", "WETH"),
}
