"""Add the caller's context to a revert reason."""

from __future__ import annotations

from mayavi.errors import CallReverted


def with_context(
    error: CallReverted, hint: str | None = None, *, what: str | None = None, meaning: str = ""
) -> CallReverted:
    """Return `error` with another hint and, given `what`, the message `<what> reverted: <reason>`.

    `meaning` spells out a reason that is only a code.
    """
    message = error.message
    if what is not None:
        reason = error.reason.message if error.reason else "no reason given"
        message = f"{what} reverted: {reason}" + (f", {meaning}" if meaning else "")
    return CallReverted(message, hint or error.hint, reason=error.reason, output=error.output, gas_used=error.gas_used)


def reason_text(error: CallReverted) -> str:
    """Return the revert text, the name of the custom error, or an empty string."""
    if error.reason is None:
        return ""
    if error.reason.name == "Error" and error.reason.args:
        return str(error.reason.args[0])
    return error.reason.name
