"""`TrainConfig`: everything that decides a training, the same for both frameworks, stored with the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from mayavi.errors import BadScenario, UnknownName, UsageError
from mayavi.rl.env_defaults import MARKET, env_defaults
from mayavi.settings.model import Model

Framework = Literal["rllib", "sb3"]
Algorithm = Literal["ppo", "sac", "dqn"]
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

_Width = Annotated[int, Field(strict=True, ge=1, le=65_536)]
_Rate = Annotated[float, Field(gt=0, le=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


class TrainConfig(Model):
    """A training as it is asked for. Settings that an algorithm does not know are left alone by it; the table in
    docs/how-to/train.md says which are whose."""

    env: str = Field(description="the environment, by its name or gymnasium id")
    env_config: dict[str, Any] = Field(default_factory=dict, description="what the environment is told")
    framework: Framework = Field("rllib", description="who trains: Ray RLlib or stable-baselines3")
    algorithm: Algorithm = Field("ppo", description="PPO; SAC for continuous actions, DQN for discrete ones")
    timesteps: int = Field(
        50_000, ge=1, le=10**12, description="steps of the environment, rounded up to whole rollouts"
    )
    seed: int = Field(0, ge=0, lt=2**31, description="what chance depends on")
    recurrent: bool = Field(False, description="a policy with memory (LSTM); PPO alone")
    source: str = Field("replica", description="the world: `replica`, `snapshot:PATH` or `rpc`")
    block: int | None = Field(None, ge=0, description="with `rpc`: the block the world is read at")

    num_envs: int = Field(64, ge=1, le=65_536, description="episodes side by side, over all runners together")
    network: Annotated[tuple[_Width, ...], Field(strict=False, min_length=1, max_length=8)] = Field(
        (64, 64), description="the widths of the hidden layers, of policy and value each"
    )
    activation: Literal["tanh", "relu"] = Field("tanh", description="what stands between the layers")
    lstm_size: _Width = Field(64, description="recurrent: the width of the memory")
    learning_rate: _Rate = Field(3e-4, description="the step of the optimizer (Adam)")
    learning_rate_end: float | None = Field(
        None, ge=0, le=1, description="where the learning rate goes in a straight line; none: it stays"
    )
    gamma: _Share = Field(0.99, description="what a reward of the next step is worth now")
    reward_scale: float = Field(
        1.0, gt=0, le=1e9, description="rewards are multiplied by this while training, and only there"
    )
    bootstrap_at_horizon: bool = Field(
        False, description="whether the horizon cuts an episode off (a value is expected after it) or ends it"
    )
    normalize_observations: bool = Field(
        False, description="PPO: observations are shown over their running mean and deviation"
    )
    normalize_rewards: bool = Field(
        False, description="PPO: rewards are divided by the running deviation of their discounted sums while training"
    )
    max_grad_norm: float = Field(0.5, gt=0, description="gradients are shortened to this length")

    rollout_steps: int = Field(32, ge=1, le=100_000, description="PPO: steps of each episode between two updates")
    minibatch_size: int = Field(256, ge=1, description="rows of a gradient step")
    epochs: int = Field(10, ge=1, le=1000, description="PPO: how often a batch is gone through")
    gae_lambda: _Share = Field(0.95, description="PPO: how far advantages look ahead")
    clip_range: float = Field(0.2, gt=0, le=10, description="PPO: how far the policy moves in an update")
    entropy_coefficient: float = Field(0.0, ge=0, description="PPO: how much chance in the policy is worth")
    initial_deviation: float = Field(
        1.0, gt=0, le=100, description="PPO, continuous actions: the deviation with which a fresh policy draws them"
    )
    value_coefficient: float = Field(0.5, ge=0, description="PPO: the weight of the value's loss")
    target_kl: float | None = Field(
        None,
        gt=0,
        description="PPO: how far an update may move the policy: stable-baselines3 cuts it short, RLlib adds a penalty",
    )

    buffer_size: int = Field(100_000, ge=1, description="SAC, DQN: steps that are remembered")
    learning_starts: int = Field(1_000, ge=0, description="SAC, DQN: steps before the first update")
    train_every: int = Field(1, ge=1, description="SAC, DQN: steps of all rows between two updates")
    gradient_steps: int = Field(8, ge=1, description="SAC, DQN: gradient steps of an update")
    target_update_every: int = Field(1_000, ge=1, description="DQN: steps between two copies of the network")
    tau: _Rate = Field(0.005, description="SAC: the share of the network that moves over at each update")
    exploration_share: _Share = Field(0.2, description="DQN: the part of the training in which chance fades")
    exploration_end: _Share = Field(0.05, description="DQN: the share of random actions after that")

    runners: int | None = Field(
        None, ge=0, le=1024, description="RLlib: processes that play; none: MAYAVI_RL_NUM_ENV_RUNNERS"
    )
    torch_threads: int = Field(1, ge=1, le=1024, description="threads of torch; more rarely help with small networks")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where the network learns; auto: a GPU if any")
    checkpoint_every_s: float = Field(60.0, gt=0, description="seconds between two checkpoints")
    checkpoint_every_steps: int | None = Field(
        None, ge=1, description="steps between two checkpoints besides; none: a tenth of the training"
    )
    evaluate_every: int | None = Field(
        None, ge=1, description="steps between two evaluations on the validation split; none: never"
    )
    evaluate_episodes: int = Field(64, ge=1, le=100_000, description="episodes of such an evaluation, always the same")

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
            raise ValueError("the market has several agents, and stable-baselines3 trains one; take --framework rllib")
        if self.normalises and self.algorithm != "ppo":
            raise ValueError(
                f"{self.algorithm.upper()} learns from what it remembers, which was seen through other statistics; "
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
    def normalises(self) -> bool:
        """Whether anything is seen through statistics."""
        return self.normalize_observations or self.normalize_rewards

    @property
    def steps_between_checkpoints(self) -> int:
        """Steps of the environment between two checkpoints, whatever the clock says."""
        return self.checkpoint_every_steps or max(1, self.timesteps // 10)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; `TrainConfig.of` takes it back."""
        return self.model_dump(mode="json")

    @classmethod
    def of(cls, *layers: Mapping[str, Any]) -> TrainConfig:
        """The training that `layers` describe together, the later ones winning; `UsageError` for what does not fit."""
        values: dict[str, Any] = {}
        for layer in layers:
            inner = {**values.get("env_config", {}), **layer.get("env_config", {})}
            values |= {**layer, "env_config": inner}
        check_choices(values)
        values = {**env_defaults(values), **values}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _explained(error) from None


