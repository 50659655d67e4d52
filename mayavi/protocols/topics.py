"""Topics of the events that tell what a contract is and what it transfers."""

from __future__ import annotations

from mayavi.evm.hashing import keccak_text

TRANSFER = keccak_text("Transfer(address,address,uint256)")
DEPOSIT = keccak_text("Deposit(address,uint256)")
"""Native coin wrapped."""
WITHDRAWAL = keccak_text("Withdrawal(address,uint256)")
"""Native coin unwrapped."""
UNISWAP_V3_SWAP = keccak_text("Swap(address,address,int256,int256,uint160,uint128,int24)")
UNISWAP_V2_SYNC = keccak_text("Sync(uint112,uint112)")
COMET = frozenset(
    keccak_text(text)
    for text in (
        "Supply(address,address,uint256)",
        "SupplyCollateral(address,address,address,uint256)",
        "AbsorbDebt(address,address,uint256,uint256)",
    )
)
"""Events of Compound V3's markets."""
