"""Unwrap Uniswap V4's errors, which come inside others from its quoter, hooks and tokens."""

from __future__ import annotations

from mayavi.errors import CallReverted
from mayavi.evm.abi.reverts import Reason, decode_revert
from mayavi.protocols.revert_context import with_context

_WRAPPERS = {"UnexpectedRevertBytes": 0, "WrappedError": 2}
"""Errors that carry another, with the place of its bytes among their arguments."""


def unwrapped(error: CallReverted, what: str) -> CallReverted:
    """Return `error` with the innermost reason, and the message `<what> reverted: <reason>`."""
    reason = error.reason
    while isinstance(reason, Reason) and reason.name in _WRAPPERS and len(reason.args) > _WRAPPERS[reason.name]:
        reason = decode_revert(reason.args[_WRAPPERS[reason.name]])
    inner = CallReverted(
        error.message,
        (reason.hint if isinstance(reason, Reason) else None) or error.hint,
        reason=reason,
        output=error.output,
        gas_used=error.gas_used,
    )
    return with_context(inner, what=what)
