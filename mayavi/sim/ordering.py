"""Order of execution of the intents in a block. Only `fifo` depends on the order of agents in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from mayavi.agents.base import Intent
from mayavi.errors import UnknownName
from mayavi.numerics.draw_order import lot_of

Ordering = Literal["shuffle", "fifo", "priority_fee"]
ORDERINGS: tuple[str, ...] = get_args(Ordering)


class Placed(NamedTuple):
    """An intent with its agent, account and tip."""

    agent: str
    account: str
    intent: Intent
    tip_wei: int
    note: str = ""


def ordered(wanted: Sequence[Placed], ordering: Ordering, *, seed: int, step: int, block: str) -> list[Placed]:
    """Sort `wanted` into the order of execution.

    `shuffle` is a random order derived from seed, step, block and the names of agent and account. `priority_fee` puts
    higher tips first and shuffles equal ones. As on a chain, the intents of one account keep their own order: a later
    one never overtakes an earlier one, whatever its tip. `fifo` keeps the given order.
    """
    if ordering not in ORDERINGS:
        raise UnknownName.of("ordering", ordering, ORDERINGS, f"there are: {', '.join(ORDERINGS)}")
    if ordering == "fifo" or len(wanted) < 2:
        return list(wanted)
    by_fee = ordering == "priority_fee"
    ranks: dict[tuple[str, str], tuple[int, bytes, int]] = {}
    keyed: list[tuple[tuple[int, bytes, int], Placed]] = []
    for placed in wanted:
        whose = placed.agent, placed.account
        before = ranks.get(whose)
        number = before[2] + 1 if before else 0
        rank = (-placed.tip_wei if by_fee else 0, lot_of(seed, step, block, *whose, number))
        if before and before[:2] > rank:
            rank = before[:2]
        ranks[whose] = (*rank, number)
        keyed.append((ranks[whose], placed))
    keyed.sort(key=lambda pair: pair[0])
    return [placed for _, placed in keyed]
