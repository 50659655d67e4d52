# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title A pool of pegged coins on the StableSwap invariant
@notice A module, not a contract: everything but the functions and events whose types hold one entry a coin, which
        `StableSwap2` and `StableSwap3` add. Written from the StableSwap paper, the public documentation and the observed
        behaviour of Curve's 3pool; tests/contracts/test_stableswap_against_mainnet.py holds it against that pool's own
        bytecode.

        Shares are an LP token that the pool mints and burns. Fees count 1e-10; the administrator's part of them stays
        in the contract, outside of `balances`, until it is withdrawn.
"""
from ethereum.ercs import IERC20
from ethereum.ercs import IERC20Detailed

import stableswap_math

interface LpToken:
    def totalSupply() -> uint256: view
    def mint(receiver: address, amount: uint256) -> bool: nonpayable
    def burnFrom(holder: address, amount: uint256) -> bool: nonpayable

event TokenExchange:
    buyer: indexed(address)
    sold_id: int128
    tokens_sold: uint256
    bought_id: int128
    tokens_bought: uint256

event RemoveLiquidityOne:
    provider: indexed(address)
    token_amount: uint256
    coin_amount: uint256

event CommitNewAdmin:
    deadline: indexed(uint256)
    admin: indexed(address)

event NewAdmin:
    admin: indexed(address)

event CommitNewFee:
    deadline: indexed(uint256)
    fee: uint256
    admin_fee: uint256

event NewFee:
    fee: uint256
    admin_fee: uint256

event RampA:
    old_A: uint256
    new_A: uint256
    initial_time: uint256
    future_time: uint256

event StopRampA:
    A: uint256
    t: uint256

struct Outcome:
    # What a change of liquidity charged for each coin, the invariant before those fees, and the shares there are now.
    fees: DynArray[uint256, MAX_COINS]
    invariant: uint256
    supply: uint256

MAX_COINS: constant(uint256) = 3
ONE: constant(uint256) = 10**18
FEE_UNIT: constant(uint256) = 10**10
MAX_FEE: constant(uint256) = 5 * 10**9
MAX_ADMIN_FEE: constant(uint256) = 10**10
MAX_A: constant(uint256) = 10**6
MAX_A_CHANGE: constant(uint256) = 10
MIN_RAMP_SECONDS: constant(uint256) = 86400
ADMIN_DELAY_SECONDS: constant(uint256) = 3 * 86400

coins: public(DynArray[address, MAX_COINS])
balances: public(DynArray[uint256, MAX_COINS])
# An amount times its coin's rate, over ONE, has 18 decimals.
_rates: DynArray[uint256, MAX_COINS]
_lp_token: LpToken
# The coin that may take a fee on transfer: what arrives of it is measured. None where it is no index of a coin.
_measured_coin: uint256

owner: public(address)
fee: public(uint256)
admin_fee: public(uint256)
initial_A: public(uint256)
future_A: public(uint256)
initial_A_time: public(uint256)
future_A_time: public(uint256)

admin_actions_deadline: public(uint256)
transfer_ownership_deadline: public(uint256)
future_fee: public(uint256)
future_admin_fee: public(uint256)
future_owner: public(address)

_killed: bool
_kill_deadline: uint256


@deploy
def __init__(
    owner: address,
    coins: DynArray[address, MAX_COINS],
    lp_token: address,
    A: uint256,
    fee: uint256,
    admin_fee: uint256,
    measured_coin: uint256,
    kill_deadline: uint256,
):
    for coin: address in coins:
        assert coin != empty(address), "a coin is missing"
        self._rates.append(10 ** (36 - convert(staticcall IERC20Detailed(coin).decimals(), uint256)))
        self.balances.append(0)
    self.coins = coins
    self.owner = owner
    self.fee = fee
    self.admin_fee = admin_fee
    self.initial_A = A
    self.future_A = A
    self._lp_token = LpToken(lp_token)
    self._measured_coin = measured_coin
    self._kill_deadline = kill_deadline


# -- prices -----------------------------------------------------------------------------------------------------------


@external
@view
def A() -> uint256:
    return self._amp()


@external
@view
def get_virtual_price() -> uint256:
    """
    @notice The invariant of one share, with 18 decimals: what a share is worth while all coins are at par.
    """
    return self._pool_invariant(self._amp()) * ONE // self._supply()


@external
@view
def get_dy(i: int128, j: int128, dx: uint256) -> uint256:
    """
    @notice What `exchange` gives for `dx` of coin `i`, or one smallest unit more: it takes the fee before it rounds to
            the coin's decimals, and this after.
    """
    sold: uint256 = convert(i, uint256)
    bought: uint256 = convert(j, uint256)
    dy: uint256 = self._bought(sold, bought, dx * self._rates[sold] // ONE) * ONE // self._rates[bought]
    return dy - self.fee * dy // FEE_UNIT


@external
@view
def get_dy_underlying(i: int128, j: int128, dx: uint256) -> uint256:
    """
    @notice The same as `get_dy`, since the coins of a plain pool have nothing underlying; only an overflow is further
            away.
    """
    sold: uint256 = convert(i, uint256)
    bought: uint256 = convert(j, uint256)
    dy: uint256 = self._bought(sold, bought, dx * self._unit(sold)) // self._unit(bought)
    return dy - self.fee * dy // FEE_UNIT


@external
@view
def calc_withdraw_one_coin(token_amount: uint256, i: int128) -> uint256:
    """
    @notice What `remove_liquidity_one_coin` gives, fees included.
    """
    return self._one_coin(token_amount, convert(i, uint256))[0]


@external
@view
def admin_balances(i: uint256) -> uint256:
    """
    @notice What the pool holds of a coin beyond what belongs to its shares.
    """
    return self._held(self.coins[i]) - self.balances[i]


# -- trading ----------------------------------------------------------------------------------------------------------


@external
@nonreentrant
def exchange(i: int128, j: int128, dx: uint256, min_dy: uint256):
    self._check_alive()
    sold: uint256 = convert(i, uint256)
    bought: uint256 = convert(j, uint256)
    arrived: uint256 = self._pull(sold, dx)
    gross: uint256 = self._bought(sold, bought, arrived * self._rates[sold] // ONE)
    fee: uint256 = gross * self.fee // FEE_UNIT
    rate: uint256 = self._rates[bought]
    dy: uint256 = (gross - fee) * ONE // rate
    assert dy >= min_dy, "exchange: fewer coins than expected"
    self.balances[sold] += arrived
    self.balances[bought] -= dy + (fee * self.admin_fee // FEE_UNIT) * ONE // rate
    self._push(bought, dy)
    log TokenExchange(buyer=msg.sender, sold_id=i, tokens_sold=dx, bought_id=j, tokens_bought=dy)


@external
@nonreentrant
def remove_liquidity_one_coin(token_amount: uint256, i: int128, min_amount: uint256):
    self._check_alive()
    coin: uint256 = convert(i, uint256)
    dy: uint256 = 0
    fee: uint256 = 0
    dy, fee = self._one_coin(token_amount, coin)
    assert dy >= min_amount, "remove_liquidity_one_coin: fewer coins than expected"
    self.balances[coin] -= dy + fee * self.admin_fee // FEE_UNIT
    self._burn(token_amount)
    self._push(coin, dy)
    log RemoveLiquidityOne(provider=msg.sender, token_amount=token_amount, coin_amount=dy)


@internal
@view
def _shares_for(amounts: DynArray[uint256, MAX_COINS], deposit: bool) -> uint256:
    """
    @notice The shares that a deposit or a withdrawal of `amounts` moves, without fees.
    """
    amp: uint256 = self._amp()
    before: uint256 = self._pool_invariant(amp)
    holdings: DynArray[uint256, MAX_COINS] = self.balances
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        if deposit:
            holdings[i] += amounts[i]
        else:
            holdings[i] -= amounts[i]
    after: uint256 = self._invariant_of(holdings, amp)
    return (after - before if deposit else before - after) * self._supply() // before


@internal
def _add(amounts: DynArray[uint256, MAX_COINS], min_shares: uint256) -> Outcome:
    """
    @notice Take `amounts` in and mint shares for what they add to the invariant, less the fee on imbalance. The first
            deposit must bring some of every coin and is free.
    """
    self._check_alive()
    amp: uint256 = self._amp()
    supply: uint256 = self._supply()
    old: DynArray[uint256, MAX_COINS] = self.balances
    before: uint256 = 0
    if supply > 0:
        before = self._invariant_of(old, amp)
    new: DynArray[uint256, MAX_COINS] = old
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        assert amounts[i] > 0 or supply > 0, "add_liquidity: the first deposit needs every coin"
        if amounts[i] > 0:
            new[i] += self._pull(i, amounts[i])
    outcome: Outcome = Outcome(fees=[], invariant=self._invariant_of(new, amp), supply=0)
    assert outcome.invariant > before, "add_liquidity: nothing was added"
    minted: uint256 = outcome.invariant
    if supply > 0:
        after: uint256 = 0
        outcome.fees, after = self._charge_imbalance(old, new, before, outcome.invariant, amp)
        minted = supply * (after - before) // before
    else:
        self.balances = new
        for _: uint256 in amounts:
            outcome.fees.append(0)
    assert minted >= min_shares, "add_liquidity: fewer shares than expected"
    extcall self._lp_token.mint(msg.sender, minted)
    outcome.supply = supply + minted
    return outcome


@internal
def _remove(shares: uint256, min_amounts: DynArray[uint256, MAX_COINS]) -> (DynArray[uint256, MAX_COINS], uint256):
    """
    @notice Give out every coin in proportion to `shares`: the amounts, and the shares that are left. No fee, and the
            one thing that a killed pool still does.
    """
    supply: uint256 = self._supply()
    amounts: DynArray[uint256, MAX_COINS] = []
    for i: uint256 in range(len(min_amounts), bound=MAX_COINS):
        amount: uint256 = self.balances[i] * shares // supply
        assert amount >= min_amounts[i], "remove_liquidity: fewer coins than expected"
        self.balances[i] -= amount
        amounts.append(amount)
        self._push(i, amount)
    self._burn(shares)
    return amounts, supply - shares


@internal
def _remove_exactly(amounts: DynArray[uint256, MAX_COINS], max_shares: uint256) -> Outcome:
    """
    @notice Give out exactly `amounts` and burn the shares they cost, the fee on imbalance included, rounded up.
    """
    self._check_alive()
    amp: uint256 = self._amp()
    supply: uint256 = self._supply()
    assert supply > 0, "remove_liquidity_imbalance: the pool is empty"
    old: DynArray[uint256, MAX_COINS] = self.balances
    new: DynArray[uint256, MAX_COINS] = old
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        new[i] -= amounts[i]
    before: uint256 = self._invariant_of(old, amp)
    outcome: Outcome = Outcome(fees=[], invariant=self._invariant_of(new, amp), supply=0)
    after: uint256 = 0
    outcome.fees, after = self._charge_imbalance(old, new, before, outcome.invariant, amp)
    shares: uint256 = (before - after) * supply // before
    assert shares > 0, "remove_liquidity_imbalance: no shares burned"
    shares += 1
    assert shares <= max_shares, "remove_liquidity_imbalance: more shares than expected"
    self._burn(shares)
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        if amounts[i] > 0:
            self._push(i, amounts[i])
    outcome.supply = supply - shares
    return outcome


@internal
def _charge_imbalance(
    old: DynArray[uint256, MAX_COINS],
    new: DynArray[uint256, MAX_COINS],
    before: uint256,
    after: uint256,
    amp: uint256,
) -> (DynArray[uint256, MAX_COINS], uint256):
    """
    @notice Book the balances `new`, less the administrator's part of the fees on how far each coin is from what a
            change in proportion would have made of it. Gives the fees and the invariant without any of them.
    """
    rate: uint256 = self._imbalance_fee()
    fees: DynArray[uint256, MAX_COINS] = []
    rest: DynArray[uint256, MAX_COINS] = new
    for i: uint256 in range(len(old), bound=MAX_COINS):
        ideal: uint256 = after * old[i] // before
        fee: uint256 = rate * stableswap_math._distance(ideal, new[i]) // FEE_UNIT
        fees.append(fee)
        self.balances[i] = new[i] - fee * self.admin_fee // FEE_UNIT
        rest[i] -= fee
    return fees, self._invariant_of(rest, amp)


@internal
@view
def _bought(sold: uint256, bought: uint256, added: uint256) -> uint256:
    """
    @notice What `added` of one coin frees of another at the same invariant, both with 18 decimals, before fees. One
            less than computed, so that rounding never favours the buyer.
    """
    assert sold != bought, "the same coin twice"
    amp: uint256 = self._amp()
    amounts: DynArray[uint256, MAX_COINS] = self._normalised(self.balances)
    d: uint256 = stableswap_math._invariant(amounts, amp)
    amounts[sold] += added
    return amounts[bought] - stableswap_math._amount_of(bought, amounts, d, amp) - 1


@internal
@view
def _one_coin(shares: uint256, coin: uint256) -> (uint256, uint256):
    """
    @notice What `shares` give in `coin` alone, and the fee in it.
    """
    amp: uint256 = self._amp()
    supply: uint256 = self._supply()
    amounts: DynArray[uint256, MAX_COINS] = self._normalised(self.balances)
    before: uint256 = stableswap_math._invariant(amounts, amp)
    after: uint256 = before - shares * before // supply
    free: uint256 = stableswap_math._amount_of(coin, amounts, after, amp)
    unit: uint256 = self._unit(coin)
    without_fee: uint256 = (amounts[coin] - free) // unit
    rate: uint256 = self._imbalance_fee()
    charged: DynArray[uint256, MAX_COINS] = amounts
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        ideal: uint256 = amounts[i] * after // before
        moved: uint256 = ideal - free if i == coin else amounts[i] - ideal
        charged[i] -= rate * moved // FEE_UNIT
    dy: uint256 = (charged[coin] - stableswap_math._amount_of(coin, charged, after, amp) - 1) // unit
    return dy, without_fee - dy


# -- administration ---------------------------------------------------------------------------------------------------


@external
def ramp_A(future_A: uint256, future_time: uint256):
    """
    @notice Let A move in a straight line to `future_A` until `future_time`, a day or more away, by a factor of ten at
            most.
    """
    self._check_owner()
    assert block.timestamp >= self.initial_A_time + MIN_RAMP_SECONDS, "ramp_A: the last ramp began within a day"
    assert future_time >= block.timestamp + MIN_RAMP_SECONDS, "ramp_A: a ramp takes a day or more"
    assert future_A > 0 and future_A < MAX_A, "ramp_A: A is out of range"
    current: uint256 = self._amp()
    assert future_A <= current * MAX_A_CHANGE and current <= future_A * MAX_A_CHANGE, "ramp_A: A would change too much"
    self.initial_A = current
    self.future_A = future_A
    self.initial_A_time = block.timestamp
    self.future_A_time = future_time
    log RampA(old_A=current, new_A=future_A, initial_time=block.timestamp, future_time=future_time)


@external
def stop_ramp_A():
    self._check_owner()
    current: uint256 = self._amp()
    self.initial_A = current
    self.future_A = current
    self.initial_A_time = block.timestamp
    self.future_A_time = block.timestamp
    log StopRampA(A=current, t=block.timestamp)


@external
def commit_new_fee(new_fee: uint256, new_admin_fee: uint256):
    self._check_owner()
    assert self.admin_actions_deadline == 0, "commit_new_fee: one is waiting already"
    assert new_fee <= MAX_FEE and new_admin_fee <= MAX_ADMIN_FEE, "commit_new_fee: a fee exceeds its maximum"
    deadline: uint256 = block.timestamp + ADMIN_DELAY_SECONDS
    self.admin_actions_deadline = deadline
    self.future_fee = new_fee
    self.future_admin_fee = new_admin_fee
    log CommitNewFee(deadline=deadline, fee=new_fee, admin_fee=new_admin_fee)


@external
def apply_new_fee():
    self._check_owner()
    self._check_due(self.admin_actions_deadline)
    self.admin_actions_deadline = 0
    self.fee = self.future_fee
    self.admin_fee = self.future_admin_fee
    log NewFee(fee=self.fee, admin_fee=self.admin_fee)


@external
def revert_new_parameters():
    self._check_owner()
    self.admin_actions_deadline = 0


@external
def commit_transfer_ownership(new_owner: address):
    self._check_owner()
    assert self.transfer_ownership_deadline == 0, "commit_transfer_ownership: one is waiting already"
    deadline: uint256 = block.timestamp + ADMIN_DELAY_SECONDS
    self.transfer_ownership_deadline = deadline
    self.future_owner = new_owner
    log CommitNewAdmin(deadline=deadline, admin=new_owner)


@external
def apply_transfer_ownership():
    self._check_owner()
    self._check_due(self.transfer_ownership_deadline)
    self.transfer_ownership_deadline = 0
    self.owner = self.future_owner
    log NewAdmin(admin=self.owner)


@external
def revert_transfer_ownership():
    self._check_owner()
    self.transfer_ownership_deadline = 0


@external
def withdraw_admin_fees():
    self._check_owner()
    for i: uint256 in range(len(self.coins), bound=MAX_COINS):
        amount: uint256 = self._held(self.coins[i]) - self.balances[i]
        if amount > 0:
            self._push(i, amount)


@external
def donate_admin_fees():
    """
    @notice Give the administrator's fees, and whatever else was sent to the pool, to its shares.
    """
    self._check_owner()
    for i: uint256 in range(len(self.coins), bound=MAX_COINS):
        self.balances[i] = self._held(self.coins[i])


@external
def kill_me():
    self._check_owner()
    assert block.timestamp < self._kill_deadline, "kill_me: the time to kill has passed"
    self._killed = True


@external
def unkill_me():
    self._check_owner()
    self._killed = False


# -- what the rest stands on ------------------------------------------------------------------------------------------


@internal
@view
def _amp() -> uint256:
    to: uint256 = self.future_A
    end: uint256 = self.future_A_time
    if block.timestamp >= end:
        return to
    start: uint256 = self.initial_A_time
    origin: uint256 = self.initial_A
    moved: uint256 = stableswap_math._distance(to, origin) * (block.timestamp - start) // (end - start)
    return origin + moved if to > origin else origin - moved


@internal
@view
def _unit(coin: uint256) -> uint256:
    """
    @notice A coin's smallest unit, with 18 decimals.
    """
    return self._rates[coin] // ONE


@internal
@view
def _normalised(amounts: DynArray[uint256, MAX_COINS]) -> DynArray[uint256, MAX_COINS]:
    found: DynArray[uint256, MAX_COINS] = []
    for i: uint256 in range(len(amounts), bound=MAX_COINS):
        found.append(amounts[i] * self._rates[i] // ONE)
    return found


@internal
@view
def _invariant_of(amounts: DynArray[uint256, MAX_COINS], amp: uint256) -> uint256:
    return stableswap_math._invariant(self._normalised(amounts), amp)


@internal
@view
def _pool_invariant(amp: uint256) -> uint256:
    return self._invariant_of(self.balances, amp)


@internal
@view
def _imbalance_fee() -> uint256:
    # A deposit of one coin is a deposit of all and n - 1 exchanges of half of it: the two ways cost the same.
    n: uint256 = len(self.coins)
    return self.fee * n // (4 * (n - 1))


@internal
@view
def _supply() -> uint256:
    return staticcall self._lp_token.totalSupply()


@internal
@view
def _held(coin: address) -> uint256:
    return staticcall IERC20(coin).balanceOf(self)


@internal
def _burn(shares: uint256):
    extcall self._lp_token.burnFrom(msg.sender, shares)


@internal
def _pull(i: uint256, amount: uint256) -> uint256:
    """
    @notice Take `amount` of coin `i` from the caller: what arrived. A token that returns nothing has succeeded.
    """
    coin: address = self.coins[i]
    before: uint256 = 0
    if i == self._measured_coin:
        before = self._held(coin)
    assert extcall IERC20(coin).transferFrom(
        msg.sender, self, amount, skip_contract_check=True, default_return_value=True
    ), "the coin's transferFrom failed"
    return self._held(coin) - before if i == self._measured_coin else amount


@internal
def _push(i: uint256, amount: uint256):
    assert extcall IERC20(self.coins[i]).transfer(
        msg.sender, amount, skip_contract_check=True, default_return_value=True
    ), "the coin's transfer failed"


@internal
@view
def _check_alive():
    assert not self._killed, "the pool is killed"


@internal
@view
def _check_owner():
    assert msg.sender == self.owner, "caller is not the owner"


@internal
@view
def _check_due(deadline: uint256):
    assert deadline != 0, "nothing is waiting"
    assert block.timestamp >= deadline, "the delay has not passed"
