# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Takes an Aave V3 flash loan, makes calls with it, pays it back
@notice `run` borrows for the account that calls it. While the borrowed tokens are here, each call is made from here in
        order. What is then missing for loan and premium is taken from that account, which has to allow it; what remains
        of the tokens named is sent to it. Between two runs the contract holds nothing.
"""
from ethereum.ercs import IERC20

interface Pool:
    def flashLoanSimple(
        receiver: address, asset: address, amount: uint256, params: Bytes[MAX_PARAMS], referral_code: uint16
    ): nonpayable

struct Call:
    target: address
    data: Bytes[1024]

MAX_CALLS: constant(uint256) = 16
MAX_PARAMS: constant(uint256) = 64 + MAX_CALLS * (1024 + 4 * 32)

_borrower: address
_pool: address


@external
def run(
    pool: address,
    asset: address,
    amount: uint256,
    calls: DynArray[Call, MAX_CALLS],
    tokens: DynArray[address, MAX_CALLS],
):
    """
    @param tokens what is left of these at the end goes to the caller; the borrowed one need not be named
    """
    assert self._borrower == empty(address), "run: a loan is running"
    self._borrower = msg.sender
    self._pool = pool
    extcall Pool(pool).flashLoanSimple(self, asset, amount, abi_encode(calls), 0)
    self._borrower = empty(address)
    self._pool = empty(address)
    self._sweep(asset, msg.sender)
    for token: address in tokens:
        self._sweep(token, msg.sender)


@external
def executeOperation(
    asset: address, amount: uint256, premium: uint256, initiator: address, params: Bytes[MAX_PARAMS]
) -> bool:
    assert msg.sender == self._pool and initiator == self, "executeOperation: no loan of ours"
    calls: DynArray[Call, MAX_CALLS] = abi_decode(params, DynArray[Call, MAX_CALLS])
    for each: Call in calls:
        raw_call(each.target, each.data)
    owed: uint256 = amount + premium
    there: uint256 = staticcall IERC20(asset).balanceOf(self)
    if there < owed:
        extcall IERC20(asset).transferFrom(self._borrower, self, owed - there, default_return_value=True)
    self._allow(asset, msg.sender, owed)
    return True


@internal
def _allow(token: address, spender: address, amount: uint256):
    # A loan takes all that was allowed, so nothing has to be reset first.
    extcall IERC20(token).approve(spender, amount, default_return_value=True)


@internal
def _sweep(token: address, receiver: address):
    rest: uint256 = staticcall IERC20(token).balanceOf(self)
    if rest > 0:
        extcall IERC20(token).transfer(receiver, rest, default_return_value=True)
