"""Minimal Parquet writer for rows of integers, floats and texts.

We have our own writer for two reasons. Its bytes depend on the rows alone, so a bundle has the same hash whatever
library versions wrote it. And a run needs no database engine until it ends.

Texts and integers are dictionary-encoded where values repeat (most columns of a run hold a dozen different values) and
plain otherwise. Nothing is compressed, since the output of compressors changes between versions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, count, groupby
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["integer", "unsigned", "float", "text", "time"]
"""Column types; `time` is in microseconds since 1970, UTC."""

Value = int | float | str

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_PHYSICAL = {"integer": _INT64, "unsigned": _INT64, "time": _INT64, "float": _DOUBLE, "text": _BYTE_ARRAY}
_CONVERTED = {"text": 0, "time": 10, "unsigned": 14}
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_CREATED_BY = "mayavi"
_ROWS_A_GROUP = 122_880
_MANY = 256
_U32 = struct.Struct("<I")

# Types of Thrift's compact protocol, which encodes Parquet's metadata.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


def parquet_bytes(columns: Mapping[str, tuple[Kind, Sequence[Value]]]) -> bytes:
    """Encode `columns`, each a kind and its values, as a Parquet file. All have one length and no missing value."""
    (total,) = {len(values) for _, values in columns.values()}
    file = bytearray(_MAGIC)
    groups: list[bytes] = []
    for start in range(0, total, _ROWS_A_GROUP):
        rows = min(_ROWS_A_GROUP, total - start)
        began = len(file)
        chunks = [
            _write_chunk(file, name, kind, values[start : start + rows]) for name, (kind, values) in columns.items()
        ]
        groups.append(_struct([(1, _LIST, _list(_STRUCT, chunks)), (2, _I64, len(file) - began), (3, _I64, rows)]))
    root = _struct([(4, _BINARY, b"rows"), (5, _I32, len(columns))])
    schema = [root, *(_schema_element(name, kind) for name, (kind, _) in columns.items())]
    footer = _struct(
        [
            (1, _I32, 1),
            (2, _LIST, _list(_STRUCT, schema)),
            (3, _I64, total),
            (4, _LIST, _list(_STRUCT, groups)),
            (6, _BINARY, _CREATED_BY.encode()),
        ]
    )
    return bytes(file + footer + struct.pack("<I", len(footer)) + _MAGIC)


@lru_cache(maxsize=1024)
def _schema_element(name: str, kind: Kind) -> bytes:
    fields: list[tuple[int, int, int | bytes]] = [(1, _I32, _PHYSICAL[kind]), (3, _I32, 0), (4, _BINARY, name.encode())]
    if kind in _CONVERTED:
        fields.append((6, _I32, _CONVERTED[kind]))
    return _struct(fields)


def _write_chunk(file: bytearray, name: str, kind: Kind, values: Sequence[Value]) -> bytes:
    """Append the pages of a column to `file` and return their metadata."""
    began = len(file)
    dictionary = dict(zip(dict.fromkeys(values), count())) if kind != "float" else {}  # counts for ever
    if dictionary and 2 * len(dictionary) <= len(values):
        _write_page(file, _DICTIONARY_PAGE, _PLAIN, len(dictionary), _plain(kind, dictionary))
        data_at = len(file)
        width = (len(dictionary) - 1).bit_length()
        indices = _indices(map(dictionary.__getitem__, values), len(values), width)
        _write_page(file, _DATA_PAGE, _RLE_DICTIONARY, len(values), bytes([width]) + indices)
        dictionary_at: int | None = began
    else:
        data_at, dictionary_at = began, None
        _write_page(file, _DATA_PAGE, _PLAIN, len(values), _plain(kind, values))
    size, there = _number(len(file) - began), dictionary_at is not None
    # Fields 5, 6, 7, 9 and 11 of a column's metadata: values, sizes, and where its pages are.
    metadata = _column(name, kind, there) + b"\x16" + _number(len(values)) + b"\x16" + size + b"\x16" + size
    metadata += b"\x26" + _number(data_at)
    if dictionary_at is not None:
        metadata += b"\x26" + _number(dictionary_at)
    return b"\x26" + _number(began) + b"\x1c" + metadata + b"\0\0"


@lru_cache(maxsize=1024)
def _column(name: str, kind: Kind, has_dictionary: bool) -> bytes:
    """Fields 1 to 4 of a column's metadata, which do not depend on its values: type, encodings, name, no codec."""
    encodings = [_PLAIN, _RLE, _RLE_DICTIONARY] if has_dictionary else [_PLAIN, _RLE]
    fields: list[tuple[int, int, int | bytes]] = [
        (1, _I32, _PHYSICAL[kind]),
        (2, _LIST, _list(_I32, [_number(each) for each in encodings])),
        (3, _LIST, _list(_BINARY, [_text(name.encode())])),
        (4, _I32, 0),
    ]
    return _struct(fields)[:-1]  # goes on


