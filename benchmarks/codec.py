"""What an ABI codec costs: ours against eth-abi, in turns."""

from __future__ import annotations

from collections.abc import Callable

from eth_abi import abi as eth_abi

from benchmarks.measuring.report import Effort, Quantity, Row, Section, timed
from benchmarks.measuring.timing import count_for, in_turns, seconds_each
from benchmarks.subjects.position import ACCOUNT_DATA, BORROWER, SUPPLY
from mayavi.evm.abi.contract import Function

ROUNDS = 21
RESERVES_LIST = Function.parse("getReservesList() view returns (address[])")
EXACT_INPUT = Function.parse(
    "exactInput((bytes path, address to, uint256 deadline, uint256 amountIn, uint256 least) p)"
)


def measure(effort: Effort) -> Section:
    """Static and dynamic shapes, both ways."""
    section = Section("codec", "ABI codecs: ours against eth-abi")
    supply = (BORROWER, 10**18, BORROWER, 0)
    supply_types = ["address", "uint256", "address", "uint16"]
    account_types = ["uint256"] * 6
    account = eth_abi.encode(account_types, [10**11, 10**10, 10**9, 8_250, 8_000, 10**18])
    listed = eth_abi.encode(["address[]"], [[BORROWER] * 25])
    swap = (b"\1" * 43, BORROWER, 2**40, 10**18, 0)
    swap_types = ["(bytes,address,uint256,uint256,uint256)"]
    assert SUPPLY.encode(*supply) == SUPPLY.selector + eth_abi.encode(supply_types, supply)
    assert ACCOUNT_DATA.decode(account) == eth_abi.decode(account_types, account)
    assert EXACT_INPUT.encode(swap) == EXACT_INPUT.selector + eth_abi.encode(swap_types, [swap])
    RESERVES_LIST.decode(listed)
    # Fetched after their first use, when they are the compiled ones.
    encode, decode, listing, swapping = SUPPLY.encode, ACCOUNT_DATA.decode, RESERVES_LIST.decode, EXACT_INPUT.encode
    section.rows += compare(
        "encode 4 words (supply)",
        lambda: encode(*supply),
        lambda: SUPPLY.selector + eth_abi.encode(supply_types, supply),
        effort,
    )
    section.rows += compare(
        "decode 6 words (getUserAccountData)",
        lambda: decode(account),
        lambda: eth_abi.decode(account_types, account),
        effort,
    )
    section.rows += compare(
        "encode a dynamic struct (exactInput)",
        lambda: swapping(swap),
        lambda: EXACT_INPUT.selector + eth_abi.encode(swap_types, [swap]),
        effort,
    )
    section.rows += compare(
        "decode 25 addresses (getReservesList)",
        lambda: listing(listed),
        lambda: eth_abi.decode(["address[]"], listed),
        effort,
    )
    return section


def compare(what: str, ours: Callable[[], object], theirs: Callable[[], object], effort: Effort) -> list[Row]:
    """A row for each, and how many times as long eth-abi takes."""
    mine, other = (count_for(each, effort.round_seconds) for each in (ours, theirs))
    timings = in_turns(
        {"ours": lambda: seconds_each(ours, mine), "eth-abi": lambda: seconds_each(theirs, other)},
        effort.rounds(ROUNDS),
    )
    ratio = Quantity(timings["eth-abi"].ratio(timings["ours"]), "×")
    return [
        timed(f"{what}, ours", timings["ours"], "µs"),
        timed(f"{what}, eth-abi", timings["eth-abi"], "µs", ratio=ratio),
    ]
