"""The books of a run: every token accounted for to the smallest unit, and who gained what in dollars.

Nothing comes from nowhere: what somebody gained of a token somebody else lost, or it was minted, and the token's supply
says so. In dollars, over all who hold something, gains are what prices did to what was held, less the gas burned.
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
"""The name of the native coin in the books."""

_TRANSFER = Event.parse("Transfer(address indexed from, address indexed to, uint256 amount)")
_DEPOSIT = Event.parse("Deposit(address indexed receiver, uint256 amount)")  # WETH9 mints and burns without transfers
_WITHDRAWAL = Event.parse("Withdrawal(address indexed owner, uint256 amount)")

PriceOf = Callable[["Fork", bytes], int]
"""The price of one whole token, in dollars with eight decimals, on a fork as it stands."""


class Flow(NamedTuple):
    """What an event told: `amount` of `token` went from one to another. From or to nobody it is minted or burned."""

    marker: int
    token: bytes
    source: bytes
    target: bytes
    amount: int


class Balance(NamedTuple):
    """One token over the whole run: the sum of what all holders gained, and by how much its supply grew."""

    token: str
    holders: int
    gained: int
    supply_change: int

    @property
    def conserved(self) -> bool:
        """Whether the two are equal."""
        return self.gained == self.supply_change


@dataclass(frozen=True)
class Claim:
    """What holders have in a protocol beside their wallets: a deposit counts for them, a debt against them.

    `read` gives the signed amounts of `token` that `holders` claim on a fork as it stands; `owed_by` owes as much.
    """

    owed_by: str
    token: AddressLike
    read: Callable[[Fork, Sequence[bytes]], Iterable[int]]


@dataclass(frozen=True)
class Pnl:
    """Gains in dollars, exact. `by_name` has every agent's account, every contract and whoever else held something."""

    by_name: dict[str, Fraction]
    price_gain: Fraction
    """Σ of what was held at the start times the change of its price, over all."""
    gas: Fraction
    """What was burned as gas, at the last price."""
    minted: Fraction
    """By how much supplies grew, as the tokens themselves say, at the last price; negative where they shrank."""

    @property
    def total(self) -> Fraction:
        """Σ of all gains."""
        return sum(self.by_name.values(), Fraction(0))

    @property
    def balanced(self) -> bool:
        """Whether Σ gains = Σ holdings · Δ price − gas, exactly."""
        return self.total == self.price_gain - self.gas + self.minted


@dataclass
class _Holdings:
    """What everybody has of one token, at the start and now."""

    decimals: int
    start: dict[bytes | str, int] = field(default_factory=dict)
    now: dict[bytes | str, int] = field(default_factory=dict)


class Books(Hook):
    """A hook that keeps the books of `tokens`; `verify()` at the end raises where anything is missing.

    A holder is every account of the run, every contract with a name, and whoever took part in a transfer. Tokens whose
    balances grow by themselves, such as aTokens, are no tokens for these books but `claims` on them.

        books = Books(["WETH", "USDC"], claims=aave_claims(market, ["WETH", "USDC"]))
        Scheduler(…, hooks=[books])
        books.verify()
    """

    def __init__(self, tokens: Sequence[AddressLike], *, claims: Sequence[Claim] = ()) -> None:
        self.names, self.claims = tuple(tokens), tuple(claims)
        self._flows: list[Flow] = []
        self._partners: set[bytes] = set()

    def begin(self, world: WorldState) -> None:
        """Remember how everything stands, and follow every transaction from here on."""
        self.world, fork = world, world.fork
        self.tokens = {fork.address_of(name): Erc20(fork, name) for name in self.names}
        self.start = fork.copy()
        self.stop = fork.watch(self._sent, self._undone)

    # -- to the smallest unit -----------------------------------------------------------------------------------------

    def conservation(self) -> list[Balance]:
        """Every token, and last the native coin, whose supply shrinks by the gas burned."""
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
        """Token, holder and amount of every change that no event tells of: there should be none."""
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
        """`conservation()`, or `SimulationError` saying what is not accounted for."""
        balances = self.conservation()
        for each in balances:
            if not each.conserved:
                raise SimulationError(
                    f"{each.token} is not conserved: holders gained {each.gained}, the supply {each.supply_change}",
                    "something wrote a balance during the run, or a holder is not known",
                )
        for token, holder, amount in self.unexplained():
            raise SimulationError(
                f"{self._name(holder)} gained {amount} of {token} without a transfer",
                "balances are dealt in prepare(), never in a step",
            )
        return balances

    # -- in dollars ---------------------------------------------------------------------------------------------------

    def pnl(self, price_of: PriceOf, native: AddressLike | None = None) -> Pnl:
        """Who gained what. `price_of` prices a token, `native` is the token that the native coin is worth one of."""
        fork, start = self.world.fork, self.start
        gains: dict[str, Fraction] = {}
        price_gain = minted = Fraction(0)
        everything = self._all_holdings()
        for token, holdings in everything.items():
            if not isinstance(token, bytes) and native is None:
                continue
            place = token if isinstance(token, bytes) else fork.address_of(native or token)
            unit = 10**holdings.decimals * 10**8
            before, after = Fraction(price_of(start, place), unit), Fraction(price_of(fork, place), unit)
            price_gain += sum(holdings.start.values()) * (after - before)
            if isinstance(token, bytes):  # told by the token, not added up from holdings: else the sum always fits
                minted += self._supply_change(token) * after
            for claim in self.claims:
                if isinstance(token, bytes) and fork.address_of(claim.token) == token:
                    self._add_claims(claim, holdings)
            for holder, now in holdings.now.items():
                name = holder if isinstance(holder, str) else self._name(holder)
                gains[name] = gains.get(name, Fraction(0)) + now * after - holdings.start[holder] * before
        gas = Fraction(0)
        if native is not None:
            gas = self.world.burned_wei * Fraction(price_of(fork, fork.address_of(native)), 10**18 * 10**8)
        return Pnl(gains, price_gain, gas, minted)

    def _add_claims(self, claim: Claim, holdings: _Holdings) -> None:
        """What holders claim is theirs, and what the protocol has is less by it."""
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
        everybody = named | set(self.world.accounts) | self._partners | {fork.block["coinbase"], ZERO_ADDRESS}
        return sorted(everybody)

    def _name(self, holder: bytes) -> str:
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

    def _undone(self, marker: int) -> None:
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
