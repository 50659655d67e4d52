"""Training settings, common to all frameworks and stored with every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from mayavi.errors import UnknownName
from mayavi.rl.env_defaults import MARKET, SCENARIO, SCENARIO_ID, env_defaults
from mayavi.settings.document_kind import DocumentKind
from mayavi.settings.model import Model
from mayavi.settings.validation import checked_values

Framework = Literal["rllib", "sb3", "fast"]
Algorithm = Literal["ppo", "sac", "dqn", "cql"]
Device = Literal["auto", "cpu", "cuda", "emulated"]
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
DEVICES: tuple[Device, ...] = get_args(Device)
TITLES: dict[Framework, str] = {"rllib": "RLlib", "sb3": "stable-baselines3", "fast": "framework `fast`"}
"""Names of the frameworks in messages."""
_START_HINT = "begin with `env: aave`; docs/how-to/train.md lists the settings"
TRAINING = DocumentKind(
    "configuration",
    owner="a training",
    missing_hint="`--config FILE` takes the settings as YAML or JSON",
    empty_hint=_START_HINT,
    start_hint=_START_HINT,
    size_hint=_START_HINT,
    keys_hint="docs/how-to/train.md lists them",
    place_hints={("env",): "name the environment with --env"},
    override_example="learning_rate=3e-4",
)

_Width = Annotated[int, Field(strict=True, ge=1, le=65_536)]
_Rate = Annotated[float, Field(gt=0, le=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


MOST_ROWS, MOST_DEVICE_ROWS = 65_536, 262_144
"""Most parallel episodes on the processor and on a GPU."""
START_TABLE = 65_536
"""Episodes that rows on a GPU play in turn, unless the settings say otherwise."""


class TrainConfig(Model):
    """Settings of a training run. An algorithm ignores the settings of others; docs/how-to/train.md lists which."""

    env: str = Field(description="environment, by name or gymnasium id")
    env_config: dict[str, Any] = Field(default_factory=dict, description="settings of the environment")
    framework: Framework = Field(
        "rllib", description="training framework: Ray RLlib, stable-baselines3, or our own PPO"
    )
    algorithm: Algorithm = Field(
        "ppo", description="PPO; SAC for continuous actions, DQN for discrete ones; CQL offline"
    )
    timesteps: int = Field(
        50_000, ge=1, le=10**12, description="environment steps, rounded up to whole rollouts; CQL: gradient steps"
    )
    seed: int = Field(0, ge=0, lt=2**31, description="random seed")
    recurrent: bool = Field(False, description="recurrent policy (LSTM); PPO only")
    source: str = Field("replica", description="source of the world: `replica`, `snapshot:PATH` or `rpc`")
    block: int | None = Field(None, ge=0, description="block of the world; of a replica one of `mayavi world list`")

    num_envs: int = Field(
        64,
        ge=1,
        le=MOST_DEVICE_ROWS,
        description="parallel episodes, over all runners together; on a GPU up to 262,144",
    )
    network: Annotated[tuple[_Width, ...], Field(strict=False, min_length=1, max_length=8)] = Field(
        (64, 64), description="widths of the hidden layers of policy and value network"
    )
    activation: Literal["tanh", "relu"] = Field("tanh", description="activation function")
    lstm_size: _Width = Field(64, description="recurrent: width of the LSTM")
    learning_rate: _Rate = Field(3e-4, description="learning rate of the optimizer (Adam)")
    learning_rate_end: float | None = Field(
        None, ge=0, le=1, description="final learning rate of a linear schedule; none: constant"
    )
    gamma: _Share = Field(0.99, description="discount factor per step")
    reward_scale: float = Field(1.0, gt=0, le=1e9, description="factor on rewards during training only")
    bootstrap_at_horizon: bool = Field(
        False, description="whether the value after the horizon is bootstrapped (truncation) or zero (termination)"
    )
    normalize_observations: bool = Field(
        False, description="PPO: normalise observations by their running mean and deviation"
    )
    normalize_rewards: bool = Field(
        False, description="PPO: divide rewards by the running deviation of discounted returns, during training only"
    )
    max_grad_norm: float = Field(0.5, gt=0, description="largest norm of gradients; longer ones are clipped")

    rollout_steps: int = Field(32, ge=1, le=100_000, description="PPO: steps of each episode between two updates")
    minibatch_size: int = Field(256, ge=1, description="batch size of a gradient step")
    epochs: int = Field(10, ge=1, le=1000, description="PPO: passes over each batch")
    gae_lambda: _Share = Field(0.95, description="PPO: lambda of generalised advantage estimation")
    clip_range: float = Field(0.2, gt=0, le=10, description="PPO: clipping range of the policy ratio")
    entropy_coefficient: float = Field(0.0, ge=0, description="PPO: weight of the entropy bonus")
    initial_deviation: float = Field(
        1.0, gt=0, le=100, description="PPO, continuous actions: initial standard deviation of the policy"
    )
    value_coefficient: float = Field(0.5, ge=0, description="PPO: weight of the value loss")
    target_kl: float | None = Field(
        None,
        gt=0,
        description="PPO: target KL divergence of an update: RLlib adds a penalty, the others stop it early",
    )

    buffer_size: int = Field(100_000, ge=1, description="SAC, DQN: size of the replay buffer, in steps")
    learning_starts: int = Field(1_000, ge=0, description="SAC, DQN: steps before the first update")
    train_every: int = Field(1, ge=1, description="SAC, DQN: steps of all rows between two updates")
    gradient_steps: int = Field(8, ge=1, description="SAC, DQN: gradient steps per update")
    target_update_every: int = Field(1_000, ge=1, description="DQN: steps between updates of the target network")
    tau: _Rate = Field(0.005, description="SAC: step of the soft update of the target network")
    exploration_share: _Share = Field(0.2, description="DQN: share of the training in which exploration declines")
    exploration_end: _Share = Field(0.05, description="DQN: share of random actions after that")

    rollouts: str | None = Field(None, description="CQL: Parquet file of recorded rollouts to learn from")
    conservative_weight: float = Field(
        5.0, ge=0, le=1e6, description="CQL: weight of the penalty on values of actions that the data does not show"
    )

    runners: int | None = Field(
        None, ge=0, le=1024, description="RLlib: environment runner processes; none: MAYAVI_RL_NUM_ENV_RUNNERS"
    )
    torch_threads: int = Field(1, ge=1, le=1024, description="torch threads; more rarely help with small networks")
    device: Device = Field(
        "auto", description="device of the network; auto: a GPU if any; fast with `cuda`: of the environment too"
    )
    precision: Literal["fp32", "tf32", "bf16"] = Field(
        "fp32", description="fast: number type in which the network's layers multiply"
    )
    start_table: int | None = Field(
        None,
        ge=1,
        le=2**24,
        description="fast on a GPU: number of episodes that the rows play in turn; none: 65,536, or num_envs if larger",
    )
    checkpoint_every_s: float = Field(60.0, gt=0, description="seconds between two checkpoints")
    checkpoint_every_steps: int | None = Field(
        None, ge=1, description="additional checkpoints by steps; none: every tenth of the training"
    )
    evaluate_every: int | None = Field(
        None, ge=1, description="steps between two evaluations on the validation split; none: never"
    )
    evaluate_episodes: int = Field(
        64, ge=1, le=100_000, description="episodes of each such evaluation, always the same"
    )
    test_episodes: int = Field(
        200,
        ge=0,
        le=1_000_000,
        description="episodes of the evaluation at the end of `mayavi train`, on the test split; 0: none",
    )

    @model_validator(mode="after")
    def _offline(self) -> Self:
        if (self.algorithm == "cql") != (self.rollouts is not None):
            raise ValueError(
                "CQL learns from recorded rollouts; name their file: --rollouts FILE (`mayavi rollouts` records them)"
                if self.rollouts is None
                else f"{self.algorithm.upper()} plays its own rollouts; take --algorithm cql, or leave rollouts out"
            )
        if self.algorithm == "cql" and self.framework != "rllib":
            raise ValueError(f"{TITLES[self.framework]} has no CQL; take --framework rllib")
        return self

    @model_validator(mode="after")
    def _fast(self) -> Self:
        if self.framework == "fast" and self.algorithm != "ppo":
            raise ValueError(
                f"framework `fast` trains PPO, not {self.algorithm.upper()}; take --framework sb3 or rllib"
            )
        if self.framework == "fast" and self.recurrent:
            raise ValueError("framework `fast` has no recurrent policies; take --framework sb3 or rllib")
        if self.env == MARKET and self.device == "emulated":
            from mayavi.gym_env.device.kinds import WHY_NOT

            raise ValueError(f"'{MARKET}' does not run on a device: {WHY_NOT[MARKET]}; leave the device out")
        only = {"device=emulated": self.device == "emulated", f"precision={self.precision}": self.precision != "fp32"}
        if self.framework != "fast" and any(only.values()):
            named = [name for name, given in only.items() if given]
            are = "is a setting" if len(named) == 1 else "are settings"
            raise ValueError(f"{' and '.join(named)} {are} of framework `fast`; take --framework fast")
        if self.num_envs > MOST_ROWS and not self.rows_on_device:
            raise ValueError(
                f"{self.num_envs:,} parallel episodes need --framework fast and --device cuda; "
                f"on the processor take num_envs={MOST_ROWS} or less"
            )
        if self.start_table is not None and self.framework != "fast":
            raise ValueError("start_table is a setting of framework `fast` on a GPU; leave it out")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.recurrent and self.algorithm != "ppo":
            raise ValueError(f"{self.algorithm.upper()} has no recurrent form here; take ppo, or leave --recurrent out")
        if self.algorithm == "ppo" and self.minibatch_size > self.batch_size:
            raise ValueError(
                f"a minibatch of {self.minibatch_size:,} rows does not fit into a batch of {self.batch_size:,} "
                f"(num_envs × rollout_steps); take minibatch_size={self.batch_size} or less, or a larger batch"
            )
        if self.env == MARKET and self.framework != "rllib":
            raise ValueError(
                f"the market has several agents, and {TITLES[self.framework]} trains one; take --framework rllib"
            )
        if self.normalises and self.algorithm != "ppo":
            raise ValueError(
                f"{self.algorithm.upper()} learns from old observations, which were normalised by other statistics; "
                "take ppo, or leave normalize_observations and normalize_rewards out"
            )
        if self.env == MARKET and (self.normalises or self.evaluate_every):
            raise ValueError(
                "the market has several agents, and one policy is normalised and evaluated; "
                "leave normalize_observations, normalize_rewards and evaluate_every out"
            )
        if self.evaluate_every and self.env_config.get("split") == "validation":
            raise ValueError("the validation split is trained on and evaluated on; leave one of the two out")
        return self

    @property
    def batch_size(self) -> int:
        """Steps between two updates of PPO."""
        return self.num_envs * self.rollout_steps

    @property
    def rows_on_device(self) -> bool:
        """Whether the environment runs on the device too, and not on the processor."""
        return self.framework == "fast" and self.device in {"cuda", "emulated"}

    @property
    def start_episodes(self) -> int:
        """Number of episodes in the table that rows on a device play in turn."""
        return self.start_table or max(START_TABLE, self.num_envs)

    @property
    def scheduled(self) -> list[str]:
        """Settings whose values change during the training and follow from its `timesteps`."""
        found = []
        if self.learning_rate_end not in (None, self.learning_rate):
            found.append("learning_rate_end")
        if self.algorithm == "dqn" and self.exploration_share > 0 and self.exploration_end < 1:
            found.append("exploration_share")
        return found

    @property
    def normalises(self) -> bool:
        """Whether observations or rewards are normalised."""
        return self.normalize_observations or self.normalize_rewards

    @property
    def steps_between_checkpoints(self) -> int:
        """Environment steps between two checkpoints, besides those written by time."""
        return self.checkpoint_every_steps or max(1, self.timesteps // 10)

    def to_json(self) -> dict[str, Any]:
        """Settings as plain data, which `TrainConfig.of` accepts."""
        return self.model_dump(mode="json")

    @classmethod
    def of(cls, *layers: Mapping[str, Any]) -> TrainConfig:
        """Merge `layers` over the environment's defaults, the last one winning; raise `UsageError` if invalid."""
        values: dict[str, Any] = {}
        for layer in layers:
            inner = {**values.get("env_config", {}), **layer.get("env_config", {})}
            values |= {**layer, "env_config": inner}
        check_choices(values)
        values = pin_env(values)
        values = {**env_defaults(values), **values}
        return checked_values(cls, values, TRAINING)


