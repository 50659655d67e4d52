"""Positions of Uniswap V4: mint, read, change and burn, through the position manager and Permit2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, BadArgument, CallReverted, UnknownName
from mayavi.evm.abi.codec import Codec
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.arguments import word
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.tokens import atomic
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.pool import MAX_TICK, UniswapV4Pool
from mayavi.protocols.uniswap_v4.pool_key import PoolKey
from mayavi.protocols.uniswap_v4.range_amounts import liquidity_for, sqrt_price_at_tick
from mayavi.protocols.uniswap_v4.reverts import unwrapped

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_KEY = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)"
_MANAGER = [
    "modifyLiquidities(bytes unlockData, uint256 deadline) payable",
    "nextTokenId() view returns (uint256)",
    "ownerOf(uint256 id) view returns (address)",
    "getPositionLiquidity(uint256 tokenId) view returns (uint128)",
    f"getPoolAndPositionInfo(uint256 tokenId) view returns ({_KEY} poolKey, uint256 info)",
]
_PERMIT2 = ["approve(address token, address spender, uint160 amount, uint48 expiration)"]
_INCREASE, _DECREASE, _MINT, _BURN, _SETTLE_PAIR, _TAKE_PAIR, _CLOSE, _SWEEP = 0, 1, 2, 3, 0x0D, 0x11, 0x12, 0x14
_ACTIONS = {
    _INCREASE: Codec.of("uint256,uint256,uint128,uint128,bytes"),
    _DECREASE: Codec.of("uint256,uint256,uint128,uint128,bytes"),
    _MINT: Codec.of(f"{_KEY},int24,int24,uint256,uint128,uint128,address,bytes"),
    _BURN: Codec.of("uint256,uint128,uint128,bytes"),
    _SETTLE_PAIR: Codec.of("address,address"),
    _TAKE_PAIR: Codec.of("address,address,address"),
    _CLOSE: Codec.of("address"),
    _SWEEP: Codec.of("address,address"),
}
_PLAN = Codec.of("bytes,bytes[]")
Step = tuple[int, tuple[object, ...]]


class Minted(NamedTuple):
    """New position, its liquidity and the amounts of both currencies that it took."""

    position: UniswapV4Position
    liquidity: int
    amounts: tuple[int, int]
    receipt: Receipt


class UniswapV4Position:
    """Position by its token id."""

    def __init__(self, fork: Fork, token_id: int) -> None:
        self.fork, self.token_id = fork, token_id
        self.manager = _manager(fork)
        key, info = self.manager.getPoolAndPositionInfo(word(token_id))
        if not key[3]:
            raise UnknownName(f"there is no position {token_id} of Uniswap V4", "it was never minted, or burnt")
        self.pool = UniswapV4Pool(fork, PoolKey(*key))
        self.ticks = _int24(info >> 8), _int24(info >> 32)

    @property
    def owner(self) -> bytes:
        """Account that may change it."""
        owner: bytes = self.manager.ownerOf(self.token_id)
        return owner

    @property
    def liquidity(self) -> int:
        """Its liquidity; zero after everything was taken out."""
        liquidity: int = self.manager.getPositionLiquidity(self.token_id)
        return liquidity

    def increase(self, amounts: Sequence[int]) -> tuple[int, int]:
        """Add as much liquidity as `amounts` allow; fees that it earned pay first. Return the amounts taken."""
        liquidity, most = _affordable(self.pool, self.ticks, amounts)
        step = (_INCREASE, (self.token_id, liquidity, *most, b""))
        closing = [(_CLOSE, (currency,)) for currency in self.pool.key[:2]]
        taken, _ = _pay(self.pool, [step, *closing], most, self.owner)
        return taken

    def decrease(self, liquidity: int, *, min_amounts: Sequence[int] = (0, 0)) -> tuple[int, int]:
        """Take out `liquidity` and all fees; return the amounts received."""
        step = (_DECREASE, (self.token_id, require_positive(liquidity, "a withdrawal"), *min_amounts, b""))
        return self._take(step)

    def collect(self) -> tuple[int, int]:
        """Take out the fees; return the amounts received."""
        return self._take((_DECREASE, (self.token_id, 0, 0, 0, b"")))

    def burn(self) -> tuple[int, int]:
        """Take everything out and destroy the position; return the amounts received."""
        return self._take((_BURN, (self.token_id, 0, 0, b"")))

    def _take(self, step: Step) -> tuple[int, int]:
        owner, key = self.owner, self.pool.key
        before = _balances(self.pool, owner)
        take = (_TAKE_PAIR, (key.currency0, key.currency1, owner))
        _modify(self.fork, [step, take], owner, 0, f"taking liquidity out of position {self.token_id}")
        after = _balances(self.pool, owner)
        return after[0] - before[0], after[1] - before[1]

    def __repr__(self) -> str:
        return f"<position {self.token_id} of {self.pool!r} from tick {self.ticks[0]} to {self.ticks[1]}>"


def mint(
    pool: UniswapV4Pool,
    ticks: tuple[int, int],
    amounts: Sequence[int],
    *,
    sender: AddressLike,
    recipient: AddressLike | None = None,
) -> Minted:
    """Implementation of `UniswapV4.mint`."""
    fork, payer = pool.fork, address_on(pool.fork, sender)
    owner = payer if recipient is None else address_on(fork, recipient)
    liquidity, most = _affordable(pool, ticks, amounts)
    token_id: int = _manager(fork).nextTokenId()
    steps: list[Step] = [
        (_MINT, (tuple(pool.key), *ticks, liquidity, *most, owner, b"")),
        (_SETTLE_PAIR, pool.key[:2]),
    ]
    taken, receipt = _pay(pool, steps, most, payer)
    return Minted(UniswapV4Position(fork, token_id), liquidity, taken, receipt)


def _affordable(pool: UniswapV4Pool, ticks: tuple[int, int], amounts: Sequence[int]) -> tuple[int, tuple[int, int]]:
    """Liquidity that both amounts pay for, and the amounts."""
    most = tuple(word(amount) for amount in amounts)
    if len(most) != 2:
        raise BadArgument(
            f"{amounts!r} are not amounts of {pool.currency0.symbol} and {pool.currency1.symbol}", "give two"
        )
    for tick in ticks:
        if tick % pool.tick_spacing:
            raise BadArgument(
                f"tick {tick} is not a multiple of the tick spacing {pool.tick_spacing}",
                "`pool.tick_at(price, currency)` gives one",
            )
    if not -MAX_TICK <= ticks[0] < ticks[1] <= MAX_TICK:
        raise BadArgument(
            f"there is no range from tick {ticks[0]} to {ticks[1]}",
            f"give the lower tick first; ticks go from {-MAX_TICK:,} to {MAX_TICK:,}",
        )
    roots = [sqrt_price_at_tick(tick) for tick in ticks]
    liquidity = liquidity_for(pool.sqrt_price_x96, roots[0], roots[1], most[0], most[1])
    if not liquidity:
        raise ActionRefused(
            f"{pool.currency0.text(most[0])} and {pool.currency1.text(most[1])} add no liquidity"
            f" from tick {ticks[0]} to {ticks[1]}",
            f"the pool's tick is {pool.tick}: below it a range takes {pool.currency1.symbol}, above it"
            f" {pool.currency0.symbol}, around it both",
        )
    return liquidity, (most[0], most[1])


def _pay(
    pool: UniswapV4Pool, steps: list[Step], most: tuple[int, int], payer: bytes
) -> tuple[tuple[int, int], Receipt]:
    """Send steps that may take `most`; return what they took."""
    before = _balances(pool, payer)
    native = pool.key.currency0 == ZERO_ADDRESS
    with ExitStack() as stack:
        for currency, amount in zip((pool.currency0, pool.currency1), most, strict=True):
            stack.enter_context(_permitted(currency, amount, payer))
        if native:
            steps = [*steps, (_SWEEP, (ZERO_ADDRESS, payer))]
        receipt = _modify(pool.fork, steps, payer, most[0] if native else 0, f"adding liquidity to {pool}")
    after = _balances(pool, payer)
    return (before[0] - after[0], before[1] - after[1]), receipt


@contextmanager
def _permitted(currency: Currency, amount: int, payer: bytes) -> Iterator[None]:
    """Context manager in which the position manager may take `amount` through Permit2."""
    fork = currency.fork
    amount = min(amount, currency.balance_of(payer)) if currency.token else amount
    with currency.paying("Permit2", amount, payer):
        if currency.token is not None:
            permit2 = fork.contract("Permit2", _PERMIT2)
            permit2.approve(
                currency.address, fork.address_of("UniswapV4.PositionManager"), amount, fork.timestamp, sender=payer
            )
        yield


def _modify(fork: Fork, steps: list[Step], sender: bytes, value: int, what: str) -> Receipt:
    actions = bytes(action for action, _ in steps)
    plan = _PLAN.encode((actions, [_ACTIONS[action].encode(given) for action, given in steps]))
    try:
        with atomic(fork):
            receipt: Receipt = _manager(fork).modifyLiquidities(plan, fork.timestamp, sender=sender, value=value)
    except CallReverted as error:
        raise unwrapped(error, what) from None
    return receipt


def _balances(pool: UniswapV4Pool, holder: bytes) -> tuple[int, int]:
    return pool.currency0.balance_of(holder), pool.currency1.balance_of(holder)


def _manager(fork: Fork) -> Contract:
    return fork.contract("UniswapV4.PositionManager", _MANAGER)


def _int24(word_: int) -> int:
    number = word_ & 0xFFFFFF
    return number - 2**24 if number >= 2**23 else number
