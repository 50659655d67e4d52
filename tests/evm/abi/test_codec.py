"""Codecs: what each type takes, what it refuses and in which words, and how strict decoding is."""

from __future__ import annotations

import pickle

import numpy
import pytest

from mayavi.errors import BadAddress, BadArgument, BadCalldata, BadInteger
from mayavi.evm.abi.codec import Codec
from mayavi.evm.abi.record import Record

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
INTEGER_TYPES = [(f"{sign}int{bits}", sign == "", bits) for sign in ("u", "") for bits in range(8, 257, 8)]


def word(number: int) -> bytes:
    return (number % 2**256).to_bytes(32)


def words(*numbers: int) -> bytes:
    return b"".join(map(word, numbers))


@pytest.mark.parametrize(("name", "signed", "bits"), INTEGER_TYPES)
def test_every_integer_type_takes_its_bounds_and_nothing_beyond(name, signed, bits):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    codec = Codec.of(f"{name} amount")
    for number in (low, high, 0):
        assert codec.encode((number,)) == word(number)
        assert codec.decode(word(number)) == (number,)
    for number in (low - 1, high + 1, 2**256, -(2**256), 2**300):
        with pytest.raises(BadInteger) as caught:
            codec.encode((number,))
        assert f"argument 'amount' ({name}) is {number}, outside " in str(caught.value)
    if bits < 256:
        for number in (low - 1, high + 1):
            with pytest.raises(BadCalldata, match=rf"value 'amount' \({name}\) at byte 0 is .*, outside"):
                codec.decode(word(number))


