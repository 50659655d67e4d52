# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Pausing the actions of a Comet market
@notice A module, not a contract. The flags share the word of the totals, one bit an action.
"""
import comet_config as config
import comet_ledger as ledger

uses: config
uses: ledger

event PauseAction:
    supplyPaused: bool
    transferPaused: bool
    withdrawPaused: bool
    absorbPaused: bool
    buyPaused: bool

SUPPLY: constant(uint256) = 0
TRANSFER: constant(uint256) = 1
WITHDRAW: constant(uint256) = 2
ABSORB: constant(uint256) = 3
BUY: constant(uint256) = 4


@external
def pause(supplyPaused: bool, transferPaused: bool, withdrawPaused: bool, absorbPaused: bool, buyPaused: bool):
    if msg.sender != config.governor and msg.sender != config.pauseGuardian:
        raw_revert(method_id("Unauthorized()"))
    flags: uint256 = (
        (convert(supplyPaused, uint256) << SUPPLY)
        | (convert(transferPaused, uint256) << TRANSFER)
        | (convert(withdrawPaused, uint256) << WITHDRAW)
        | (convert(absorbPaused, uint256) << ABSORB)
        | (convert(buyPaused, uint256) << BUY)
    )
    ledger._totals = (ledger._totals & (2**ledger.PAUSE_FLAGS - 1)) | (flags << ledger.PAUSE_FLAGS)
    log PauseAction(
        supplyPaused=supplyPaused,
        transferPaused=transferPaused,
        withdrawPaused=withdrawPaused,
        absorbPaused=absorbPaused,
        buyPaused=buyPaused,
    )


@external
@view
def isSupplyPaused() -> bool:
    return self._is_paused(SUPPLY)


@external
@view
def isTransferPaused() -> bool:
    return self._is_paused(TRANSFER)


@external
@view
def isWithdrawPaused() -> bool:
    return self._is_paused(WITHDRAW)


@external
@view
def isAbsorbPaused() -> bool:
    return self._is_paused(ABSORB)


@external
@view
def isBuyPaused() -> bool:
    return self._is_paused(BUY)


@internal
@view
def _is_paused(action: uint256) -> bool:
    return (ledger._totals >> (ledger.PAUSE_FLAGS + action)) & 1 == 1


@internal
@view
def _require_open(action: uint256):
    if self._is_paused(action):
        raw_revert(method_id("Paused()"))
