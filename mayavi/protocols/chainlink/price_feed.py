"""Read and move Chainlink-compatible price feeds."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadCalldata,
    BadInteger,
    StateError,
    UsageError,
)
from mayavi.evm.address import AddressLike
from mayavi.evm.units import Amount, as_integer, from_units, to_units
from mayavi.protocols.arguments import require_contract, require_fork
from mayavi.protocols.chainlink.aggregator_storage import Round, post_round

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

__all__ = ["PriceFeed", "Round"]

_ROUND = "(uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)"
_FEED = [
    "latestAnswer() view returns (int256)",
    f"latestRoundData() view returns {_ROUND}",
    f"getRoundData(uint80 roundId) view returns {_ROUND}",
    "decimals() view returns (uint8)",
    "description() view returns (string)",
    "aggregator() view returns (address)",
    "owner() view returns (address)",
    "base() view returns (address)",
    "ratio() view returns (uint256)",
    "is_capped() view returns (bool)",
    "maturity() view returns (uint256)",
    "set_answer(int256 answer)",
    "set_ratio(uint256 ratio)",
    "set_discount_rate(uint256 discount_rate)",
]
_RATIO_UNIT = 10**18
_YEAR_S = 365 * 86_400
_ANSWER_BITS = 191  # plus a sign: the width aggregators store


class PriceFeed:
    """Price feed with Chainlink's interface, by a label such as `Chainlink.ETH/USD` or an address.

    Answers are integers with the feed's `decimals`; `price` is the answer as a `Decimal`.

    Moving the price adds a round at the time of the fork's block; earlier rounds stay. On a replica the feed's owner
    posts it. On a fork of a real chain it is written into the storage of the aggregator behind Chainlink's proxy,
    without an event. A ratio adapter of a replica, such as `Aave.wstETH/USD`, has no rounds: moving it changes its
    ratio to its base feed, whose time it reports; where the ratio has a cap, the answer stays at the cap. The adapter
    of a principal token changes its discount.

        feed = PriceFeed(fork, "Chainlink.ETH/USD")
        feed.move_by(-0.30)
    """

    def __init__(self, fork: Fork, feed: AddressLike) -> None:
        require_fork(fork, "PriceFeed")
        self.fork = fork
        self.contract = fork.contract(feed, _FEED)
        require_contract(fork, feed, "price feed", self.contract.latestAnswer)
        self.name = feed if isinstance(feed, str) and not feed.startswith("0x") else fork.name(feed)

    # -- reads --------------------------------------------------------------------------------------------------------

    @property
    def answer(self) -> int:
        """The latest answer, with `decimals` decimals."""
        answer: int = self.contract.latestAnswer()
        return answer

    @cached_property
    def decimals(self) -> int:
        """Number of decimals of the answers, which does not change."""
        decimals: int = self.contract.decimals()
        return decimals

    @property
    def price(self) -> Decimal:
        """Latest answer as an exact `Decimal`."""
        answer = self.answer
        return from_units(answer, self.decimals) if answer else Decimal(0)

    @property
    def description(self) -> str:
        """Description stored in the feed, such as `ETH / USD`."""
        text: str = self.contract.description()
        return text

    @property
    def latest_round(self) -> Round:
        """Latest round."""
        return Round(*self.contract.latestRoundData())

    @property
    def updated_at(self) -> int:
        """Unix time of the latest round."""
        return self.latest_round.updated_at

    def round(self, round_id: SupportsIndex) -> Round:
        """Return an earlier round; like `latest_round.round_id`, the number includes the proxy's phase."""
        return Round(*self.contract.getRoundData(round_id))

    # -- moves --------------------------------------------------------------------------------------------------------

    def move(self, answer: SupportsIndex) -> Round:
        """Make `answer` the latest answer and return the new round. A failure changes nothing."""
        wanted = _answer(answer)
        with self.fork.snapshot() as moment:
            if self._is_ratio:
                self._move_ratio(wanted)
            elif self._keeps_answers:
                self.contract.set_answer(wanted, sender=self.contract.owner())
            elif (aggregator := self._view("aggregator")) is None and (maturity := self._view("maturity")) is not None:
                self._move_discount(wanted, maturity)
            else:
                self._post(aggregator or self.contract.address, wanted)
            now = self.latest_round
            if (now.answer, self.answer) != (wanted, wanted) and not self._view("is_capped"):
                raise StateError(f"{self.name} was moved to {wanted} and answers {self.answer}")
            moment.keep()
        return now

    def move_by(self, fraction: float | Amount) -> Round:
        """Move the answer by a fraction of itself: `-0.30` is minus 30 %. Rounds down."""
        share = _fraction(fraction)
        if share < -1:
            raise BadArgument(f"a price cannot fall by more than all of it, as {fraction!r} says", "-0.3 is minus 30 %")
        answer = self.answer
        if answer <= 0:
            raise ActionRefused(
                f"{self.name} answers {answer}: a fraction of that is not a valid price",
                "`move` and `set_price` set one",
            )
        exact = answer * (1 + share)
        return self.move(exact.numerator // exact.denominator)

    def set_price(self, price: Amount) -> Round:
        """Move to a decimal price such as `"1873.41"`; `BadInteger` if it has more decimals than the feed."""
        return self.move(to_units(price, self.decimals))

    def _post(self, aggregator: bytes, answer: int) -> None:
        if self._view("latestRoundData") is None:
            self._refuse()
        latest, now = self.latest_round, self.fork.timestamp
        if not latest.round_id:  # adapters compute their price and have no rounds
            self._refuse()
        number = latest.round_id + 1
        following = Round(number, answer, now, now, number)
        post_round(self.fork, self.contract.address, aggregator, latest, following)
        if self.latest_round != following:
            raise StateError(f"{self.name} does not report the round written for it")

    def _refuse(self) -> NoReturn:
        calldata = self.contract.latestAnswer.encode()
        behind = [self.fork.name(place) for place, slots in self.fork.touched(self.contract.address, calldata) if slots]
        raise UsageError(
            f"{self.name} has no rounds of its own: it computes its answer",
            f"move a feed it is made of; it reads {', '.join(behind)}" if behind else None,
        )

    def _move_ratio(self, answer: int) -> None:
        base = PriceFeed(self.fork, self.contract.base())
        if answer < 0 or base.answer <= 0:
            raise BadArgument(
                f"{self.name} is a ratio of {base.name}, which answers {base.answer}: it cannot answer {answer}",
                "move the base to a price above zero first",
            )
        ratio = -(-answer * _RATIO_UNIT // base.answer)  # round up, because the adapter rounds down
        self.contract.set_ratio(ratio, sender=self.contract.owner())

    def _move_discount(self, answer: int, maturity: int) -> None:
        base, left = PriceFeed(self.fork, self.contract.base()), maturity - self.fork.timestamp
        if left <= 0 or not 0 < answer <= base.answer:
            since = "is past its maturity" if left <= 0 else "is a discount"
            raise BadArgument(
                f"{self.name} {since}, and its base {base.name} answers {base.answer}: it cannot answer {answer}",
                f"move the base, {base.name}",
            )
        # The middle of the discounts that round to the answer, so that rounding the rate leaves it there.
        discount = max(0, _RATIO_UNIT - (2 * answer + 1) * _RATIO_UNIT // (2 * base.answer))
        self.contract.set_discount_rate(discount * _YEAR_S // left, sender=self.contract.owner())

    def _view(self, name: str) -> Any:
        """Call a view; None if the contract does not have it."""
        function = self.contract[name].function
        output = self.fork.call_if_any(self.contract.address, function.encode())
        try:
            return None if output is None else function.decode(output)
        except BadCalldata:
            return None

    @cached_property
    def _is_ratio(self) -> bool:
        """Whether it is a ratio adapter, which its code says once and for all."""
        return self._view("ratio") is not None

    @cached_property
    def _keeps_answers(self) -> bool:
        """Whether it is its own aggregator, as feeds of a replica are, which its code says once and for all."""
        return bool(self._view("aggregator") == self.contract.address)

    def __repr__(self) -> str:
        return f"<PriceFeed {self.name}>"


def _answer(value: SupportsIndex) -> int:
    try:
        answer = as_integer(value)
    except TypeError:
        raise BadInteger(
            f"answer {value!r} is not an integer", "`set_price` takes a decimal price, `move_by` a fraction"
        ) from None
    if not -(1 << _ANSWER_BITS) <= answer < 1 << _ANSWER_BITS:
        raise BadInteger(f"answer {answer} does not fit into the 192 bits of a round")
    return answer


def _fraction(value: float | Amount) -> Fraction:
    """Convert by decimal digits: the float -0.3 is exactly three tenths."""
    try:
        return Fraction(Decimal(repr(value) if isinstance(value, float) else value))
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise BadArgument(f"{value!r} is not a fraction of a price", "-0.3 is minus 30 %") from None
