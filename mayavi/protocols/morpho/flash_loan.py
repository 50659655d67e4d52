"""Flash loans of Morpho Blue, taken by a helper contract that makes the caller's calls. They are free."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from mayavi.errors import CallReverted
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import to_bytes
from mayavi.evm.hashing import keccak_text
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.blue import MorphoBlue

Call = tuple[AddressLike, bytes]
"""Call during a flash loan: target and calldata."""

_PLACE = keccak_text("mayavi.morpho_flash_borrower")[-20:]
_BORROWER = [
    "run(address morpho, address asset, uint256 amount, (address target, bytes data)[] calls, address[] tokens)",
]


def flash_borrower(fork: Fork) -> bytes:
    """Return the helper contract that takes flash loans, deployed on first use."""
    if not fork.code(_PLACE):
        from mayavi.worlds.artifacts import ArtifactStore

        fork.create_at(_PLACE, ArtifactStore().get("MorphoFlashBorrower").initcode())
    return _PLACE


def take_flash_loan(
    blue: MorphoBlue,
    token: AddressLike,
    amount: int,
    calls: Sequence[Call],
    *,
    sender: AddressLike,
    sweep: Sequence[AddressLike] = (),
    most_paid: int | None = None,
) -> Receipt:
    """Implementation of `MorphoBlue.flash_loan`."""
    fork, owner, asset = blue.fork, address_on(blue.fork, sender), Erc20(blue.fork, token)
    made = [
        (fork.address_of(to), to_bytes(data, f"calldata of call {number}"))
        for number, (to, data) in enumerate(calls, 1)
    ]
    arguments = blue.address, asset.address, require_positive(amount, "a flash loan"), made
    with atomic(fork):
        borrower = fork.contract(flash_borrower(fork), _BORROWER)
        # What the calls spend of the loan the account pays, as far as it can.
        offered = min(amount if most_paid is None else most_paid, asset.balance_of(owner)) if made else 0
        allowed = spending(fork, asset.address, borrower.address, offered, owner) if offered else nullcontext()
        with allowed:
            try:
                receipt: Receipt = borrower.run(*arguments, [fork.address_of(each) for each in sweep], sender=owner)
            except CallReverted as error:
                raise with_context(error, what=f"a flash loan of {asset.text(amount)} from Morpho") from None
    return receipt
