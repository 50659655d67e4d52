"""Types for the settings of agents and protocols of one's own.

from mayavi.scenarios.setting_types import Distribution, OwnAgentSettings, Share, Symbol
"""

from __future__ import annotations

from mayavi.scenarios.models.agent_settings import AgentSettings as AgentSettings
from mayavi.scenarios.models.agent_settings import OwnAgentSettings as OwnAgentSettings
from mayavi.scenarios.models.assumption_marks import Mark as Mark
from mayavi.scenarios.models.distributions import Distribution as Distribution
from mayavi.scenarios.models.protocols import OwnProtocolSettings as OwnProtocolSettings
from mayavi.scenarios.models.quantities import NotNegative as NotNegative
from mayavi.scenarios.models.quantities import Positive as Positive
from mayavi.scenarios.models.quantities import PositiveRatio as PositiveRatio
from mayavi.scenarios.models.quantities import Seconds as Seconds
from mayavi.scenarios.models.quantities import Share as Share
from mayavi.scenarios.models.quantities import Symbol as Symbol
from mayavi.scenarios.models.quantities import TokenAmount as TokenAmount
from mayavi.scenarios.models.quantities import Wei as Wei
