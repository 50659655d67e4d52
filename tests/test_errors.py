"""The error tree: exit codes, hints, near names, and errors that cross process borders."""

from __future__ import annotations

import inspect
import pickle

import pytest

from mayavi import errors
from mayavi.errors import (
    CallReverted,
    ExecutionError,
    MayaviError,
    StateError,
    UnknownAttribute,
    UnknownName,
    UsageError,
    did_you_mean,
)
from mayavi.evm.abi.reverts import Reason

EVERY_ERROR = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)]


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_every_error_is_a_mayavi_error_with_an_exit_code_and_a_docstring(error):
    assert issubclass(error, MayaviError)
    assert error.exit_code == (2 if issubclass(error, UsageError) else 1)
    assert error.__doc__


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_every_error_keeps_its_message_and_hint_through_pickling(error):
    copy = pickle.loads(pickle.dumps(error("what failed", "what to do")))
    assert (type(copy), str(copy), copy.message, copy.hint) == (error, "what failed", "what failed", "what to do")


def test_a_revert_keeps_its_reason_output_and_gas_through_pickling():
    reason = Reason("text", "Error", "paused", ("paused",))
    copy = pickle.loads(pickle.dumps(CallReverted("reverted", reason=reason, output=b"\1\2", gas_used=7)))
    assert (copy.reason, copy.output, copy.gas_used) == (reason, b"\1\2", 7)


def test_the_branches_are_apart():
    for branch in (UsageError, StateError, ExecutionError, errors.RpcError, errors.SetupError):
        others = {UsageError, StateError, ExecutionError, errors.RpcError, errors.SetupError} - {branch}
        assert not issubclass(branch, tuple(others))


def test_an_unknown_name_offers_the_nearest_ones_and_then_the_way_to_all():
    error = UnknownName.of(
        "scenario", "depeg_casade", ["depeg_cascade", "bank_run"], "`mayavi scenarios list` lists all"
    )
    assert str(error) == "unknown scenario 'depeg_casade'"
    assert error.hint == "did you mean 'depeg_cascade'?  `mayavi scenarios list` lists all"
    assert UnknownName.of("chain", "zzz", ["ethereum"]).hint is None


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("etherum", ["ethereum", "base"], "did you mean 'ethereum'?"),
        ("ETHEREUM", ["ethereum"], "did you mean 'ethereum'?"),
        ("borow", ["borrow", "borrows"], "did you mean 'borrow' or 'borrows'?"),
        ("supply", [], None),
        ("xyz", ["ethereum"], None),
    ],
)
def test_did_you_mean(name, known, hint):
    assert did_you_mean(name, known) == hint


def test_an_unknown_attribute_makes_hasattr_false():
    class Box:
        def __getattr__(self, name):
            raise UnknownAttribute.of("thing", name, ["lid"])

    assert not hasattr(Box(), "lit")
    with pytest.raises(UnknownName, match="unknown thing 'lit'"):
        _ = Box().lit
