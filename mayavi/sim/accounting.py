"""Accounting of a run: conservation of every token to the smallest unit, and profit and loss in dollars.

What one holder gained of a token another lost, or it was minted and the supply grew. In dollars, the gains of all
holders sum to the price changes of their initial holdings, less the gas burned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import SimulationError
from mayavi.evm.abi.interface import Event, Log
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.sent import Sent
from mayavi.protocols.tokens import Erc20
from mayavi.sim.hooks import Hook

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.sim.world_state import WorldState

NATIVE = "native"
"""Name of the native coin in balances."""

_TRANSFER = Event.parse("Transfer(address indexed from, address indexed to, uint256 amount)")
_DEPOSIT = Event.parse("Deposit(address indexed receiver, uint256 amount)")  # WETH9 mints and burns without transfers
_WITHDRAWAL = Event.parse("Withdrawal(address indexed owner, uint256 amount)")

PriceOf = Callable[["Fork", bytes], int]
"""Returns the price of one whole token on a fork, in dollars with eight decimals."""


class Flow(NamedTuple):
    """A token transfer from an event; from or to the zero address it is a mint or a burn."""

    marker: int
    token: bytes
    source: bytes
    target: bytes
    amount: int


class Balance(NamedTuple):
    """One token over the whole run: total gains of all holders, and the change of its supply."""

    token: str
    holders: int
    gained: int
    supply_change: int

    @property
    def conserved(self) -> bool:
        """Whether gains equal the change of supply."""
        return self.gained == self.supply_change


@dataclass(frozen=True)
class Claim:
    """Balances that accounts have inside a protocol: deposits are positive, debts negative.

    `read(fork, holders)` returns the signed amount of `token` for each holder; `owed_by` owes the sum.
    """

    owed_by: str
    token: AddressLike
    read: Callable[[Fork, Sequence[bytes]], Iterable[int]]


@dataclass(frozen=True)
class Pnl:
    """Gains in dollars, exact. `by_name` has every agent's account, every contract and all other holders."""

    by_name: dict[str, Fraction]
    price_gain: Fraction
    """Σ initial holdings · Δ price, over all holders."""
    gas: Fraction
    """Gas burned, at the last price."""
    minted: Fraction
    """Change of total supplies, at the last price."""

    @property
    def total(self) -> Fraction:
        """Sum of all gains."""
        return sum(self.by_name.values(), Fraction(0))

    @property
    def balanced(self) -> bool:
        """Whether Σ gains = Σ holdings · Δ price − gas, exactly."""
        return self.total == self.price_gain - self.gas + self.minted


@dataclass
class _Holdings:
    """Balances of all holders of one token, at the start and now."""

    decimals: int
    start: dict[bytes | str, int] = field(default_factory=dict)
    now: dict[bytes | str, int] = field(default_factory=dict)


