"""Trade PT, mint and redeem PT and YT, and provide liquidity on a Pendle market."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mayavi.errors import ActionRefused, CallReverted
from mayavi.evm.abi.contract import Contract
from mayavi.evm.address import AddressLike
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.pendle.views import SY, YT, MarketState, PendleMarketViews, PtQuote
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import atomic, spending

__all__ = ["Liquidity", "MarketState", "PendleMarket", "PtQuote"]

Call = tuple[bytes, bytes]


class Liquidity(NamedTuple):
    """LP tokens minted or burnt, with the SY and PT that went in or out."""

    lp: int
    sy: int
    pt: int


class PendleMarket(PendleMarketViews):
    """Pendle V2 market of a PT, by label or address; `create_pendle_market` makes one on a fork.

    Amounts are integers in smallest units. A PT has the decimals of its asset. An action is a transfer and a call; one
    that fails changes nothing.

        market = PendleMarket(fork, "Pendle.sDAI-26DEC2024")
        print(market.implied_rate, market.pt_price_e18())
        sold = market.exit_pt(10**18, sender=alice)  # PT to SY to sDAI
    """

    # -- SY, PT and YT ------------------------------------------------------------------------------------------------

    def wrap(self, amount: int, *, sender: AddressLike) -> int:
        """Wrap yield tokens; return the SY received."""
        payer, amount = address_on(self.fork, sender), require_positive(amount, "a deposit")
        with (
            spending(self.fork, self.yield_token.address, self.sy.address, amount, payer),
            self._explained("a deposit"),
        ):
            sent = self._sy.deposit(payer, self.yield_token.address, amount, 0, sender=payer)
        return int.from_bytes(sent.output)

    def unwrap(self, amount: int, *, sender: AddressLike) -> int:
        """Unwrap SY; return the yield tokens received."""
        payer, amount = address_on(self.fork, sender), require_positive(amount, "a withdrawal")
        self.sy.require(payer, amount)
        with atomic(self.fork), self._explained("a withdrawal"):
            sent = self._sy.redeem(payer, amount, self.yield_token.address, 0, False, sender=payer)
        return int.from_bytes(sent.output)

    def mint_py(self, amount_sy: int, *, sender: AddressLike) -> int:
        """Split SY into PT and YT; return how many of each."""
        payer, amount = address_on(self.fork, sender), require_positive(amount_sy, "minting")
        with atomic(self.fork), self._explained(f"minting from {self.sy.text(amount)}"):
            self.sy.transfer(self.yt.address, amount, sender=payer)
            sent = self._yt.mintPY(payer, payer, sender=payer)
        return int.from_bytes(sent.output)

    def redeem_py(self, amount: int, *, sender: AddressLike) -> int:
        """Join PT and YT to SY, or after expiry PT alone; return the SY received."""
        payer, amount = address_on(self.fork, sender), require_positive(amount, "redeeming")
        with atomic(self.fork), self._explained(f"redeeming {self.pt.text(amount)}"):
            self.pt.transfer(self.yt.address, amount, sender=payer)
            if not self.expired:
                self.yt.transfer(self.yt.address, amount, sender=payer)
            sent = self._yt.redeemPY(payer, sender=payer)
        return int.from_bytes(sent.output)

    def redeem_interest(self, *, sender: AddressLike) -> int:
        """Collect what the sender's YT earned; return the SY received."""
        payer = address_on(self.fork, sender)
        with atomic(self.fork), self._explained("redeeming interest"):
            sent = self._yt.redeemDueInterestAndRewards(payer, True, False, sender=payer)
        interest: int = self._yt.redeemDueInterestAndRewards.function.decode(sent.output)[0]
        return interest

    # -- trades -------------------------------------------------------------------------------------------------------

    def sell_pt(self, amount: int, *, sender: AddressLike, min_sy_out: int = 0) -> PtQuote:
        """Sell PT for SY on the market, or redeem it after expiry."""
        payer, amount = address_on(self.fork, sender), require_positive(amount, "a sale")
        if self.expired:
            with atomic(self.fork):
                sold = PtQuote(amount, self.redeem_py(amount, sender=payer), 0)
                self._require(
                    sold.amount_sy >= min_sy_out, f"{self.pt.text(amount)} redeem {self.sy.text(sold.amount_sy)}"
                )
            return sold
        with atomic(self.fork), self._explained(f"a sale of {self.pt.text(amount)}"):
            self.pt.transfer(self.address, amount, sender=payer)
            sent = self.contract.swapExactPtForSy(payer, amount, b"", sender=payer)
            out, fee = self.contract.swapExactPtForSy.function.decode(sent.output)
            self._require(out >= min_sy_out, f"{self.pt.text(amount)} bring {self.sy.text(out)}")
        return PtQuote(amount, out, fee)

    def exit_pt(self, amount: int, *, sender: AddressLike, min_amount_out: int = 0) -> int:
        """Sell or redeem PT for SY and unwrap it; return the yield tokens received."""
        with atomic(self.fork):
            sold = self.sell_pt(amount, sender=sender)
            received = self.unwrap(sold.amount_sy, sender=sender)
            self._require(received >= min_amount_out, f"{self.pt.text(amount)} bring {self.yield_token.text(received)}")
        return received

    def buy_pt(self, amount: int, *, sender: AddressLike, max_sy_in: int | None = None) -> PtQuote:
        """Buy PT with SY."""
        payer, quote = address_on(self.fork, sender), self.quote_buy_pt(amount)
        most = quote.amount_sy if max_sy_in is None else max_sy_in
        self._require(quote.amount_sy <= most, f"{self.pt.text(amount)} cost {self.sy.text(quote.amount_sy)}")
        with atomic(self.fork), self._explained(f"a purchase of {self.pt.text(amount)}"):
            self.sy.transfer(self.address, quote.amount_sy, sender=payer)
            sent = self.contract.swapSyForExactPt(payer, amount, b"", sender=payer)
        taken, fee = self.contract.swapSyForExactPt.function.decode(sent.output)
        return PtQuote(amount, taken, fee)

    def exit_calls(self, amount: int, recipient: AddressLike) -> list[Call]:
        """Return calls, target and data, by which a holder of PT exits to the yield token within one transaction.

        They sell or redeem exactly `amount`, at the price of now.
        """
        receiver, quote = address_on(self.fork, recipient), self.quote_sell_pt(amount)
        target = self.yt.address if self.expired else self.address
        if self.expired:
            sale: Call = target, self._yt.redeemPY.encode(self.sy.address)
        else:
            sale = target, self.contract.swapExactPtForSy.encode(self.sy.address, amount, b"")
        unwrap = self._sy.redeem.encode(receiver, quote.amount_sy, self.yield_token.address, 0, True)
        return [(self.pt.address, self.pt.contract.transfer.encode(target, amount)), sale, (self.sy.address, unwrap)]

    # -- liquidity ----------------------------------------------------------------------------------------------------

    def add_liquidity(self, amount_sy: int, amount_pt: int, *, sender: AddressLike) -> Liquidity:
        """Deposit SY and PT in the market's proportion; of one of them some may be left with the sender."""
        payer = address_on(self.fork, sender)
        self.sy.require(payer, require_positive(amount_sy, "a deposit of SY"))
        self.pt.require(payer, require_positive(amount_pt, "a deposit of PT"))
        state = self.state
        if state.total_lp:  # the market keeps what it does not use: send only that
            by_pt, by_sy = amount_pt * state.total_lp // state.total_pt, amount_sy * state.total_lp // state.total_sy
            if by_pt < by_sy:
                amount_sy = -(-state.total_sy * by_pt // state.total_lp)
            else:
                amount_pt = -(-state.total_pt * by_sy // state.total_lp)
        with atomic(self.fork), self._explained("adding liquidity"):
            self.sy.transfer(self.address, amount_sy, sender=payer)
            self.pt.transfer(self.address, amount_pt, sender=payer)
            sent = self.contract.mint(payer, amount_sy, amount_pt, sender=payer)
        return Liquidity(*self.contract.mint.function.decode(sent.output))

    def remove_liquidity(self, amount_lp: int, *, sender: AddressLike) -> Liquidity:
        """Burn LP tokens for their share of SY and PT."""
        payer, amount = address_on(self.fork, sender), require_positive(amount_lp, "a withdrawal")
        with atomic(self.fork), self._explained("removing liquidity"):
            self.lp.transfer(self.address, amount, sender=payer)
            sent = self.contract.burn(payer, payer, amount, sender=payer)
        return Liquidity(amount, *self.contract.burn.function.decode(sent.output))

    # -- internals ----------------------------------------------------------------------------------------------------

    @property
    def _sy(self) -> Contract:
        return self.fork.contract(self.sy.address, SY)

    @property
    def _yt(self) -> Contract:
        return self.fork.contract(self.yt.address, YT)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except CallReverted as error:
            raise with_context(error, what=f"{what} on {self}") from None

    @staticmethod
    def _require(met: bool, fact: str) -> None:
        if not met:
            raise ActionRefused(f"{fact} now, which is beyond the bound given", "ask for a new quote")
