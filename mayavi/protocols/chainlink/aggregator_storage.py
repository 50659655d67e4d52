"""Write price rounds into the storage of Chainlink aggregators.

An oracle report cannot be forged on a fork, but its effect can be written: one entry in the mapping of rounds, and the
number of the latest round. Three entry formats are known: one word in the off-chain reporting (OCR) aggregators of both
generations, two words in the older FluxAggregator. A format is used only if it reproduces the latest round bit for bit,
a counter slot only if the contract reports the changed number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ExecutionError, StateError
from mayavi.evm.hashing import keccak256

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

PHASE_BITS = 64
"""A proxy's round id is its aggregator's phase shifted left by this many bits, plus the aggregator's round."""

_MAPPING_SLOTS = 256  # known aggregators use slots 43, 44 and 9
_ANSWER_MASK = 2**192 - 1
_LATEST_ROUND_DATA = bytes.fromhex("feaf968c")


class Round(NamedTuple):
    """Round reported by a feed; times are Unix times."""

    round_id: int
    answer: int
    started_at: int
    updated_at: int
    answered_in_round: int


def post_round(fork: Fork, feed: bytes, aggregator: bytes, latest: Round, following: Round) -> None:
    """Write round `following` after `latest`, as if oracles had reported it to `aggregator`.

    Raises `StateError`, with nothing changed, if the storage layout is not known.
    """
    slots = set(dict(fork.touched(feed, _LATEST_ROUND_DATA)).get(aggregator, ()))
    entry = _find_entry(fork, aggregator, slots, latest)
    writes = entry and _find_counter(fork, feed, aggregator, slots, latest.round_id, following.round_id)
    if not entry or not writes:
        raise StateError(
            f"the storage layout of the aggregator {fork.name(aggregator)} is not known",
            "its price cannot be moved by storage: replace the feed with `fork.set_code`",
        )
    mapping, words_of = entry
    place = _entry_slot(mapping, following.round_id)
    writes.update((place + offset, word) for offset, word in enumerate(words_of(following)))
    for slot, word in writes.items():
        fork.set_storage(aggregator, slot, word)


def _ocr1_words(round: Round) -> list[int]:
    """First-generation OCR: one time beside the answer."""
    return [round.updated_at << 192 | round.answer & _ANSWER_MASK]


def _ocr2_words(round: Round) -> list[int]:
    """Second-generation OCR: times of observation and transmission beside the answer."""
    return [round.updated_at << 224 | round.started_at << 192 | round.answer & _ANSWER_MASK]


def _flux_words(round: Round) -> list[int]:
    """FluxAggregator: the answer, then the times and the round it was answered in."""
    answered_in = _aggregator_round(round.answered_in_round)
    return [round.answer % 2**256, answered_in << 128 | round.updated_at << 64 | round.started_at]


_Words = Callable[[Round], list[int]]
_FORMATS: tuple[_Words, ...] = (_ocr1_words, _ocr2_words, _flux_words)


def _find_entry(fork: Fork, aggregator: bytes, slots: set[int], latest: Round) -> tuple[int, _Words] | None:
    """Find the slot of the mapping of rounds and the format of its entries."""
    for mapping in range(_MAPPING_SLOTS):
        place = _entry_slot(mapping, latest.round_id)
        if place not in slots:
            continue
        for words_of in _FORMATS:
            words = words_of(latest)
            places = range(place, place + len(words))
            if slots.issuperset(places) and [fork.storage(aggregator, slot) for slot in places] == words:
                return mapping, words_of
    return None


def _find_counter(
    fork: Fork, feed: bytes, aggregator: bytes, slots: set[int], latest: int, following: int
) -> dict[int, int] | None:
    """Find the write that makes `following` the latest round of `feed`: 32 bits of a shared slot."""
    old, new = _aggregator_round(latest), _aggregator_round(following)
    for slot in sorted(slots):
        word = fork.storage(aggregator, slot)
        for shift in range(0, 256 - 32 + 8, 8):
            if (word >> shift) & 0xFFFFFFFF != old:
                continue
            changed = word + (new - old << shift)
            if _reports_round(fork, feed, aggregator, slot, changed, following):
                return {slot: changed}
    return None


def _reports_round(fork: Fork, feed: bytes, aggregator: bytes, slot: int, word: int, round_id: int) -> bool:
    latest_round = bytes.fromhex("668a0f02")
    with fork.snapshot():
        fork.set_storage(aggregator, slot, word)
        try:
            return int.from_bytes(fork.call(feed, latest_round)[:32], "big") == round_id
        except ExecutionError:
            return False


def _aggregator_round(round_id: int) -> int:
    """Return the aggregator's round number, without the proxy's phase."""
    return round_id & (1 << PHASE_BITS) - 1


def _entry_slot(mapping: int, round_id: int) -> int:
    key = _aggregator_round(round_id).to_bytes(32, "big") + mapping.to_bytes(32, "big")
    return int.from_bytes(keccak256(key), "big")
