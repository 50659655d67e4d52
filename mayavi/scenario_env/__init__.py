"""Gymnasium environment over any scenario: `mayavi/Scenario-v0`.

    env = ScenarioEnv("my_scenario.yaml")
    envs = gymnasium.make_vec("mayavi/Scenario-v0", 4, vectorization_mode="async", scenario="my_scenario.yaml")

One agent of the scenario learns; all others act as in `mayavi run`. An episode is a run of `WorldState` and `Scheduler`
that pauses in every step before the learner's agent block.

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
