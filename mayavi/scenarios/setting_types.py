"""Types for the settings of agents and protocols of one's own.

```python
from mayavi.scenarios.setting_types import Distribution, OwnAgentSettings, Share, Symbol
```
"""

from __future__ import annotations

from mayavi.scenarios.models.agents.shared import AgentSettings as AgentSettings
from mayavi.scenarios.models.agents.shared import OwnAgentSettings as OwnAgentSettings
from mayavi.scenarios.models.assumptions.marks import Mark as Mark
from mayavi.scenarios.models.chain.own_protocols import OwnProtocolSettings as OwnProtocolSettings
from mayavi.scenarios.models.values.distributions import Distribution as Distribution
from mayavi.scenarios.models.values.quantities import NotNegative as NotNegative
from mayavi.scenarios.models.values.quantities import Positive as Positive
from mayavi.scenarios.models.values.quantities import PositiveRatio as PositiveRatio
from mayavi.scenarios.models.values.quantities import Seconds as Seconds
from mayavi.scenarios.models.values.quantities import Share as Share
from mayavi.scenarios.models.values.quantities import Symbol as Symbol
from mayavi.scenarios.models.values.quantities import TokenAmount as TokenAmount
from mayavi.scenarios.models.values.quantities import Wei as Wei
