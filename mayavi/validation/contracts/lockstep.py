"""Random operations on StableSwap and Comet: ours beside mainnet's bytecode."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.evm.address import to_address
from mayavi.validation.contracts import comet_markets
from mayavi.validation.contracts.comet_driver import NOWHERE, PRICES, STRANGER, USERS, Driver
from mayavi.validation.contracts.comet_pair import DisagreementError, Pair
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.contracts.stableswap_operations import DifferenceError, Pool, run_episodes
from mayavi.validation.contracts.stableswap_pools import (
    POOL_CODE,
    TETHER_CODE,
    EvmPool,
    OurPool,
    RealPool,
    Situation,
)
from mayavi.validation.gate import GateSkipped, Tally
from mayavi.worlds.artifacts import ArtifactStore

SEED = 20_200_906
COMET_SEEDS = (7, 8)
NAMES = ("Compound USDC", "cUSDCv3")
_DECIMALS = (18, 6, 6)
_POOL_PART, _COMET_PART = "StableSwap3 as 3pool", "Comet as cUSDCv3"


def compare_stableswap(recorded: RecordedContracts, operations: int, tally: Tally) -> None:
    """Run random operations on Curve's 3pool and on our StableSwap3: answers, balances, events and reverts."""
    codes, artifacts = recorded.codes, ArtifactStore()
    if not {POOL_CODE, TETHER_CODE} <= codes.keys():
        raise GateSkipped(f"'{recorded.folder}' lacks the bytecode of the 3pool")

    def make(situation: Situation) -> tuple[EvmPool, Sequence[Pool]]:
        return RealPool(situation, codes, artifacts), [OurPool(situation, codes, artifacts)]

    try:
        run = run_episodes(SEED, operations, _DECIMALS, make).total()
    except DifferenceError as error:
        tally.check(False, f"{_POOL_PART}: {error}", part=_POOL_PART)
    else:
        tally.check(True, "", part=_POOL_PART, cases=run)


def compare_comet(recorded: RecordedContracts, operations: int, tally: Tally) -> None:
    """Run random operations on mainnet's cUSDCv3 and on our Comet: outputs, events, errors and state."""
    implementation, extension = (
        recorded.get(comet_markets.BLOCK, to_address(address)).code
        for address in (comet_markets.IMPLEMENTATION, comet_markets.EXTENSION)
    )
    code = implementation, extension
    parameters = comet_markets.real_parameters(code)
    real = comet_markets.real_market(code, parameters, PRICES)
    ours = comet_markets.our_market(parameters, PRICES, names=NAMES)
    pair = Pair(real, ours, parameters, (*USERS, STRANGER, NOWHERE))
    for seed in COMET_SEEDS:
        driver = Driver(pair, seed)
        try:
            with pair.episode():
                driver.run(operations // len(COMET_SEEDS))
        except DisagreementError as error:
            tally.check(False, f"{_COMET_PART}: {' '.join(str(error).split())}", part=_COMET_PART)
            return
        tally.check(True, "", part=_COMET_PART, cases=driver.counts.total())
