"""The Python model of StableSwap as a pool to compare."""

from __future__ import annotations

from typing import Any

from mayavi.validation.contracts.stableswap_pools import NAMES, Operation, Outcome, Situation
from tests.contracts.stableswap_model import Coin, RefusedError, StableSwapModel, attempt


class ModelPool:
    """The Python model."""

    def __init__(self, situation: Situation) -> None:
        self.n = situation.n
        self.model = StableSwapModel(
            coins=[Coin(decimals) for decimals in situation.decimals],
            owner="owner",
            amp=situation.amp,
            fee=situation.fee,
            admin_fee=situation.admin_fee,
            now=situation.now,
            kill_deadline=situation.kill_deadline,
            measured=situation.n - 1 if situation.measured else None,
        )
        self.model.coins[-1].collector = "tether"

    def apply(self, operation: Operation) -> Outcome:
        """Execute the operation."""
        name, user, args = operation
        model = self.model
        if name == "wait":
            model.now += args[0]
        elif name == "hold":
            model.coins[args[0]].held[user] = args[1]
        elif name == "tether_fee":
            bps, most = args
            if bps >= 20 or most >= 50:
                return Outcome(False, ())
            model.coins[-1].fee_bps, model.coins[-1].max_fee = bps, most * 10 ** model.coins[-1].decimals
        else:
            done = attempt(model, lambda: getattr(model, name)(user, *args))
            return Outcome(done is not None, done if isinstance(done, tuple) else ())
        return Outcome(True, ())

    def ask(self, name: str, *args: Any) -> int | None:
        """Call a view; None if it reverts."""
        try:
            return int(getattr(self.model, name)(*args))
        except RefusedError:
            return None

    def observe(self) -> dict[str, Any]:
        """Return the whole visible state."""
        model = self.model
        seen = {
            "A": model.A(),
            "get_virtual_price": self.ask("get_virtual_price"),
            "supply": model.supply,
            "fee": model.fee,
            "admin_fee": model.admin_fee,
            "owner": model.owner,
            "initial_A": model.initial_a,
            "future_A": model.future_a,
            "initial_A_time": model.initial_time,
            "future_A_time": model.future_time,
            "admin_actions_deadline": model.fee_deadline,
            "transfer_ownership_deadline": model.owner_deadline,
            "future_fee": model.future_fee,
            "future_admin_fee": model.future_admin_fee,
            "future_owner": model.future_owner,
        }
        for i in range(model_n := self.n):
            seen[f"balances {i}"] = model.balances[i]
            seen[f"admin_balances {i}"] = self.ask("admin_balances", i)
        tokens = [("shares", model.shares), *((f"coin {i}", model.coins[i]) for i in range(model_n))]
        for token_name, token in tokens:
            seen |= {f"{token_name} of {name}": token.held.get(name, 0) for name in NAMES.values()}
        return seen
