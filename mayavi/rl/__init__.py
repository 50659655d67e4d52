"""Train and evaluate policies: one configuration for RLlib and Stable-Baselines3.

```python
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.train import train

trained = train(TrainConfig(env="aave", timesteps=50_000, seed=1))
```
"""
