from .hooks import Hook as Hook
from .market_snapshot import MarketSnapshotHook as MarketSnapshotHook
from .recorder import MemoryRecorder as MemoryRecorder
from .runner import Runner as Runner
from .scheduler import PsubBlock as PsubBlock
from .scheduler import Scheduler as Scheduler
from .world_state import WorldState as WorldState
