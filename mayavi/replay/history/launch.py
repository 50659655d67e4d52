"""Record the launch of a token on a Uniswap V3 pool, for the scenario `launch_replay`.

The record holds the initial price, the liquidity added before the first trade, and every purchase and sale. Liquidity
added or removed later has no row in the format: the report counts it, and the replay deviates from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from typing import Any

from mayavi.errors import MayaviError, UsageError
from mayavi.evm.abi.interface import EventLog, Interface
from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.evm.receipt import Log
from mayavi.evm.units import from_units
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.pool import MAX_TICK
from mayavi.protocols.uniswap.pool_events import POOL_EVENTS, POOL_VIEWS
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.pool_logs import ChainLog, read_logs

QUOTES = ("WETH", "USDC", "USDT", "DAI", "WBTC", "wstETH", "GHO", "FRAX", "WMATIC", "WAVAX", "ARB", "OP")
"""Tokens that prices are quoted in, if the other one is not named."""
COLUMNS = ("time", "event", "account", "token", "quote", "low", "high")
STEPS = 500
"""Most steps of the scenario that is written beside a record."""
_DIGITS = Context(prec=60)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """Tokens and fee of the recorded pool. `token` is launched, `quote` pays for it."""

    address: bytes
    token: str
    quote: str
    token_decimals: int
    quote_decimals: int
    token_is_first: bool
    fee: int
    tick_spacing: int
    supply: Decimal

    def price(self, sqrt_price_x96: int) -> Decimal:
        """Price of a whole token in whole quote tokens."""
        with localcontext(_DIGITS):
            return self._whole((Decimal(sqrt_price_x96) / 2**96) ** 2)

    def tick_price(self, tick: int) -> Decimal:
        """Price of a whole token at a tick."""
        with localcontext(_DIGITS):
            return self._whole(Decimal("1.0001") ** tick)

    def _whole(self, raw: Decimal) -> Decimal:
        if self.token_is_first:
            return raw.scaleb(self.token_decimals - self.quote_decimals)
        return (1 / raw).scaleb(self.token_decimals - self.quote_decimals)

    def amounts(self, amount0: int, amount1: int) -> tuple[Decimal, Decimal]:
        """Amounts of token and quote, in whole units and exactly."""
        token, quote = (amount0, amount1) if self.token_is_first else (amount1, amount0)
        return from_units(token, self.token_decimals), from_units(quote, self.quote_decimals)


@dataclass(frozen=True, slots=True)
class LaunchRow:
    """One row of a record."""

    time: int
    event: str
    account: str
    token: Decimal | None = None
    quote: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None

    def cells(self, began: int) -> list[str]:
        """Cells of the row, with the time since the launch."""
        numbers = (self.token, self.quote, self.low, self.high)
        shown = ["" if number is None else format(number, "f") for number in numbers]
        return [str(self.time - began), self.event, self.account, *shown]


@dataclass(slots=True)
class Launch:
    """Recorded launch."""

    pool: PoolFacts
    chain: str
    first: int
    last: int
    rows: list[LaunchRow]
    left_out: dict[str, int] = field(default_factory=dict)
    """Events that the format cannot hold, with their number."""
    requests: int = 0

    @property
    def began(self) -> int:
        """Time of the launch, in seconds since 1970."""
        return self.rows[0].time

    @property
    def trades(self) -> list[LaunchRow]:
        """Purchases and sales."""
        return [row for row in self.rows if row.event in ("buy", "sell")]

    @property
    def pool_name(self) -> str:
        """Name of the pool in a scenario: NOVA/WETH.10000."""
        return f"{self.pool.token}/{self.pool.quote}.{self.pool.fee}"

    def csv(self) -> str:
        """Return the record in the format of `launch_replay`."""
        source = f"# pool {checksum(self.pool.address)} of {self.chain}, blocks {self.first} to {self.last}"
        lines = [source, *(f"# left out: {count} {what}" for what, count in self.left_out.items())]
        lines.append(",".join(COLUMNS))
        lines += [",".join(row.cells(self.began)) for row in self.rows]
        return "\n".join(lines) + "\n"

    def scenario(self, file: str) -> str:
        """Return a scenario that replays the record in `file`."""
        from mayavi.evm.chains import chain

        seconds = self.trades[-1].time - self.began
        block = chain(self.chain).block_seconds
        step = max(block, -(-(seconds + 1) // STEPS // block) * block)
        return "\n".join(
            [
                f"# Recorded from pool {checksum(self.pool.address)}, blocks {self.first} to {self.last}.",
                "name: launch_replay",
                f"title: the launch of {self.pool.token}, replayed trade by trade",
                f"chain: {self.chain}",
                f"steps: {seconds // step + 1}",
                f"step_time: {step}s",
                "tokens:",
                f"  {self.pool.token}:",
                f"    supply: {format(self.pool.supply, 'f')}",
                f"    decimals: {self.pool.token_decimals}",
                "agents:",
                "  launch:",
                "    kind: launch",
                f"    pool: {self.pool_name}",
                f"    file: {file}",
                "ordering: fifo",
                "",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return a summary as JSON data."""
        return {
            "pool": checksum(self.pool.address),
            "name": self.pool_name,
            "chain": self.chain,
            "from": self.first,
            "to": self.last,
            "rows": len(self.rows),
            "buys": sum(row.event == "buy" for row in self.rows),
            "sells": sum(row.event == "sell" for row in self.rows),
            "accounts": len({row.account for row in self.rows}),
            "left_out": self.left_out,
            "requests": self.requests,
        }


