"""Random operations on pools, heavy on edge cases, and their side-by-side comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from mayavi.validation.contracts.stableswap_pools import USERS, EvmPool, Operation, Outcome, Situation

DAY = 86_400
EPISODE = 125
"""Operations per pool before the next one with other parameters: a drained pool stays drained."""

TRADES = (
    "exchange",
    "add_liquidity",
    "remove_liquidity",
    "remove_liquidity_imbalance",
    "remove_liquidity_one_coin",
)
ADMINISTRATION = (
    "ramp_A",
    "stop_ramp_A",
    "commit_new_fee",
    "apply_new_fee",
    "revert_new_parameters",
    "commit_transfer_ownership",
    "apply_transfer_ownership",
    "revert_transfer_ownership",
    "withdraw_admin_fees",
    "donate_admin_fees",
    "kill_me",
    "unkill_me",
)
KINDS = (*TRADES, *ADMINISTRATION)
_WEIGHTS = {"exchange": 30, "add_liquidity": 12} | dict.fromkeys(TRADES[2:], 9) | dict.fromkeys(ADMINISTRATION, 1.5)
_WEIGHTS |= {"ramp_A": 3, "apply_new_fee": 3, "apply_transfer_ownership": 3}
_WEIGHTS |= {"revert_new_parameters": 0.7, "revert_transfer_ownership": 0.7, "kill_me": 1}
_WEIGHTS |= {"wait": 9, "hold": 4, "tether_fee": 1}
_HUGE = (2**255, 2**256 - 1, 2**128, 2**256 // 10**30, 2**256 // 10**30 + 1, 2**256 // 10**18, 10**40)


def random_situation(random: Random, decimals: tuple[int, ...], *, measured: bool) -> Situation:
    """Draw parameters from the whole allowed range."""
    return Situation(
        decimals=decimals,
        amp=random.choice([1, 2, 10, 85, 100, 2000, 5000, random.randint(1, 10**6 - 1)]),
        fee=random.choice([0, 1, 10**6, 4 * 10**6, 15 * 10**5, 5 * 10**9, random.randint(0, 5 * 10**9)]),
        admin_fee=random.choice([0, 5 * 10**9, 10**10, random.randint(0, 10**10)]),
        kill_deadline=Situation.now + random.choice([0, 10, 60]) * DAY,
        measured=measured,
    )


class Operations:
    """Stream of operations, each chosen from the current state of the reference `pool`."""

    def __init__(self, random: Random, pool: EvmPool, situation: Situation) -> None:
        self.random, self.pool, self.situation = random, pool, situation
        self.scale = random.choice([1, 10**3, 10**6, 10**9])  # whole tokens: from a purse to all there are
        self.killed = False
        self.seen: dict[str, Any] = {}

    def opening(self) -> list[Operation]:
        """Fund all users and make a first deposit, not always balanced."""
        units = [self.scale * 10**decimals for decimals in self.situation.decimals]
        holdings = [Operation("hold", user, (i, 10 * unit)) for user in USERS for i, unit in enumerate(units)]
        amounts = tuple(max(1, int(unit * self.random.choice([1, 1, 0.3, 0.01]))) for unit in units)
        return [*holdings, Operation("add_liquidity", "alice", (amounts, 0))]

    def next(self, seen: dict[str, Any]) -> Operation:
        """Draw the next operation; `seen` is what the pool shows now."""
        self.seen = seen
        weights = dict(_WEIGHTS)
        if self.killed:
            weights["unkill_me"] = 60
        (name,) = self.random.choices(list(weights), list(weights.values()))
        chosen: Operation = getattr(self, f"_{name}", self._plain)(name)
        return chosen

    def questions(self) -> list[tuple[Any, ...]]:
        """Draw views with arguments of all sizes."""
        i, j = self._pair()
        amounts = tuple(self._of_pool(k) for k in range(self.pool.n))
        shares = self._edge(self._see("supply"))
        deposit = self.random.random() < 0.5
        return [
            ("get_dy", i, j, dx := self._edge(self._balance(i))),
            ("get_dy_underlying", i, j, dx),
            ("calc_token_amount", amounts, deposit),
            ("calc_withdraw_one_coin", shares, self._coin()),
        ]

    # -- trades -------------------------------------------------------------------------------------------------------

    def _exchange(self, name: str) -> Operation:
        i, j = self._pair()
        user = self._user()
        dx = self._edge(min(self._held(user, i), self._balance(i) or 1))
        return self._limited(name, user, (i, j, dx), lambda event: event[5], worse=1, ease=0)

    def _add_liquidity(self, name: str) -> Operation:
        user, supply = self._user(), self._see("supply")
        amounts = tuple(
            self._edge(self._held(user, k)) if supply == 0 or self.random.random() < 0.6 else 0
            for k in range(self.pool.n)
        )
        return self._limited(name, user, (amounts,), lambda event: event[5] - supply, worse=1, ease=0)

    def _remove_liquidity(self, name: str) -> Operation:
        user = self._user()
        shares = self._edge(self._shares(user))
        zero = (0,) * self.pool.n
        done = self.pool.dry_run(Operation(name, user, (shares, zero)))
        least = zero
        if done.success and self.random.random() < 0.6:
            least = tuple(max(0, amount - self.random.choice([0, 0, 1])) for amount in done.event[2])
            if self.random.random() < 0.3:
                k = self._coin() % self.pool.n
                least = (*least[:k], done.event[2][k] + 1, *least[k + 1 :])
        return Operation(name, user, (shares, least))

    def _remove_liquidity_imbalance(self, name: str) -> Operation:
        user, supply = self._user(), self._see("supply")
        share = self._shares(user) / supply if supply else 1
        amounts = tuple(
            self._edge(int(self._balance(k) * share)) if self.random.random() < 0.7 else 0 for k in range(self.pool.n)
        )
        return self._limited(name, user, (amounts,), lambda event: supply - event[5], worse=-1, ease=2**256 - 1)

    def _remove_liquidity_one_coin(self, name: str) -> Operation:
        user = self._user()
        shares = self._edge(self._shares(user) // self.random.choice([1, 3, 50]))
        return self._limited(name, user, (shares, self._coin()), lambda event: event[3], worse=1, ease=0)

    def _limited(
        self, name: str, user: str, args: tuple[Any, ...], result: Callable[[Any], int], *, worse: int, ease: int
    ) -> Operation:
        """Add a limit that is loose, exactly met, or missed by one."""
        done = self.pool.dry_run(Operation(name, user, (*args, ease)))
        limit = ease
        if done.success and self.random.random() < 0.6:
            limit = max(0, result(done.event) + worse * self.random.choice([0, 0, -1, 1]))
        return Operation(name, user, (*args, limit))

    # -- administration -----------------------------------------------------------------------------------------------

    def _plain(self, name: str) -> Operation:
        return Operation(name, self._owner(), ())

    def _kill_me(self, name: str) -> Operation:
        operation = self._plain(name)
        self.killed |= self.pool.dry_run(operation).success
        return operation

    def _unkill_me(self, name: str) -> Operation:
        operation = self._plain(name)
        self.killed &= not self.pool.dry_run(operation).success
        return operation

    def _ramp_A(self, name: str) -> Operation:  # noqa: N802
        now = self.pool.ask("A") or 1
        wanted = [now * 2, now // 2, now * 10, now * 10 + 1, -(-now // 10), now // 10, now + 1, 0, 10**6 - 1, 10**6]
        end = self.pool.fork.timestamp + self.random.choice([DAY, DAY, DAY - 1, 2 * DAY, 7 * DAY, 30 * DAY])
        return Operation(name, self._owner(), (self.random.choice(wanted), end))

    def _commit_new_fee(self, name: str) -> Operation:
        fee = self.random.choice([0, 10**6, 4 * 10**6, 5 * 10**9, 5 * 10**9 + 1, self.random.randint(0, 10**8)])
        return Operation(name, self._owner(), (fee, self.random.choice([0, 5 * 10**9, 10**10, 10**10 + 1])))

    def _commit_transfer_ownership(self, name: str) -> Operation:
        return Operation(name, self._owner(), (self.random.choice(["owner", "heir"]),))

    # -- the world around ---------------------------------------------------------------------------------------------

    def _wait(self, name: str) -> Operation:
        seconds = self.random.choice([1, 12, 3600, DAY // 2, DAY - 1, DAY, 3 * DAY, self.random.randint(1, 4 * DAY)])
        return Operation(name, "", (seconds,))

    def _hold(self, name: str) -> Operation:
        k = self.random.randrange(self.pool.n)
        amount = self.random.choice([1, 3, 30]) * self.scale * 10 ** self.situation.decimals[k]
        return Operation(name, self._user(), (k, amount))

    def _tether_fee(self, name: str) -> Operation:
        return Operation(name, "tether", (self.random.choice([0, 0, 1, 19, 20]), self.random.choice([0, 1, 49, 50])))

    # -- choices ------------------------------------------------------------------------------------------------------

    def _edge(self, natural: int) -> int:
        """Draw an amount: mostly a part of `natural`, often an edge case."""
        kind = self.random.random()
        if kind < 0.55:
            return int(natural * 10 ** self.random.uniform(-4, 0)) if natural < 10**60 else natural
        if kind < 0.70:
            return self.random.choice([natural, natural + 1, natural - 1 if natural else 0, natural // 2])
        if kind < 0.85:
            return self.random.choice([0, 1, 2, 3, 10, 999_999, 10**12, 10**12 - 1])
        if kind < 0.95:
            return natural * self.random.choice([2, 10, 10**6]) % 2**256
        return self.random.choice(_HUGE)

    def _of_pool(self, k: int) -> int:
        return self._edge(self._balance(k))

    def _pair(self) -> tuple[int, int]:
        if self.random.random() < 0.03:
            return self._coin(), self._coin()
        i, j = self.random.sample(range(self.pool.n), 2)
        return i, j

    def _coin(self) -> int:
        if self.random.random() < 0.03:
            return self.random.choice([-1, self.pool.n, 2**127 - 1, -(2**127)])
        return self.random.randrange(self.pool.n)

    def _user(self) -> str:
        return self.random.choice(["alice", "alice", "bob", "owner"])

    def _owner(self) -> str:
        owner = str(self.seen["owner"])
        return owner if self.random.random() < 0.9 else "alice"

    def _see(self, what: str) -> int:
        return int(self.seen[what])

    def _balance(self, i: int) -> int:
        return int(self.seen.get(f"balances {i}") or 0)

    def _held(self, user: str, i: int) -> int:
        return int(self.seen.get(f"coin {i} of {user}") or 0)

    def _shares(self, user: str) -> int:
        return int(self.seen[f"shares of {user}"])


class DifferenceError(AssertionError):
    """Difference between pools that should be equal."""


class Pool(Protocol):
    """Pool that can be compared: contracts on a fork, or a model of them."""

    def apply(self, operation: Operation, /) -> Outcome:
        """Execute the operation."""

    def ask(self, name: str, /, *args: Any) -> int | None:
        """Call a view; None if it reverts."""

    def observe(self) -> dict[str, Any]:
        """Return the whole visible state."""


def compare(operation: Operation, reference: EvmPool, others: Sequence[Pool]) -> bool:
    """Apply `operation` to all pools; return whether it succeeded. Raises `DifferenceError` if one differs."""
    success, _ = apply_and_compare(operation, reference, others)
    return success


def apply_and_compare(operation: Operation, reference: EvmPool, others: Sequence[Pool]) -> tuple[bool, dict[str, Any]]:
    """`compare`, which also returns what all pools show afterwards."""
    expected = reference.apply(operation)
    seen = reference.observe()
    for other in others:
        outcome = other.apply(operation)
        _same(operation, other, "success", expected.success, outcome.success)
        _same(operation, other, "event", expected.event, outcome.event)
        if outcome.logs is not None and expected.success:
            _same(operation, other, "logs", expected.logs, outcome.logs)
            _same(operation, other, "output", expected.output, outcome.output)
        for name, value in other.observe().items():
            _same(operation, other, name, seen[name], value)
    return expected.success, seen


def compare_answers(question: tuple[Any, ...], reference: EvmPool, others: Sequence[Pool]) -> None:
    """Call a view on all pools; raise `DifferenceError` if one differs."""
    expected = reference.ask(*question)
    for other in others:
        _same(question, other, "answer", expected, other.ask(*question))


def _same(where: object, pool: Pool, what: str, expected: object, found: object) -> None:
    if expected != found:
        raise DifferenceError(f"{type(pool).__name__}, {where}: {what} is {found}, not {expected}")


def run_episodes(
    seed: int,
    count: int,
    decimals: tuple[int, ...],
    make: Callable[[Situation], tuple[EvmPool, Sequence[Pool]]],
    *,
    measured: Callable[[int], bool] = lambda _: True,
) -> Counter[tuple[str, bool]]:
    """Run `count` operations in episodes; return successes and failures per kind."""
    random = Random(seed)
    tally: Counter[tuple[str, bool]] = Counter()
    for episode in range(-(-count // EPISODE)):
        situation = random_situation(random, decimals, measured=measured(episode))
        reference, others = make(situation)
        operations = Operations(random, reference, situation)
        seen: dict[str, Any] = {}
        for operation in operations.opening():
            _, seen = apply_and_compare(operation, reference, others)
        for _ in range(min(EPISODE, count - episode * EPISODE)):
            operation = operations.next(seen)
            success, seen = apply_and_compare(operation, reference, others)
            tally[operation.name, success] += 1
            for question in operations.questions():
                compare_answers(question, reference, others)
    return tally