def _write_page(file: bytearray, page: int, encoding: int, count: int, content: bytes) -> None:
    before, between, after = _page(page, encoding)
    size = _number(len(content))
    file += before + size + b"\x15" + size + between + _number(count) + after
    file += content


@cache
def _page(page: int, encoding: int) -> tuple[bytes, bytes, bytes]:
    """Parts of a page's header, between which are its size, twice, and the number of its values."""
    levels = [(3, _I32, _RLE), (4, _I32, _RLE)] if page == _DATA_PAGE else []  # no levels: no value is missing
    numbers: list[tuple[int, int, int | bytes]] = [(1, _I32, 0), (2, _I32, encoding), *levels]
    place = 5 if page == _DATA_PAGE else 7
    whole = _struct([(1, _I32, page), (2, _I32, 0), (3, _I32, 0), (place, _STRUCT, _struct(numbers))])
    # Each number that is left out is one byte here: after the heads of fields 2 and 3, and of field 1 of the inner one.
    return whole[:3], whole[6:8], whole[9:]


def _plain(kind: Kind, values: Iterable[Value]) -> bytes:
    if kind == "text":
        encoded = list(map(str.encode, map(str, values)))
        return b"".join(chain.from_iterable(zip(map(_U32.pack, map(len, encoded)), encoded, strict=True)))
    listed = list(values)
    letter = {"float": "d", "unsigned": "Q"}.get(kind, "q")
    return struct.pack(f"<{len(listed)}{letter}", *listed)


def _indices(indices: Iterable[int], number: int, width: int) -> bytes:
    """Encode dictionary indices as runs, or bit-packed where they change often."""
    if number < _MANY:
        return _runs(((len(list(group)), index) for index, group in groupby(indices)), width)
    import numpy as np

    array = np.fromiter(indices, dtype="<u4", count=number)
    starts = np.flatnonzero(np.append(True, array[1:] != array[:-1]))
    if 4 * (len(starts) - 1) > number:
        return _packed(array, width)
    lengths = np.diff(starts, append=number)
    return _runs(zip(lengths.tolist(), array[starts].tolist(), strict=True), width)


def _runs(runs: Iterable[tuple[int, int]], width: int) -> bytes:
    """Encode runs, each the number of times that an index is repeated, and the index."""
    size = (width + 7) // 8
    return b"".join([_varint(count << 1) + index.to_bytes(size, "little") for count, index in runs])


def _packed(indices: NDArray[np.uint32], width: int) -> bytes:
    """Pack indices with `width` bits each, lowest bit first, in groups of eight."""
    import numpy as np

    groups = -(-len(indices) // 8)
    padded = np.zeros(groups * 8, dtype="<u4")
    padded[: len(indices)] = indices
    bits = (padded[:, None] >> np.arange(width, dtype="<u4")).astype(np.uint8) & 1
    return _varint(groups << 1 | 1) + np.packbits(bits, bitorder="little").tobytes()


def _struct(fields: Sequence[tuple[int, int, int | bytes]]) -> bytes:
    """Encode a Thrift struct; values are integers, bytes of texts, or parts already encoded."""
    parts, last = [], 0
    for identifier, kind, value in fields:
        parts.append(bytes([(identifier - last) << 4 | kind]))
        last = identifier
        if isinstance(value, int):
            parts.append(_number(value))
        else:
            parts.append(_text(value) if kind == _BINARY else value)
    return b"".join(parts) + b"\0"


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    short = len(items) < 15
    head = bytes([len(items) << 4 | kind]) if short else bytes([0xF0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _text(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _number(number: int) -> bytes:
    """Encode a number, which is not negative, for a field."""
    return _varint(number << 1)


@lru_cache(maxsize=1 << 14)
def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
