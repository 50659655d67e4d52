"""How long the kernel works: a stand-in for an EVM that measures every call that takes time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mayavi._kernel import Evm

_TIMED = (
    "advance",
    "balance",
    "block",
    "call",
    "call_many",
    "call_words",
    "code",
    "create_at",
    "digest",
    "dump",
    "freeze",
    "has_code",
    "has_snapshot",
    "nonce",
    "release",
    "revert",
    "set_balance",
    "set_block",
    "set_code",
    "set_nonce",
    "set_rules",
    "set_storage",
    "snapshot",
    "storage",
    "touched",
    "trace",
    "transact",
)


class ClockedEvm:
    """An EVM whose work is timed: `seconds` is what was spent inside the kernel so far."""

    def __init__(self, evm: Evm) -> None:
        self.evm = evm
        self.seconds = 0.0
        for name in _TIMED:
            setattr(self, name, self._timed(getattr(evm, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            started = perf_counter()
            try:
                return method(*args, **options)
            finally:
                self.seconds += perf_counter() - started

        return run

    def __getattr__(self, name: str) -> Any:
        return getattr(self.evm, name)


def clocked(evm: object) -> ClockedEvm:
    """A clock on `evm`; where it has one already, that one."""
    return evm if isinstance(evm, ClockedEvm) else ClockedEvm(cast("Evm", evm))


def unclocked(evm: object) -> Evm:
    """The EVM itself, whether or not there is a clock on it."""
    return evm.evm if isinstance(evm, ClockedEvm) else cast("Evm", evm)