def check_choices(values: Mapping[str, Any]) -> None:
    """`UnknownName` with the nearest names where a framework or an algorithm is not known."""
    for kind, known in (("framework", FRAMEWORKS), ("algorithm", ALGORITHMS)):
        named = values.get(kind)
        if isinstance(named, str) and named not in known:
            raise UnknownName.of(kind, named, known, f"there are {', '.join(known)}")


def read_config(path: Path) -> dict[str, Any]:
    """What a YAML or JSON file says of a training."""
    from mayavi.settings.document import Document

    if not path.is_file():
        raise UsageError(f"there is no configuration at '{path}'", "`--config FILE` takes the settings as YAML or JSON")
    try:
        found: dict[str, Any] = plain(Document.open(path).data)
    except BadScenario as error:
        if "scenario" not in f"{error.message} {error.hint}":
            raise
        # Files are read as those of scenarios are; what is wrong with one of a training is told as that.
        told = error.message.replace("scenario", "configuration")
        raise BadScenario(told, "begin with `env: aave`; docs/how-to/train.md lists the settings") from None
    return found


def parse_settings(options: Iterable[str], env_settings: Iterable[str]) -> dict[str, Any]:
    """What each `--set key=value` changes: a setting of the training, or one of the environment.

    A name that both have is the training's; `env.key` is always the environment's.
    """
    from mayavi.settings.document import Document

    own, theirs = set(TrainConfig.model_fields) - {"env_config"}, set(env_settings)
    values: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for option in options:
        key = option.partition("=")[0].strip()
        document = Document({}, f"--set {option}")
        document.override(option.strip() if "=" not in option else f"value={option.partition('=')[2]}")
        value = plain(document.data)["value"]
        if key in own:
            values[key] = value
        elif key.removeprefix("env.") in theirs:
            told[key.removeprefix("env.")] = value
        else:
            raise UnknownName.of("setting", key, own | theirs, "docs/how-to/train.md lists them")
    return {**values, "env_config": told} if told else values


def plain(value: Any) -> Any:
    """Numbers as a trainer takes them: written out exactly in a file, floats here."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def _explained(error: ValidationError) -> UsageError:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unknown_keys":
        from mayavi.gym_env.configuration import unknown_setting

        return unknown_setting(first["ctx"], "a training", "docs/how-to/train.md lists them")
    if first["type"] == "value_error":
        message, _, hint = str(first["ctx"]["error"]).partition("; ")
        return UsageError(message, hint or None)
    if first["type"] == "missing":
        return UsageError(f"a training needs '{where}'", "name the environment with --env")
    return UsageError(f"setting '{where}' is {first['input']!r}: {first['msg'][:1].lower()}{first['msg'][1:]}")
