"""Order of execution of the intents in a block. Only `fifo` depends on the order of agents in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from mayavi.agents.base import Intent
from mayavi.errors import UnknownName
from mayavi.numerics.draw_order import lot_of

Ordering = Literal["shuffle", "fifo", "priority_fee"]
ORDERINGS: tuple[str, ...] = get_args(Ordering)


class QueuedIntent(NamedTuple):
    """An intent with its agent, account and tip."""

    agent: str
    account: str
    intent: Intent
    tip_wei: int
    note: str = ""


def ordered(
    intents: Sequence[QueuedIntent], ordering: Ordering, *, seed: int, step: int, block: str
) -> list[QueuedIntent]:
    """Sort `intents` into the order of execution.

    `shuffle` is a random order derived from seed, step, block and the names of agent and account. `priority_fee` puts
    higher tips first and shuffles equal ones. As on a chain, the intents of one account keep their own order: a later
    one never overtakes an earlier one, whatever its tip. `fifo` keeps the given order.
    """
    if ordering not in ORDERINGS:
        raise UnknownName.of("ordering", ordering, ORDERINGS, f"there are: {', '.join(ORDERINGS)}")
    if ordering == "fifo" or len(intents) < 2:
        return list(intents)
    by_fee = ordering == "priority_fee"
    ranks: dict[tuple[str, str], tuple[int, bytes, int]] = {}
    keyed: list[tuple[tuple[int, bytes, int], QueuedIntent]] = []
    for queued in intents:
        sender = queued.agent, queued.account
        before = ranks.get(sender)
        number = before[2] + 1 if before else 0
        rank = (-queued.tip_wei if by_fee else 0, lot_of(seed, step, block, *sender, number))
        if before and before[:2] > rank:
            rank = before[:2]
        ranks[sender] = (*rank, number)
        keyed.append((ranks[sender], queued))
    keyed.sort(key=lambda pair: pair[0])
    return [queued for _, queued in keyed]
