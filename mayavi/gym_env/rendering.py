"""Render an episode: a table of exact figures, or a picture of its course."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UsageError, did_you_mean
from mayavi.setup_errors import RL_HINT

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv

MODES = ("ansi", "rgb_array")
"""Render modes of every environment; some add `human`, a printed line for each step."""
_WIDTH_INCH, _PANEL_INCH, _DOTS = 7.2, 1.8, 100


def checked_mode(env: RowsEnv[Any], mode: str | None) -> str | None:
    """Return `mode`; `UsageError` if `env` does not support it. For `rgb_array`, `env` starts to record its curves."""
    known = env.render_modes
    if mode is not None and mode not in known:
        hint = did_you_mean(mode, known) or f"take {' or '.join(known)}"
        raise UsageError(f"render mode '{mode}' is not known", hint)
    if mode == "rgb_array":
        env.remember()
    return mode


def rendered(env: RowsEnv[Any], row: int, mode: str | None) -> str | NDArray[np.uint8] | None:
    """Render row `row`: text with `ansi`, a picture as (height, width, 3) bytes with `rgb_array`, else None.

    With `human` the row's line is printed.
    """
    if mode is None:
        return None
    if env.episodes[row] < 0:
        raise UsageError("there is nothing to show yet", "call reset() first")
    if mode == "human":
        print(env.line(row))  # noqa: T201  (gymnasium's `human` mode prints)
        return None
    return table(env, row) if mode == "ansi" else picture(env, row)


def title(env: RowsEnv[Any], row: int) -> str:
    """Environment, split, episode and step of a row."""
    steps = f"step {env.steps[row]} of {env.config.horizon}"
    return f"{env.name} · {env.config.split} · episode {env.episodes[row]} · {steps}"


def table(env: RowsEnv[Any], row: int) -> str:
    """Exact figures of a row, one per line."""
    pairs = env.describe_row(row)
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join([title(env, row), *(f"  {name:<{width}}  {value}" for name, value in pairs)])


def picture(env: RowsEnv[Any], row: int) -> NDArray[np.uint8]:
    """Plot the curves of the environment and the rewards, up to the present step."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise SetupError("pictures need matplotlib, which is not installed", RL_HINT) from error
    kept = env.columns.get("remembered")
    if kept is None:
        raise UsageError(
            "this environment records no curves to draw",
            'make it with render_mode="rgb_array", or call remember() first',
        )
    curves = env.curves()
    last = int(env.steps[row])
    values, steps = kept[row, : last + 1], np.arange(last + 1)
    figure = Figure(figsize=(_WIDTH_INCH, _PANEL_INCH * (len(curves) + 1) + 0.4), dpi=_DOTS, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    figure.suptitle(title(env, row), fontsize=9)
    axes = figure.subplots(len(curves) + 1, 1, sharex=True, squeeze=False)[:, 0]
    column = 1
    for panel, (name, lines) in zip(axes, curves.items(), strict=False):
        for label in lines:
            panel.plot(steps, values[:, column], label=label, marker="." if last < 50 else None, linewidth=1.2)
            column += 1
        panel.set_ylabel(name if len(lines) > 1 else f"{next(iter(lines))}, {name}", fontsize=8)
        if 1 < len(lines) <= 8:
            panel.legend(fontsize=6, loc="best")
    axes[-1].bar(steps, values[:, 0], width=0.6, color="tab:green")
    axes[-1].plot(steps, np.cumsum(values[:, 0]), color="tab:gray", linewidth=1.2)
    axes[-1].set_ylabel("reward, and sum", fontsize=8)
    axes[-1].set_xlim(-0.5, env.config.horizon + 0.5)
    axes[-1].set_xlabel("step", fontsize=8)
    for panel in axes:
        panel.tick_params(labelsize=7)
        panel.grid(alpha=0.3)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
