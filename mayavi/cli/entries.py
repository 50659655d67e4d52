"""Names of the commands, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    """A command, or a group of commands if it has no summary: its help is then that of the group."""

    name: str
    target: str
    """Module below `mayavi.cli`, and what to take of it."""
    summary: str | None = None


ENTRIES = (
    Entry("demo", "demo:demo", "Run a borrower on the real Aave V3 contracts, offline."),
    Entry("position", "position:position", "Show an account's collateral, debt and liquidation prices."),
    Entry("run", "run:run", "Run a scenario and store every action."),
    Entry("sweep", "sweep:sweep", "Run a scenario for many seeds: mean, quantiles, VaR, LaR."),
    Entry("sensitivity", "sensitivity:sensitivity", "Rank the assumptions of a scenario by their effect."),
    Entry("exposure", "exposure:exposure", "Value borrowers on many price paths while nobody acts: debt at risk."),
    Entry("train", "rl.train:train", "Train a policy with RLlib, Stable-Baselines3 or our own PPO."),
    Entry("eval", "rl.eval:evaluate", "Compare a trained policy with baselines."),
    Entry("rollouts", "rl.rollouts:rollouts", "Record episodes of a policy or a baseline for offline training."),
    Entry("backtest", "backtest:backtest", "Backtest portfolio policies and rules, with fees."),
    Entry("runs", "runs.app:app"),
    Entry("report", "report:app"),
    Entry("trainings", "rl.trainings:app"),
    Entry("artifact", "artifact:app"),
    Entry("scenarios", "scenarios:app"),
    Entry("new", "new:new", "Write an agent, scenario, environment or protocol with its test."),
    Entry("validate", "validate.app:app"),
    Entry("replay", "replay.app:app"),
    Entry("world", "world:app"),
    Entry("snapshot", "snapshot.app:app"),
    Entry("specialise", "specialise:app"),
    Entry("serve", "serve:serve", "Serve runs, sweeps and the dashboard to a team."),
    Entry("keys", "keys:app"),
    Entry("backup", "backup:backup", "Copy the service's keys, queue and runs while it works."),
    Entry("setup", "setup:setup", "Install contract packages, compile contracts and build replicas, once."),
    Entry("doctor", "doctor:doctor", "Check the installation and name the command that repairs it."),
)


def entry_of(words: Sequence[str]) -> Entry | None:
    """The command or group that `words` name; None for options first, help for all commands, or an unknown name."""
    return next((entry for entry in ENTRIES if words and entry.name == words[0]), None)
