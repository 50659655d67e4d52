"""Revert data in words: every form a contract gives, and garbage, which must never raise."""

from __future__ import annotations

import gzip
import json
import re

import eth_abi
import pytest
from eth_utils import to_checksum_address
from hypothesis import example, given
from hypothesis import strategies as st

from mayavi.evm.abi.interface import Error, Interface
from mayavi.evm.abi.revert_tables import AAVE_V3, COMET, CUSTOM_ERRORS, PANICS
from mayavi.evm.abi.reverts import decode_revert
from tests.missing import skip_or_fail

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
ERROR, PANIC = bytes.fromhex("08c379a0"), bytes.fromhex("4e487b71")


def error(text: str) -> bytes:
    return ERROR + eth_abi.encode(["string"], [text])


def test_no_data_is_no_reason():
    reason = decode_revert(b"")
    assert (reason.kind, str(reason)) == ("empty", "no reason given")


def test_a_text_is_the_reason():
    reason = decode_revert(error("Ownable: caller is not the owner"))
    assert (reason.kind, reason.name, reason.args) == ("text", "Error", ("Ownable: caller is not the owner",))
    assert str(reason) == "Ownable: caller is not the owner"


@pytest.mark.parametrize("text", ["STF", "Too little received", "SPL", "ERC20: insufficient allowance"])
def test_a_terse_text_comes_with_its_meaning(text):
    reason = decode_revert(error(text))
    assert str(reason) == text
    assert reason.hint


def test_a_text_is_made_safe_for_a_terminal():
    reason = decode_revert(error("a\x1b[31m\nb\u202e"))
    assert str(reason) == "a\\x1b[31m\\nb\\u202e"
    assert reason.args == ("a\x1b[31m\nb\u202e",)
    assert len(str(decode_revert(error("x" * 10_000)))) < 400


def test_a_text_that_is_not_utf8_keeps_its_bytes_visible():
    raw = eth_abi.encode(["bytes"], [b"caf\xe9"])
    assert str(decode_revert(ERROR + raw)) == "caf\\xe9"


def test_a_text_without_padding_is_read_all_the_same():
    assert str(decode_revert(ERROR + eth_abi.encode(["string"], ["hand-written"])[: 64 + 12])) == "hand-written"


@pytest.mark.parametrize("cut", [4, 5, 36, 68, 70])
def test_a_damaged_text_is_shown_raw(cut):
    reason = decode_revert(error("a reason")[:cut])
    assert (reason.kind, reason.name) == ("unknown", "Error")
    assert "damaged text 0x08c379a0" in str(reason)


@pytest.mark.parametrize("code", [*PANICS, 0x99, 2**256 - 1])
def test_a_panic_says_what_it_means(code):
    reason = decode_revert(PANIC + code.to_bytes(32))
    assert (reason.kind, reason.name, reason.args) == ("panic", "Panic", (code,))
    assert str(reason).startswith(f"panic 0x{code:02x}: ")
    assert PANICS.get(code, "a panic Solidity does not document") in str(reason)


@pytest.mark.parametrize("code", AAVE_V3)
def test_aaves_numbers_have_their_names_and_a_sentence(code):
    reason = decode_revert(error(str(code)))
    name, sentence = AAVE_V3[code]
    meaning, _, hint = sentence.partition("; ")
    assert (reason.kind, reason.name, reason.args, reason.hint) == ("aave", name, (code,), hint or None)
    assert str(reason) == f"{code} {name}: {meaning}"


def test_a_reason_of_aave_reads_like_a_sentence_with_a_next_step():
    reason = decode_revert(error("35"))
    assert str(reason) == (
        "35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD: the account's health factor would be below 1"
    )
    assert reason.hint == "repay some debt or add collateral first"


def test_what_users_run_into_comes_with_a_next_step():
    everyday = [13, 26, 27, 28, 29, 30, 32, 34, 35, 36, 39, 43, 45, 46, 47, 50, 51, 53, 57, 58, 60, 62, 89, 91]
    assert [code for code in everyday if decode_revert(error(str(code))).hint is None] == []


def test_aaves_errors_without_numbers_mean_what_the_numbers_meant():
    selector = Error.parse("HealthFactorLowerThanLiquidationThreshold()").selector
    assert decode_revert(selector).hint == decode_revert(error("35")).hint


@pytest.mark.parametrize("text", ["0", "48", "105", "036", "٣٦", "36 ", "1000"])
def test_other_numbers_are_plain_texts(text):
    assert decode_revert(error(text)).kind == "text"


def test_aaves_table_is_that_of_the_contracts_in_use(repository):
    source = repository / "contracts/node_modules/@aave/core-v3/contracts/protocol/libraries/helpers/Errors.sol"
    if not source.exists():
        skip_or_fail("the contract packages are not installed; `make setup` does it")
    declared = re.findall(r"string public constant (\w+) = '(\d+)'", source.read_text())
    assert {int(code): name for name, code in declared} == {
        code: name for code, (name, _) in AAVE_V3.items() if code <= 91
    }


