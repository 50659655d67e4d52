"""The scanner against a node that lies: every lie is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.node.chain_history import ChainHistory
from tests.node.editing_proxy import EditingProxy
from tests.node.history_scan import scan

pytestmark = [pytest.mark.node, pytest.mark.slow]


def flip(text: str, at: int = -1) -> str:
    digits = list(text)
    digits[at] = "1" if digits[at] != "1" else "2"
    return "".join(digits)


def flipped(*path: str | int) -> Callable[[dict[str, Any]], None]:
    """Return a function that changes the last digit of the text at `path`."""

    def change(receipt: dict[str, Any]) -> None:
        place: Any = receipt
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = flip(place[path[-1]])

    return change


ALTERED: dict[str, tuple[tuple[str | int, ...], str]] = {
    "gas": (("gasUsed",), "gas used"),
    "log data": (("logs", 0, "data"), "log 0 data"),
    "topic": (("logs", 1, "topics", 1), "log 1 topics"),
    "emitter": (("logs", 2, "address"), "log 2 address"),
    "bloom": (("logsBloom",), "logsBloom"),
    "cumulative gas": (("cumulativeGasUsed",), "cumulativeGasUsed"),
    "price": (("effectiveGasPrice",), "effectiveGasPrice"),
    "sender": (("from",), "from"),
    "log index": (("logs", 1, "logIndex"), "log 1 logIndex"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_byte_of_a_receipt_is_named_with_its_transaction(
    run_mayavi, history: ChainHistory, editing: EditingProxy, tmp_path: Path, name: str
) -> None:
    """In the whole history for one field, and in the block alone for the others."""
    path, field = ALTERED[name]
    target, block = history.hashes["first of block"], history.block_of("first of block")
    first, last = (history.first, history.last) if name == "gas" else (block, block)
    replayed = sum(first <= history.block_of(each) <= last for each in history.hashes)

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getTransactionReceipt" or call["params"][0] != target:
            return result
        altered = deepcopy(result)
        flipped(*path)(altered)
        assert altered != result
        return altered

    editing.edits.append(edit)
    span = ("--from", str(first), "--to", str(last), "--store", str(tmp_path / "h.duckdb"))
    done = run_mayavi("replay", "history", "--rpc", editing.url, *span)
    assert done.returncode == 1, done.stderr
    assert f"block {block}, transaction 0 ({target}): {field}: expected" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"differs: block {block}, transaction 0 ({target}): {field}: ")
    assert replayed > 3
    assert f"{replayed - 1} of {replayed} exact" in done.stdout


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all texts in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))


def test_no_field_of_a_receipt_can_be_altered_unseen(
    history: ChainHistory, editing: EditingProxy, tmp_path: Path
) -> None:
    receipt, block = history.receipt("first of block"), history.block_of("first of block")
    paths = list(leaves(receipt))
    assert len(paths) > 30
    altered: dict[str, Any] = {}

    def edit(call: dict[str, Any], result: Any) -> Any:
        wanted = call["method"] == "eth_getTransactionReceipt" and call["params"][0] == receipt["transactionHash"]
        return altered["receipt"] if wanted else result

    editing.edits.append(edit)
    for path in paths:
        altered["receipt"] = deepcopy(receipt)
        flipped(*path)(altered["receipt"])
        (found,) = scan(editing.url, tmp_path / "h.duckdb", block, block, again=True).differences
        assert found.transaction == 0, path
        named = next(part for part in reversed(path) if isinstance(part, str))
        shown = {"gasUsed": "gas used", "status": "status", "transactionHash": "hash"}.get(named, named)
        assert shown.lower() in found.field.lower(), path
        if path[0] == "logs":
            assert f"log {path[1]} " in found.field, path


def test_a_lie_about_the_state_after_a_block_is_named(
    history: ChainHistory, editing: EditingProxy, tmp_path: Path
) -> None:
    """The node's answers for one balance after the block differ from what the transactions make of it."""
    block = history.node.rpc("eth_getBlockByNumber", hex(history.block_of("third of block")), False)
    holder = history.accounts[4].lower()

    def edit(call: dict[str, Any], result: Any) -> Any:
        after = call["method"] == "eth_getBalance" and call["params"][1] == {"blockHash": block["hash"]}
        return hex(int(result, 16) + 1) if after and call["params"][0] == holder else result

    editing.edits.append(edit)
    report = scan(editing.url, tmp_path / "h.duckdb", history.first, history.last)
    found = report.differences[0]
    assert found.block == int(block["number"], 16)
    assert found.transaction_hash == history.hashes["fourth of block"], "the last that changed it"
    assert found.field.lower() == f"balance of {holder}"
    assert int(found.expected) == int(found.got) + 1


def test_a_wrong_value_before_a_block_shows_in_a_receipt_or_the_state(
    history: ChainHistory, editing: EditingProxy, tmp_path: Path
) -> None:
    parent = history.node.rpc("eth_getBlockByNumber", hex(history.block_of("swap") - 1), False)["hash"]
    pool = history.labels["UniswapV3.WETH/USDC.500"].lower()

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getStorageAt" and call["params"][0] == pool and call["params"][1] == f"0x{4:064x}":
            return hex(int(result, 16) + 10**12) if call["params"][2] == {"blockHash": parent} else result
        return result

    editing.edits.append(edit)
    report = scan(editing.url, tmp_path / "h.duckdb", history.first, history.last)
    assert report.differences[0].transaction_hash == history.hashes["swap"]
