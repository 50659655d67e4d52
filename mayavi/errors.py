"""Exception classes of Mayavi.

The message says what failed and why, in lower case and with the value quoted; `hint` says what to do next and is
printed on its own line. `exit_code` is the command line's exit status: 2 for an impossible request, 1 for a possible
request that failed. Errors can be pickled, so a worker process can pass them to its parent.
"""

# ruff: noqa: N818  (a name says what happened, as in CallReverted)

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol, Self


class RevertReason(Protocol):
    """Protocol of `CallReverted.reason`; implemented by `mayavi.evm.abi.reverts.Reason`."""

    @property
    def name(self) -> str:
        """Name of the error, empty if it has none."""

    @property
    def message(self) -> str:
        """One printable line."""

    @property
    def args(self) -> tuple[object, ...]:
        """Decoded arguments."""


class MayaviError(Exception):
    """Base class of all Mayavi errors. `str(error)` is the message; `hint` is the next step, if known."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(hint)  # shown in tracebacks too


class UsageError(MayaviError):
    """Request that cannot be fulfilled as given."""

    exit_code = 2


class UnknownName(UsageError):
    """Unknown name. The hint suggests the nearest known names."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str], more: str = "", meant: str | None = None) -> Self:
        """Build `unknown <kind> '<name>'`; the hint suggests `meant`, or the nearest of `known`, then adds `more`."""
        nearest = f"did you mean '{meant}'?" if meant else did_you_mean(name, known)
        hint = "  ".join(part for part in (nearest, more) if part)
        return cls(f"unknown {kind} '{name}'", hint or None)


class UnknownAttribute(UnknownName, AttributeError):
    """Unknown name looked up as an attribute; an `AttributeError`, so `hasattr` works."""


class UnknownKey(UnknownName, KeyError):
    """Unknown name looked up in a mapping; a `KeyError`, so `get` works."""

    __str__ = Exception.__str__


class BadSeries(UsageError):
    """Unusable price file. The message names file and line, the hint the remedy."""


class AmbiguousName(UsageError):
    """Name that matches several things. The hint lists them."""


class BadAddress(UsageError):
    """Invalid address: not 20 bytes, or a wrong checksum."""


class BadInteger(UsageError):
    """Number that is not an integer, or outside the range of its type."""


class BadArgument(UsageError):
    """Value of the wrong kind, shape or count."""


class BadCalldata(UsageError):
    """Bytes that are not the ABI encoding of the expected types."""


class BadAbi(UsageError):
    """Malformed ABI, signature or type."""


class CompileError(UsageError):
    """Source that the compiler refuses: the file, the line and the compiler's message."""


class BadScenario(UsageError):
    """Invalid scenario. The message names file, line, column and key."""


class PluginError(UsageError):
    """Code of another package, or of an import path, that cannot be used. The message says why in one line."""


class ScenarioParked(UsageError):
    """Known scenario that cannot be run yet. The hint names those that can."""


class StateError(MayaviError):
    """Missing or untrustworthy state."""


class MissingStateError(StateError):
    """Account, slot or block hash that is not part of the loaded state."""


class WitnessError(StateError):
    """Witness that is unreadable, or does not prove what it claims."""


class ProofError(StateError):
    """Proof that is incomplete, or contradicts what a node states."""


class SnapshotError(StateError):
    """Unusable snapshot file."""


class SnapshotCorrupt(SnapshotError):
    """Snapshot file whose content does not match its checksum or format."""


class SnapshotTruncated(SnapshotError):
    """Snapshot file that ends early."""


class SnapshotFutureVersion(SnapshotError):
    """Snapshot file written by a newer Mayavi."""


class StoreError(MayaviError):
    """Unusable run database."""


class StoreUnreadable(StoreError):
    """Run database that is damaged, not a database, or of another program."""


class StoreFutureVersion(StoreError):
    """Run database written by a newer Mayavi."""


class StoreFull(StoreError):
    """No space left for the run database."""


class UnknownRun(UnknownName):
    """Run id or id prefix without a stored run."""


class BundleError(MayaviError):
    """Unusable run bundle: damaged, incomplete, or of a newer Mayavi."""


class CheckpointError(MayaviError):
    """Unusable checkpoint or trained model: missing, damaged, or of a newer Mayavi."""