def pin_env(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write `env: scenario:FILE` as environment and settings, with the contents of the file in place of its path."""
    env = values.get("env")
    if not isinstance(env, str) or env.partition(":")[0] not in (SCENARIO, SCENARIO_ID):
        return dict(values)
    from mayavi.gym_env.configuration import configured
    from mayavi.gym_env.registry import entry, split_name

    settings = {**values["env_config"], **split_name(env)[1]}
    if "\n" not in str(settings.get(SCENARIO, "")):
        settings |= configured(entry(env).load().config_type, settings).pinned()
    return {**values, "env": SCENARIO, "env_config": settings}


def check_choices(values: Mapping[str, Any]) -> None:
    """Raise `UnknownName` with the nearest names for an unknown framework, algorithm or device."""
    for kind, known in (("framework", FRAMEWORKS), ("algorithm", ALGORITHMS)):
        named = values.get(kind)
        if isinstance(named, str) and named not in known:
            raise UnknownName.of(kind, named, known, f"there are {', '.join(known)}")
    if isinstance(device := values.get("device"), str) and device not in DEVICES:
        from mayavi.evm.devices import check_device_name

        check_device_name(device, ("auto", "cpu"), numbered=False)


def read_config(path: Path) -> dict[str, Any]:
    """Read training settings from a YAML or JSON file."""
    from mayavi.settings.document import Document

    found: dict[str, Any] = plain(Document.open(path, kind=TRAINING).data)
    return found


def parse_settings(options: Iterable[str], env_settings: Iterable[str]) -> dict[str, Any]:
    """Parse `--set key=value` options into training settings and `env_config`.

    A name that both have belongs to the training; `env.key` always belongs to the environment.
    """
    from mayavi.settings.document import Document

    own, theirs = set(TrainConfig.model_fields) - {"env_config"}, set(env_settings)
    values: dict[str, Any] = {}
    env_config: dict[str, Any] = {}
    for option in options:
        key = option.partition("=")[0].strip()
        document = Document({}, f"--set {option}", kind=TRAINING)
        document.override(option.strip() if "=" not in option else f"value={option.partition('=')[2]}")
        value = plain(document.data)["value"]
        if key in own:
            values[key] = value
        elif key.removeprefix("env.") in theirs:
            env_config[key.removeprefix("env.")] = value
        else:
            named = f"a world is named by `--source replica:{value}`" if key.removeprefix("env.") == "world" else None
            raise UnknownName.of("setting", key, own | theirs, named or "docs/how-to/train.md lists them")
    return {**values, "env_config": env_config} if env_config else values


def plain(value: Any) -> Any:
    """Convert decimals to floats, recursively."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value
