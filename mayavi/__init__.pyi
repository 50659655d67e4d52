from . import errors as errors
from .evm.abi.contract import Contract as Contract
from .evm.abi.contract import Function as Function
from .evm.address import checksum as checksum
from .evm.address import to_address as to_address
from .evm.fleet import Fleet as Fleet
from .evm.fleet import Program as Program
from .evm.fleet import Template as Template
from .evm.fork.fork import Fork as Fork
from .evm.fork.registry import Snapshot as Snapshot
from .evm.fork.registry import SnapshotRegistry as SnapshotRegistry
from .evm.receipt import CallFrame as CallFrame
from .evm.receipt import Receipt as Receipt
from .evm.units import ether as ether
from .evm.units import format_units as format_units
from .evm.units import gwei as gwei
from .evm.units import to_units as to_units
from .scenarios.exposure.exposure import exposure as exposure
from .scenarios.run.run import run as run
from .scenarios.sensitivity.analysis import sensitivity as sensitivity
from .scenarios.sweep.sweep import sweep as sweep
from .sim.store import Store as Store

__version__: str
