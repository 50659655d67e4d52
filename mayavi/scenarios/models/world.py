"""World of a scenario: the keys `source` and `block`, and the options that override them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from mayavi.errors import UsageError, did_you_mean
from mayavi.worlds.source import Kind, WorldSource
from mayavi.worlds.tables.paths import full_market_name, replica_block

if TYPE_CHECKING:
    from mayavi.settings.document import Document

_KINDS = get_args(Kind)
_LARGEST_BLOCK = 1 << 63
_BLOCKS = "give a number, a block hash of 32 bytes or latest"


def _known_source(text: str) -> str:
    kind, colon, path = text.partition(":")
    if kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS) or "there are: replica, snapshot:FILE, rpc"
        raise _rule(f"unknown source '{kind}'", hint)
    if kind == "snapshot" and not path:
        raise _rule("the source snapshot needs a file", "name it: `source: snapshot:FILE`")
    if kind == "replica" and colon:
        raise _rule(f"the source replica takes no '{path}'", "the keys `chain` and `block` choose the replica")
    if kind == "rpc" and colon:
        raise _rule("the URL of a node is no part of a scenario", "write `source: rpc`, and give MAYAVI_RPC_URL")
    return text


def _known_block(block: int | str) -> int | str:
    if isinstance(block, int) and not 0 <= block < _LARGEST_BLOCK:
        raise _rule(f"there is no block {block}", _BLOCKS)
    is_hash = isinstance(block, str) and block.startswith("0x") and len(block) == 66
    if isinstance(block, str) and block != "latest" and not is_hash:
        raise _rule(f"'{block}' is not a valid block", _BLOCKS)
    return block


def _rule(message: str, hint: str) -> PydanticCustomError:
    return PydanticCustomError("rule", "{message}", {"message": message, "hint": hint})


Source = Annotated[str, AfterValidator(_known_source)]
BlockId = Annotated[int | str, AfterValidator(_known_block)]


def _known_world(name: str) -> str:
    try:
        return full_market_name(name)
    except UsageError as error:
        raise _rule(error.message, error.hint or "") from None


WorldName = Annotated[str, AfterValidator(_known_world)]


def world_fault(
    source: str, block: int | str | None, chain: str, world: str | None = None
) -> tuple[str, str | None] | None:
    """Return message and hint if there can be no such world."""
    if world is not None:
        try:
            WorldSource.of(source.partition(":")[0], chain=chain, block=block, world=world)
        except UsageError as error:
            return error.message, error.hint
        return None
    if block is None or source == "rpc":
        return None
    if source != "replica":
        return f"a snapshot has its own block, and block {block} is given too", "leave one of them out"
    try:
        replica_block(chain, block)
    except UsageError as error:
        return error.message, error.hint
    return None


def world_source(
    source: str, block: int | str | None, chain: str, rpc_url: str | None = None, world: str | None = None
) -> WorldSource:
    """Return the world that a scenario names; `rpc_url` is the node of `rpc`, by default that of the environment."""
    if world is not None:
        return WorldSource.of(chain=chain, world=world)
    kind, _, path = source.partition(":")
    return WorldSource.of(kind, chain=chain, snapshot=path or None, rpc_url=rpc_url, block=block)


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """Options of a run that override the keys `source` and `block` of its scenario."""

    source: str | None = None
    snapshot: str | Path | None = None
    rpc_url: str | None = None
    block: int | str | None = None

    def apply(self, document: Document) -> None:
        """Write the options into the document; `UsageError` if they contradict each other."""
        written = document.data.get("source", "replica")
        kind = self.source or ("snapshot" if self.snapshot is not None else "rpc" if self.rpc_url is not None else None)
        own_file = kind == "snapshot" and self.snapshot is None and str(written).startswith("snapshot:")
        if kind is not None and not own_file:
            block = self.block if kind == "snapshot" else None
            WorldSource.of(kind, snapshot=self.snapshot, rpc_url=self.rpc_url, block=block)
            chosen = kind if self.snapshot is None else f"snapshot:{Path(self.snapshot).absolute()}"
            if chosen != written:
                option = f"--source {kind}" if self.snapshot is None else f"--snapshot {self.snapshot}"
                document.put(("source",), chosen, option)
        if kind == "snapshot" and self.block is None:
            document.data.pop("block", None)
        if self.block is not None:
            document.put(("block",), self.block, f"--block {self.block}")


def resolve_snapshot(document: Document) -> None:
    """Make the path of a snapshot absolute: one in the file is relative to the file, one of an option to here."""
    source = document.data.get("source")
    if isinstance(source, str) and source.startswith("snapshot:") and source != "snapshot:":
        folder = None if document.options(("source",)) else document.folder
        document.data["source"] = f"snapshot:{((folder or Path()) / source.partition(':')[2]).absolute()}"
