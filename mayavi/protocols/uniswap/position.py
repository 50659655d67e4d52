"""Uniswap V3 positions: liquidity between two ticks, held as an NFT of the position manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, BadArgument, CallReverted, UnknownName, UsageError
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.protocols.arguments import address_on, require_fork
from mayavi.protocols.revert_context import reason_text
from mayavi.protocols.tokens import atomic
from mayavi.protocols.uniswap.liquidity import Amounts, Pair, amounts_of, pay, require_some, text
from mayavi.protocols.uniswap.pool import MAX_TICK, MIN_TICK, UniswapV3Pool, tick_number
from mayavi.protocols.uniswap.reverts import explain

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_MANAGER = [
    "mint((address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint256 amount0Desired,"
    " uint256 amount1Desired, uint256 amount0Min, uint256 amount1Min, address recipient, uint256 deadline) params)"
    " returns (uint256 tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)",
    "increaseLiquidity((uint256 tokenId, uint256 amount0Desired, uint256 amount1Desired, uint256 amount0Min,"
    " uint256 amount1Min, uint256 deadline) params) returns (uint128 liquidity, uint256 amount0, uint256 amount1)",
    "decreaseLiquidity((uint256 tokenId, uint128 liquidity, uint256 amount0Min, uint256 amount1Min, uint256 deadline)"
    " params) returns (uint256 amount0, uint256 amount1)",
    "collect((uint256 tokenId, address recipient, uint128 amount0Max, uint128 amount1Max) params)"
    " returns (uint256 amount0, uint256 amount1)",
    "burn(uint256 tokenId)",
    "multicall(bytes[] data) returns (bytes[] results)",
    "positions(uint256 tokenId) view returns (uint96 nonce, address operator, address token0, address token1,"
    " uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128,"
    " uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)",
    "ownerOf(uint256 tokenId) view returns (address)",
    "balanceOf(address owner) view returns (uint256)",
    "tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "tokenByIndex(uint256 index) view returns (uint256)",
]
_FACTORY = ["getPool(address tokenA, address tokenB, uint24 fee) view returns (address)"]
_ALL = 2**128 - 1
MOST_SEARCHED = 10_000
"""Most positions of a chain that `UniswapV3Position.in_pool` reads."""


class Minted(NamedTuple):
    """New position and the amounts it took."""

    position: UniswapV3Position
    liquidity: int
    amount0: int
    amount1: int
    receipt: Receipt


class LiquidityChange(NamedTuple):
    """Result of a change: liquidity added or removed, and amounts of both tokens."""

    liquidity: int
    amount0: int
    amount1: int
    receipt: Receipt


class Collected(NamedTuple):
    """Amounts paid out of a position."""

    amount0: int
    amount1: int
    receipt: Receipt


class PositionData(NamedTuple):
    """Position as stored by the manager. Owed amounts are as of its last change; `owed` is up to date."""

    token0: bytes
    token1: bytes
    fee: int
    lower_tick: int
    upper_tick: int
    liquidity: int
    owed0: int
    owed1: int


class UniswapV3Position:
    """Position with the token id `token_id`. Its owner sends the actions unless `sender` is given.

    `decrease` moves tokens to the amounts owed; `collect` pays out what is owed, fees included.
    """

    def __init__(self, fork: Fork, token_id: int) -> None:
        require_fork(fork, "UniswapV3Position")
        self.fork = fork
        self.token_id = word(token_id, "token id")
        self.manager = _manager(fork)
        _ = self.data

    @classmethod
    def held_by(cls, fork: Fork, owner: AddressLike) -> list[UniswapV3Position]:
        """Return all positions of `owner`."""
        manager, holder = _manager(fork), address_on(fork, owner)
        return [cls(fork, manager.tokenOfOwnerByIndex(holder, i)) for i in range(manager.balanceOf(holder))]

    @classmethod
    def in_pool(cls, pool: UniswapV3Pool, most: int = MOST_SEARCHED) -> list[UniswapV3Position]:
        """Return all positions with liquidity in `pool` that the manager holds.

        Reads every position of the chain; `ActionRefused` if there are more than `most`, as on a fork of a node.
        """
        fork, manager = pool.fork, _manager(pool.fork)
        count = int(manager.totalSupply())
        if count > most:
            raise ActionRefused(
                f"there are {count:,} positions of Uniswap V3 on this chain, and at most {most:,} are searched",
                "name the owner: `UniswapV3Position.held_by(fork, owner)`",
            )
        found = [cls(fork, manager.tokenByIndex(index)) for index in range(count)]
        wanted = (pool.token0.address, pool.token1.address, pool.fee)
        return [each for each in found if each.data[:3] == wanted and each.liquidity]

    # -- reads --------------------------------------------------------------------------------------------------------

    @property
    def data(self) -> PositionData:
        """Tokens, fee, ticks and liquidity; raises `UnknownName` if the position does not exist."""
        try:
            found = self.manager.positions(self.token_id)
        except CallReverted:
            raise UnknownName(
                f"there is no position {self.token_id} of Uniswap V3", "it was never minted, or it has been burnt"
            ) from None
        return PositionData(*found[2:8], *found[10:12])

    @property
    def owner(self) -> bytes:
        """Holder of the position."""
        _ = self.data
        owner: bytes = self.manager.ownerOf(self.token_id)
        return owner

    @property
    def pool(self) -> UniswapV3Pool:
        """Pool of the position."""
        data = self.data
        factory = self.fork.contract("UniswapV3.Factory", _FACTORY)
        return UniswapV3Pool(self.fork, factory.getPool(data.token0, data.token1, data.fee))

    @property
    def liquidity(self) -> int:
        """Its liquidity."""
        return self.data.liquidity

    @property
    def amounts(self) -> Pair:
        """Amounts that removing all liquidity would give now, without fees."""
        liquidity = self.liquidity
        if not liquidity:
            return Pair(0, 0)
        params = (self.token_id, liquidity, 0, 0, self.fork.timestamp)
        return Pair(*self.manager.decreaseLiquidity.call(params, sender=self.owner))

    @property
    def owed(self) -> Pair:
        """Amounts `collect` would pay now: fees up to now, and removed liquidity not yet collected."""
        data, owner = self.data, self.owner
        if not data.liquidity and not (data.owed0 or data.owed1):
            return Pair(0, 0)
        return Pair(*self.manager.collect.call((self.token_id, owner, _ALL, _ALL), sender=owner))

    # -- actions ------------------------------------------------------------------------------------------------------

    def increase(
        self,
        amounts: Amounts,
        *,
        sender: AddressLike | None = None,
        min_amounts: Amounts | None = None,
        deadline: int | None = None,
    ) -> LiquidityChange:
        """Add as much liquidity as `amounts` allow. Any account may pay; the owner stays the same."""
        pool, data, payer = self.pool, self.data, self._sender(sender)
        most, least = amounts_of(pool, amounts), amounts_of(pool, min_amounts)
        require_some(most)
        params = (self.token_id, *most, *least, _deadline(self.fork, deadline))
        ticks = data.lower_tick, data.upper_tick
        receipt = pay(pool, ticks, self.manager.increaseLiquidity, params, most, least, payer)
        added, paid0, paid1 = self.manager.increaseLiquidity.function.decode(receipt.output)
        return LiquidityChange(added, paid0, paid1, receipt)

    def decrease(
        self,
        liquidity: int | None = None,
        *,
        sender: AddressLike | None = None,
        min_amounts: Amounts | None = None,
        deadline: int | None = None,
    ) -> LiquidityChange:
        """Remove `liquidity` (default: all); `collect` then pays the tokens out."""
        standing = self.liquidity
        taken = standing if liquidity is None else word(liquidity, "liquidity")
        if not 0 < taken <= standing:
            raise ActionRefused(
                f"{taken} of liquidity cannot be taken from position {self.token_id}, which has {standing}",
                "give a number from 1 up to what it has",
            )
        pool, who = self.pool, self._sender(sender)
        least = amounts_of(pool, min_amounts)
        params = (self.token_id, taken, *least, _deadline(self.fork, deadline))
        with atomic(self.fork):
            try:
                receipt = self.manager.decreaseLiquidity(params, sender=who)
            except CallReverted as error:
                raise self._explain(error, "a decrease", taken, pool, least) from None
        amount0, amount1 = self.manager.decreaseLiquidity.function.decode(receipt.output)
        return LiquidityChange(taken, amount0, amount1, receipt)

    def collect(self, *, sender: AddressLike | None = None, recipient: AddressLike | None = None) -> Collected:
        """Pay everything owed, fees up to now included, to `recipient` (default: the sender)."""
        who = self._sender(sender)
        if not any(self.owed):
            raise ActionRefused(f"position {self.token_id} is owed nothing", "fees come with swaps inside its range")
        receiver = who if recipient is None else address_on(self.fork, recipient)
        with atomic(self.fork):
            try:
                receipt = self.manager.collect((self.token_id, receiver, _ALL, _ALL), sender=who)
            except CallReverted as error:
                raise explain(error, f"a collection from position {self.token_id}") from None
        amount0, amount1 = self.manager.collect.function.decode(receipt.output)
        return Collected(amount0, amount1, receipt)

    def burn(
        self,
        *,
        sender: AddressLike | None = None,
        min_amounts: Amounts | None = None,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
    ) -> Collected:
        """Remove and pay out everything to `recipient` (default: the sender) and burn the NFT, in one transaction."""
        who, liquidity, manager = self._sender(sender), self.liquidity, self.manager
        receiver = who if recipient is None else address_on(self.fork, recipient)
        pool, until = self.pool, _deadline(self.fork, deadline)
        least = amounts_of(pool, min_amounts)
        steps = []
        if liquidity:
            steps.append(manager.decreaseLiquidity.encode((self.token_id, liquidity, *least, until)))
        collecting = bool(liquidity) or any(self.owed)
        if collecting:
            steps.append(manager.collect.encode((self.token_id, receiver, _ALL, _ALL)))
        steps.append(manager.burn.encode(self.token_id))
        with atomic(self.fork):
            try:
                receipt = manager.multicall(steps, sender=who)
            except CallReverted as error:
                raise self._explain(error, "a burn", liquidity, pool, least) from None
        paid = Pair(0, 0)
        if collecting:
            results = manager.multicall.function.decode(receipt.output)
            paid = Pair(*manager.collect.function.decode(results[-2]))
        return Collected(paid.amount0, paid.amount1, receipt)

    def _sender(self, sender: AddressLike | None) -> bytes:
        return self.owner if sender is None else address_on(self.fork, sender)

    def _explain(
        self, error: CallReverted, what: str, liquidity: int, pool: UniswapV3Pool, least: Pair
    ) -> CallReverted:
        hint = None
        if reason_text(error) == "Price slippage check":
            params = (self.token_id, liquidity, 0, 0, self.fork.timestamp)
            now = Pair(*self.manager.decreaseLiquidity.call(params, sender=self.owner))
            hint = f"it gives {text(pool, now)} now, and {text(pool, least)} were the least to take"
        return explain(error, f"{what} of position {self.token_id}", hint)

    def __repr__(self) -> str:
        return f"<position {self.token_id} of Uniswap V3>"


def mint(
    pool: UniswapV3Pool,
    lower_tick: int,
    upper_tick: int,
    amounts: Amounts,
    sender: AddressLike,
    min_amounts: Amounts | None,
    recipient: AddressLike | None,
    deadline: int | None,
) -> Minted:
    """Mint a position; see `UniswapV3.mint`."""
    fork, manager = pool.fork, _manager(pool.fork)
    payer = address_on(fork, sender)
    ticks = _ticks(pool, lower_tick, upper_tick)
    most, least = amounts_of(pool, amounts), amounts_of(pool, min_amounts)
    require_some(most)
    receiver = payer if recipient is None else address_on(fork, recipient)
    pair = pool.token0.address, pool.token1.address, pool.fee
    if fork.contract("UniswapV3.Factory", _FACTORY).getPool(*pair) != pool.address:
        raise UsageError(
            f"{pool!r} was not made by this chain's factory of Uniswap V3", "its position manager serves no other pools"
        )
    params = (*pair, *ticks, *most, *least, receiver, _deadline(fork, deadline))
    receipt = pay(pool, ticks, manager.mint, params, most, least, payer)
    token_id, liquidity, paid0, paid1 = manager.mint.function.decode(receipt.output)
    return Minted(UniswapV3Position(fork, token_id), liquidity, paid0, paid1, receipt)


def _manager(fork: Fork) -> Contract:
    return fork.contract("UniswapV3.PositionManager", _MANAGER)


def _ticks(pool: UniswapV3Pool, lower: int, upper: int) -> tuple[int, int]:
    lower, upper = tick_number(lower), tick_number(upper)
    spacing = pool.tick_spacing
    for tick in (lower, upper):
        if tick % spacing or not MIN_TICK <= tick <= MAX_TICK:
            edge = MAX_TICK // spacing * spacing
            near = max(-edge, min(edge, tick // spacing * spacing))
            raise BadArgument(
                f"a position cannot begin or end at tick {tick} of {pool!r}",
                f"ticks there are multiples of {spacing} from {-edge} to {edge}, such as {near}",
            )
    if lower >= upper:
        raise BadArgument(f"the range from tick {lower} to {upper} is empty", "give the lower tick first")
    return lower, upper


def _deadline(fork: Fork, deadline: int | None) -> int:
    return fork.timestamp if deadline is None else word(deadline, "deadline")
