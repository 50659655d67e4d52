"""Codecs against eth-abi, an independent implementation, over random nested types; generated code against checked."""

from __future__ import annotations

from typing import Any

import eth_abi
import pytest
from eth_abi.exceptions import InsufficientDataBytes, NonEmptyPaddingBytes
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mayavi.errors import BadCalldata, UsageError
from mayavi.evm.abi.codec import Codec
from mayavi.evm.abi.signature import elementary, parse_parameters
from mayavi.evm.abi.types import AbiType, Address, Array, Bool, FixedBytes, Integer, String, Tuple

WORDS = st.one_of(
    st.sampled_from(["address", "bool", "uint256", "int256"]),
    st.integers(1, 32).map(lambda size: f"uint{size * 8}"),
    st.integers(1, 32).map(lambda size: f"int{size * 8}"),
    st.integers(1, 32).map(lambda size: f"bytes{size}"),
).map(elementary)
LEAVES = WORDS | st.sampled_from(["bytes", "string"]).map(elementary)


def nested(leaves: st.SearchStrategy[AbiType]) -> st.SearchStrategy[AbiType]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Array, inner, st.integers(1, 3) | (st.none() if leaves is LEAVES else st.nothing())),
            st.lists(inner, min_size=1, max_size=3).map(Tuple),
        ),
        max_leaves=6,
    )


ROWS = st.lists(nested(LEAVES), max_size=4).map(Tuple)
STATIC_ROWS = st.lists(nested(WORDS), max_size=4).map(Tuple)


def value_of(abi_type: AbiType) -> st.SearchStrategy[Any]:
    match abi_type:
        case Integer(low=low, high=high):
            return st.integers(low, high) | st.sampled_from([low, high])
        case Address():
            return st.binary(min_size=20, max_size=20)
        case Bool():
            return st.booleans()
        case FixedBytes(length=length):
            return st.binary(min_size=length, max_size=length)
        case String():
            return st.text(max_size=40)
        case Tuple(parts=parts):
            return st.tuples(*map(value_of, parts))
        case Array(element=element, length=length):
            return st.lists(value_of(element), min_size=length or 0, max_size=length or 3)
    return st.binary(max_size=70)


def with_value(rows: st.SearchStrategy[Tuple]) -> st.SearchStrategy[tuple[Tuple, Any]]:
    return rows.flatmap(lambda row: st.tuples(st.just(row), value_of(row)))


def names(row: Tuple) -> list[str]:
    return [part.canonical for part in row.parts]


def as_ours(abi_type: AbiType, value: Any) -> Any:
    """What eth-abi decodes, in our spelling: addresses are bytes, arrays lists."""
    match abi_type:
        case Address():
            return bytes.fromhex(value[2:])
        case Tuple(parts=parts):
            return tuple(map(as_ours, parts, value))
        case Array(element=element):
            return [as_ours(element, each) for each in value]
    return value


@pytest.mark.slow(2)
@given(with_value(ROWS))
@settings(max_examples=2 * settings().max_examples)
def test_encoding_equals_eth_abi_and_decoding_inverts_it(case):
    row, values = case
    codec = Codec(row)
    data = codec.encode(values)
    assert data == eth_abi.encode(names(row), values)
    assert codec.decode(data) == values
    assert as_ours(row, eth_abi.decode(names(row), data)) == values