def record_launch(
    node: ReplayNode,
    pool: str,
    first: int,
    last: int,
    *,
    token: str | None = None,
    progress: Progress | None = None,
) -> Launch:
    """Read the events of a pool from block `first` to `last` and make a record of its launch."""
    from mayavi.evm.chains import chain

    node.require_range(first, last)
    address = to_address(pool)
    facts = read_pool(node, address, last, token)
    found = read_logs(node, address, first, last, progress)
    events = [(log, event) for log in found if (event := _decoded(log)) is not None]
    if not events or events[0][1].name != "Initialize":
        raise UsageError(
            f"pool {checksum(address)} is not created between blocks {first} and {last}",
            "begin at or before the block that creates it" if events else "check the address and the range",
        )
    rows, left_out = launch_rows(facts, events)
    return Launch(facts, chain(node.chain_id).name, first, last, rows, left_out, node.requests)


def launch_rows(pool: PoolFacts, events: list[tuple[ChainLog, EventLog]]) -> tuple[list[LaunchRow], dict[str, int]]:
    """Return the rows of a record, and how many events had to be left out."""
    first_trade = next((place for place, (_, event) in enumerate(events) if event.name == "Swap"), None)
    if first_trade is None:
        raise UsageError(f"pool {checksum(pool.address)} has no trade in these blocks", "give a later --to")
    early, late = events[:first_trade], events[first_trade:]
    added = [(log, event) for log, event in early if event.name == "Mint" and event.args.amount]
    if not added:
        raise UsageError(f"pool {checksum(pool.address)} gets no liquidity before its first trade")
    began = max(log.timestamp for log, _ in early)
    creation, initial = early[0]
    rows = [LaunchRow(began, "create", checksum(creation.sender), quote=pool.price(initial.args.sqrtPriceX96))]
    rows += [_added(pool, began, log, event) for log, event in added]
    trades = [_trade(pool, log, event) for log, event in late if event.name == "Swap"]
    kept = [row for row in trades if row is not None]
    rows += [LaunchRow(began, "hold", account, token=amount) for account, amount in _held_before(kept).items()]
    counts = {
        "removals of liquidity": sum(event.name == "Burn" and bool(event.args.amount) for _, event in events),
        "later additions of liquidity": sum(event.name == "Mint" for _, event in late),
        "trades that paid nothing or gave nothing": sum(event.name == "Swap" for _, event in late) - len(kept),
    }
    return rows + kept, {what: count for what, count in counts.items() if count}


