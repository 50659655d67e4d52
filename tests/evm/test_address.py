"""Addresses: what is taken, what is refused and why."""

from __future__ import annotations

import pickle

import eth_utils
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import BadAddress
from mayavi.evm.address import ZERO_ADDRESS, Addresses, checksum, shorten, to_address

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDC_BYTES = bytes.fromhex(USDC[2:])


@pytest.mark.parametrize(
    "spelling",
    [USDC, USDC.lower(), "0x" + USDC[2:].upper(), USDC_BYTES, bytearray(USDC_BYTES), memoryview(USDC_BYTES)],
    ids=["checksummed", "lower", "upper", "bytes", "bytearray", "memoryview"],
)
def test_every_right_spelling_gives_the_same_20_bytes(spelling):
    address = to_address(spelling)
    assert address == USDC_BYTES
    assert type(address) is bytes


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (USDC[:-1], "has 39 hex digits, not 40"),
        (USDC + "0", "has 41 hex digits, not 40"),
        ("0x", "has 0 hex digits"),
        ("", "does not start with 0x"),
        (USDC[2:], "does not start with 0x"),
        (USDC[:-1] + "g", "holds 'g', which is not a hex digit"),
        (" " + USDC, "does not start with 0x"),
        (USDC + "\n", "holds '\n', which is not a hex digit"),
        (USDC.lower()[:-2] + "ｅ8", "which is not a hex digit"),
        (USDC[:2] + "a" + USDC[3:], "wrong checksum"),
        ("WETH", "'WETH' does not start with 0x"),
        (b"\1" * 19, "has 19 bytes, not 20"),
        (b"\1" * 32, "has 32 bytes, not 20"),
        (7, "of type int"),
        (None, "of type NoneType"),
        ("0x" + "1" * 500, "has 500 hex digits"),
    ],
)
def test_a_malformed_address_is_refused_with_the_reason(wrong, why):
    with pytest.raises(BadAddress) as caught:
        to_address(wrong)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_wrong_checksum_names_the_right_one():
    mistyped = USDC.replace("eB48", "eB49")
    with pytest.raises(BadAddress) as caught:
        to_address(mistyped)
    right = eth_utils.to_checksum_address(mistyped.lower())
    assert right in caught.value.hint


def test_forgotten_prefix_is_suggested():
    with pytest.raises(BadAddress) as caught:
        to_address(USDC[2:])
    assert caught.value.hint == f"write '{USDC}'"


@given(st.binary(min_size=20, max_size=20))
def test_checksum_is_eip_55_and_reads_back(address):
    assert checksum(address) == eth_utils.to_checksum_address(address)
    assert to_address(checksum(address)) == address


def test_short_form_is_for_reading():
    assert shorten(USDC) == "0xA0b8…eB48"
    assert shorten(ZERO_ADDRESS) == "0x0000…0000"


def test_what_stands_at_an_address_is_as_good_as_the_address() -> None:
    class Standing:
        address = bytes(range(20))

    assert to_address(Standing()) == bytes(range(20))
    with pytest.raises(BadAddress, match="of type object"):
        to_address(object())


def test_addresses_are_a_tuple_that_is_checked_and_hashed_once() -> None:
    plain = tuple(bytes([number]) * 20 for number in range(9))
    made = Addresses(plain)
    assert made == plain
    assert hash(made) == hash(made) == hash(plain)
    assert {made: 1}[plain] == 1
    assert not Addresses(())
    for wrong in (b"short", "0x" + "11" * 20):
        with pytest.raises(BadAddress, match=rf"item {len(plain)} is not an address of 20 bytes: b?'"):
            Addresses([*plain, wrong])  # type: ignore[list-item]


def test_a_copy_in_another_process_makes_its_own_hash() -> None:
    made = Addresses([bytes(20)])
    hash(made)
    copy = pickle.loads(pickle.dumps(made))
    assert type(copy) is Addresses
    assert copy == made
    assert copy.__dict__ == {}
