"""Our price feed against Chainlink's ETH/USD proxy and aggregator of a recorded block."""

from __future__ import annotations

from mayavi.errors import ExecutionError, MissingStateError
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.replay.case import read_pre_state
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.gate import Tally
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER

BLOCK, TIMESTAMP = 15_752_489, 1_665_824_207
FEED = to_address("0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419")
DESCRIPTION = "ETH / USD"
_LATEST = Function.parse("latestRoundData()(uint80,int256,uint256,uint256,uint80)")
_ANSWERS = (
    "latestRoundData()",
    "latestAnswer()",
    "latestRound()",
    "latestTimestamp()",
    "decimals()",
    "version()",
)
_PART = "PriceFeed as ETH/USD"


def compare_feeds(recorded: RecordedContracts, tally: Tally) -> None:
    """Ask both feeds the same questions; ours is posted the recorded round."""
    recorded.get(BLOCK, FEED)
    evm = read_pre_state(recorded.folder, BLOCK, 1, "paris", recorded.codes)
    real = Fork.from_state(evm.freeze(), labels={}, source={"kind": "case"})
    ours = Fork.empty(chain_id=1)
    for fork in (real, ours):
        fork.set_block(number=BLOCK, timestamp=TIMESTAMP)
    round_id, answer, _, updated_at, _ = _LATEST.decode(real.call(FEED, _LATEST.encode()))
    arguments = (DESCRIPTION, 8, answer, round_id, updated_at, DEPLOYER)
    ours.create_at(FEED, ArtifactStore().get("PriceFeed").initcode(arguments), DEPLOYER)
    calls = [(text, Function.parse(text).encode()) for text in _ANSWERS]
    calls += [
        (f"{name} of round {number}", Function.parse(f"{name}({kind})").encode(number))
        for name, kind in (("getRoundData", "uint80"), ("getAnswer", "uint256"), ("getTimestamp", "uint256"))
        for number in (round_id,)
    ]
    for text, data in calls:
        expected, got = _answer(real, data), _answer(ours, data)
        if expected is not None:
            tally.check(expected == got, f"{_PART}: {text}: Chainlink's {expected}, ours {got}", part=_PART)


def _answer(fork: Fork, data: bytes) -> str | None:
    """Return the answer in hex, `a revert`, or None if the recording lacks the state."""
    try:
        return fork.call(FEED, data).hex()
    except MissingStateError:
        return None
    except ExecutionError:
        return "a revert"
