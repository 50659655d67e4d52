"""One call through `Fork` with encoded calldata, against the same call in a loop of bare revm.

Both execute the same transaction on the same world and discard the result. The difference is Mayavi's overhead: the
Python boundary, moving the row in and out, reads through overlay and base.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from eth_abi import abi as eth_abi

from benchmarks.measuring.report import Effort, Quantity, Section, Target, timed
from benchmarks.measuring.timing import Timing, count_for, in_turns, seconds_each
from benchmarks.measuring.yardstick import Yardstick, load_yardstick
from benchmarks.subjects.position import BORROWER, Call, Position, open_position, seconds_a_call
from mayavi import Fork

ROUNDS = 121
SHORT_CALL_MORE_US = 3.0
LONG_CALL_MORE = 0.05
BARE = "bare revm"
LATER_WORLD, LATER_RULES = "ethereum@2025-12", "prague"
"""The rules before Osaka, which caps the gas of a transaction below what the yardstick gives it."""
KINDS = {"frozen": "Fork on a frozen world", "written": "Fork with writes"}


def measure(effort: Effort) -> Section:
    """Measure every call on frozen and modified worlds of both generations of Aave, and the cost of the codecs."""
    section = Section("calls", "one call through Fork, calldata encoded beforehand, against bare revm")
    yardstick = load_yardstick()
    older, later = open_position(), open_position(LATER_WORLD, LATER_RULES)
    renamed = [replace(call, name=f"{call.name} of V3.6") for call in later.calls if call.to == later.pool]
    for position, call in [*((older, call) for call in older.calls), *((later, call) for call in renamed)]:
        timings = time_call(call, position, yardstick, effort)
        bare = timings[BARE]
        section.rows.append(timed(f"{call.name}, {BARE}", bare, "µs"))
        for kind, words in KINDS.items():
            ours = timings[kind]
            more = Quantity(ours.more(bare) * 1e6, "µs")
            section.rows.append(
                timed(f"{call.name}, {words}", ours, "µs", more=more, ratio=Quantity(ours.ratio(bare), "×"))
            )
            section.targets.append(target_of(call, words, ours, bare))
        for codec, timing in time_codecs(call, position.frozen, effort).items():
            section.rows.append(timed(f"{call.name}, encode + decode by {codec}", timing, "µs"))
    return section


def time_call(call: Call, position: Position, yardstick: Yardstick, effort: Effort) -> dict[str, Timing]:
    """Time bare revm and both forks in turn."""
    count = count_for(lambda: position.frozen.call(call.to, call.data, BORROWER), effort.round_seconds)

    def bare() -> float:
        # As on our side, the first round only warms what the second finds.
        return yardstick.bare_calls(position.dump, call.to, call.data, BORROWER, count, 2)[1] / count

    contestants = {
        BARE: bare,
        "frozen": lambda: seconds_a_call(position.frozen, call, count),
        "written": lambda: seconds_a_call(position.written, call, count),
    }
    return in_turns(contestants, effort.rounds(ROUNDS))


def target_of(call: Call, words: str, ours: Timing, bare: Timing) -> Target:
    """Return the target: absolute overhead for a short call, relative overhead for a long one."""
    if call.name == "balanceOf":
        more = Quantity(ours.more(bare) * 1e6, "µs")
        return Target(f"{call.name}, {words}: more than {BARE}", Quantity(SHORT_CALL_MORE_US, "µs"), more)
    share = Quantity(ours.ratio(bare) - 1, "%")
    return Target(f"{call.name}, {words}: more than {BARE}", Quantity(LONG_CALL_MORE, "%"), share)


def time_codecs(call: Call, fork: Fork, effort: Effort) -> dict[str, Timing]:
    """Time encoding arguments and decoding output: ours, and eth-abi's."""
    function, arguments = call.function, call.arguments
    inputs = [each.type.canonical for each in function.signature.inputs]
    outputs = [each.type.canonical for each in function.signature.outputs]
    output = fork.call(call.to, call.data, BORROWER)

    def ours() -> object:
        return function.encode(*arguments), function.decode(output)

    def theirs() -> object:
        return function.selector + eth_abi.encode(inputs, arguments), eth_abi.decode(outputs, output)

    contestants = {"ours": ours, "eth-abi": theirs}
    counts = {name: count_for(each, effort.round_seconds) for name, each in contestants.items()}
    return in_turns(
        {name: partial(seconds_each, each, counts[name]) for name, each in contestants.items()},
        effort.rounds(ROUNDS // 6),
    )
