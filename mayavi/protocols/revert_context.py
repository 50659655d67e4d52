"""Reverts told again by those who know what was asked for."""

from __future__ import annotations

from mayavi.errors import CallReverted


def told(error: CallReverted, hint: str | None = None, *, what: str | None = None, said: str = "") -> CallReverted:
    """`error` with another hint and, where `what` is given, with the message `<what> reverted: <reason>`.

    `said` is what the reason means, where its own text is but a code.
    """
    message = error.message
    if what is not None:
        reason = error.reason.message if error.reason else "no reason given"
        message = f"{what} reverted: {reason}" + (f", {said}" if said else "")
    return CallReverted(message, hint or error.hint, reason=error.reason, output=error.output, gas_used=error.gas_used)


def text_of(error: CallReverted) -> str:
    """The reason a contract gave: its text, the name of its error, or nothing."""
    if error.reason is None:
        return ""
    if error.reason.name == "Error" and error.reason.args:
        return str(error.reason.args[0])
    return error.reason.name
