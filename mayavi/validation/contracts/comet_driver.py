"""Random operations on a Comet market, with amounts near every edge."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from mayavi.evm.hashing import keccak_text
from mayavi.validation.contracts.comet_markets import MARKET
from mayavi.validation.contracts.comet_pair import MAX, Pair
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account

USERS = tuple(named_account(name) for name in ("alice", "bob", "carol", "dave", "erin"))
LENDER, FRUGAL = USERS[0], USERS[4]
"""The lender keeps the market liquid; the frugal user has little and approves little."""
NOWHERE = bytes(20)
STRANGER = named_account("stranger")

ABSORB_DEBT = keccak_text("AbsorbDebt(address,address,uint256,uint256)")
HOUR, DAY = 3_600, 86_400
PRICE_UNITS = (1, 60, 60_000, 3_000, 8, 15)
"""Initial prices of the base and the five collaterals, in USD."""
PRICES = tuple(units * 10**8 for units in PRICE_UNITS)

WEIGHTS = {
    "supply": 10,
    "supply_for": 6,
    "withdraw": 14,
    "withdraw_for": 6,
    "pledge": 8,
    "borrow": 10,
    "repay_all": 3,
    "transfer": 6,
    "transfer_for": 4,
    "transfer_asset": 6,
    "transfer_asset_for": 4,
    "allow": 4,
    "approve": 2,
    "absorb": 8,
    "absorb_many": 5,
    "buy_collateral": 10,
    "withdraw_reserves": 4,
    "pause": 2,
    "accrue_account": 2,
    "donate": 3,
    "fill_reserves": 1,
    "approve_this": 1,
    "initialize": 1,
    "look": 4,
}
"""Kinds of operation and their weights."""


class Driver:
    """Driver of a pair of markets; its counters record the outcomes."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.random, self.parameters = pair, Random(seed), pair.parameters
        self.counts: Counter[tuple[str, str]] = Counter()
        """Successes and reverts per kind of operation."""
        self.errors: Counter[bytes] = Counter()
        """Selectors of revert data."""
        self.events: Counter[bytes] = Counter()
        """First topics of the logs."""
        self.absorbed: Counter[int] = Counter()
        """Number of accounts per successful absorption."""
        self.micro = pair.ask("baseScale()(uint256)") // 10**6
        """A millionth of one unit of the base."""
        self.prices = list(PRICES)
        self.feeds = (self.parameters.base_feed, *(asset.feed for asset in self.parameters.assets))
        self.collaterals = tuple(asset.address for asset in self.parameters.assets)

    def run(self, operations: int, *, full_every: int = 50) -> None:
        """Run operations and compare each; compare everything now and then and at the end."""
        self._furnish()
        kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
        for number in range(operations):
            self._drift()
            kind = self.random.choices(kinds, weights)[0]
            getattr(self, f"_{kind}")(kind)
            if number % full_every == 0:
                self.pair.compare_everything()
        self.pair.compare_everything()

    def _furnish(self) -> None:
        riches = self.random.choice((10**26, 10**26, 10**26, 2**125))
        for token in self.pair.tokens:
            for user in USERS:
                self.pair.mint(token, user, riches if user is not FRUGAL else 10**12 * self.micro)
                approved = MAX if user is not FRUGAL else 10**11 * self.micro
                self.pair.send("approve(address,uint256)", MARKET, approved, sender=user, to=token)
        supplied = self.random.choice((10**11, 10**13, 10**14)) * self.micro
        self._act("supply", "supply(address,uint256)", self.parameters.base_token, supplied, sender=LENDER)

    # -- the world moves ----------------------------------------------------------------------------------------------

    def _drift(self) -> None:
        if self.random.random() < 0.35:
            self.pair.pass_time(self.random.choice((1, 12, 12, 60, HOUR, HOUR, DAY, DAY, 7 * DAY, 60 * DAY)))
        if self.random.random() < 0.15:
            self._move_price(self.random.randrange(len(self.feeds)))
        if self.random.random() < 0.02:
            self._crash()

    def _crash(self) -> None:
        for which in range(1, len(self.feeds)):
            self._set_price(which, self.prices[which] * self.random.randint(40, 95) // 100)

    def _move_price(self, which: int) -> None:
        at_first = PRICES[which]
        if which == 0:
            self._set_price(0, self.random.choice((at_first, at_first, at_first * 101 // 100, at_first * 90 // 100)))
        else:
            draw = self.random.random()
            if draw < 0.04:
                self.pair.set_price(self.feeds[which], self.random.choice((0, -1, 1, 2**62)))
            elif draw < 0.4:
                self._set_price(which, at_first)
            else:
                self._set_price(which, self.prices[which] * self.random.randint(60, 130) // 100)

    def _set_price(self, which: int, answer: int) -> None:
        self.prices[which] = max(answer, 1)
        self.pair.set_price(self.feeds[which], self.prices[which])

    # -- choosing -----------------------------------------------------------------------------------------------------

    def _user(self) -> bytes:
        return self.random.choice(USERS)

    def _target(self) -> bytes:
        return self.random.choice((*USERS, *USERS, *USERS, NOWHERE, MARKET, STRANGER))

    def _asset(self, *, base: float = 0.5) -> bytes:
        draw = self.random.random()
        if draw < base:
            return self.parameters.base_token
        return self.random.choice(self.collaterals) if draw < 0.98 else STRANGER

    def _amount(self, asset: bytes, account: bytes) -> int:
        near = [self._plain_amount(asset)] * 4 + self._edges(asset, account)
        amount = self.random.choice(near) + self.random.choice((0, 0, 0, 0, 0, 1, -1))
        return min(max(amount, 0), MAX)

    def _plain_amount(self, asset: bytes) -> int:
        if asset == self.parameters.base_token:
            return int(10 ** self.random.uniform(2, 13) * self.micro)
        scale = next((10**each.decimals for each in self.parameters.assets if each.address == asset), 1)
        price = self.prices[1 + self.collaterals.index(asset)] if asset in self.collaterals else 10**8
        dollars = 10 ** self.random.uniform(0, 7)
        return min(int(dollars * 1e8 / price * scale), 10**25)

    def _edges(self, asset: bytes, account: bytes) -> list[int]:
        edges = [0, 1, MAX, self.random.choice((2**104, 2**103, 2**128, 2**255))]
        if asset == self.parameters.base_token:
            balance = self.pair.ask("balanceOf(address)(uint256)", account) or 0
            debt = self.pair.ask("borrowBalanceOf(address)(uint256)", account) or 0
            minimum = self.parameters.borrow_min
            capacity = self._capacity(account)
            edges += [minimum, balance, debt, balance + minimum, capacity, balance + capacity]
            edges += [max(capacity - debt, 0), max(debt - minimum, 0)]
        elif asset in self.collaterals:
            held = self.pair.ask("collateralBalanceOf(address,address)(uint128)", account, asset)
            total, _ = self.pair.ask("totalsCollateral(address)(uint128,uint128)", asset)
            cap = self.parameters.assets[self.collaterals.index(asset)].supply_cap
            edges += [held, held // 2]
            if self.random.random() < 0.05:
                edges += [cap - total] * 3
        return edges

    def _capacity(self, account: bytes) -> int:
        """Return the debt that the account's collateral allows, in units of the base."""
        worth = 0
        for which, asset in enumerate(self.parameters.assets):
            held = self.pair.ask("collateralBalanceOf(address,address)(uint128)", account, asset.address)
            value = held * self.prices[1 + which] // 10**asset.decimals
            worth += value * asset.borrow_factor // 10**18
        capacity: int = worth * 10**6 * self.micro // self.prices[0]
        return capacity

    # -- acting -------------------------------------------------------------------------------------------------------

    def _act(self, kind: str, text: str, *arguments: Any, sender: bytes, to: bytes = MARKET) -> None:
        outcome = self.pair.send(text, *arguments, sender=sender, to=to)
        self.counts[kind, outcome.result] += 1
        self.events.update(log.topics[0] for log in outcome.logs)
        if taken_over := sum(log.topics[0] == ABSORB_DEBT for log in outcome.logs):
            self.absorbed[taken_over] += 1
        if outcome.result == "revert":
            self.errors[outcome.output[:4]] += 1
        named = [each for argument in arguments for each in (argument if isinstance(argument, list) else [argument])]
        touched = {each for each in (*named, sender) if isinstance(each, bytes)}
        self.pair.compare_touched(sorted(touched & {*USERS, NOWHERE, MARKET, STRANGER}))

    def _supply(self, kind: str) -> None:
        user, asset = self._user(), self._asset(base=0.4)
        self._act(kind, "supply(address,uint256)", asset, self._amount(asset, user), sender=user)

    def _supply_for(self, kind: str) -> None:
        sender, payer, target, asset = self._user(), self._user(), self._target(), self._asset()
        amount = self._amount(asset, target)
        if self.random.random() < 0.5:
            self._act(kind, "supplyTo(address,address,uint256)", target, asset, amount, sender=sender)
        else:
            self._act(kind, "supplyFrom(address,address,address,uint256)", payer, target, asset, amount, sender=sender)

    def _withdraw(self, kind: str) -> None:
        user, asset = self._user(), self._asset(base=0.65)
        self._act(kind, "withdraw(address,uint256)", asset, self._amount(asset, user), sender=user)

    def _withdraw_for(self, kind: str) -> None:
        sender, source, target, asset = self._user(), self._user(), self._target(), self._asset()
        if self.random.random() < 0.5:
            amount = self._amount(asset, sender)
            self._act(kind, "withdrawTo(address,address,uint256)", target, asset, amount, sender=sender)
        else:
            amount = self._amount(asset, source)
            self._act(
                kind, "withdrawFrom(address,address,address,uint256)", source, target, asset, amount, sender=sender
            )

    def _pledge(self, kind: str) -> None:
        asset = self.random.choice(self.collaterals)
        amount = self._plain_amount(asset)
        self._act(kind, "supply(address,uint256)", asset, amount, sender=self._user())

    def _borrow(self, kind: str) -> None:
        user = self._user()
        owed = self.pair.ask("borrowBalanceOf(address)(uint256)", user) or 0
        lent = self.pair.ask("balanceOf(address)(uint256)", user) or 0
        room = max(self._capacity(user) - owed, 0) + lent
        amount = room * self.random.choice((50, 90, 99, 100, 100)) // 100 + self.random.choice((0, 0, 1))
        self._act(kind, "withdraw(address,uint256)", self.parameters.base_token, amount, sender=user)

    def _repay_all(self, kind: str) -> None:
        debtors = [user for user in USERS if self.pair.ask("borrowBalanceOf(address)(uint256)", user)]
        debtor, payer = self.random.choice(debtors or list(USERS)), self._user()
        base = self.parameters.base_token
        if self.random.random() < 0.5:
            self._act(kind, "supply(address,uint256)", base, MAX, sender=debtor)
        else:
            self._act(kind, "supplyTo(address,address,uint256)", debtor, base, MAX, sender=payer)

    def _transfer(self, kind: str) -> None:
        user = self._user()
        amount = self._amount(self.parameters.base_token, user)
        self._act(kind, "transfer(address,uint256)", self._target(), amount, sender=user)

    def _transfer_for(self, kind: str) -> None:
        source, sender = self._user(), self._user()
        amount = self._amount(self.parameters.base_token, source)
        self._act(kind, "transferFrom(address,address,uint256)", source, self._target(), amount, sender=sender)

    def _transfer_asset(self, kind: str) -> None:
        user, asset = self._user(), self._asset(base=0.3)
        amount = self._amount(asset, user)
        self._act(kind, "transferAsset(address,address,uint256)", self._target(), asset, amount, sender=user)

    def _transfer_asset_for(self, kind: str) -> None:
        source, sender, asset = self._user(), self._user(), self._asset(base=0.3)
        amount = self._amount(asset, source)
        text = "transferAssetFrom(address,address,address,uint256)"
        self._act(kind, text, source, self._target(), asset, amount, sender=sender)

    def _allow(self, kind: str) -> None:
        self._act(kind, "allow(address,bool)", self._user(), self.random.random() < 0.6, sender=self._user())

    def _approve(self, kind: str) -> None:
        amount = self.random.choice((0, MAX, MAX, MAX - 1, 1))
        self._act(kind, "approve(address,uint256)", self._user(), amount, sender=self._user())

    def _ripe(self) -> list[bytes]:
        """Return the accounts that can be absorbed: often none until some borrow their limit and prices fall."""
        ripe = self._liquidatable()
        if len(ripe) < 2 and self.random.random() < 0.6:
            self._stretch(self.random.randint(1, 3))
            self._crash()
            ripe = self._liquidatable()
        return ripe

    def _liquidatable(self) -> list[bytes]:
        return [user for user in USERS if self.pair.ask("isLiquidatable(address)(bool)", user)]

    def _stretch(self, count: int) -> None:
        """Let some users borrow up to the limit of their collateral, as far as the market has cash."""
        base = self.parameters.base_token
        for user in self.random.sample(USERS[1:], count):
            asset = self.random.choice(self.collaterals)
            self._act("stretch", "supply(address,uint256)", asset, self._plain_amount(asset), sender=user)
            owed = self.pair.ask("borrowBalanceOf(address)(uint256)", user) or 0
            lent = self.pair.ask("balanceOf(address)(uint256)", user) or 0
            there = self.pair.ask("balanceOf(address)(uint256)", MARKET, to=base)
            room = max(self._capacity(user) - owed, 0) + lent
            self._act("stretch", "withdraw(address,uint256)", base, min(room, there // 2), sender=user)

    def _absorb(self, kind: str) -> None:
        ripe = self._ripe()
        account = self.random.choice(ripe if ripe and self.random.random() < 0.9 else [*USERS, STRANGER])
        self._act(kind, "absorb(address,address[])", self._target(), [account], sender=self._user())

    def _absorb_many(self, kind: str) -> None:
        ripe = self._ripe()
        accounts = ripe if self.random.random() < 0.8 else self.random.choices(USERS, k=self.random.randrange(4))
        kind = kind if accounts else "absorb_nobody"
        self._act(kind, "absorb(address,address[])", self._user(), accounts, sender=self._user())

    def _buy_collateral(self, kind: str) -> None:
        for_sale = [each for each in self.collaterals if self.pair.ask("getCollateralReserves(address)(uint256)", each)]
        asset = self.random.choice(for_sale) if for_sale and self.random.random() < 0.9 else self._asset(base=0.1)
        reserves = self.pair.ask("getCollateralReserves(address)(uint256)", asset) or 0
        amounts = [0, 1, self._plain_amount(self.parameters.base_token)]
        one = self.pair.ask("quoteCollateral(address,uint256)(uint256)", asset, 10**12 * self.micro)
        if one:
            amounts += [each + reserves * 10**12 * self.micro // one // part for part in (1, 2, 7) for each in (0, 1)]
        amount = self.random.choice(amounts) if self.random.random() < 0.97 else MAX
        quoted = self.pair.ask("quoteCollateral(address,uint256)(uint256)", asset, amount) or 0
        least = self.random.choice((0, 0, quoted, quoted + 1))
        text = "buyCollateral(address,uint256,uint256,address)"
        self._act(kind, text, asset, least, amount, self._target(), sender=self._user())

    def _withdraw_reserves(self, kind: str) -> None:
        sender = self.parameters.governor if self.random.random() < 0.8 else self._user()
        reserves = max(self.pair.ask("getReserves()(int256)") or 0, 0)
        amount = self.random.choice((0, 1, reserves, reserves + 1, reserves // 2, 10**9 * self.micro, MAX))
        self._act(kind, "withdrawReserves(address,uint256)", self._target(), amount, sender=sender)

    def _pause(self, kind: str) -> None:
        text = "pause(bool,bool,bool,bool,bool)"
        sender = self.random.choice((self.parameters.governor, self.parameters.pause_guardian, self._user()))
        self._act(kind, text, *(self.random.random() < 0.5 for _ in range(5)), sender=sender)
        for _ in range(self.random.randrange(4)):
            other = self.random.choice(("supply", "withdraw", "transfer", "transfer_asset", "absorb", "buy_collateral"))
            getattr(self, f"_{other}")("while_paused")
        self._act(kind, text, *[False] * 5, sender=self.parameters.governor)

    def _accrue_account(self, kind: str) -> None:
        self._act(kind, "accrueAccount(address)", self._target(), sender=self._user())

    def _donate(self, kind: str) -> None:
        asset = self.random.choice(self.pair.tokens)
        amount = self.random.choice((1, self._plain_amount(asset), self._plain_amount(asset), 10**14 * self.micro))
        self._act(kind, "transfer(address,uint256)", MARKET, amount, sender=LENDER, to=asset)

    def _fill_reserves(self, kind: str) -> None:
        """Set reserves to their target or one unit short of it: that decides whether collateral is for sale."""
        missing = self.parameters.target_reserves - (self.pair.ask("getReserves()(int256)") or 0)
        if missing > 0:
            amount, base = missing - self.random.randrange(2), self.parameters.base_token
            self._act(kind, "transfer(address,uint256)", MARKET, amount, sender=LENDER, to=base)
        self._buy_collateral("buy_collateral")

    def _approve_this(self, kind: str) -> None:
        sender = self.random.choice((self.parameters.governor, self._user()))
        amount = self.random.choice((0, 0, 5))
        token = self.random.choice(self.pair.tokens)
        self._act(kind, "approveThis(address,address,uint256)", USERS[0], token, amount, sender=sender)

    def _initialize(self, kind: str) -> None:
        self._act(kind, "initializeStorage()", sender=DEPLOYER)

    def _look(self, kind: str) -> None:
        number = self.random.choice((self.random.getrandbits(self.random.randint(1, 256)), MAX))
        asset = self._asset(base=0.1)
        for text, *arguments in (
            ("getSupplyRate(uint256)", number),
            ("getBorrowRate(uint256)", number),
            ("quoteCollateral(address,uint256)", asset, number),
            ("getAssetInfo(uint8)", number % 256),
            ("getAssetInfoByAddress(address)", asset),
            ("getPrice(address)", self.random.choice((*self.feeds, STRANGER))),
            ("getCollateralReserves(address)", asset),
        ):
            self.counts[kind, self.pair.look(text, *arguments).result] += 1
