"""State, prices and quotes of a Pendle market."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, CallReverted
from mayavi.evm.address import AddressLike
from mayavi.protocols.arguments import address_on, amount_list, require_contract, require_fork, require_positive
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.deploy.pendle import pendle_labels

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_STATE = (
    "(int256 totalPt, int256 totalSy, int256 totalLp, address treasury, int256 scalarRoot, uint256 expiry,"
    " uint256 lnFeeRateRoot, uint256 reserveFeePercent, uint256 lastLnImpliedRate)"
)
MARKET = [
    "readTokens() view returns (address sy, address pt, address yt)",
    f"readState(address router) view returns ({_STATE} market)",
    "expiry() view returns (uint256)",
    "swapExactPtForSy(address receiver, uint256 exactPtIn, bytes data) returns (uint256 netSyOut, uint256 netSyFee)",
    "swapSyForExactPt(address receiver, uint256 exactPtOut, bytes data) returns (uint256 netSyIn, uint256 netSyFee)",
    "mint(address receiver, uint256 netSyDesired, uint256 netPtDesired)"
    " returns (uint256 netLpOut, uint256 netSyUsed, uint256 netPtUsed)",
    "burn(address receiverSy, address receiverPt, uint256 netLpToBurn) returns (uint256 netSyOut, uint256 netPtOut)",
]
SY = [
    "exchangeRate() view returns (uint256)",
    "yieldToken() view returns (address)",
    "deposit(address receiver, address tokenIn, uint256 amount, uint256 minSharesOut) payable returns (uint256)",
    "redeem(address receiver, uint256 amount, address tokenOut, uint256 minTokenOut, bool burnFromInternalBalance)"
    " returns (uint256)",
    "previewRedeem(address tokenOut, uint256 amount) view returns (uint256)",
]
YT = [
    "pyIndexStored() view returns (uint256)",
    "pyIndexLastUpdatedBlock() view returns (uint128)",
    "doCacheIndexSameBlock() view returns (bool)",
    "mintPY(address receiverPT, address receiverYT) returns (uint256 amountPYOut)",
    "redeemPY(address receiver) returns (uint256 amountSyOut)",
    "redeemDueInterestAndRewards(address user, bool redeemInterest, bool redeemRewards)"
    " returns (uint256 interestOut, uint256[] rewardsOut)",
]
_STATIC = [
    "swapExactPtForSyStatic(address market, uint256 exactPtIn) view"
    " returns (uint256 netSyOut, uint256 netSyFee, uint256 priceImpact, uint256 exchangeRateAfter)",
    "swapSyForExactPtStatic(address market, uint256 exactPtOut) view"
    " returns (uint256 netSyIn, uint256 netSyFee, uint256 priceImpact, uint256 exchangeRateAfter)",
]
_ORACLE = [
    "getPtToAssetRate(address market, uint32 duration) view returns (uint256)",
    "getPtToSyRate(address market, uint32 duration) view returns (uint256)",
]
ONE = 10**18
_DIGITS = Context(prec=40)


class MarketState(NamedTuple):
    """State of a market: its totals and parameters, as the contract stores them; rates have 18 decimals."""

    total_pt: int
    total_sy: int
    total_lp: int
    treasury: bytes
    scalar_root: int
    expiry: int
    ln_fee_rate_root: int
    reserve_fee_percent: int
    last_ln_implied_rate: int


class PtQuote(NamedTuple):
    """SY that a trade of PT gives or takes, and the fee in it."""

    amount_pt: int
    amount_sy: int
    fee_sy: int


class PendleMarketViews:
    """Reads of a market. Base of `PendleMarket`."""

    def __init__(self, fork: Fork, market: AddressLike) -> None:
        require_fork(fork, "PendleMarket")
        fork.labels.update(pendle_labels(fork))
        named = market
        if isinstance(market, str) and f"Pendle.{market}" in fork.labels:
            named = f"Pendle.{market}"
        self.fork = fork
        self.contract = fork.contract(address_on(fork, named), MARKET)
        self.address = self.contract.address
        require_contract(fork, self.address, "market of Pendle", self.contract.readTokens, self.contract.expiry)
        self._static = fork.contract("Pendle.RouterStatic", _STATIC)
        self._oracle = fork.contract("Pendle.Oracle", _ORACLE)

    @cached_property
    def _tokens(self) -> tuple[bytes, bytes, bytes]:
        sy, pt, yt = self.contract.readTokens()
        return sy, pt, yt

    @cached_property
    def sy(self) -> Erc20:
        """Standardized yield: the wrapped yield token."""
        return Erc20(self.fork, self._tokens[0])

    @cached_property
    def pt(self) -> Erc20:
        """Principal token: one asset at expiry."""
        return Erc20(self.fork, self._tokens[1])

    @cached_property
    def yt(self) -> Erc20:
        """Yield token of Pendle: what one asset earns until expiry."""
        return Erc20(self.fork, self._tokens[2])

    @cached_property
    def lp(self) -> Erc20:
        """The market's own token: a share of its liquidity."""
        return Erc20(self.fork, self.address)

    @cached_property
    def yield_token(self) -> Erc20:
        """Token that the SY wraps and pays out."""
        return Erc20(self.fork, self.fork.contract(self.sy.address, SY).yieldToken())

    @cached_property
    def expiry(self) -> int:
        """Unix time from which a PT is worth one asset."""
        expiry: int = self.contract.expiry()
        return expiry

    @property
    def expired(self) -> bool:
        """Whether the market has expired: PT are redeemed then, not traded."""
        return self.expiry <= self.fork.timestamp

    @property
    def state(self) -> MarketState:
        """Totals and parameters."""
        return MarketState(*self.contract.readState(self.address))

    @property
    def index_e18(self) -> int:
        """Assets behind one SY, which never falls, as the next trade counts them."""
        yt = self.fork.contract(self.yt.address, YT)
        stored: int = yt.pyIndexStored()
        if yt.doCacheIndexSameBlock() and yt.pyIndexLastUpdatedBlock() == self.fork.block_number:
            return stored
        rate: int = self.fork.contract(self.sy.address, SY).exchangeRate()
        return max(rate, stored)

    @property
    def implied_rate(self) -> Decimal:
        """Yearly rate that a PT earns at the last trade's price: 0.05 is 5 %."""
        with localcontext(_DIGITS):
            return (Decimal(self.state.last_ln_implied_rate) / ONE).exp() - 1

    def pt_price_e18(self, average_s: int = 0) -> int:
        """Return the price of a PT in its asset, by Pendle's oracle: now, or over the last `average_s` seconds."""
        return self._rate("getPtToAssetRate", average_s)

    def pt_price_in_sy_e18(self, average_s: int = 0) -> int:
        """Return the price of a PT in SY, by Pendle's oracle."""
        return self._rate("getPtToSyRate", average_s)

    # -- quotes -------------------------------------------------------------------------------------------------------

    def quote_sell_pt(self, amount_pt: int) -> PtQuote:
        """Quote the SY for `amount_pt`: what the market gives, or after expiry what redeeming gives."""
        return self.quote_sell_pts([amount_pt])[0]

    def quote_sell_pts(self, amounts_pt: Iterable[int]) -> list[PtQuote]:
        """Quote many sales, each on the current state."""
        amounts = [require_positive(amount, "a sale") for amount in amount_list(amounts_pt)]
        if self.expired:
            index = self.index_e18
            return [PtQuote(amount, amount * ONE // index, 0) for amount in amounts]
        return self._quotes("swapExactPtForSyStatic", amounts, "a quote to sell {}")

    def quote_exits(self, amounts_pt: Iterable[int]) -> list[int]:
        """Quote the yield tokens that PT bring: sold or redeemed, and unwrapped."""
        sold, sy = self.quote_sell_pts(amounts_pt), self.fork.contract(self.sy.address, SY)
        return [sy.previewRedeem(self.yield_token.address, each.amount_sy) if each.amount_sy else 0 for each in sold]

    def quote_buy_pt(self, amount_pt: int) -> PtQuote:
        """Quote the SY that `amount_pt` cost on the market."""
        amount = require_positive(amount_pt, "a purchase")
        if self.expired:
            raise ActionRefused(f"{self} has expired and sells no PT", "redeem those you have")
        return self._quotes("swapSyForExactPtStatic", [amount], "a quote to buy {}")[0]

    def _quotes(self, name: str, amounts: list[int], what: str) -> list[PtQuote]:
        function = self._static.interface.function(name)
        datas = [function.encode(self.address, amount) for amount in amounts]
        outputs = self.fork.call_many(self._static.address, datas, check=False)
        quotes = []
        for amount, data, output in zip(amounts, datas, outputs, strict=True):
            if output is None:
                try:  # repeat alone: raises the detailed error
                    output = self.fork.call(self._static.address, data)
                except CallReverted as error:
                    raise with_context(error, what=what.format(self.pt.text(amount))) from None
            sy, fee = function.decode(output)[:2]
            quotes.append(PtQuote(amount, sy, fee))
        return quotes

    def _rate(self, name: str, average_s: int) -> int:
        try:
            rate: int = self._oracle[name](self.address, average_s)
        except CallReverted as error:
            raise with_context(error, what=f"the oracle's price of {self.pt.symbol}") from None
        return rate

    def __str__(self) -> str:
        return f"the market of {self.pt.symbol}"

    def __repr__(self) -> str:
        return f"<Pendle market {self.fork.name(self.address)}>"
