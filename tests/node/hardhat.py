"""Real node for tests: `hardhat node` from the contract packages, in its own process on loopback."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mayavi.errors import CallReverted, ExecutionError
from mayavi.worlds.contract_folder import contracts_root
from tests.missing import skip_or_fail

_START_S = 600
_STOP_S = 10
_CONFIG = """\
module.exports = { networks: { hardhat: {
  chainId: %d, hardfork: "%s", initialDate: "%s", initialBaseFeePerGas: 0, gasPrice: 0, loggingEnabled: false,
  allowBlocksWithSameTimestamp: %s,
} } };
"""


class NodeError(Exception):
    """JSON-RPC error of the node."""


class Hardhat:
    """Running node. Fees are zero, so balances change only by the transactions' effects."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process, self.url, self.log = process, url, log
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        self._ids = itertools.count(1)

    @classmethod
    def start(
        cls,
        folder: Path,
        chain_id: int = 31337,
        hardfork: str = "shanghai",
        port: int = 0,
        first_timestamp: int | None = None,
        same_timestamp: bool = False,
    ) -> Hardhat:
        """Start a node that writes only into `folder`; `skip_or_fail` if hardhat is not installed.

        `port` 0 is any free one. The first block has the time `first_timestamp`, or now. With `same_timestamp`
        consecutive blocks may have equal times.
        """
        program = contracts_root() / "node_modules" / ".bin" / "hardhat"
        if not program.exists():
            skip_or_fail(f"'{program}' is not installed; `make test` installs it")
        config = folder / "hardhat.config.js"
        began = datetime.fromtimestamp(time.time() if first_timestamp is None else first_timestamp, UTC)
        config.write_text(_CONFIG % (chain_id, hardfork, began.isoformat(), "true" if same_timestamp else "false"))
        log = folder / "node.log"
        environment = os.environ | {
            "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true",
            "HARDHAT_EXPERIMENTAL_ALLOW_NON_LOCAL_INSTALLATION": "true",
            "NO_COLOR": "1",
            **{f"XDG_{kind}_HOME": str(folder / "home") for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        }
        arguments = [str(program), "--config", str(config), "node", "--hostname", "127.0.0.1", "--port", str(port)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and process.poll() is None:
            if found := re.search(r"server at (http://127\.0\.0\.1:\d+)/", log.read_text(errors="replace")):
                node = cls(process, found[1], log)
                assert int(node.rpc("eth_chainId"), 16) == chain_id
                return node
            time.sleep(0.05)
        _end(process)
        pytest.fail(f"hardhat did not start within {_START_S} s; it said:\n{log.read_text(errors='replace')[-4000:]}")

    def stop(self) -> None:
        """Stop the node's process."""
        self._connection.close()
        _end(self.process)

    def rpc(self, method: str, *params: Any) -> Any:
        """Return the result of one call; raise `NodeError` if the node refuses."""
        question = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = self.post(json.dumps(question).encode())
        if "error" in answer:
            raise NodeError(answer["error"]["message"], answer["error"].get("data"))
        return answer["result"]

    def post(self, body: bytes) -> Any:
        """Return the node's JSON answer to a raw body."""
        try:
            return self._posted(body)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()  # idle for longer than the node waits; nothing was executed
            return self._posted(body)

    def _posted(self, body: bytes) -> Any:
        self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
        return json.loads(self._connection.getresponse().read())

    @property
    def port(self) -> int:
        """Port it listens on."""
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @property
    def head(self) -> dict[str, Any]:
        """Newest block."""
        block: dict[str, Any] = self.rpc("eth_getBlockByNumber", "latest", False)
        return block

    @property
    def block_number(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    # What `mayavi.worlds.deploy.deployment.Chain` asks for, so that the replica's own code deploys here.

    def call(self, to: bytes, data: bytes, /) -> bytes:
        result = self.rpc("eth_call", {"to": _hex(to), "data": _hex(data)}, "latest")
        return bytes.fromhex(result[2:])

    def send(self, to: bytes | None, data: bytes, /, *, sender: bytes, value: int = 0) -> dict[str, Any]:
        """Send a transaction from any account and return the receipt; raise if it fails."""
        self.rpc("hardhat_impersonateAccount", _hex(sender))
        transaction = {"from": _hex(sender), "data": _hex(data), "value": hex(value), "gas": hex(16_000_000)}
        if to is not None:
            transaction["to"] = _hex(to)
        try:
            transaction_hash = self.rpc("eth_sendTransaction", transaction)
        except NodeError as error:
            raise CallReverted(str(error)) from None
        receipt: dict[str, Any] = self.rpc("eth_getTransactionReceipt", transaction_hash)
        if receipt["status"] != "0x1":
            raise ExecutionError(f"transaction {transaction_hash} failed")
        return receipt

    def deploy(self, initcode: bytes, /, *, sender: bytes) -> bytes:
        return bytes.fromhex(self.send(None, initcode, sender=sender)["contractAddress"][2:])

    def create_at(self, address: bytes, initcode: bytes, /, *, sender: bytes) -> object:
        raise NotImplementedError("a node creates contracts where their creator's nonce puts them")

    def set_balance(self, address: bytes, amount: int, /) -> None:
        self.rpc("hardhat_setBalance", _hex(address), hex(amount))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=_STOP_S)


def _hex(raw: bytes) -> str:
    return "0x" + raw.hex()
