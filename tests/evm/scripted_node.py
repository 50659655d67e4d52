"""A JSON-RPC node on loopback that serves a small invented chain and misbehaves on command.

Every HTTP request takes the next fault off `ScriptedNode.faults`; without one it is answered as a good node would.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mayavi.evm.header import header_hash
from mayavi.evm.rpc import Clock

KEY = "s3cret-key-0123456789abcdef"
ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
POOL = bytes.fromhex("9001000000000000000000000000000000000002")
POOL_CODE = bytes.fromhex("60016002600355")


@dataclass
class Reply:
    """An answer about to be sent; a fault changes it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: Any = None
    body: bytes | None = None
    announced: int | None = None  # Content-Length, if it shall differ from the body's
    hang: bool = False
    hang_up: bool = False


Fault = Callable[[Reply], None]


def status(code: int, **headers: str) -> Fault:
    def change(reply: Reply) -> None:
        reply.status, reply.body = code, b"not today"
        reply.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    return change


def hang(reply: Reply) -> None:
    reply.hang = True


def hang_up(reply: Reply) -> None:
    reply.hang_up = True


def truncated(reply: Reply) -> None:
    """The body stops in the middle although the header announced all of it."""
    whole = json.dumps(reply.content).encode()
    reply.body, reply.announced = whole[: len(whole) // 2], len(whole)


def cut_json(reply: Reply) -> None:
    """A complete HTTP answer with half of a JSON text."""
    whole = json.dumps(reply.content).encode()
    reply.body = whole[: len(whole) // 2]


def body(raw: bytes) -> Fault:
    def change(reply: Reply) -> None:
        reply.body = raw

    return change


def items(change_items: Callable[[list[dict[str, Any]]], list[Any]]) -> Fault:
    """Change the list of answers of a batch (a single answer is a list of one)."""

    def change(reply: Reply) -> None:
        answers = reply.content if isinstance(reply.content, list) else [reply.content]
        changed = change_items(answers)
        reply.content = changed if isinstance(reply.content, list) else changed[0]

    return change


def every(**members: Any) -> Fault:
    """Set members of every answer, such as result= or error=."""

    def change(answers: list[dict[str, Any]]) -> list[Any]:
        for answer in answers:
            answer.pop("result", None)
            answer.update(members)
        return answers

    return items(change)


def invented_block(number: int, parent: bytes = bytes(32), **changes: str) -> dict[str, Any]:
    """A block whose hash follows from its header, as on a real chain (Shanghai's form)."""
    block: dict[str, Any] = {
        "parentHash": "0x" + parent.hex(),
        "sha3Uncles": "0x" + "1d" * 32,
        "miner": "0x" + "c0" * 20,
        "stateRoot": "0x" + "5a" * 32,
        "transactionsRoot": "0x" + "56" * 32,
        "receiptsRoot": "0x" + "57" * 32,
        "logsBloom": "0x" + "00" * 256,
        "difficulty": "0x0",
        "number": hex(number),
        "gasLimit": hex(30_000_000),
        "gasUsed": hex(21_000 * number),
        "timestamp": hex(1_700_000_000 + 12 * number),
        "extraData": "0x",
        "mixHash": "0x" + f"{number:064x}",
        "nonce": "0x0000000000000000",
        "baseFeePerGas": hex(10**9),
        "withdrawalsRoot": "0x" + "58" * 32,
        "transactions": [],
        "uncles": [],
        "size": "0x220",
        **changes,
    }
    block["hash"] = "0x" + header_hash(block).hex()
    return block


class ScriptedNode:
    """The node. `requests` holds the calls of every HTTP request it got."""

    def __init__(self, chain_id: int = 1, height: int = 100) -> None:
        self.chain_id = chain_id
        self.faults: list[Fault | None] = []
        self.requests: list[list[dict[str, Any]]] = []
        self.request_headers: list[dict[str, str]] = []
        self.batch_limit: int | None = None
        self.eip1898 = True
        self.methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: hex(self.chain_id),
            "eth_blockNumber": lambda: hex(len(self.blocks) - 1),
            "eth_getBlockByNumber": self._block_by_number,
            "eth_getBlockByHash": self._block_by_hash,
            "eth_getBalance": lambda who, at: self._state(at, hex(self.accounts.get(who, (0, 0, b""))[0])),
            "eth_getTransactionCount": lambda who, at: self._state(at, hex(self.accounts.get(who, (0, 0, b""))[1])),
            "eth_getCode": lambda who, at: self._state(at, "0x" + self.accounts.get(who, (0, 0, b""))[2].hex()),
            "eth_getStorageAt": lambda who, slot, at: self._state(
                at, f"0x{self.storage.get((who, int(slot, 16)), 0):064x}"
            ),
        }
        self.accounts = {_hex(ALICE): (5 * 10**18, 7, b""), _hex(POOL): (0, 1, POOL_CODE)}
        self.storage = {(_hex(POOL), slot): slot * 1000 + 1 for slot in range(2000)}
        self.rebuild(height)
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def rebuild(self, height: int, **changes: str) -> None:
        """Replace the chain, as a restarted or reorganised node would."""
        self.blocks: list[dict[str, Any]] = []
        parent = bytes(32)
        for number in range(height + 1):
            self.blocks.append(invented_block(number, parent, **changes))
            parent = bytes.fromhex(self.blocks[-1]["hash"][2:])

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.host}/v2/{KEY}?token={KEY}"

    def asked(self, method: str) -> int:
        return sum(call["method"] == method for request in self.requests for call in request)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def reply(self, question: Any) -> Reply:
        calls = question if isinstance(question, list) else [question]
        self.requests.append(calls)
        if isinstance(question, list) and self.batch_limit is not None and len(calls) > self.batch_limit:
            content: Any = [_refused(calls[0]["id"], -32600, "batch too large")]
        else:
            answers = [self._answer(call) for call in calls]
            content = answers if isinstance(question, list) else answers[0]
        reply = Reply(content=content)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            fault(reply)
        return reply

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        method = self.methods.get(call["method"])
        if method is None:
            return _refused(call["id"], -32601, f"the method {call['method']} does not exist")
        try:
            return {"jsonrpc": "2.0", "id": call["id"], "result": method(*call["params"])}
        except LookupError:
            return _refused(call["id"], -32000, "block hash is not on this chain")
        except ValueError as error:
            return _refused(call["id"], -32602, str(error))

    def _block_by_number(self, number: str, full: bool) -> Any:
        index = len(self.blocks) - 1 if number in ("latest", "safe", "finalized") else int(number, 16)
        return self.blocks[index] if index < len(self.blocks) else None

    def _block_by_hash(self, block_hash: str, full: bool) -> Any:
        return next((block for block in self.blocks if block["hash"] == block_hash), None)

    def _state(self, at: Any, value: str) -> str:
        if isinstance(at, dict):
            if not self.eip1898:
                raise ValueError("invalid argument 1: cannot unmarshal object into Go value of type string")
            if self._block_by_hash(at["blockHash"], False) is None:
                raise LookupError
        return value


@contextmanager
def scripted_node(chain_id: int = 1, height: int = 100) -> Iterator[ScriptedNode]:
    node = ScriptedNode(chain_id, height)
    try:
        yield node
    finally:
        node.close()


class SteppedClock:
    """A clock that a sleep moves at once, and that remembers the sleeps."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []

    def clock(self) -> Clock:
        return Clock(wall=lambda: self.now, sleep=self.sleep, jitter=lambda: 0.0)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def _hex(address: bytes) -> str:
    return "0x" + address.hex()


def _refused(key: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": message}}


def _handler(node: ScriptedNode) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            node.request_headers.append(dict(self.headers))
            reply = node.reply(question)
            if reply.hang:
                node.released.wait(timeout=10)
                self.close_connection = True
                return
            if reply.hang_up:
                self.close_connection = True
                return
            raw = reply.body if reply.body is not None else json.dumps(reply.content).encode()
            if reply.announced is not None:
                self.close_connection = True
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw) if reply.announced is None else reply.announced))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
