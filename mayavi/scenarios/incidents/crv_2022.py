"""Complete record of the CRV short: its 385 liquidations, from a file or from the real blocks of a node."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from mayavi.errors import BadSeries, UsageError, WrongChain
from mayavi.evm.address import to_address
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity64
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.refusals import NodeRefused
from mayavi.protocols.aave_v2.liquidation_event import DATA_BYTES, LIQUIDATION_TOPIC, decode_liquidation

FILE = "incidents/crv-2022-11/aave-crv-liquidations.csv"
POOL = "0x7d2768dE32b0b80b7a3454c06BdAc94A69DDc7A9"
ACCOUNT = "0x57e04786e231af3343562c062e0d058f25dace9e"
FIRST_BLOCK, LAST_BLOCK = 16_025_860, 16_027_236
BEGIN = int(datetime(2022, 11, 22, 13, 31, 11, tzinfo=UTC).timestamp())
FEWEST_BLOCKS = 10
"""Blocks that any node gives the logs of in one request."""
_SLOT = 12
_MAINNET = 1
_COLUMNS = ("datetime", "liquidator", "debt_to_cover_crv_raw", "liquidated_collateral_usdc_raw")


class LiquidationEvent(NamedTuple):
    """One liquidation: Unix time, liquidator, CRV repaid and USDC seized in smallest units."""

    time: int
    liquidator: str
    repaid: int
    seized: int


def events_of_file(path: Path) -> list[LiquidationEvent]:
    """Read the events from a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in _COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise BadSeries(f"'{path}' has no column '{missing[0]}'", f"it needs {', '.join(_COLUMNS)}")
    return [
        LiquidationEvent(
            int(datetime.fromisoformat(row["datetime"]).timestamp()),
            row["liquidator"].lower(),
            int(row["debt_to_cover_crv_raw"]),
            int(row["liquidated_collateral_usdc_raw"]),
        )
        for row in rows
    ]


class _Log(NamedTuple):
    block: int
    position: int
    transaction: bytes
    liquidator: str
    repaid: int
    seized: int


class NodeEvents(NamedTuple):
    """Events of the real blocks in their order, and block and hash of the transaction of each."""

    events: list[LiquidationEvent]
    places: list[tuple[int, bytes]]


def events_of_node(url: str) -> NodeEvents:
    """Read the events of the real blocks from a node of Ethereum that keeps their logs."""
    with RpcClient(url) as client:
        chain, latest = client.batch([Call("eth_chainId", [], quantity64), Call("eth_blockNumber", [], quantity64)])
        if chain != _MAINNET:
            raise WrongChain(
                f"the node serves chain {chain}, and the liquidations are on Ethereum", "name another node"
            )
        if latest < LAST_BLOCK:
            raise UsageError(
                f"the node is at block {latest:,}, and the last liquidation is in block {LAST_BLOCK:,}",
                "wait until it has synchronised, or name another node",
            )
        logs = _read_logs(client)
        if not logs:
            raise UsageError(
                f"the node has no liquidation of {ACCOUNT} in blocks {FIRST_BLOCK:,} to {LAST_BLOCK:,}",
                "it has pruned their logs: name an archive node",
            )
        blocks = sorted({log.block for log in logs})
        headers = client.batch([Call("eth_getBlockByNumber", [hex(each), False], Header.parse) for each in blocks])
    times = {header.number: header.timestamp for header in headers}
    logs.sort()
    events = [LiquidationEvent(times[log.block], log.liquidator, log.repaid, log.seized) for log in logs]
    return NodeEvents(events, [(log.block, log.transaction) for log in logs])


def crv_overrides(events: Sequence[LiquidationEvent]) -> list[str]:
    """Return the overrides that put `events` into the scenario of recorded calls."""
    lines = ["time,liquidator,borrower,collateral,debt,repaid,seized"]
    for number, event in enumerate(events, 1):
        # The oracle moved between the last two calls, which share a block: the last one moves to the next.
        seconds = event.time - BEGIN + (_SLOT if number == len(events) else 0)
        repaid, seized = Decimal(event.repaid).scaleb(-18), Decimal(event.seized).scaleb(-6)
        lines.append(f"{seconds},{event.liquidator[:10]},positions-short,USDC,CRV,{repaid:f},{seized:f}")
    return [f"agents.liquidators.data={json.dumps(chr(10).join(lines) + chr(10))}"]


def _read_logs(client: RpcClient) -> list[_Log]:
    """Ask for the logs of the whole range at once, and for half as many blocks where the node refuses."""
    topics = ["0x" + LIQUIDATION_TOPIC.hex(), None, None, "0x" + to_address(ACCOUNT).hex().rjust(64, "0")]
    found: list[_Log] = []
    start, size = FIRST_BLOCK, LAST_BLOCK - FIRST_BLOCK + 1
    while start <= LAST_BLOCK:
        stop = min(start + size - 1, LAST_BLOCK)
        wanted = {"address": POOL, "fromBlock": hex(start), "toBlock": hex(stop), "topics": topics}
        answer = client.attempt([Call("eth_getLogs", [wanted], _logs, patient=False)])[0]
        if isinstance(answer, NodeRefused):
            if answer.unsupported or size <= FEWEST_BLOCKS:
                raise UsageError(
                    f"the node gives no logs of blocks {start:,} to {stop:,}: {answer.message}", "name an archive node"
                ) from answer
            size //= 2
            continue
        found += answer
        start = stop + 1
    return found


def _logs(answer: object) -> list[_Log]:
    if not isinstance(answer, list):
        raise BadValue("the logs are not a list")
    found = []
    for each in map(fields, answer):
        event = decode_liquidation(data(each.get("data"), DATA_BYTES))
        block, index = quantity64(each.get("blockNumber")), quantity64(each.get("logIndex"))
        transaction = hash32(each.get("transactionHash"))
        found.append(_Log(block, index, transaction, "0x" + event.liquidator.hex(), event.covered, event.seized))
    return found
