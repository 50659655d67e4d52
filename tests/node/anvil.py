"""Real node for tests: `anvil` from the contract packages, with proofs, a prestate tracer and a state file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from mayavi.worlds.contract_folder import contracts_root
from tests.missing import skip_or_fail
from tests.node.local_node import LocalNode

_MINE_S = 60


def anvil_program() -> Path:
    """Return the program in the package of this platform, which npm installs beside `@foundry-rs/anvil`."""
    packages = contracts_root() / "node_modules" / "@foundry-rs"
    # The script of `@foundry-rs/anvil` would start a second process, which outlives a kill of the first.
    found = sorted(packages.glob("anvil-*/bin/anvil"))
    if not found:
        skip_or_fail(f"anvil is not installed in '{packages}'; `make test` installs it")
    return found[0]


class Anvil(LocalNode):
    """Running `anvil`. It also answers to hardhat's own methods."""

    @classmethod
    def start(
        cls,
        folder: Path,
        *,
        chain_id: int = 31337,
        hardfork: str = "prague",
        port: int = 0,
        first_block: int = 0,
        first_timestamp: int | None = None,
        load: Path | None = None,
        save: Path | None = None,
    ) -> Anvil:
        """Start a node that writes only into `folder`; `skip_or_fail` if anvil is not installed.

        `port` 0 is any free one. The chain begins with `first_block`; blocks before it do not exist. `load` is a state
        file to go on from, with all blocks and their states. `stop` writes one to `save`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        arguments = [str(anvil_program()), "--host", "127.0.0.1", "--port", str(port), "--hardfork", hardfork]
        arguments += ["--chain-id", str(chain_id), "--base-fee", "0", "--gas-price", "0", "--order", "fifo"]
        arguments += ["--number", str(first_block), "--no-request-size-limit", "--cache-path", str(folder / "states")]
        if first_timestamp is not None:
            arguments += ["--timestamp", str(first_timestamp)]
        if load is not None:
            arguments += ["--load-state", str(load)]
        if save is not None:
            arguments += ["--dump-state", str(save), "--preserve-historical-states"]
        environment = os.environ | {"HOME": str(folder), "NO_COLOR": "1"}
        node = cls.launch(arguments, folder, environment, r"Listening on (127\.0\.0\.1:\d+)\n", chain_id)
        node.rpc("anvil_setBlockTimestampInterval", 12)  # as on a real chain, no two blocks have the same time
        return node

    def mine_at(self, number: int, timestamp: int) -> None:
        """Mine the next block at `timestamp`, whatever its number: anvil skips no blocks."""
        self.rpc("evm_setNextBlockTimestamp", hex(timestamp))
        self.rpc("evm_mine")

    def submit(self, transaction: dict[str, Any]) -> str:
        """Send a transaction and return its hash; in automine, once it is in a block."""
        name = super().submit(transaction)
        deadline = time.monotonic() + _MINE_S
        while self.rpc("anvil_getAutomine") and self.rpc("eth_getTransactionReceipt", name) is None:
            assert time.monotonic() < deadline, f"transaction {name} is in no block after {_MINE_S} s"
            time.sleep(0.005)
        return name