class Books(Hook):
    """Hook that audits `tokens`: `verify()` raises if any unit is unaccounted for, `pnl()` gives gains in dollars.

    Holders are all accounts of the run, all labelled contracts, and all parties of transfers. Rebasing tokens such as
    aTokens cannot be audited themselves; give what they stand for as `claims`.

        books = Books(["WETH", "USDC"], claims=aave_claims(market, ["WETH", "USDC"]))
        Scheduler(…, hooks=[books])
        books.verify()
    """

    def __init__(self, tokens: Sequence[AddressLike], *, claims: Sequence[Claim] = ()) -> None:
        self.names, self.claims = tuple(tokens), tuple(claims)
        self._flows: list[Flow] = []
        self._partners: set[bytes] = set()

    def begin(self, world: WorldState) -> None:
        """Copy the initial state and follow every transaction from here on."""
        self.world, fork = world, world.fork
        self.tokens = {fork.address_of(name): Erc20(fork, name) for name in self.names}
        self.start = fork.copy()
        self.stop = fork.watch(self._sent, self._on_revert)

    # -- to the smallest unit -----------------------------------------------------------------------------------------

    def conservation(self) -> list[Balance]:
        """Return the balance of every token, and last of the native coin, whose supply shrinks by the gas burned."""
        found = []
        for token, holdings in self._all_holdings().items():
            before = holdings.start.values()
            gained = sum(holdings.now.values()) - sum(before)
            if isinstance(token, bytes):
                found.append(Balance(self.tokens[token].symbol, len(before), gained, self._supply_change(token)))
            else:
                found.append(Balance(token, len(before), gained, -self.world.burned_wei))
        return found

    def unexplained(self) -> list[tuple[str, bytes, int]]:
        """Return token, holder and amount of every balance change without a transfer event."""
        moved: dict[tuple[bytes, bytes], int] = {}
        for flow in self._flows:
            for holder, amount in ((flow.source, -flow.amount), (flow.target, flow.amount)):
                if holder != ZERO_ADDRESS:
                    moved[flow.token, holder] = moved.get((flow.token, holder), 0) + amount
        odd = []
        for token, holdings in self._all_holdings().items():
            if isinstance(token, bytes):
                for each, now in holdings.now.items():
                    if not isinstance(each, bytes) or each == ZERO_ADDRESS:
                        continue
                    rest = now - holdings.start[each] - moved.get((token, each), 0)
                    if rest:
                        odd.append((self.tokens[token].symbol, each, rest))
        return odd

    def verify(self) -> list[Balance]:
        """Return `conservation()`; raise `SimulationError` if anything is unaccounted for."""
        balances = self.conservation()
        for each in balances:
            if not each.conserved:
                raise SimulationError(
                    f"{each.token} is not conserved: holders gained {each.gained}, the supply {each.supply_change}",
                    "something wrote a balance during the run, or a holder is unknown",
                )
        for token, holder, amount in self.unexplained():
            raise SimulationError(
                f"{self._name(holder)} gained {amount} of {token} without a transfer",
                "balances are dealt in prepare(), never in a step",
            )
        return balances

    # -- in dollars ---------------------------------------------------------------------------------------------------

    def pnl(self, price_of: PriceOf, native: AddressLike | None = None) -> Pnl:
        """Compute gains by holder. `price_of` prices a token; `native` is the token worth one native coin."""
        fork, start = self.world.fork, self.start
        gains: dict[str, Fraction] = {}
        names: dict[bytes | str, str] = {}
        price_gain = minted = Fraction(0)
        everything = self._all_holdings()
        for token, holdings in everything.items():
            if not isinstance(token, bytes) and native is None:
                continue
            place = token if isinstance(token, bytes) else fork.address_of(native or token)
            unit = 10**holdings.decimals * 10**8
            before, after = price_of(start, place), price_of(fork, place)
            price_gain += Fraction(sum(holdings.start.values()) * (after - before), unit)
            if isinstance(token, bytes):  # from the token itself: summed from holdings the books would always balance
                minted += Fraction(self._supply_change(token) * after, unit)
            for claim in self.claims:
                if isinstance(token, bytes) and fork.address_of(claim.token) == token:
                    self._add_claims(claim, holdings)
            for holder, now in holdings.now.items():
                name = names.get(holder) or names.setdefault(holder, self._name(holder))
                gained = now * after - holdings.start[holder] * before
                if gained or name not in gains:
                    gains[name] = gains.get(name, Fraction(0)) + Fraction(gained, unit)
        gas = Fraction(0)
        if native is not None:
            gas = self.world.burned_wei * Fraction(price_of(fork, fork.address_of(native)), 10**18 * 10**8)
        return Pnl(gains, price_gain, gas, minted)

    def _add_claims(self, claim: Claim, holdings: _Holdings) -> None:
        """Add claims to the balances of their holders, and subtract them from the protocol's."""
        holders = sorted(self.world.accounts)
        for fork, amounts in ((self.start, holdings.start), (self.world.fork, holdings.now)):
            for holder, amount in zip(holders, claim.read(fork, holders), strict=True):
                amounts[holder] += amount
                amounts[claim.owed_by] = amounts.get(claim.owed_by, 0) - amount

    # -- inside -------------------------------------------------------------------------------------------------------

    def _supply_change(self, token: bytes) -> int:
        return self.tokens[token].total_supply - Erc20(self.start, token).total_supply

    def _all_holdings(self) -> dict[bytes | str, _Holdings]:
        fork, start = self.world.fork, self.start
        holders = self._holders()
        found: dict[bytes | str, _Holdings] = {}
        for token, asset in self.tokens.items():
            holdings = found[token] = _Holdings(asset.decimals)
            datas = [asset.contract.balanceOf.encode(holder) for holder in holders]
            for where, amounts in ((start, holdings.start), (fork, holdings.now)):
                outputs = where.call_many(token, datas, threads=self.world.threads)
                amounts.update(zip(holders, map(int.from_bytes, outputs), strict=True))
        coins = found[NATIVE] = _Holdings(18)
        for holder in holders:
            coins.start[holder], coins.now[holder] = start.balance(holder), fork.balance(holder)
        return found

    def _holders(self) -> list[bytes]:
        fork = self.world.fork
        named = {fork.address_of(label) for label in fork.labels}
        all_holders = named | set(self.world.accounts) | self._partners | {fork.block["coinbase"], ZERO_ADDRESS}
        return sorted(all_holders)

    def _name(self, holder: bytes | str) -> str:
        if isinstance(holder, str):
            return holder
        return self.world.accounts.get(holder) or self.world.fork.name(holder)

    def _sent(self, sent: Sent) -> None:
        self._partners.add(sent.sender)
        if sent.to is not None:
            self._partners.add(sent.to)
        for log in sent.receipt.logs:
            if log.address in self.tokens:
                flow = _flow(sent.marker, log)
                if flow is not None:
                    self._flows.append(flow)
                    self._partners |= {flow.source, flow.target}

    def _on_revert(self, marker: int) -> None:
        while self._flows and self._flows[-1].marker > marker:
            self._flows.pop()


def _flow(marker: int, log: Log) -> Flow | None:
    if _TRANSFER.matches(log):
        source, target, amount = _TRANSFER.decode(log).args
        return Flow(marker, log.address, source, target, amount)
    if _DEPOSIT.matches(log):
        return Flow(marker, log.address, ZERO_ADDRESS, *_DEPOSIT.decode(log).args)
    if _WITHDRAWAL.matches(log):
        owner, amount = _WITHDRAWAL.decode(log).args
        return Flow(marker, log.address, owner, ZERO_ADDRESS, amount)
    return None
