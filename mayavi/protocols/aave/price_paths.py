"""Accounts on price paths: what their totals would be if prices moved and nobody acted.

    paths = 1_500 * 10**8 * np.exp(walk)                                       # (paths, steps), as the feed posts them
    found = totals_on_paths(market, accounts, {"Chainlink.ETH/USD": paths.astype(np.int64)}, device="cuda")
    found.liquidatable.max(axis=0)                                             # accounts, at each step

Exact: the pool's own code is called for every account, path and step, on the processor or on a GPU, with the same
results. Interest accrues with `timestamps`. Rates, balances and parameters are those of the fork.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UsageError
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.fork.grid_totals import Measure
from mayavi.evm.units import WAD
from mayavi.evm.words import Words
from mayavi.protocols.aave.account_data import AccountData, AccountsData
from mayavi.protocols.arguments import address_on
from mayavi.protocols.chainlink.price_feed import PriceFeed

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.market import AaveV3

Prices = Mapping[str, Any] | Mapping[bytes, Any]
"""Answers of each feed, which is named by its label or address."""
LT, SUB = 0x10, 0x03
"""Opcodes of the comparison and the difference."""
COLLATERAL, DEBT, HEALTH = 0, 1, 5
"""Words of the account data."""


class PathTotals(NamedTuple):
    """Totals of all accounts in each scenario; words are in the order of the scenarios, the last axis first."""

    liquidatable: NDArray[np.int64]
    """Accounts with a health factor below 1, in the shape of the prices."""
    liquidatable_debt_usd_e8: Words
    """Debt of the accounts that may be liquidated, in hundred-millionths of a dollar."""
    bad_debt_usd_e8: Words
    """Debt that exceeds the collateral of its account."""
    debt_usd_e8: Words
    """Debt of all accounts."""


class AccountsOnPaths:
    """Accounts of a market, valued under many prices of `feeds`. All other state is read once.

    Calls on the same object share the recorded paths of the pool's code.
    """

    def __init__(self, market: AaveV3, accounts: Sequence[AddressLike], feeds: Sequence[AddressLike]) -> None:
        if not accounts or not feeds:
            raise UsageError(f"there are no {'prices' if accounts else 'accounts'}", "give one at least")
        self.fork, self.feeds = market.fork, list(feeds)
        slots = [_answer_slot(self.fork, feed) for feed in feeds]
        places = [address_on(self.fork, each) for each in accounts]
        calldata = market.pool.getUserAccountData.encode(ZERO_ADDRESS)
        self._grid = self.fork.grid(
            market.pool.address, calldata, {4: places}, len(AccountData._fields), slots, timestamp=True
        )

    @property
    def left(self) -> int:
        """Rows of the last call that a device left to the processor."""
        return self._grid.left

    def totals(self, prices: Sequence[Any], timestamps: Any = None, *, device: str | None = None) -> PathTotals:
        """Add up the accounts under each scenario; arguments are those of `totals_on_paths`, prices by feed."""
        shape, columns = self._scenarios(prices, timestamps)
        unsafe, owed, bad, debt = self._grid.totals(_MEASURES, columns, device)
        return PathTotals(unsafe.uint64().astype(np.int64).reshape(shape), owed, bad, debt)

    def data(self, prices: Sequence[Any], timestamps: Any = None, *, device: str | None = None) -> AccountsData:
        """Return the account data under each scenario, accounts of the first scenario first."""
        _, columns = self._scenarios(prices, timestamps)
        return AccountsData(*self._grid.run(columns, device))

    def _scenarios(self, prices: Sequence[Any], timestamps: Any) -> tuple[tuple[int, ...], list[Any]]:
        """Return the shape of the scenarios, and a column for each feed and the time."""
        given = [np.asarray(each) for each in prices]
        for feed, each in zip(self.feeds, given, strict=True):
            if each.dtype.kind not in "iuO":
                name = PriceFeed(self.fork, feed).name
                raise BadArgument(
                    f"prices of {name} are of the type {each.dtype}", "give integers, as the feed posts them"
                )
        times = np.asarray(self.fork.timestamp if timestamps is None else timestamps)
        try:
            *answers, times = np.broadcast_arrays(*given, times)
        except ValueError:
            shapes = ", ".join(str(each.shape) for each in (*given, times))
            raise BadArgument(
                f"prices and timestamps of the shapes {shapes} do not fit together",
                "prices of (paths, steps) take timestamps of (steps,) or (paths, steps), or one number for all",
            ) from None
        return times.shape, [each.reshape(-1) for each in (*answers, times)]


def totals_on_paths(
    market: AaveV3,
    accounts: Sequence[AddressLike],
    prices: Prices,
    timestamps: Any = None,
    *,
    device: str | None = None,
) -> PathTotals:
    """Add up the accounts that may be liquidated, their debt, bad debt and debt in every scenario.

    `prices` are integers by feed, as the feed posts them, and `timestamps` seconds: arrays of any shape, such as
    (paths, steps), that broadcast. `device` is `cuda`, `cuda:1`, … or `emulated`; None is the processor.
    """
    return AccountsOnPaths(market, accounts, [*prices]).totals([*prices.values()], timestamps, device=device)


def account_data_on_paths(
    market: AaveV3,
    accounts: Sequence[AddressLike],
    prices: Prices,
    timestamps: Any = None,
    *,
    device: str | None = None,
) -> AccountsData:
    """Return the account data of every account in every scenario, accounts of the first scenario first.

    Arguments are those of `totals_on_paths`, which needs less memory: a row here has 192 bytes.
    """
    return AccountsOnPaths(market, accounts, [*prices]).data([*prices.values()], timestamps, device=device)


def _answer_slot(fork: Fork, feed: AddressLike) -> tuple[bytes, int]:
    """Find the slot that holds the answer of a feed and nothing else."""
    found = PriceFeed(fork, feed)
    touched = fork.touched(found.contract.address, found.contract.latestAnswer.encode())
    slots = [(place, slot) for place, each in touched for slot in each if fork.storage(place, slot) == found.answer]
    if len(slots) != 1:
        raise UsageError(
            f"{found.name} keeps its answer together with other values, or computes it",
            "name the feed that it is made of; feeds of replicas have a slot for it",
        )
    return slots[0]


def _liquidatable(builder: Any, words: Sequence[int]) -> int:
    node: int = builder.pure(LT, words[HEALTH], builder.constant(WAD))
    return node


def _bad(builder: Any, words: Sequence[int]) -> int:
    beyond = builder.pure(LT, words[COLLATERAL], words[DEBT])
    node: int = builder.select(beyond, builder.pure(SUB, words[DEBT], words[COLLATERAL]), builder.constant(0))
    return node


def _owed(builder: Any, words: Sequence[int]) -> int:
    node: int = builder.select(_liquidatable(builder, words), words[DEBT], builder.constant(0))
    return node


def _beyond(words: Sequence[Words]) -> NDArray[Any]:
    debt, collateral = words[DEBT].array(), words[COLLATERAL].array()
    return np.where(collateral < debt, debt - collateral, 0 * debt)


_MEASURES = (
    Measure(_liquidatable, lambda words: words[HEALTH] < WAD),
    Measure(_owed, lambda words: words[DEBT].array() * (words[HEALTH] < WAD)),
    Measure(_bad, _beyond),
    Measure(lambda builder, words: words[DEBT], lambda words: words[DEBT].array()),
)
