from .environment import ScenarioEnv
from .recording import record_episode
from .rows import ScenarioRows
from .simulations import Simulation, Simulations

__all__ = ["ScenarioEnv", "ScenarioRows", "Simulation", "Simulations", "record_episode"]
