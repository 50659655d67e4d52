"""In which order the intents of a block are executed. No order but `fifo` knows where an agent stands in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from mayavi.agents.base import Intent
from mayavi.errors import UnknownName
from mayavi.numerics.draw_order import lot_of

Ordering = Literal["shuffle", "fifo", "priority_fee"]
ORDERINGS: tuple[str, ...] = get_args(Ordering)


class Placed(NamedTuple):
    """An intent and whose it is."""

    agent: str
    account: str
    intent: Intent
    tip_wei: int
    note: str = ""


def ordered(wanted: Sequence[Placed], ordering: Ordering, *, seed: int, step: int, block: str) -> list[Placed]:
    """`wanted` in the order of execution.

    `shuffle` is a draw by lot from the run's seed, the step, the block and the names of agent and account.
    `priority_fee` puts the higher tip first and draws among equals. As on a chain, what one account wants stays in its
    own order: a later transaction of it never comes before an earlier one, whatever tip it offers. `fifo` leaves all as
    it is.
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
