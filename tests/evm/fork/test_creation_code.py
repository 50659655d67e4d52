"""Constructor arguments: encoded by the ABI of an artifact, and refused with the reason when they do not fit."""

from __future__ import annotations

import json
from typing import Any

import eth_abi
import pytest

from mayavi.errors import BadAbi, BadAddress, BadArgument, BadInteger, MayaviError, UsageError
from mayavi.evm.fork import Fork
from mayavi.evm.fork.creation_code import creation_code

ALICE = b"\xa1" * 20
KEEPS_ITS_ARGUMENTS = bytes.fromhex("600b380380600b5f395ff3")
"""Creation code whose contract is what follows the code: the encoded arguments."""
ABI = [
    {
        "type": "constructor",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "owner", "type": "address"}, {"name": "supply", "type": "uint256"}],
    }
]
HEX = KEEPS_ITS_ARGUMENTS.hex()
ENCODED = eth_abi.encode(["address", "uint256"], [ALICE, 10**18])
PLACEHOLDER = "__$0123456789abcdef0123456789abcdef01$__"


@pytest.fixture
def fork() -> Fork:
    return Fork.empty()


@pytest.mark.parametrize(
    "artifact",
    [
        {"contractName": "Gold", "abi": ABI, "bytecode": "0x" + HEX},  # Hardhat, Truffle
        {"abi": ABI, "bytecode": {"object": "0x" + HEX}},  # Foundry
        {"abi": ABI, "evm": {"bytecode": {"object": HEX}}},  # solc's standard JSON
        json.dumps({"abi": ABI, "bytecode": HEX}),
    ],
    ids=["hardhat", "foundry", "solc", "json"],
)
def test_an_artifact_is_deployed_with_its_constructor_arguments(fork: Fork, artifact: Any) -> None:
    place = fork.deploy(artifact, ALICE, 10**18, sender=ALICE)
    assert fork.code(place) == ENCODED


def test_bytes_are_deployed_with_the_arguments_of_an_abi(fork: Fork) -> None:
    signature = ["constructor(address owner, uint256 supply)"]
    assert fork.code(fork.deploy(KEEPS_ITS_ARGUMENTS, ALICE, 10**18, abi=signature)) == ENCODED
    assert fork.code(fork.deploy(KEEPS_ITS_ARGUMENTS + ENCODED)) == ENCODED
    text, many = "ünï", [1, 2, 3]
    place = fork.deploy(KEEPS_ITS_ARGUMENTS, text, many, abi=["constructor(string name, uint8[] kinds)"])
    assert fork.code(place) == eth_abi.encode(["string", "uint8[]"], [text, many])


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((), BadArgument, "constructor(address,uint256) takes 2 arguments, got 0"),
        ((ALICE, 1, 2), BadArgument, "constructor(address,uint256) takes 2 arguments, got 3"),
        ((ALICE, -1), BadInteger, "argument 'supply' (uint256) is -1, outside 0 to 2**256 - 1"),
        ((ALICE[:19], 1), BadAddress, "argument 'owner' (address) is wrong: address"),
        ((ALICE, 1.5), BadInteger, "argument 'supply' (uint256) is 1.5 of type float"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_deployed(
    fork: Fork, arguments: tuple[Any, ...], kind: type[MayaviError], message: str
) -> None:
    before = fork.digest()
    with pytest.raises(kind) as caught:
        fork.deploy({"abi": ABI, "bytecode": HEX}, *arguments, sender=ALICE)
    assert message in caught.value.message
    assert caught.value.hint in {"the constructor takes (address owner, uint256 supply)", "give an int"}
    assert fork.digest() == before


@pytest.mark.parametrize(
    ("code", "arguments", "message", "hint"),
    [
        (b"\0", (ALICE,), "1 constructor argument without an ABI", "sender=…"),
        ({"bytecode": "0x00"}, (1, 2), "2 constructor arguments without an ABI", "give the compiler's artifact"),
        ({"contractName": "Gold", "abi": []}, (), "Gold has no 'bytecode'", "that the compiler wrote"),
        ({"contractName": "IGold", "abi": [], "bytecode": "0x"}, (), "IGold has no code", "abstract contracts"),
        ({"abi": [], "bytecode": f"73{PLACEHOLDER}00"}, (), "not linked: 1 library is missing", PLACEHOLDER),
        ({"abi": [], "bytecode": "0xzz"}, (), "the bytecode of the artifact is not hex text", None),
        ("0x6001", (), "initcode must be bytes, not str", "bytes.fromhex"),
    ],
)
def test_code_that_cannot_be_deployed_says_why(code: Any, arguments: Any, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        creation_code(code, arguments)
    assert message in caught.value.message
    assert (hint is None and caught.value.hint is None) or str(hint) in str(caught.value.hint)


def test_an_artifact_that_is_not_json_is_refused() -> None:
    with pytest.raises(BadAbi, match="the artifact is not valid JSON"):
        creation_code("{abi")
