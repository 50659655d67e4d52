"""One argument of calldata replaced, in nested tuples and arrays too."""

from __future__ import annotations

import pytest

from mayavi.errors import BadInteger, UsageError
from mayavi.evm.abi.interface import Function
from mayavi.replay.transactions.calldata_argument import with_argument

FUNCTION = Function.parse("trade((address token, uint256[3] amounts, (bool flag, bytes data) inner) order, int24 tick)")
VALUES = ((b"\x01" * 20, [1, 2, 3], (False, b"abc")), -5)


@pytest.mark.parametrize(
    ("path", "text", "changed"),
    [
        ("tick", "-7", (VALUES[0], -7)),
        ("1", "7", (VALUES[0], 7)),
        ("order.amounts.1", "0x10", ((b"\x01" * 20, [1, 16, 3], (False, b"abc")), -5)),
        ("order.inner.flag", "true", ((b"\x01" * 20, [1, 2, 3], (True, b"abc")), -5)),
        ("ORDER.inner.data", "0xffff", ((b"\x01" * 20, [1, 2, 3], (False, b"\xff\xff")), -5)),
        ("order.token", "0x" + "02" * 20, ((b"\x02" * 20, [1, 2, 3], (False, b"abc")), -5)),
    ],
)
def test_one_part_changes_and_the_rest_stays(path: str, text: str, changed: object) -> None:
    calldata = with_argument(FUNCTION, FUNCTION.encode(*VALUES), path.split("."), text)
    assert calldata == FUNCTION.encode(*changed)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("path", "text", "error", "message"),
    [
        ("tock", "1", UsageError, "has no argument 'tock'"),
        ("order", "1", UsageError, "name one of its parts|is of type"),
        ("order.amounts.3", "1", UsageError, "has 3 parts"),
        ("tick.1", "1", UsageError, "has no part '1'"),
        ("order.inner.flag", "maybe", UsageError, "neither true nor false"),
        ("tick", "9999999999", BadInteger, "outside"),
    ],
)
def test_a_wrong_path_or_value_is_explained(path: str, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        with_argument(FUNCTION, FUNCTION.encode(*VALUES), path.split("."), text)
