# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Takes a flash loan of Morpho Blue, makes calls with it, pays it back
@notice `run` borrows for the account that calls it. While the borrowed tokens are here, each call is made from here in
        order. What is then missing is taken from that account, which has to allow it; what remains of the tokens named
        is sent to it. The loan is free. Between two runs the contract holds nothing.
"""
from ethereum.ercs import IERC20

interface Morpho:
    def flashLoan(token: address, assets: uint256, data: Bytes[MAX_PARAMS]): nonpayable

struct Call:
    target: address
    data: Bytes[1024]

MAX_CALLS: constant(uint256) = 16
MAX_PARAMS: constant(uint256) = 64 + MAX_CALLS * (1024 + 4 * 32)

_borrower: address
_morpho: address
_asset: address


@external
def run(
    morpho: address,
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
    self._morpho = morpho
    self._asset = asset
    extcall Morpho(morpho).flashLoan(asset, amount, abi_encode(calls))
    self._borrower = empty(address)
    self._morpho = empty(address)
    self._asset = empty(address)
    self._sweep(asset, msg.sender)
    for token: address in tokens:
        self._sweep(token, msg.sender)


@external
def onMorphoFlashLoan(assets: uint256, data: Bytes[MAX_PARAMS]):
    assert msg.sender == self._morpho, "onMorphoFlashLoan: no loan of ours"
    calls: DynArray[Call, MAX_CALLS] = abi_decode(data, DynArray[Call, MAX_CALLS])
    for each: Call in calls:
        raw_call(each.target, each.data)
    asset: address = self._asset
    there: uint256 = staticcall IERC20(asset).balanceOf(self)
    if there < assets:
        extcall IERC20(asset).transferFrom(self._borrower, self, assets - there, default_return_value=True)
    extcall IERC20(asset).approve(msg.sender, assets, default_return_value=True)


@internal
def _sweep(token: address, receiver: address):
    rest: uint256 = staticcall IERC20(token).balanceOf(self)
    if rest > 0:
        extcall IERC20(token).transfer(receiver, rest, default_return_value=True)
