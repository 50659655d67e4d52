"""Losses of Compound V3 markets by absorbed account, with the collateral read from the markets' own events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mayavi.evm.sent import Sent
    from mayavi.protocols.compound.collateral import CollateralAsset
    from mayavi.protocols.compound.market import CompoundV3
    from mayavi.sim.world_state import WorldState


class Absorption(NamedTuple):
    """Account that a market took over, at the prices of that moment."""

    borrower: bytes
    collateral: dict[bytes, tuple[int, int]]
    """Amount and price with 8 decimals, by asset."""
    base_price_e8: int
    marker: int
    """Version of the state after the transaction."""


class Absorptions:
    """Absorptions of the named markets in the current step, in order.

    The loss of a market is the debt that it took over, less the liquidator's payment and the collateral that it still
    holds. It is counted account by account: a profit on one account does not pay for the bad debt of another.
    """

    def __init__(self, markets: Iterable[str]) -> None:
        self._names = sorted(set(markets))
        self._markets: dict[str, CompoundV3] = {}
        self._assets: dict[str, dict[bytes, CollateralAsset]] = {}
        self._waiting: dict[str, list[Absorption]] = {name: [] for name in self._names}

    def begin(self, world: WorldState) -> None:
        """Start to watch the transactions of a run."""
        if not self._names:
            return
        from mayavi.protocols.compound.market import CompoundV3

        self._markets = {name: CompoundV3(world.fork, name) for name in self._names}
        self._assets = {name: {each.address: each for each in market.assets} for name, market in self._markets.items()}
        world.fork.watch(self._on_sent, self._on_revert)

    def _on_sent(self, sent: Sent) -> None:
        emitters = {log.address for log in sent.receipt.logs}
        for name, market in self._markets.items():
            if market.address in emitters:
                self._waiting[name] += self._absorbed_in(sent, name, market)

    def _absorbed_in(self, sent: Sent, name: str, market: CompoundV3) -> Iterator[Absorption]:
        """Yield the absorptions of one transaction; the events of an account's collateral precede that of its debt."""
        collateral: dict[bytes, tuple[int, int]] = {}
        for log in market.contract.events(sent.receipt):
            if log.name == "AbsorbCollateral":
                price = int(market.contract.getPrice(self._assets[name][log.args.asset].price_feed))
                collateral[log.args.asset] = log.args.collateralAbsorbed, price
            elif log.name == "AbsorbDebt":
                yield Absorption(log.args.borrower, collateral, market.price_e8(), sent.marker)
                collateral = {}

    def _on_revert(self, marker: int) -> None:
        for waiting in self._waiting.values():
            while waiting and waiting[-1].marker > marker:
                waiting.pop()

    def end_step(self) -> None:
        """Forget absorptions that no liquidation of the step was about."""
        for waiting in self._waiting.values():
            waiting.clear()

    def loss_e8(self, market: str, borrower: bytes, facts: Mapping[str, Any]) -> int:
        """Return the market's loss in the earliest absorption of `borrower`, which had the details `facts`.

        Zero if the collateral was worth the debt: what it is worth beyond that goes to the borrower, less a penalty.
        """
        absorbed = next(each for each in self._waiting[market] if each.borrower == borrower)
        self._waiting[market].remove(absorbed)
        comet, assets = self._markets[market], self._assets[market]
        bought = comet.asset(facts["collateral"]).address
        kept = 0
        for asset, (amount, price) in absorbed.collateral.items():
            left = amount - int(facts["seized"]) if asset == bought else amount
            kept += left * price // int(10 ** assets[asset].decimals)
        paid = int(facts["paid"]) * absorbed.base_price_e8 // int(10**comet.base.decimals)
        return max(0, int(facts["covered_e8"]) - paid - kept)
