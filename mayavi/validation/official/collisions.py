"""Creation over an account that has storage, but neither code nor nonce (EIP-7610).

revm creates there, the tests say that the creation fails. Such accounts could be made only before EIP-161, and on
mainnet none is left that a creation could hit.
"""

from __future__ import annotations

from mayavi.evm.state import Block, Evm, InvalidTransaction
from mayavi.validation.official.accounts import Account, has_storage_alone

EIP_7610 = "tests that create over an account with storage, but without code and nonce (EIP-7610)"


def creates_over_storage(evm: Evm, block: Block, accounts: dict[bytes, Account], blob_fee_fraction: int) -> bool:
    """Whether a transaction of the block creates over an account of the pre-state that has storage alone."""
    victims = {address for address, account in accounts.items() if has_storage_alone(account)}
    if not victims:
        return False
    for index in range(len(block)):
        try:
            _, frames = evm.trace_in_block(block, index, blob_fee_fraction)
        except InvalidTransaction:
            return False
        if any(frame["kind"].startswith("CREATE") and frame["to"] in victims for frame in frames):
            return True
    return False
