"""Header fields that follow from the parent's header: base fee and excess blob gas."""

from __future__ import annotations

from collections.abc import Mapping

ELASTICITY, BASE_FEE_DENOMINATOR, GAS_LIMIT_DENOMINATOR = 2, 8, 1024
GAS_PER_BLOB, BLOB_BASE_COST = 2**17, 2**13
BLOBS_OF_FRACTION = {3_338_477: (3, 6), 5_007_716: (6, 9), 8_346_193: (10, 15), 11_684_671: (14, 21)}
"""Target and maximum of blobs per block, by the blob fee update fraction that goes with them."""


def next_base_fee(parent: Mapping[str, str]) -> int:
    """Base fee of the block after `parent` (EIP-1559)."""
    fee, used = int(parent["baseFeePerGas"], 16), int(parent["gasUsed"], 16)
    target = int(parent["gasLimit"], 16) // ELASTICITY
    change = fee * abs(used - target) // target // BASE_FEE_DENOMINATOR
    return fee + max(change, 1) if used > target else fee - change


def next_excess_blob_gas(parent: Mapping[str, str], fraction: int, *, reserve_price: bool) -> int | None:
    """Excess blob gas of the block after `parent` (EIP-4844), under the block's own blob schedule.

    `reserve_price` applies EIP-7918, from Osaka on. None if the schedule is not known.
    """
    blobs = BLOBS_OF_FRACTION.get(fraction)
    if blobs is None:
        return None
    excess, used = (int(parent.get(name, "0x0"), 16) for name in ("excessBlobGas", "blobGasUsed"))
    target, most = blobs
    if excess + used < target * GAS_PER_BLOB:
        return 0
    price = GAS_PER_BLOB * blob_base_fee(excess, fraction)
    if reserve_price and BLOB_BASE_COST * int(parent["baseFeePerGas"], 16) > price:
        return excess + used * (most - target) // most
    return excess + used - target * GAS_PER_BLOB


def blob_base_fee(excess: int, fraction: int) -> int:
    """Price of blob gas: EIP-4844's integer approximation of e to the power of excess / fraction."""
    step, total, term = 1, 0, fraction
    while term > 0:
        total += term
        term = term * excess // (fraction * step)
        step += 1
    return total // fraction
