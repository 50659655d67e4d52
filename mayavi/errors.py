"""Every error Mayavi raises on purpose: one tree, one line a class.

The message says what failed and why, in lower case and with the value quoted; `hint` says what to do next and is
printed on a line of its own. `exit_code` is what the command line returns: 2 when the caller asked for something
impossible, 1 when a possible request failed. Errors survive pickling, so a worker process can hand them to its parent.
"""

# ruff: noqa: N818  (a name says what happened, as in CallReverted)

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol, Self


class RevertReason(Protocol):
    """What `CallReverted.reason` offers; `mayavi.evm.abi.reverts.Reason` implements it."""

    @property
    def name(self) -> str:
        """The error's own name, empty when it has none."""

    @property
    def message(self) -> str:
        """One printable line."""

    @property
    def args(self) -> tuple[object, ...]:
        """The arguments decoded."""


class MayaviError(Exception):
    """Something Mayavi can explain. `str(error)` is the message alone; `hint` is the next step, if one is known."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(hint)  # so that a traceback shows it too


class UsageError(MayaviError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing here answers to. Its hint offers the nearest names that exist."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str], more: str = "", meant: str | None = None) -> Self:
        """`unknown <kind> '<name>'`, with the nearest of `known`, or what was `meant`, and then `more` as the hint."""
        nearest = f"did you mean '{meant}'?" if meant else did_you_mean(name, known)
        hint = "  ".join(part for part in (nearest, more) if part)
        return cls(f"unknown {kind} '{name}'", hint or None)


class UnknownAttribute(UnknownName, AttributeError):
    """An unknown name looked up as an attribute, so that `hasattr` answers instead of failing."""


class UnknownKey(UnknownName, KeyError):
    """An unknown name looked up in a mapping, so that `get` answers instead of failing."""

    __str__ = Exception.__str__


class BadSeries(UsageError):
    """A file of prices that cannot be used as it is. The message names file and line, the hint what to do."""


class AmbiguousName(UsageError):
    """A name that more than one thing answers to. Its hint lists them."""


class BadAddress(UsageError):
    """Not a 20-byte address, or text whose checksum is wrong."""


class BadInteger(UsageError):
    """A number that is not an integer of the type asked for, or outside its range."""


class BadArgument(UsageError):
    """A value of the wrong kind, shape or count for the type asked for."""


class BadCalldata(UsageError):
    """Bytes that are not the ABI encoding of the types asked for."""


class BadAbi(UsageError):
    """An ABI, a signature or a type that cannot be read."""


class BadScenario(UsageError):
    """A scenario that cannot be read or makes no sense. The message says where: file, line, column and key."""


class ScenarioParked(UsageError):
    """A scenario that is known by name and cannot be run yet. The hint says what can."""


class StateError(MayaviError):
    """The state needed is not there or cannot be trusted."""


class MissingStateError(StateError):
    """An account, slot or block hash that this world never learned."""


class SnapshotError(StateError):
    """A snapshot file that cannot be used."""


class SnapshotCorrupt(SnapshotError):
    """A snapshot file whose content does not match its checksum or format."""


class SnapshotTruncated(SnapshotError):
    """A snapshot file that ends early."""


class SnapshotFutureVersion(SnapshotError):
    """A snapshot file written by a newer Mayavi."""


class StoreError(MayaviError):
    """A database of runs that cannot be used as asked."""


class StoreUnreadable(StoreError):
    """A database of runs that is no database, is damaged, or belongs to somebody else."""


class StoreFutureVersion(StoreError):
    """A database of runs written by a newer Mayavi."""


class StoreFull(StoreError):
    """No space is left where runs are kept."""


class UnknownRun(UnknownName):
    """A run id, or the beginning of one, that no stored run answers to."""


class BundleError(MayaviError):
    """A bundle of a run that cannot be used: damaged, incomplete, or of a newer Mayavi."""


class CheckpointError(MayaviError):
    """A checkpoint or a trained model that cannot be used: missing, damaged, or of a newer Mayavi."""


class ModelMismatch(UsageError):
    """A trained model that was asked to play something else than what it was trained on."""


class MemoryCeiling(UsageError):
    """A training whose model and batch would take more memory than it may."""


class CostCeiling(UsageError):
    """A training elsewhere that could cost more than it may."""


class RemoteError(MayaviError):
    """Work on rented machines, or the way there or back, that failed."""


class EvaluationFileError(MayaviError):
    """A file that should hold an evaluation and does not, or one of a newer Mayavi."""


class ExecutionError(MayaviError):
    """A call or transaction that did not succeed. `gas_used` is what it burned."""

    def __init__(self, message: str = "", hint: str | None = None, *, gas_used: int = 0) -> None:
        super().__init__(message, hint)
        self.gas_used = gas_used


class CallReverted(ExecutionError):
    """The contract refused: `reason` is its explanation decoded, `output` the raw revert data."""

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
    """The EVM stopped the call: out of gas, invalid opcode, stack overflow and the like."""


class TransactionInvalid(ExecutionError):
    """A transaction that could not even start: nonce, balance, gas limit or fee."""


class NoCode(ExecutionError):
    """A call to an address where no contract stands."""


class InsufficientBalance(ExecutionError):
    """An account that holds less of a token than an action needs; seen before anything is sent."""


class InsufficientAllowance(ExecutionError):
    """A spender that may take less of a token than an action needs; seen before anything is sent."""


class ActionRefused(ExecutionError):
    """An action that would achieve nothing or cannot succeed; seen before anything is sent."""


class RpcError(MayaviError):
    """A node that did not give a usable answer. No URL in a message ever holds a key."""


class RpcTimeout(RpcError):
    """The node did not answer in time."""


class RpcHttpError(RpcError):
    """The node answered with an HTTP error that retries did not mend."""


class RpcBadAnswer(RpcError):
    """The node answered with something that is not a valid answer to the question."""


class RpcBudgetExceeded(RpcError):
    """The request budget of this fork is spent."""


class WrongChain(RpcError):
    """The node serves another chain than the one asked for."""


class BlockHashMismatch(RpcError):
    """The node's block has another hash than the one this state was read at."""


class SimulationError(MayaviError):
    """A simulation that cannot go on, or an agent that breaks its rules."""


class ObservationChanged(SimulationError):
    """An agent that changed the chain while it was asked to look at it."""


class RunHalted(SimulationError):
    """A run that stopped where an agent's own code broke, as it was told to. `traceback` is where."""

    def __init__(self, message: str = "", hint: str | None = None, *, traceback: str = "") -> None:
        super().__init__(message, hint)
        self.traceback = traceback


class SetupError(MayaviError):
    """Something has not been built or installed yet. The hint is the command that mends it."""


class WorkerError(MayaviError):
    """A worker process that ended without an answer, or whose code broke."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The hint `did you mean 'x'?` with up to three names of `known` close to `name`, or None when none is close."""
    from difflib import get_close_matches  # only a mistake pays for it

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    near = [f"'{by_folded[match]}'" for match in get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)]
    if not near:
        return None
    return f"did you mean {near[0] if len(near) == 1 else ', '.join(near[:-1]) + ' or ' + near[-1]}?"
