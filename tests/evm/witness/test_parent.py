"""Base fee and excess blob gas follow from the parent, by the rules of EIP-1559, EIP-4844 and EIP-7918."""

from __future__ import annotations

import pytest

from mayavi.evm.witness.parent import blob_base_fee, next_base_fee, next_excess_blob_gas

CANCUN, PRAGUE, SECOND = 3_338_477, 5_007_716, 11_684_671
BLOB = 2**17


def parent(**fields: int) -> dict[str, str]:
    return {name: hex(value) for name, value in fields.items()}


@pytest.mark.parametrize(
    ("used", "fee"),
    [(10_000_000, 1_000), (20_000_000, 1_125), (0, 875), (10_000_001, 1_001), (9_999_999, 1_000)],
)
def test_the_base_fee_moves_by_an_eighth_at_most(used: int, fee: int) -> None:
    assert next_base_fee(parent(baseFeePerGas=1_000, gasUsed=used, gasLimit=20_000_000)) == fee


def test_excess_is_what_exceeds_the_target() -> None:
    def excess(before: int, blobs: int, fraction: int) -> int | None:
        given = parent(excessBlobGas=before * BLOB, blobGasUsed=blobs * BLOB, baseFeePerGas=10**9)
        return next_excess_blob_gas(given, fraction, reserve_price=False)

    assert excess(0, 2, CANCUN) == 0
    assert excess(0, 6, CANCUN) == 3 * BLOB
    assert excess(5, 3, CANCUN) == 5 * BLOB
    assert excess(5, 9, PRAGUE) == 8 * BLOB
    assert excess(5, 9, 12_345) is None


def test_the_first_block_with_blobs_starts_at_nothing() -> None:
    assert next_excess_blob_gas(parent(baseFeePerGas=7), CANCUN, reserve_price=False) == 0


def test_from_osaka_on_a_cheap_blob_lets_the_excess_grow_at_the_target() -> None:
    given = parent(excessBlobGas=20 * BLOB, blobGasUsed=14 * BLOB, baseFeePerGas=10**9)
    # Blob gas at 1 wei is below 2**13 / 2**17 of the base fee: a third of what was used is added.
    assert blob_base_fee(20 * BLOB, SECOND) == 1
    assert next_excess_blob_gas(given, SECOND, reserve_price=True) == 20 * BLOB + 14 * BLOB * 7 // 21
    assert next_excess_blob_gas(given, SECOND, reserve_price=False) == 20 * BLOB
    dear = parent(excessBlobGas=2_000 * BLOB, blobGasUsed=14 * BLOB, baseFeePerGas=10**9)
    assert blob_base_fee(2_000 * BLOB, SECOND) * 16 > 10**9
    assert next_excess_blob_gas(dear, SECOND, reserve_price=True) == 2_000 * BLOB


def test_the_blob_fee_is_exponential() -> None:
    assert [blob_base_fee(excess, CANCUN) for excess in (0, 2_314_057, 2_314_058, 10 * 2**20)] == [1, 1, 2, 23]