@given(with_value(ROWS), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_damaged_data_is_refused_or_is_the_encoding_of_what_is_read(case, draw):
    row, values = case
    data = damage(Codec(row).encode(values), draw)
    error, read = outcome(Codec(row).decode, data)
    if error is None:
        assert eth_abi.encode(names(row), read) == data
    else:
        assert error is BadCalldata


@given(with_value(ROWS), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_a_free_layout_is_refused_or_read_as_eth_abi_reads_it(case, draw):
    row, values = case
    data = damage(Codec(row).encode(values), draw)
    error, read = outcome(lambda given_data: Codec(row).decode(given_data, strict=False), data)
    if error is not None:
        assert error is BadCalldata
        return
    try:
        oracle = eth_abi.decode(names(row), data, strict=False)
    except (
        InsufficientDataBytes,
        NonEmptyPaddingBytes,
    ):  # inside arrays and tuples it wants clean padding all the same
        return
    assert as_ours(row, oracle) == read


@given(with_value(ROWS), st.binary(min_size=1, max_size=64))
def test_what_follows_the_encoding_is_refused_unless_allowed(case, rest):
    row, values = case
    codec = Codec(row)
    data = codec.encode(values) + rest
    assert outcome(codec.decode, data)[0] is BadCalldata
    assert codec.decode(data, strict=False) == values


@given(with_value(ROWS), st.data())
def test_data_cut_short_is_refused(case, draw):
    row, values = case
    data = Codec(row).encode(values)
    if data:
        kept = draw.draw(st.integers(0, len(data) - 1))
        assert outcome(Codec(row).decode, data[:kept])[0] is BadCalldata


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([-1, 2**255, 2**256, 1.5, "0x", "0x" + "ab" * 20, bytearray(20), (1, 2), [1], {1: 2}, {1}]),
    st.binary(max_size=33),
    st.text(max_size=3),
)


def outcome(action: Any, argument: Any) -> tuple[Any, Any]:
    """What `action` gives or raises, comparable."""
    try:
        return None, action(argument)
    except UsageError as error:
        return type(error), (str(error), error.hint)


def spoil(value: Any, draw: Any) -> Any:
    """`value` with one part replaced by something odd."""
    if isinstance(value, tuple | list) and value and draw.draw(st.booleans()):
        place = draw.draw(st.integers(0, len(value) - 1))
        return type(value)(spoil(each, draw) if index == place else each for index, each in enumerate(value))
    return draw.draw(ODD_VALUES)


def damage(data: bytes, draw: Any) -> bytes:
    """`data` with some bytes changed, or words inserted or removed."""
    spoiled = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        if not spoiled:
            break
        at = draw.draw(st.integers(0, len(spoiled) - 1))
        match draw.draw(st.sampled_from(["byte", "low byte", "insert", "remove"])):
            case "byte":
                spoiled[at] = draw.draw(st.integers(0, 255))
            case "low byte":  # where offsets, lengths and bools live
                spoiled[at | 31 if (at | 31) < len(spoiled) else at] = draw.draw(st.sampled_from([0, 1, 2, 32, 64, 96]))
            case "insert":
                spoiled[at:at] = bytes(32)
            case "remove":
                del spoiled[at : at + 32]
    return bytes(spoiled)


@given(with_value(STATIC_ROWS), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_generated_encoders_agree_with_the_checked_path_on_any_value(case, draw):
    row, values = case
    codec = Codec(row)
    for given_values in (values, spoil(values, draw)):
        expected = outcome(codec.encode_checked, given_values)
        assert outcome(codec.encode, given_values) == expected
        if isinstance(given_values, tuple):
            prefixed = codec.encoder(b"\1\2\3\4", spread=True)
            got = outcome(lambda each, encode=prefixed: encode(*each), given_values)
            assert got == ((None, b"\1\2\3\4" + expected[1]) if expected[0] is None else expected)


@given(with_value(STATIC_ROWS), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_generated_decoders_agree_with_the_checked_path_on_any_data(case, draw):
    row, values = case
    codec = Codec(row)
    data = codec.encode(values)
    for given_data in (data, damage(data, draw), bytearray(data), memoryview(data)):
        assert outcome(codec.decode, given_data) == outcome(codec.decode_checked, given_data)


@given(ROWS)
@example(Tuple([]))
def test_a_type_spelled_out_reads_back_as_itself(row):
    assert Tuple([parameter.type for parameter in parse_parameters(row.canonical[1:-1])]) == row