class ModelMismatch(UsageError):
    """Trained model used with another environment than it was trained on."""


class MemoryCeiling(UsageError):
    """Training whose model and batch would exceed the memory limit."""


class CostCeiling(UsageError):
    """Remote training that could exceed the cost limit."""


class DeviceLost(MayaviError):
    """GPU that failed during a training. The hint says how to continue."""


class RemoteError(MayaviError):
    """Failure of remote work or of its transfer."""


class RolloutsError(MayaviError):
    """Rollouts file that is unreadable, damaged, or of a newer version."""


class EvaluationFileError(MayaviError):
    """Unusable evaluation file, or one of a newer Mayavi."""


class ReplayDiffers(MayaviError):
    """Replayed call or step that gave something else than the interpreter: a fault of the kernel, never of an agent."""


class ExecutionError(MayaviError):
    """Failed call or transaction. `gas_used` is the gas it burned."""

    def __init__(self, message: str = "", hint: str | None = None, *, gas_used: int = 0) -> None:
        super().__init__(message, hint)
        self.gas_used = gas_used


class CallReverted(ExecutionError):
    """Reverted call: `reason` is the decoded reason, `output` the raw revert data."""

    def __init__(
        self,
        message: str = "",
        hint: str | None = None,
        *,
        reason: RevertReason | None = None,
        output: bytes = b"",
        gas_used: int = 0,
    ) -> None:
        super().__init__(message, hint, gas_used=gas_used)
        self.reason = reason
        self.output = output


class CallHalted(ExecutionError):
    """Call stopped by the EVM: out of gas, invalid opcode, stack overflow and the like."""


class TransactionInvalid(ExecutionError):
    """Transaction rejected before execution: nonce, balance, gas limit or fee."""


class NoCode(ExecutionError):
    """Call to an address without code."""


class InsufficientBalance(ExecutionError):
    """Token balance below what an action needs; raised before anything is sent."""


class InsufficientAllowance(ExecutionError):
    """Allowance below what an action needs; raised before anything is sent."""


class ActionRefused(ExecutionError):
    """Action that would do nothing or cannot succeed; raised before anything is sent."""


class ActionDeclined(ActionRefused):
    """Decision of an agent not to act, such as not to sell below its price; raised before anything is sent."""


class RpcError(MayaviError):
    """Node without a usable answer. Messages never contain a key of the URL."""


class RpcTimeout(RpcError):
    """No answer from the node in time."""


class RpcHttpError(RpcError):
    """HTTP error of the node that persisted through retries."""


class RpcBadAnswer(RpcError):
    """Malformed answer of the node."""


class RpcBudgetExceeded(RpcError):
    """Request budget of the fork used up."""


class WrongChain(RpcError):
    """Node of another chain than the requested one."""


class BlockHashMismatch(RpcError):
    """Block hash of the node that differs from the one the state was read at."""


class SimulationError(MayaviError):
    """Simulation that cannot continue, or an agent that breaks its contract."""


class ObservationChanged(SimulationError):
    """Agent that changed the chain while observing it."""


class RunHalted(SimulationError):
    """Run halted on purpose by an exception in an agent. `traceback` locates it."""

    def __init__(self, message: str = "", hint: str | None = None, *, traceback: str = "") -> None:
        super().__init__(message, hint)
        self.traceback = traceback


class ReportError(MayaviError):
    """Report that cannot be written or printed."""


class SetupError(MayaviError):
    """Missing build or installation step. The hint is the command to run."""


class WorkerError(MayaviError):
    """Worker process that ended without a result, or whose code failed."""


class ServiceError(MayaviError):
    """Refusal or failure of a Mayavi service. `status` is the HTTP status, 0 without an answer."""

    def __init__(self, message: str = "", hint: str | None = None, *, status: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status


class ServiceUnreachable(ServiceError):
    """Mayavi service that does not answer."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the hint `did you mean 'x'?` with up to three close names of `known`, or None."""
    from difflib import get_close_matches  # imported only on errors

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    near = [f"'{by_folded[match]}'" for match in get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)]
    if not near:
        return None
    return f"did you mean {near[0] if len(near) == 1 else ', '.join(near[:-1]) + ' or ' + near[-1]}?"
