"""Options of `mayavi eval`, some of which other commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EvaluatedModels = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN|CHECKPOINT|-",
        help="A training run, a checkpoint (RUN:STEP, RUN:best or its folder), or - for baselines only; several"
        " runs are pooled.",
    ),
]
RivalsOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="A,B,…",
        help="Baselines, training runs or checkpoints to compare with; by default all baselines.",
    ),
]
StochasticOption = Annotated[
    bool,
    typer.Option("--stochastic/--deterministic", help="Draw the policy's actions, or take the most likely ones."),
]
CheckpointsOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoints", metavar="all|STEP,…", help="Evaluate several checkpoints to find where results converge."
    ),
]
MinimumOption = Annotated[
    int,
    typer.Option("--min-distinct", metavar="N", help="Fewer distinct trajectories give the verdict `saturated`."),
]
SearchOption = Annotated[
    str,
    typer.Option("--search", metavar="auto|exhaustive|beam", help="Search method of the baseline `optimum`."),
]
ActionNoiseOption = Annotated[
    float,
    typer.Option("--noise-actions", metavar="P", help="Replace each action by a random one with this probability."),
]
ObservationNoiseOption = Annotated[
    float,
    typer.Option(
        "--noise-observations",
        metavar="S",
        help="Add normal noise of this standard deviation to what policies observe.",
    ),
]
PlaySourceOption = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="replica[:BLOCK]|snapshot:PATH|rpc", help="World to play on; by default that of the run."
    ),
]
SplitOption = Annotated[
    str, typer.Option("--split", metavar="train|validation|test", help="Split whose episodes are played.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be repeated."),
]
PlaySeedOption = Annotated[int, typer.Option("--seed", help="Seed of random play and of the bootstrap.")]
ModelsOption = Annotated[
    Path | None, typer.Option("--models", metavar="FOLDER", help="Folder of training runs; by default data/models.")
]