@pytest.mark.parametrize("text", CUSTOM_ERRORS)
def test_well_known_custom_errors_are_named_without_an_abi(text):
    known = Error.parse(text)
    samples = {"address": ALICE, "bytes32": bytes(32), "bytes4": bytes(4), "bytes": b"why"}
    values = [samples.get(part.canonical, 5) for part in known.inputs.root.parts]
    reason = decode_revert(known.selector + known.inputs.encode(values))
    meaning, _, hint = CUSTOM_ERRORS[text].partition("; ")
    assert (reason.kind, reason.name, reason.hint) == ("custom", known.name, hint or None)
    assert str(reason).startswith(f"{known.name}(")
    assert str(reason).endswith(f"): {meaning}")
    assert reason.args == tuple(values)


@pytest.mark.slow(1)
def test_comets_errors_are_those_in_its_real_bytecode(cases):
    """Comet and its extension, as deployed on mainnet, hold the selectors of the errors they can raise at run time."""
    codes = json.loads(gzip.decompress((cases / "mainnet/blocks/bytecodes.json.gz").read_bytes())).values()
    comet = {Error.parse(text).selector: text for text in COMET}
    bodies = [bytes.fromhex(code[2:]) for code in codes]
    held = [{text for selector, text in comet.items() if pushes(code, selector)} for code in bodies]
    implementation, extension = sorted(held, key=len)[-1:-3:-1]
    assert len(implementation) == 23
    assert {"NotCollateralized()", "NotLiquidatable()", "SupplyCapExceeded()", "Paused()"} <= implementation
    assert extension == {
        "BadAmount()",
        "BadNonce()",
        "BadSignatory()",
        "InvalidValueS()",
        "InvalidValueV()",
        "SignatureExpired()",
    }


def pushes(code: bytes, selector: bytes) -> bool:
    """Whether `code` builds `selector`, which the compiler pushes without its trailing zero bits and shifts left."""
    number = int.from_bytes(selector)
    zeros = (number & -number).bit_length() - 1
    shifted = ((number >> shift, shift) for shift in range(zeros + 1))
    return any(
        part.to_bytes((part.bit_length() + 7) // 8) + bytes([0x60, 0xE0 + shift, 0x1B]) in code
        for part, shift in shifted
    )


def test_custom_errors_of_given_abis_come_first():
    own = Interface.of(["error Paused()", "error TooMuch(uint256 asked, address by, bytes note)"])
    reason = decode_revert(
        Error.parse("TooMuch(uint256,address,bytes)").selector
        + eth_abi.encode(["uint256", "address", "bytes"], [5, ALICE, b"\1\2"]),
        [own],
    )
    assert str(reason) == f"TooMuch(asked=5, by={to_checksum_address(ALICE)}, note=0x0102)"
    assert (reason.args.asked, reason.args.by) == (5, ALICE)
    plain = [{"type": "error", "name": "Odd", "inputs": []}]
    assert decode_revert(Error.parse("Odd()").selector, [own, plain]).name == "Odd"


def test_a_custom_error_with_damaged_arguments_keeps_its_name():
    known = Error.parse("ERC20InsufficientBalance(address,uint256,uint256)")
    reason = decode_revert(known.selector + b"\1\2")
    assert reason.name == "ERC20InsufficientBalance"
    assert "with damaged arguments 0x0102" in str(reason)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xde\xad\xbe\xef", "custom error 0xdeadbeef"),
        (b"\xde\xad\xbe\xef" + bytes(31) + b"\7", f"custom error 0xdeadbeef with arguments 0x{'00' * 31}07"),
        (b"\1\2\3", "unknown revert data 0x010203"),
        (b"\1\2\3\4\5", "unknown revert data 0x0102030405"),
        (PANIC + b"\1", "unknown revert data 0x4e487b7101"),
    ],
)
def test_what_nothing_explains_is_shown_raw(data, message):
    assert str(decode_revert(data)) == message


SELECTORS = [ERROR, PANIC, *(Error.parse(text).selector for text in CUSTOM_ERRORS)]


@given(st.sampled_from([b"", *SELECTORS]), st.lists(st.binary(min_size=32, max_size=32) | st.binary(max_size=40)))
@example(ERROR, [b"\xff" * 32] * 3)
@example(ERROR, [bytes(31) + b"\x20", b"\xff" * 32])
@example(ERROR, [bytes(32)])
def test_no_bytes_whatever_raise_or_break_a_line(selector, rest):
    reason = decode_revert(selector + b"".join(rest))
    assert str(reason).isprintable()
    assert str(reason)
    assert len(str(reason)) < 1_000
