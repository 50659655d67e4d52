# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title StableSwap pool of three coins
@notice The functions and events with one entry a coin; `stableswap` has all others and does the work.
"""
import stableswap

initializes: stableswap

exports: stableswap.__interface__

COINS: constant(uint256) = 3

event AddLiquidity:
    provider: indexed(address)
    token_amounts: uint256[COINS]
    fees: uint256[COINS]
    invariant: uint256
    token_supply: uint256

event RemoveLiquidity:
    provider: indexed(address)
    token_amounts: uint256[COINS]
    fees: uint256[COINS]
    token_supply: uint256

event RemoveLiquidityImbalance:
    provider: indexed(address)
    token_amounts: uint256[COINS]
    fees: uint256[COINS]
    invariant: uint256
    token_supply: uint256


@deploy
def __init__(
    owner: address,
    coins: address[COINS],
    lp_token: address,
    A: uint256,
    fee: uint256,
    admin_fee: uint256,
    measured_coin: uint256,
    kill_deadline: uint256,
):
    listed: DynArray[address, stableswap.MAX_COINS] = []
    for coin: address in coins:
        listed.append(coin)
    stableswap.__init__(owner, listed, lp_token, A, fee, admin_fee, measured_coin, kill_deadline)


@external
@view
def calc_token_amount(amounts: uint256[COINS], deposit: bool) -> uint256:
    """
    @notice The shares that a deposit or a withdrawal of `amounts` moves, without fees.
    """
    return stableswap._shares_for(self._listed(amounts), deposit)


@external
@nonreentrant
def add_liquidity(amounts: uint256[COINS], min_mint_amount: uint256):
    done: stableswap.Outcome = stableswap._add(self._listed(amounts), min_mint_amount)
    log AddLiquidity(
        provider=msg.sender,
        token_amounts=amounts,
        fees=self._fixed(done.fees),
        invariant=done.invariant,
        token_supply=done.supply,
    )


@external
@nonreentrant
def remove_liquidity(amount: uint256, min_amounts: uint256[COINS]):
    amounts: DynArray[uint256, stableswap.MAX_COINS] = []
    supply: uint256 = 0
    amounts, supply = stableswap._remove(amount, self._listed(min_amounts))
    log RemoveLiquidity(
        provider=msg.sender,
        token_amounts=self._fixed(amounts),
        fees=empty(uint256[COINS]),
        token_supply=supply,
    )


@external
@nonreentrant
def remove_liquidity_imbalance(amounts: uint256[COINS], max_burn_amount: uint256):
    done: stableswap.Outcome = stableswap._remove_exactly(self._listed(amounts), max_burn_amount)
    log RemoveLiquidityImbalance(
        provider=msg.sender,
        token_amounts=amounts,
        fees=self._fixed(done.fees),
        invariant=done.invariant,
        token_supply=done.supply,
    )


@internal
@pure
def _listed(amounts: uint256[COINS]) -> DynArray[uint256, stableswap.MAX_COINS]:
    found: DynArray[uint256, stableswap.MAX_COINS] = []
    for amount: uint256 in amounts:
        found.append(amount)
    return found


@internal
@pure
def _fixed(amounts: DynArray[uint256, stableswap.MAX_COINS]) -> uint256[COINS]:
    found: uint256[COINS] = empty(uint256[COINS])
    for i: uint256 in range(COINS):
        found[i] = amounts[i]
    return found
