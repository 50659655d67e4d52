# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Swaps on Uniswap V4 over one or more pools
@notice Takes the input from the caller, who has to approve it, or from the ether sent along; sends the output to the
        recipient and ether that is left to the caller. The wrapped coin stands for ether at either end of a route where
        the pool there trades ether. Between two swaps the contract holds nothing.
@dev A swap that cannot use up its exact amount reverts, unless it has a price limit, which needs a single pool.
"""
from ethereum.ercs import IERC20

struct PoolKey:
    currency0: address
    currency1: address
    fee: uint24
    tickSpacing: int24
    hooks: address

struct SwapParams:
    zeroForOne: bool
    amountSpecified: int256
    sqrtPriceLimitX96: uint160

struct Order:
    payer: address
    recipient: address
    currency_in: address
    currency_out: address
    keys: DynArray[PoolKey, MAX_POOLS]
    amount: uint256
    exact_input: bool
    limit: uint160

interface Wrapped:
    def deposit(): payable
    def withdraw(amount: uint256): nonpayable

interface PoolManager:
    def unlock(data: Bytes[MAX_ORDER]) -> Bytes[128]: nonpayable
    def swap(key: PoolKey, params: SwapParams, hook_data: Bytes[32]) -> int256: nonpayable
    def sync(currency: address): nonpayable
    def settle() -> uint256: payable
    def take(currency: address, to: address, amount: uint256): nonpayable

MAX_POOLS: constant(uint256) = 8
MAX_ORDER: constant(uint256) = 32 * (17 + 5 * MAX_POOLS)
LOWEST_LIMIT: constant(uint160) = 4295128740
HIGHEST_LIMIT: constant(uint160) = 1461446703485210103287273052203988822378723970341
HALF: constant(uint256) = 2**128

manager: public(immutable(address))
wrapped: public(immutable(address))


@deploy
def __init__(pool_manager: address, wrapped_coin: address):
    manager = pool_manager
    wrapped = wrapped_coin


@external
@payable
def __default__():
    pass  # ether from the manager and the wrapped coin


@external
@payable
def swap_exact_input(
    keys: DynArray[PoolKey, MAX_POOLS],
    currency_in: address,
    currency_out: address,
    amount_in: uint256,
    least_out: uint256,
    recipient: address,
    deadline: uint256,
    sqrt_price_limit_x96: uint160,
) -> (uint256, uint256):
    """
    @return Amounts paid and received
    """
    paid: uint256 = 0
    received: uint256 = 0
    paid, received = self._swap(
        keys, currency_in, currency_out, amount_in, True, recipient, deadline, sqrt_price_limit_x96
    )
    assert received >= least_out, "Too little received"
    return paid, received


@external
@payable
def swap_exact_output(
    keys: DynArray[PoolKey, MAX_POOLS],
    currency_in: address,
    currency_out: address,
    amount_out: uint256,
    most_in: uint256,
    recipient: address,
    deadline: uint256,
    sqrt_price_limit_x96: uint160,
) -> (uint256, uint256):
    """
    @return Amounts paid and received
    """
    paid: uint256 = 0
    received: uint256 = 0
    paid, received = self._swap(
        keys, currency_in, currency_out, amount_out, False, recipient, deadline, sqrt_price_limit_x96
    )
    assert paid <= most_in, "Too much requested"
    return paid, received


@internal
def _swap(
    keys: DynArray[PoolKey, MAX_POOLS],
    currency_in: address,
    currency_out: address,
    amount: uint256,
    exact_input: bool,
    recipient: address,
    deadline: uint256,
    limit: uint160,
) -> (uint256, uint256):
    assert block.timestamp <= deadline, "Transaction too old"
    assert len(keys) > 0 and (limit == 0 or len(keys) == 1), "a price limit needs a single pool"
    order: Order = Order(
        payer=msg.sender,
        recipient=recipient,
        currency_in=currency_in,
        currency_out=currency_out,
        keys=keys,
        amount=amount,
        exact_input=exact_input,
        limit=limit,
    )
    answer: Bytes[128] = extcall PoolManager(manager).unlock(abi_encode(order))
    if self.balance > 0:
        raw_call(msg.sender, b"", value=self.balance)
    return abi_decode(answer, (uint256, uint256))


@external
def unlockCallback(data: Bytes[MAX_ORDER]) -> Bytes[64]:
    assert msg.sender == manager, "unlockCallback: caller is not the pool manager"
    order: Order = abi_decode(data, Order)
    first: address = order.currency_in
    if first == wrapped and order.keys[0].currency0 == empty(address) and order.keys[0].currency1 != wrapped:
        first = empty(address)
    paid: uint256 = 0
    received: uint256 = 0
    last: address = empty(address)
    paid, received, last = self._trade(order, first)
    self._pay(order, first, paid)
    if last == order.currency_out:
        extcall PoolManager(manager).take(last, order.recipient, received)
    else:
        assert last == empty(address) and order.currency_out == wrapped, "the route ends in another currency"
        extcall PoolManager(manager).take(last, self, received)
        extcall Wrapped(wrapped).deposit(value=received)
        extcall IERC20(wrapped).transfer(order.recipient, received, default_return_value=True)
    return abi_encode(paid, received)


@internal
def _pay(order: Order, currency: address, amount: uint256):
    if currency != empty(address):
        extcall PoolManager(manager).sync(currency)
        extcall IERC20(currency).transferFrom(order.payer, manager, amount, default_return_value=True)
        extcall PoolManager(manager).settle()
        return
    if order.currency_in == wrapped:
        extcall IERC20(wrapped).transferFrom(order.payer, self, amount, default_return_value=True)
        extcall Wrapped(wrapped).withdraw(amount)
    extcall PoolManager(manager).settle(value=amount)


@internal
def _trade(order: Order, first: address) -> (uint256, uint256, address):
    """
    @return Amount paid, amount received and the currency received
    """
    count: uint256 = len(order.keys)
    ways: DynArray[bool, MAX_POOLS] = []
    currency: address = first
    for key: PoolKey in order.keys:
        forwards: bool = key.currency0 == currency
        assert forwards or key.currency1 == currency, "the pools do not form a route"
        ways.append(forwards)
        currency = key.currency1 if forwards else key.currency0

    paid: uint256 = 0
    amount: uint256 = order.amount
    for step: uint256 in range(count, bound=MAX_POOLS):
        at: uint256 = step if order.exact_input else count - 1 - step
        owed: uint256 = 0
        got: uint256 = 0
        owed, got = self._one(order.keys[at], ways[at], amount, order.exact_input, order.limit)
        if step == 0 and order.exact_input:
            paid = owed
        if step == 0 and not order.exact_input:
            paid = got  # the amount bought, until the loop ends
        amount = got if order.exact_input else owed
    if order.exact_input:
        return paid, amount, currency
    return amount, paid, currency


@internal
def _one(key: PoolKey, forwards: bool, amount: uint256, exact_input: bool, limit: uint160) -> (uint256, uint256):
    """
    @return Amounts that one pool takes and gives
    """
    signed: int256 = convert(amount, int256)
    edge: uint160 = LOWEST_LIMIT if forwards else HIGHEST_LIMIT
    delta: int256 = extcall PoolManager(manager).swap(
        key,
        SwapParams(
            zeroForOne=forwards,
            amountSpecified=-signed if exact_input else signed,
            sqrtPriceLimitX96=edge if limit == 0 else limit,
        ),
        b"",
    )
    words: uint256 = convert(convert(delta, bytes32), uint256)
    amount0: int256 = self._signed(words // HALF)
    amount1: int256 = self._signed(words % HALF)
    owed: int256 = amount0 if forwards else amount1
    got: int256 = amount1 if forwards else amount0
    assert owed <= 0 and got >= 0, "the pool's hook reverses the swap"
    full: bool = (-owed if exact_input else got) == signed
    assert full or limit != 0, "not enough liquidity in the pool"
    return convert(-owed, uint256), convert(got, uint256)


@internal
@pure
def _signed(half: uint256) -> int256:
    number: int256 = convert(half, int256)
    return number - convert(HALF, int256) if half >= HALF // 2 else number
