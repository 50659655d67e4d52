"""Options of `mayavi train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ResumedRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="With --resume: the run to continue; by default the last unfinished one."),
]
EnvOption = Annotated[
    str | None,
    typer.Option("--env", help="aave, aave-shock, compound, vesting, liquidator, rwa, market or scenario:FILE."),
]
FrameworkOption = Annotated[
    str | None,
    typer.Option(
        "--framework", metavar="rllib|sb3|fast", help="Training framework; by default rllib. fast is our own PPO."
    ),
]
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="ppo|sac|dqn|cql",
        help="By default ppo. sac and cql need continuous actions, dqn discrete ones.",
    ),
]
TimestepsOption = Annotated[
    int | None,
    typer.Option("--timesteps", metavar="N", help="Environment steps; by default 50,000, for rwa 500,000."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="The same seed gives the same weights; by default 0.")]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="auto|cpu|cuda|emulated",
        help="Device of the network; by default a GPU if available. With fast, cuda also runs the environment there; "
        "emulated does the same on the CPU, slowly.",
    ),
]
RecurrentOption = Annotated[bool, typer.Option("--recurrent", help="Train a policy with memory (LSTM); ppo only.")]
OverridesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a setting of the training or the environment; may be repeated."
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Read settings from a YAML or JSON file.")
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="replica[:BLOCK]|snapshot:PATH|rpc", help="World to train on; by default replica."
    ),
]
RemoteOption = Annotated[
    str | None, typer.Option("--remote", metavar="modal", help="Train on Modal; overrides MAYAVI_RL_BACKEND.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue a run from its last checkpoint.")]
RolloutsOption = Annotated[
    Path | None,
    typer.Option(
        "--rollouts", metavar="FILE", help="With cql: file of recorded rollouts, which also sets the environment."
    ),
]
EvalOption = Annotated[
    bool,
    typer.Option("--eval/--no-eval", help="Evaluate the policy on the test split at the end, or not."),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="With rllib: collect rollouts on this Ray cluster: auto, host:6379. With --grid or --seeds: train on it.",
    ),
]
GridOption = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        metavar="KEY=A,B,…",
        help="Train with several values of a setting; if repeated, with all combinations.",
    ),
]
SeedsOption = Annotated[
    str | None, typer.Option("--seeds", metavar="0:5", help="Train with each of these seeds: 0:5, 1,2,5 or both.")
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="With --grid or --seeds: number of trainings in parallel.")
]