@pytest.mark.parametrize(
    ("types", "value", "error", "why"),
    [
        ("uint256 x", 1.0, BadInteger, "argument 'x' (uint256) is 1.0 of type float"),
        ("uint256 x", True, BadInteger, "is True of type bool"),
        ("uint256 x", "1", BadInteger, "is '1' of type str"),
        ("uint256 x", None, BadInteger, "is None of type NoneType"),
        ("uint8 x", 256, BadInteger, "argument 'x' (uint8) is 256, outside 0 to 255"),
        ("int8 x", -129, BadInteger, "is -129, outside -128 to 127"),
        ("uint256 x", -1, BadInteger, "is -1, outside 0 to 2**256 - 1"),
        ("int256 x", 2**255, BadInteger, "outside -2**255 to 2**255 - 1"),
        ("address to", b"\1" * 19, BadAddress, "argument 'to' (address) is wrong: address 0x01"),
        ("address to", "0x12", BadAddress, "has 2 hex digits, not 40"),
        ("address to", 5, BadAddress, "of type int"),
        ("bool ok", 1, BadArgument, "argument 'ok' (bool) is 1 of type int"),
        ("bytes4 id", b"\1\2\3", BadArgument, "argument 'id' (bytes4) has 3 bytes, not 4"),
        ("bytes32 id", "0x12", BadArgument, "has 1 bytes, not 32"),
        ("bytes data", "hello", BadArgument, "argument 'data' (bytes) is 'hello' of type str"),
        ("bytes data", "0xabc", BadArgument, "not hex text"),
        ("bytes data", "0xab cd", BadArgument, "not hex text"),
        ("string name", b"x", BadArgument, "argument 'name' (string) is 0x78 of type bytes"),
        ("string name", "\ud800", BadArgument, "which UTF-8 cannot hold"),
        ("uint256[] xs", 5, BadArgument, "argument 'xs' (uint256[]) is 5 of type int"),
        ("uint256[] xs", b"\1\2", BadArgument, "of type bytes"),
        ("uint256[] xs", {1: 2}, BadArgument, "of type dict"),
        ("uint256[2] xs", [1], BadArgument, "argument 'xs' (uint256[2]) takes 2 values, got 1"),
        ("uint8[] xs", [1, 300], BadInteger, "argument 'xs[1]' (uint8) is 300"),
        ("(uint8 fee, address to) p", (300, ALICE), BadInteger, "argument 'p.fee' (uint8) is 300"),
        ("(uint8,address)[] p", [(1, ALICE), (2, 3)], BadAddress, "argument 'p[1][1]' (address)"),
        ("(uint8 a, uint8 b) p", {"a": 1}, BadArgument, "argument 'p' ((uint8,uint8)) lacks b"),
        ("(uint8 a, uint8 b) p", {"a": 1, "b": 2, "c": 3}, BadArgument, "has no field c"),
        ("(uint8,uint8) p", {"a": 1}, BadArgument, "its fields have no names"),
        ("(uint8,uint8) p", {1: 0, 2: 0}, BadArgument, "its fields have no names"),
        ("(uint8,uint8) p", {1, 2}, BadArgument, "of type set"),
        ("(uint8,uint8) p", b"\1\2", BadArgument, "of type bytes"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(types, value, error, why):
    with pytest.raises(error) as caught:
        Codec.of(types).encode((value,))
    assert why in str(caught.value)


@pytest.mark.parametrize(("values", "count"), [((), 0), ((1,), 1), ((1, 2, 3), 3)])
def test_the_wrong_number_of_values_says_expected_and_got(values, count):
    with pytest.raises(BadArgument, match=rf"takes 2 arguments, got {count}"):
        Codec.of("uint256,uint256").encode(values)


@pytest.mark.parametrize(
    ("types", "given", "same_as"),
    [
        ("address", "0xa11ce00000000000000000000000000000000001", ALICE),
        ("address", bytearray(ALICE), ALICE),
        ("uint256", numpy.uint64(7), 7),
        ("int256", numpy.int64(-7), -7),
        ("uint8[]", numpy.array([1, 2], dtype=numpy.int64), [1, 2]),
        ("bytes4", "0x01020304", b"\1\2\3\4"),
        ("bytes", "0x", b""),
        ("bytes", memoryview(b"ab"), b"ab"),
        ("uint8[2]", (1, 2), [1, 2]),
        ("(uint8 a,uint8 b)", {"b": 2, "a": 1}, (1, 2)),
        ("(uint8 a,bytes b)", {"b": b"", "a": 1}, (1, b"")),
    ],
)
def test_other_spellings_of_a_value_are_taken(types, given, same_as):
    codec = Codec.of(types)
    assert codec.encode((given,)) == codec.encode((same_as,))


@pytest.mark.parametrize(
    ("types", "data", "why"),
    [
        ("uint256", b"", "needs at least 32 bytes, got 0"),
        ("uint256,uint256", words(1) + b"\0" * 31, "needs at least 64 bytes, got 63"),
        ("uint256", words(1) + b"\0", "takes 32 bytes, got 33"),
        ("uint256", words(1, 0), "takes 32 bytes, got 64"),
        ("", b"\0", "takes 0 bytes, got 1"),
        ("bool", word(2), "(bool) at byte 0 is 2, not 0 or 1"),
        ("bool", word(2**255), "not 0 or 1"),
        ("address", word(2**160), "(address) at byte 0 has non-zero padding"),
        ("bytes4", word(1), "(bytes4) at byte 0 has non-zero padding"),
        ("uint8", word(256), "(uint8) at byte 0 is 256, outside 0 to 255"),
        ("bytes", words(32, 1) + b"\1" * 32, "has non-zero padding after its 1 bytes"),
        ("bytes", words(32, 33) + bytes(32), "needs 64 bytes at byte 64, but the data ends at byte 96"),
        ("bytes", words(64), "needs 32 bytes at byte 64, but the data ends at byte 32"),
        ("bytes", words(64, 0, 0), "has the offset 64 at byte 0, but its data belongs at 32"),
        ("bytes,bytes", words(96, 64, 0, 0), "has the offset 96 at byte 0, but its data belongs at 64"),
        ("bytes,bytes", words(64, 64, 0, 0), "has the offset 64 at byte 32, but its data belongs at 96"),
        ("bytes", words(2**255), "but the data ends at byte 32"),
        ("bytes", words(32, 2**255), "but the data ends at byte 64"),
        ("bytes", words(0), "has the offset 0 at byte 0, inside the head"),
        ("bytes", words(32, 0, 0), "takes 64 bytes, got 96"),
        ("string", words(32, 1) + b"\xff" + bytes(31), "(string) at byte 32 is not UTF-8 at its byte 0"),
        ("uint256[]", words(32, 2, 7), "needs 2 elements, more than the 96 bytes of data hold"),
        ("uint256[]", words(32, 2**255), "more than the 64 bytes of data hold"),
        ("uint256[][]", words(32, 1, 0), "has the offset 0 at byte 64, inside the head"),
        ("uint256[][]", words(32, 1, 32), "but the data ends at byte 96"),
    ],
)
def test_data_that_is_not_the_encoding_is_refused_with_the_place(types, data, why):
    with pytest.raises(BadCalldata) as caught:
        Codec.of(types).decode(data)
    assert why in str(caught.value)


def test_hostile_offsets_cost_no_more_than_the_data():
    """Each level points thirty times at the next: without a budget the work would be 30 ** 6."""
    level = words(30, *[30 * 32] * 30)
    codec = Codec.of("uint256[][][][][][]")
    for strict in (True, False):
        with pytest.raises(BadCalldata):
            codec.decode(words(32) + level * 6, strict=strict)


def test_a_huge_fixed_array_is_refused_before_it_is_built():
    with pytest.raises(BadCalldata):
        Codec.of("(uint256,uint256[1000000000000])").decode(words(1, 2))
    with pytest.raises(BadCalldata):
        Codec.of("bytes[1000000000000]").decode(words(32, 2))


@pytest.mark.parametrize(
    ("types", "data", "values"),
    [
        ("uint256", words(7) + b"rest", (7,)),
        ("uint8[]", words(32, 2, 1, 2) + b"rest", ([1, 2],)),
        ("bytes", words(96, 1, 2, 0), (b"",)),
        ("bytes,bytes", words(96, 64, 0, 1) + b"x" + bytes(31), (b"x", b"")),
        ("bytes", words(32, 1) + b"x" * 32, (b"x",)),
        ("string", words(32, 1) + b"x", ("x",)),
    ],
    ids=["bytes left over", "left over after a tail", "a gap", "any order", "unclean padding", "no padding"],
)
def test_a_free_layout_is_read_on_request_only(types, data, values):
    codec = Codec.of(types)
    with pytest.raises(BadCalldata):
        codec.decode(data)
    assert codec.decode(data, strict=False) == values


def test_bytes_left_over_name_the_way_out():
    with pytest.raises(BadCalldata) as caught:
        Codec.of("uint256").decode(words(7, 8))
    assert "strict=False" in caught.value.hint


@pytest.mark.parametrize(("types", "data"), [("bool", word(2)), ("address", word(2**160)), ("uint8", word(256))])
def test_values_are_checked_however_free_the_layout(types, data):
    with pytest.raises(BadCalldata):
        Codec.of(types).decode(data, strict=False)


def test_named_values_decode_to_records():
    codec = Codec.of("(uint8 fee, (address to, bool ok)[] legs) order, uint256")
    value = ((5, [(ALICE, True)]), 9)
    decoded = codec.decode(codec.encode(value))
    assert decoded == value
    assert decoded.order.legs[0].to == ALICE
    assert decoded._1 == 9
    assert decoded._asdict()["order"].fee == 5
    assert repr(decoded.order) == f"Record(fee=5, legs=[Record(to={ALICE!r}, ok=True)])"


def test_records_pickle_compare_and_hash_like_tuples():
    record = Codec.of("uint8 count, uint8 from").decode(words(1, 2))
    copy = pickle.loads(pickle.dumps(record))
    assert isinstance(copy, Record)
    assert copy == record == (1, 2)
    assert hash(copy) == hash((1, 2))
    assert (copy.count, getattr(copy, "from")) == (1, 2)
    with pytest.raises(AttributeError, match="has no field 'form'; did you mean 'from'"):
        _ = copy.form


def test_fields_of_the_same_name_decode_to_a_plain_tuple():
    decoded = Codec.of("uint8 x, uint8 x").decode(words(1, 2))
    assert type(decoded) is tuple


def test_codecs_are_made_once():
    assert Codec.of("address to,uint256") is Codec.of("address to, uint")
    assert Codec.of("address,uint256") is not Codec.of("address to,uint256")
    assert Codec(["address", "uint256"]).encode((ALICE, 1)) == Codec.of("address,uint256").encode((ALICE, 1))


def test_no_types_encode_to_nothing():
    assert Codec.of("").encode(()) == b""
    assert Codec.of("").decode(b"") == ()
    with pytest.raises(BadArgument, match="takes 0 arguments, got 1"):
        Codec.of("").encode((1,))


def test_long_static_rows_work_like_short_ones():
    codec = Codec.of("uint256[500] xs")
    values = list(range(500))
    assert codec.decode(codec.encode((values,))).xs == values
    with pytest.raises(BadInteger, match=r"'xs\[499\]'"):
        codec.encode(([*values[:-1], -1],))
