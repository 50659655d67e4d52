"""Real node for tests: `hardhat node` from the contract packages, in its own process on loopback."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from mayavi.worlds.contract_folder import contracts_root
from tests.missing import skip_or_fail
from tests.node.local_node import LocalNode, NodeError

__all__ = ["Hardhat", "NodeError"]

_CONFIG = """\
module.exports = { networks: { hardhat: {
  chainId: %d, hardfork: "%s", initialDate: "%s", initialBaseFeePerGas: 0, gasPrice: 0, loggingEnabled: false,
  allowBlocksWithSameTimestamp: %s, accounts: %s,
} } };
"""
# With given keys the node starts in half the time: it derives those of its usual accounts, twice each.
_ACCOUNTS = json.dumps([{"privateKey": "0x" + f"{number:02x}" * 32, "balance": str(10**22)} for number in range(1, 9)])


class Hardhat(LocalNode):
    """Running `hardhat node`. It keeps no chain after it has ended, and has neither proofs nor a prestate tracer."""

    hardfork: str

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
        config.write_text(_CONFIG % (chain_id, hardfork, began.isoformat(), json.dumps(same_timestamp), _ACCOUNTS))
        environment = os.environ | {
            "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true",
            "HARDHAT_EXPERIMENTAL_ALLOW_NON_LOCAL_INSTALLATION": "true",
            "NO_COLOR": "1",
            **{f"XDG_{kind}_HOME": str(folder / "home") for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        }
        arguments = [str(program), "--config", str(config), "node", "--hostname", "127.0.0.1", "--port", str(port)]
        node = cls.launch(arguments, folder, environment, r"server at http://(127\.0\.0\.1:\d+)/", chain_id)
        node.hardfork = hardfork
        return node

    def mine_at(self, number: int, timestamp: int) -> None:
        """Mine up to block `number`. Skipped blocks take no time; the last is mined as usual, at `timestamp`."""
        self.rpc("hardhat_mine", hex(number - self.block_number - 1), "0x1")
        self.rpc("evm_setNextBlockTimestamp", hex(timestamp))
        self.rpc("evm_mine")
