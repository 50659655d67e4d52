"""Flash loans of Aave V3, taken by a small contract that makes the caller's calls while it holds the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import octets, word
from mayavi.evm.hashing import keccak_text
from mayavi.protocols.tokens import Erc20, spending, undone_on_failure

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave_v3 import AaveV3

MOST_CALLS, LONGEST_CALLDATA = 16, 1_024

_PLACE = keccak_text("mayavi.flash_borrower")[-20:]
_BORROWER = [
    "run(address pool, address asset, uint256 amount, (address target, bytes data)[] calls, address[] tokens)",
]


class FlashLoan(NamedTuple):
    """A flash loan that was paid back, and what it cost."""

    receipt: Receipt
    premium: int


def flash_borrower(fork: Fork) -> bytes:
    """The contract that takes flash loans and makes their calls; put on the fork when it is first asked for."""
    if not fork.code(_PLACE):
        from mayavi.worlds.artifacts import ArtifactStore

        fork.create_at(_PLACE, ArtifactStore().get("FlashBorrower").initcode())
    return _PLACE


def take_flash_loan(
    market: AaveV3,
    sender: bytes,
    asset: AddressLike,
    amount: int,
    calls: Sequence[tuple[AddressLike, bytes]],
    sweep: Sequence[AddressLike],
) -> FlashLoan:
    """See `AaveAccount.flash_loan`."""
    fork, token = market.fork, Erc20(market.fork, market.address_of(asset))
    made = [(fork.address_of(target), octets(data)) for target, data in calls]
    if len(made) > MOST_CALLS or any(len(data) > LONGEST_CALLDATA for _, data in made):
        raise BadArgument(
            f"a flash loan makes up to {MOST_CALLS} calls of up to {LONGEST_CALLDATA} bytes each",
            "deploy a receiver of your own and call flashLoanSimple of `market.pool`",
        )
    premium = (word(amount) * market.flash_loan_premiums.total_bps + 5_000) // 10_000
    with undone_on_failure(fork):
        borrower = fork.contract(flash_borrower(fork), _BORROWER)
        # Calls may earn the premium, so an account without it may still succeed.
        offered = premium if not made else min(premium, token.balance_of(sender))
        allowed = spending(fork, token.address, borrower.address, offered, sender) if offered else nullcontext()
        tokens = [fork.address_of(each) for each in sweep]
        with allowed:
            receipt: Receipt = borrower.run(market.pool.address, token.address, amount, made, tokens, sender=sender)
    events = market.pool.events(receipt, "FlashLoan")
    return FlashLoan(receipt, sum(event.args.premium for event in events if event.args.target == borrower.address))
