"""Marks on fields of scenario models, for tools that vary assumptions.

Every number of an agent, a price process, a pool or the gas is an assumption. A model names the fields that belong to
the question instead in `question_fields`; a type carries a `Mark` where half and double make no sense:

    class Whale(AgentSettings):
        question_fields: ClassVar[frozenset[str]] = frozenset({"sells"})

        sells: TokenAmount
        flees_below: Annotated[PositiveRatio, Mark.LEVEL] = Decimal("0.98")
"""

from __future__ import annotations

from enum import Enum


class Mark(Enum):
    """Meaning of a number that its type alone does not say."""

    LEVEL = "level"
    """A level around 1, such as a health factor or the price of a peg: its distance from 1 is what varies."""
    DELAY = "delay"
    """A number of blocks that may be 0, which is the best case."""
    IN_STEPS = "in_steps"
    """Counted in steps: half as long steps mean twice as many."""
    PER_STEP = "per_step"
    """An amount in each step: half as long steps mean half of it."""


def question_fields(model: type) -> frozenset[str]:
    """Return the fields of `model` and its bases that state the question rather than an assumption."""
    found: frozenset[str] = frozenset()
    for base in model.__mro__:
        found |= base.__dict__.get("question_fields", frozenset())
    return found
