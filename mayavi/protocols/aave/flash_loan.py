"""Aave V3 flash loans, taken by a helper contract that makes the caller's calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import BadArgument, CallReverted, NoCode
from mayavi.evm.abi.contract import Contract
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import to_bytes
from mayavi.evm.hashing import keccak_text
from mayavi.protocols.aave.reverts import explain, insufficient_liquidity, simulate_funded, with_reason
from mayavi.protocols.arguments import require_positive
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.account import AaveAccount

Call = tuple[AddressLike, bytes]
"""Call during a flash loan: target and calldata."""

MOST_CALLS, LONGEST_CALLDATA = 16, 1_024

_PLACE = keccak_text("mayavi.flash_borrower")[-20:]
_BORROWER = [
    "run(address pool, address asset, uint256 amount, (address target, bytes data)[] calls, address[] tokens)",
]
_EXECUTE_OPERATION = bytes.fromhex("1b11d0ff")  # executeOperation(address,uint256,uint256,address,bytes)
_TRANSFER_FROM = bytes.fromhex("23b872dd")
_FORM = 'calls are pairs of target and calldata: `[("USDC", token.approve.encode(spender, amount)), …]`'


class FlashLoan(NamedTuple):
    """Repaid flash loan and its cost."""

    receipt: Receipt
    premium: int


def flash_borrower(fork: Fork) -> bytes:
    """Return the helper contract that takes flash loans, deployed on first use."""
    if not fork.code(_PLACE):
        from mayavi.worlds.artifacts import ArtifactStore

        fork.create_at(_PLACE, ArtifactStore().get("FlashBorrower").initcode())
    return _PLACE


def take_flash_loan(
    account: AaveAccount, asset: AddressLike, amount: int, calls: Sequence[Call], sweep: Sequence[AddressLike]
) -> FlashLoan:
    """Implementation of `AaveAccount.flash_loan`."""
    market, fork, sender = account.market, account.market.fork, account.address
    token, amount = market.token(asset), require_positive(amount, "a flash loan")
    made, tokens = _calls(fork, calls), _tokens(fork, sweep)
    premium = (amount * market.flash_loan_premiums.total_bps + 5_000) // 10_000
    with atomic(fork):
        borrower = Contract(flash_borrower(fork), _BORROWER, fork, name="the flash borrower")
        arguments = market.pool.address, token.address, amount, made, tokens

        def act() -> Receipt:
            try:
                receipt: Receipt = borrower.run(*arguments, sender=sender)
            except CallReverted as error:
                calldata = borrower.run.encode(*arguments)
                raise _explain(account, error, token, amount, premium, made, calldata) from None
            return receipt

        # Calls may earn the premium, so an account without it may still succeed.
        offered = premium if not made else min(premium, token.balance_of(sender))
        if token.balance_of(sender) < offered:
            simulate_funded(token, sender, borrower.address, offered, act)
        allowed = spending(fork, token.address, borrower.address, offered, sender) if offered else nullcontext()
        with allowed:
            receipt = act()
    events = market.pool.events(receipt, "FlashLoan")
    return FlashLoan(receipt, sum(event.args.premium for event in events if event.args.target == borrower.address))


def _calls(fork: Fork, calls: Any) -> list[tuple[bytes, bytes]]:
    """Resolve targets; refuse targets without code, to which any call would succeed."""
    if isinstance(calls, str | bytes) or not isinstance(calls, Sequence):
        raise BadArgument(f"the calls of a flash loan are {calls!r}, not a list of calls", _FORM)
    made = []
    for number, call in enumerate(calls, 1):
        if not isinstance(call, Sequence) or isinstance(call, str | bytes) or len(call) != 2:
            raise BadArgument(f"call {number} of the flash loan is {call!r}, not target and calldata", _FORM)
        target, data = fork.address_of(call[0]), to_bytes(call[1], f"calldata of call {number}")
        if not fork.code(target) and any(target[:18]):  # precompiles live at the lowest addresses and have no code
            raise NoCode(
                f"call {number} of the flash loan goes to {checksum(target)}, where no contract stands",
                "check the address and the chain",
            )
        made.append((target, data))
    if len(made) > MOST_CALLS or any(len(data) > LONGEST_CALLDATA for _, data in made):
        raise BadArgument(
            f"a flash loan makes up to {MOST_CALLS} calls of up to {LONGEST_CALLDATA} bytes each",
            "deploy a receiver of your own and call flashLoanSimple of `market.pool`",
        )
    return made


def _tokens(fork: Fork, sweep: Any) -> list[bytes]:
    if isinstance(sweep, str | bytes):
        raise BadArgument(f"sweep is the single token {sweep!r}, not a list", f"give a list: [{sweep!r}]")
    return [fork.address_of(each) for each in sweep]


def _explain(
    account: AaveAccount,
    error: CallReverted,
    token: Erc20,
    amount: int,
    premium: int,
    made: list[tuple[bytes, bytes]],
    calldata: bytes,
) -> CallReverted:
    """Return `error` with the failing call, or with what the calls left short of the repayment."""
    fork = account.market.fork
    frames = fork.trace(_PLACE, calldata, sender=account.address).walk()
    inside = next((each for each in frames if each.to == _PLACE and each.input[:4] == _EXECUTE_OPERATION), None)
    if inside is None:  # the pool did not lend
        cause = insufficient_liquidity(account.market, token.address, amount)
        return with_reason(error, *cause) if cause else explain(account, error, "flashLoanSimple", ())
    done = [each for each in inside.calls if each.kind == "CALL"]  # skip reads and memory copies
    last = done[-1] if done else None
    if last is None or last.success:
        return error
    if len(done) <= len(made):
        where = f"call {len(done)} of {len(made)}, to {fork.name(last.to)}, failed"
        return with_reason(error, f"{where}: {last.revert_reason or last.result}", error.hint)
    if last.to != token.address or last.input[:4] != _TRANSFER_FROM:
        return error
    missing, owned = int.from_bytes(last.input[68:100]), token.balance_of(account.address)
    return with_reason(
        error,
        f"the calls left {token.text(amount + premium - missing)} to pay back {token.text(amount)} and the premium of"
        f" {token.text(premium)}: {token.text(missing)} are missing",
        "the calls have to leave the loan; what is missing of the premium the account pays,"
        f" and it has {token.text(owned)}",
    )
