"""What an ABI codec costs: ours against eth-abi, side by side in one run.

    python benchmarks/codec.py [--json]

Each figure is the fastest of several rounds, in microseconds; the spread is how much slower our slowest round was.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from timeit import Timer

import eth_abi

from mayavi.evm.abi import Function

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
ROUNDS = 7

SUPPLY = Function.parse("supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)")
ACCOUNT_DATA = Function.parse(
    "getUserAccountData(address) view returns (uint256,uint256,uint256,uint256,uint256,uint256)"
)
RESERVES_LIST = Function.parse("getReservesList() view returns (address[])")
EXACT_INPUT = Function.parse(
    "exactInput((bytes path, address to, uint256 deadline, uint256 amountIn, uint256 least) p)"
)


@dataclass(frozen=True)
class Row:
    """One operation, timed both ways."""

    what: str
    ours_us: float
    eth_abi_us: float
    spread: float

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.eth_abi_us / self.ours_us


def compare(what: str, ours: Callable[[], object], theirs: Callable[[], object]) -> Row:
    """Both timed in alternating rounds, so that a busy machine slows both."""
    timers = [Timer(ours), Timer(theirs)]
    numbers = [max(1, timer.autorange()[0] // 4) for timer in timers]
    rounds = [
        [timer.timeit(number) / number * 1e6 for timer, number in zip(timers, numbers, strict=True)]
        for _ in range(ROUNDS)
    ]
    ours_us, theirs_us = map(list, zip(*rounds, strict=True))
    return Row(what, min(ours_us), min(theirs_us), max(ours_us) / min(ours_us) - 1)


def measure() -> list[Row]:
    """All comparisons."""
    supply = (ALICE, 10**18, ALICE, 0)
    supply_types = ["address", "uint256", "address", "uint16"]
    account = eth_abi.encode(["uint256"] * 6, [10**11, 10**10, 10**9, 8_250, 8_000, 10**18])
    listed = eth_abi.encode(["address[]"], [[ALICE] * 25])
    swap = (b"\1" * 43, ALICE, 2**40, 10**18, 0)
    swap_types = ["(bytes,address,uint256,uint256,uint256)"]
    assert SUPPLY.encode(*supply) == SUPPLY.selector + eth_abi.encode(supply_types, supply)
    assert ACCOUNT_DATA.decode(account) == eth_abi.decode(["uint256"] * 6, account)
    assert EXACT_INPUT.encode(swap) == EXACT_INPUT.selector + eth_abi.encode(swap_types, [swap])
    encode, decode, listing, swapping = SUPPLY.encode, ACCOUNT_DATA.decode, RESERVES_LIST.decode, EXACT_INPUT.encode
    listing(listed)
    return [
        compare(
            "encode 4 words (supply)",
            lambda: encode(*supply),
            lambda: SUPPLY.selector + eth_abi.encode(supply_types, supply),
        ),
        compare(
            "decode 6 words (getUserAccountData)",
            lambda: decode(account),
            lambda: eth_abi.decode(["uint256"] * 6, account),
        ),
        compare(
            "encode a dynamic struct (exactInput)",
            lambda: swapping(swap),
            lambda: EXACT_INPUT.selector + eth_abi.encode(swap_types, [swap]),
        ),
        compare(
            "decode 25 addresses (getReservesList)",
            lambda: listing(listed),
            lambda: eth_abi.decode(["address[]"], listed),
        ),
    ]


def main() -> None:
    """Print the table, or with `--json` one JSON object."""
    rows = measure()
    machine = f"{platform.machine()}, Python {platform.python_version()}, eth-abi {version('eth_abi')}"
    if "--json" in sys.argv[1:]:
        print(json.dumps({"machine": machine, "codec": [asdict(row) | {"ratio": row.ratio} for row in rows]}))
        return
    print(f"ABI codecs · {machine}")
    print(f"  {'':38} {'ours':>9} {'eth-abi':>9} {'ratio':>7} {'spread':>7}")
    for row in rows:
        print(f"  {row.what:38} {row.ours_us:6.2f} µs {row.eth_abi_us:6.1f} µs {row.ratio:6.0f}× {row.spread:6.0%}")


if __name__ == "__main__":
    main()
