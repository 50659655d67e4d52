"""Training and judging policies: one configuration for both frameworks, runs that can be resumed, evaluation.

from mayavi.rl.config import TrainConfig
from mayavi.rl.training import train

trained = train(TrainConfig(env="aave", timesteps=50_000, seed=1))
"""
