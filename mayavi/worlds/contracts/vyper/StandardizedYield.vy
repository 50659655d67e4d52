# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Standardized yield (SY) of Pendle for a token that earns
@notice One SY is one yield token. Its exchange rate, the assets behind one SY with 18 decimals, is set by the owner and
        grows linearly from then on, so that YT earns as on chain, where the rate is read from the token. No rewards.
"""
from ethereum.ercs import IERC20

import ledger

initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.nonces,
    ledger.name,
    ledger.symbol,
    ledger.version,
    ledger.decimals,
    ledger.DOMAIN_SEPARATOR,
    ledger.permit,
)

event Deposit:
    caller: indexed(address)
    receiver: indexed(address)
    tokenIn: indexed(address)
    amountDeposited: uint256
    amountSyOut: uint256

event Redeem:
    caller: indexed(address)
    receiver: indexed(address)
    tokenOut: indexed(address)
    amountSyToRedeem: uint256
    amountTokenOut: uint256

YEAR: constant(uint256) = 365 * 86400
ONE: constant(uint256) = 10**18
LOW_64: constant(uint256) = 2**64 - 1
LOW_128: constant(uint256) = 2**128 - 1

yieldToken: public(immutable(address))
_asset: immutable(address)
_asset_decimals: immutable(uint8)

owner: public(address)
# One word, so that the rate costs one read: rate in the low 128 bits, its growth in 64, the time it was set in 64.
_rate: uint256


@deploy
def __init__(
    name: String[64],
    symbol: String[32],
    decimals: uint8,
    yield_token: address,
    asset: address,
    asset_decimals: uint8,
    rate: uint256,
    growth_per_year: uint256,
    owner: address,
):
    """
    @param rate Assets behind one SY now, both in smallest units, times 10**18
    @param growth_per_year Growth of the rate in a year, of the rate now, with 18 decimals
    """
    ledger.__init__(name, symbol, decimals, "1", self)
    yieldToken = yield_token
    _asset = asset
    _asset_decimals = asset_decimals
    self.owner = owner
    self._set_rate(rate, growth_per_year)


@external
def set_rate(rate: uint256, growth_per_year: uint256):
    assert msg.sender == self.owner, "set_rate: caller is not the owner"
    self._set_rate(rate, growth_per_year)


@internal
def _set_rate(rate: uint256, growth_per_year: uint256):
    assert 0 < rate and rate <= LOW_128, "set_rate: the rate is above zero, and below 2**128"
    assert growth_per_year <= LOW_64, "set_rate: the growth is below 1844 % a year"
    self._rate = rate | (growth_per_year << 128) | (block.timestamp << 192)


@external
@view
def rate() -> uint256:
    return self._rate & LOW_128


@external
@view
def growth_per_year() -> uint256:
    return (self._rate >> 128) & LOW_64


@external
@view
def rate_since() -> uint256:
    return self._rate >> 192


@external
@view
def exchangeRate() -> uint256:
    packed: uint256 = self._rate
    rate: uint256 = packed & LOW_128
    growth_per_year: uint256 = (packed >> 128) & LOW_64
    grown: uint256 = growth_per_year * (block.timestamp - (packed >> 192)) // YEAR
    return rate + rate * grown // ONE


@external
def deposit(receiver: address, tokenIn: address, amountTokenToDeposit: uint256, minSharesOut: uint256) -> uint256:
    assert tokenIn == yieldToken, "deposit: the SY takes its yield token alone"
    assert amountTokenToDeposit > 0, "deposit: the amount is zero"
    assert amountTokenToDeposit >= minSharesOut, "deposit: less SY than asked for"
    extcall IERC20(tokenIn).transferFrom(msg.sender, self, amountTokenToDeposit, default_return_value=True)
    ledger.totalSupply += amountTokenToDeposit
    ledger.balanceOf[receiver] += amountTokenToDeposit
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=amountTokenToDeposit)
    log Deposit(
        caller=msg.sender,
        receiver=receiver,
        tokenIn=tokenIn,
        amountDeposited=amountTokenToDeposit,
        amountSyOut=amountTokenToDeposit,
    )
    return amountTokenToDeposit


@external
def redeem(
    receiver: address,
    amountSharesToRedeem: uint256,
    tokenOut: address,
    minTokenOut: uint256,
    burnFromInternalBalance: bool,
) -> uint256:
    assert tokenOut == yieldToken, "redeem: the SY pays its yield token alone"
    assert amountSharesToRedeem > 0, "redeem: the amount is zero"
    assert amountSharesToRedeem >= minTokenOut, "redeem: less than asked for"
    holder: address = self if burnFromInternalBalance else msg.sender
    ledger._transfer(holder, empty(address), amountSharesToRedeem)
    ledger.balanceOf[empty(address)] -= amountSharesToRedeem
    ledger.totalSupply -= amountSharesToRedeem
    extcall IERC20(tokenOut).transfer(receiver, amountSharesToRedeem, default_return_value=True)
    log Redeem(
        caller=msg.sender,
        receiver=receiver,
        tokenOut=tokenOut,
        amountSyToRedeem=amountSharesToRedeem,
        amountTokenOut=amountSharesToRedeem,
    )
    return amountSharesToRedeem


@external
def transfer(receiver: address, amount: uint256) -> bool:
    ledger._transfer(msg.sender, receiver, amount)
    return True


@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> bool:
    ledger._spend(sender, msg.sender, amount)
    ledger._transfer(sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    ledger._approve(msg.sender, spender, amount)
    return True


@external
@view
def assetInfo() -> (uint8, address, uint8):
    return 0, _asset, _asset_decimals


@external
@view
def getTokensIn() -> DynArray[address, 1]:
    return [yieldToken]


@external
@view
def getTokensOut() -> DynArray[address, 1]:
    return [yieldToken]


@external
@view
def isValidTokenIn(token: address) -> bool:
    return token == yieldToken


@external
@view
def isValidTokenOut(token: address) -> bool:
    return token == yieldToken


@external
@view
def previewDeposit(tokenIn: address, amountTokenToDeposit: uint256) -> uint256:
    assert tokenIn == yieldToken, "previewDeposit: the SY takes its yield token alone"
    return amountTokenToDeposit


@external
@view
def previewRedeem(tokenOut: address, amountSharesToRedeem: uint256) -> uint256:
    assert tokenOut == yieldToken, "previewRedeem: the SY pays its yield token alone"
    return amountSharesToRedeem


@external
@view
def getRewardTokens() -> DynArray[address, 1]:
    return []


@external
def claimRewards(user: address) -> DynArray[uint256, 1]:
    return []


@external
@view
def accruedRewards(user: address) -> DynArray[uint256, 1]:
    return []


@external
def rewardIndexesCurrent() -> DynArray[uint256, 1]:
    return []


@external
@view
def rewardIndexesStored() -> DynArray[uint256, 1]:
    return []
