from .location import store_path as store_path
from .recorder import SegmentRecorder as SegmentRecorder
from .recorder import new_run_id as new_run_id
from .relation import Rows as Rows
from .store import RunRecord as RunRecord
from .store import Store as Store
from .store import SweepRecord as SweepRecord