def _added(pool: PoolFacts, began: int, log: ChainLog, event: EventLog) -> LaunchRow:
    token, quote = pool.amounts(event.args.amount0, event.args.amount1)
    lower, upper = event.args.tickLower, event.args.tickUpper
    edge = MAX_TICK // pool.tick_spacing * pool.tick_spacing
    account = checksum(log.sender)
    if (lower, upper) == (-edge, edge):
        return LaunchRow(began, "add", account, token or None, quote or None)
    low, high = sorted((pool.tick_price(lower), pool.tick_price(upper)))
    return LaunchRow(began, "add", account, token or None, quote or None, low, high)


def _trade(pool: PoolFacts, log: ChainLog, event: EventLog) -> LaunchRow | None:
    token, quote = pool.amounts(event.args.amount0, event.args.amount1)
    account = checksum(log.sender)
    if quote > 0 > token:
        return LaunchRow(log.timestamp, "buy", account, -token, quote)
    if token > 0 > quote:
        return LaunchRow(log.timestamp, "sell", account, token, -quote)
    return None


def _held_before(trades: Iterable[LaunchRow]) -> dict[str, Decimal]:
    """Return what accounts sold beyond what they had bought: they held it from elsewhere."""
    holding: dict[str, Decimal] = {}
    needed: dict[str, Decimal] = {}
    for row in trades:
        change = row.token or Decimal(0)
        with localcontext(_DIGITS):
            now = holding.get(row.account, Decimal(0)) + (change if row.event == "buy" else -change)
        holding[row.account] = now
        if -now > needed.get(row.account, Decimal(0)):
            needed[row.account] = -now
    return needed


def read_pool(node: ReplayNode, pool: bytes, block: int, token: str | None) -> PoolFacts:
    """Read tokens and fee of a pool at `block`; `UsageError` if it is not a Uniswap V3 pool."""
    fork = Fork.from_rpc(str(node.client.endpoint), block, cached=False, client=node.client)
    try:
        contract = fork.contract(pool, POOL_VIEWS)
        first, second = Erc20(fork, contract.token0()), Erc20(fork, contract.token1())
        fee, spacing = contract.fee(), contract.tickSpacing()
    except MayaviError as error:
        raise UsageError(f"{checksum(pool)} is not a Uniswap V3 pool at block {block}: {error.message}") from None
    is_first = _is_launched(fork, first, second, token)
    launched, quote = (first, second) if is_first else (second, first)
    return PoolFacts(
        address=pool,
        token="".join(letter for letter in launched.symbol if letter.isalnum()) or "TOKEN",
        quote=fork.name(quote.address) if fork.name(quote.address) in fork.labels else quote.symbol,
        token_decimals=launched.decimals,
        quote_decimals=quote.decimals,
        token_is_first=is_first,
        fee=fee,
        tick_spacing=spacing,
        supply=from_units(launched.total_supply, launched.decimals),
    )


def _is_launched(fork: Fork, first: Erc20, second: Erc20, token: str | None) -> bool:
    """Whether the first token is the launched one."""
    if token is not None:
        wanted = fork.address_of(token)
        if wanted not in (first.address, second.address):
            raise UsageError(f"'{token}' is not a token of the pool", f"it trades {first.symbol} and {second.symbol}")
        return wanted == first.address
    known = [fork.name(each.address) in QUOTES for each in (first, second)]
    if known[0] == known[1]:
        raise UsageError(
            f"the pool trades {first.symbol} and {second.symbol}: which of them is launched is not clear",
            f"name it: --token {checksum(first.address)} or --token {checksum(second.address)}",
        )
    return known[1]


def _decoded(log: ChainLog) -> EventLog | None:
    return Interface.of(POOL_EVENTS).decode_log(Log(log.address, log.topics, log.data))
