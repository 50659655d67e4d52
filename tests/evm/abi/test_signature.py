"""Signatures: the text people write and the JSON compilers write mean the same."""

from __future__ import annotations

import pytest

from mayavi.errors import BadAbi, UnknownName, UsageError
from mayavi.evm.abi.signature import parse_parameters, parse_signature, signature_from_json


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("transfer(address,uint256)", "transfer(address,uint256)"),
        ("function transfer(address to, uint amount) external returns (bool)", "transfer(address,uint256)"),
        ("f()", "f()"),
        ("  f ( uint8 a , int b ) ; ", "f(uint8,int256)"),
        ("swap((address tokenIn, uint24 fee)[2][] calldata legs)", "swap((address,uint24)[2][])"),
        ("tuple_arg(tuple(uint256 a, bytes b) memory x)", "tuple_arg((uint256,bytes))"),
        ("pay(address payable to)", "pay(address)"),
        ("callback(function f)", "callback(bytes24)"),
        ("function(uint256)", "function(uint256)"),
        ("$weird_1(byte)", "$weird_1(bytes1)"),
    ],
)
def test_text_becomes_the_canonical_signature(text, canonical):
    assert parse_signature(text).canonical == canonical


@pytest.mark.parametrize(
    "text",
    [
        "balanceOf(address owner) view returns (uint256 amount)",
        "function balanceOf(address owner) external view returns (uint256 amount)",
        "balanceOf(address owner)(uint256 amount) view",
        "balanceOf(address owner) view -> (uint256 amount)",
    ],
)
def test_returns_can_be_written_in_several_ways(text):
    signature = parse_signature(text)
    assert signature.mutability == "view"
    assert signature.output_tuple.spelling == "(uint256 amount)"
    assert signature.input_tuple.spelling == "(address owner)"


def test_json_and_text_give_the_same_signature():
    component = {"name": "fee", "type": "uint24", "internalType": "uint24"}
    entry = {
        "type": "function",
        "name": "swap",
        "stateMutability": "payable",
        "inputs": [{"name": "legs", "type": "tuple[2][]", "components": [component]}],
        "outputs": [{"name": "", "type": "int256"}],
    }
    assert signature_from_json(entry) == parse_signature("swap((uint24 fee)[2][] legs) payable returns (int256)")


def test_events_errors_and_constructors_are_told_apart():
    event = parse_signature("event Moved(address indexed from, bytes data) anonymous")
    assert (event.kind, event.anonymous, [each.indexed for each in event.inputs]) == ("event", True, [True, False])
    assert parse_signature("error Paused()").kind == "error"
    constructor = parse_signature("constructor(address owner) payable")
    assert (constructor.kind, constructor.name, constructor.mutability) == ("constructor", "", "payable")


def test_abi_entries_of_old_compilers_are_read():
    assert signature_from_json({"type": "function", "name": "f", "constant": True}).mutability == "view"
    assert signature_from_json({"name": "f", "payable": True}).mutability == "payable"
    assert signature_from_json({"type": "fallback"}) is None
    assert signature_from_json({"type": "receive", "stateMutability": "payable"}) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("transfer", "ends too early"),
        ("transfer(address", "ends too early"),
        ("transfer(address,)", "')' where a type is expected"),
        ("transfer(address))", "')'"),
        ("transfer(address to from)", "'from' after the name 'to'"),
        ("(uint256)", "'(' where a name is expected"),
        ("f(uint256[0])", "'0', which is not a positive integer"),
        ("f(uint256[x])", "'x', which is not a positive integer"),
        ("f(uint256[)", "which is not a positive integer"),
        ("f(()[])", "array of the empty tuple"),
        ("f(uint256) sometimes", "'sometimes', which is not understood"),
        ("f(uint256 %)", "cannot be read at '%)'"),
        ("", "ends too early"),
    ],
)
def test_a_broken_signature_says_where(text, why):
    with pytest.raises(BadAbi) as caught:
        parse_signature(text)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["uint265", "uint7", "uint0", "int264", "bytes33", "bytes0", "adress", "fixed128x18"])
def test_an_unknown_type_is_refused(name):
    with pytest.raises(UnknownName, match=f"unknown Solidity type '{name}'"):
        parse_parameters(name)


def test_a_mistyped_type_gets_the_nearest_one():
    with pytest.raises(UnknownName) as caught:
        parse_parameters("adress")
    assert caught.value.hint == "did you mean 'address'?"


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "procedure", "name": "f"},
        {"type": "function"},
        {"type": "function", "name": "f", "stateMutability": "sometimes"},
        {"type": "function", "name": "f", "inputs": [{"name": "x"}]},
        {"type": "function", "name": "f", "inputs": [{"name": "x", "type": "uint256]"}]},
        {"type": "function", "name": "f", "inputs": [{"name": "x", "type": "uint265"}]},
    ],
)
def test_a_broken_abi_entry_is_refused(entry):
    with pytest.raises(UsageError):
        signature_from_json(entry)
