"""Two markets driven in lockstep and compared after every step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mayavi.evm.address import checksum
from mayavi.validation.contracts.comet_markets import MARKET, Market, Outcome, Parameters, calldata, function
from mayavi.worlds.deploy.deployment import DEPLOYER

MAX = 2**256 - 1
CONSTANTS = (
    *("governor", "pauseGuardian", "baseToken", "baseTokenPriceFeed", "extensionDelegate", "supplyKink", "borrowKink"),
    *("supplyPerSecondInterestRateSlopeLow", "supplyPerSecondInterestRateSlopeHigh", "supplyPerSecondInterestRateBase"),
    *("borrowPerSecondInterestRateSlopeLow", "borrowPerSecondInterestRateSlopeHigh", "borrowPerSecondInterestRateBase"),
    *("storeFrontPriceFactor", "baseScale", "trackingIndexScale", "baseTrackingSupplySpeed", "baseTrackingBorrowSpeed"),
    *("baseMinForRewards", "baseBorrowMin", "targetReserves", "numAssets", "decimals", "maxAssets", "factorScale"),
    *("baseIndexScale", "baseAccrualScale", "priceScale", "name", "symbol", "version"),
)
TOTALS = ("totalsBasic", "totalSupply", "totalBorrow", "getUtilization", "getReserves")
POINTS = "liquidatorPoints(address)(uint32,uint64,uint128,uint32)"
FLAGS = ("isSupplyPaused", "isTransferPaused", "isWithdrawPaused", "isAbsorbPaused", "isBuyPaused")


class DisagreementError(AssertionError):
    """Difference between the markets; the message names it and the last operations."""


class Pair:
    """The real market and ours. Every transaction and view runs on both and must agree byte for byte."""

    def __init__(
        self,
        real: Market,
        ours: Market,
        parameters: Parameters,
        accounts: Iterable[bytes],
        *,
        constants: bool = True,
        base_fee: int = 0,
    ) -> None:
        """Without `constants`, views of immutable values are skipped: only behaviour counts.

        With a `base_fee`, the only gas-dependent figure, `approxSpend` of `liquidatorPoints`, is skipped.
        """
        self.real, self.ours, self.parameters, self.accounts = real, ours, parameters, tuple(accounts)
        self.constants, self.base_fee = constants, base_fee
        for market in (real, ours):
            market.fork.set_block(base_fee=base_fee)
        self.tokens = (parameters.base_token, *(asset.address for asset in parameters.assets))
        self.last = "the beginning"

    def send(self, text: str, *arguments: Any, sender: bytes, to: bytes = MARKET) -> Outcome:
        """Send the same transaction in both worlds."""
        self.last = f"{text}{_shown(arguments)} by {_shown(sender)}"
        data = function(text).encode(*arguments)
        real, ours = self.real.send(data, sender, to), self.ours.send(data, sender, to)
        if real != ours:
            raise DisagreementError(f"{self.last}\n  real {_shown(real)}\n  ours {_shown(ours)}")
        return real

    def look(self, text: str, *arguments: Any, to: bytes = MARKET) -> Outcome:
        """Call the same view in both worlds."""
        return self._look(text, function(text).encode(*arguments), arguments, to)

    def _look(self, text: str, data: bytes, arguments: Any, to: bytes = MARKET) -> Outcome:
        real, ours = self.real.look(data, to), self.ours.look(data, to)
        if real != ours:
            asked = f"{text}{_shown(arguments)}"
            raise DisagreementError(f"{asked} after {self.last}\n  real {_shown(real)}\n  ours {_shown(ours)}")
        return real

    def ask(self, text: str, *arguments: Any, to: bytes = MARKET) -> Any:
        """Call a view of the real market or a token in its world, to choose the next operation; None if it reverts."""
        outcome = self.real.look(calldata(text, *arguments), to)
        return function(text).decode(outcome.output) if outcome.result == "success" else None

    def pass_time(self, seconds: int) -> None:
        """Advance both worlds by one block of `seconds`."""
        for market in (self.real, self.ours):
            market.fork.mine(1, seconds)

    def mint(self, token: bytes, holder: bytes, amount: int) -> None:
        """Mint tokens in both worlds."""
        self.send("mint(address,uint256)", holder, amount, sender=DEPLOYER, to=token)

    def set_price(self, feed: bytes, answer: int) -> None:
        """Post a price in both worlds."""
        self.send("set_answer(int256)", answer, sender=DEPLOYER, to=feed)

    @contextmanager
    def episode(self) -> Iterator[None]:
        """Context manager that undoes its body."""
        with self.real.fork.snapshot(), self.ours.fork.snapshot():
            yield

    # -- comparing ----------------------------------------------------------------------------------------------------

    def compare_touched(self, accounts: Iterable[bytes]) -> None:
        """Compare totals, reserves, flags and the full state of some accounts."""
        for name in (*TOTALS, *FLAGS):
            self._compare(f"{name}()")
        for token in self.tokens:
            for name in ("totalsCollateral", "getCollateralReserves"):
                self._compare(f"{name}(address)", token)
        for account in accounts:
            for name in ("balanceOf", "borrowBalanceOf", "userBasic", "isBorrowCollateralized", "isLiquidatable"):
                self._compare(f"{name}(address)", account)
            for token in self.tokens:
                self._compare("collateralBalanceOf(address,address)", account, token)
                self._compare("balanceOf(address)", account, to=token)
            self._compare_points(account)

    def compare_everything(self) -> None:
        """Compare every view of the market for every account and asset."""
        self.compare_touched((*self.accounts, MARKET))
        if self.constants:
            for name in CONSTANTS:
                self._compare(f"{name}()")
            for i in range(len(self.parameters.assets) + 1):
                self._compare("getAssetInfo(uint8)", i)
            for token in self.tokens:
                self._compare("getAssetInfoByAddress(address)", token)
        for token in self.tokens:
            for amount in (0, 1, 10**6 + 1, 10**12):
                self._compare("quoteCollateral(address,uint256)", token, amount)
            self._compare("allowance(address,address)", MARKET, self.accounts[0], to=token)
        for feed in (self.parameters.base_feed, *(asset.feed for asset in self.parameters.assets)):
            self._compare("getPrice(address)", feed)
        utilization = self.ask("getUtilization()(uint256)") or 0
        for rate in ("getSupplyRate", "getBorrowRate"):
            for each in (0, utilization, self.parameters.supply_kink, self.parameters.borrow_kink + 1, 10**18):
                self._compare(f"{rate}(uint256)", each)
        for account in self.accounts:
            for name in ("baseTrackingAccrued", "userNonce"):
                self._compare(f"{name}(address)", account)
            for token in self.tokens:
                self._compare("userCollateral(address,address)", account, token)
            for other in self.accounts:
                for name in ("isAllowed", "hasPermission", "allowance"):
                    self._compare(f"{name}(address,address)", account, other)

    def _compare_points(self, account: bytes) -> None:
        if not self.base_fee:
            self._compare("liquidatorPoints(address)", account)
            return
        real, ours = (market.view(POINTS, account) for market in (self.real, self.ours))
        if (real[:2], real[3:]) != (ours[:2], ours[3:]) or bool(real[2]) != bool(ours[2]):
            raise DisagreementError(f"liquidatorPoints after {self.last}\n  real {real}\n  ours {ours}")

    def _compare(self, text: str, *arguments: Any, to: bytes = MARKET) -> None:
        self._look(text, calldata(text, *arguments), arguments, to)


def _shown(value: object) -> str:
    match value:
        case Outcome(result, output, logs):
            lines = [f"{result} 0x{output.hex()}", *(f"{_shown(log.topics)} 0x{log.data.hex()}" for log in logs)]
            return "\n    ".join(lines)
        case bytes() if len(value) == 20:
            return checksum(value)
        case bytes():
            return f"0x{value.hex()}"
        case tuple() | list():
            return f"({', '.join(map(_shown, value))})"
        case int() if value == MAX:
            return "MAX"
    return str(value)
