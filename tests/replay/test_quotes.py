"""Recorded quotes against rebuilt pools, and errors of malformed files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import MayaviError, UsageError
from mayavi.replay.case import CaseError
from mayavi.replay.quotes import validate_quotes

CURVE, UNISWAP = "curve_tripool_block_24407242.json", "uniswap_v3_wbtc_weth_block_24407242.json"
ANSWERS = {CURVE: "curve_tripool_get_dy.json", UNISWAP: "uniswap_v3_wbtc_weth_quotes.json"}


@pytest.fixture
def folder(cases: Path, tmp_path: Path) -> Path:
    """Writable copy of the recorded files."""
    for path in (cases / "mainnet" / "quotes").glob("*.json"):
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def change(path: Path, mend: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    mend(content)
    path.write_text(json.dumps(content))


@pytest.mark.slow(0.3)
def test_every_quote_is_the_chain_s(cases: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = validate_quotes(cases / "mainnet" / "quotes", progress=lambda done, total: seen.append((done, total)))
    assert {pool.protocol: (pool.quotes, pool.exact_quotes) for pool in report.pools} == {
        "Curve": (18, 18),
        "Uniswap V3": (80, 80),
    }
    assert report.exact
    assert seen == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("pool", [CURVE, UNISWAP])
def test_one_unit_in_an_answer_is_a_difference_with_its_quote(folder: Path, pool: str) -> None:
    def one_more(content: dict[str, Any]) -> None:
        quote = next(iter(content["entries"]))
        content["entries"][quote]["value"] += 1

    change(folder / ANSWERS[pool], one_more)
    report = validate_quotes(folder)
    (wrong,) = [each for each in report.pools if not each.exact]
    assert wrong.exact_quotes == wrong.quotes - 1
    assert wrong.first_difference is not None
    assert wrong.first_difference.expected == (wrong.first_difference.got or 0) + 1
    assert "expected" in str(wrong.first_difference)


@pytest.mark.parametrize(
    ("pool", "key"), [(CURVE, "fee"), (CURVE, "a_coefficient"), (UNISWAP, "liquidity"), (UNISWAP, "sqrt_price_x96")]
)
def test_a_pool_recorded_otherwise_answers_otherwise(folder: Path, pool: str, key: str) -> None:
    def nudge(content: dict[str, Any]) -> None:
        place = content["scalars"] if key in content.get("scalars", {}) else content
        place[key] += place[key] // 1_000

    change(folder / pool, nudge)
    assert not validate_quotes(folder).exact


@pytest.mark.slow(0.3)
def test_a_tick_left_out_shows(folder: Path) -> None:
    change(folder / UNISWAP, lambda content: content["tick_data"].pop("265080", None) or content["tick_data"].popitem())
    assert not validate_quotes(folder).exact


@pytest.mark.slow(0.3)
def test_a_revert_of_the_chain_is_an_answer_too(folder: Path) -> None:
    def ask_for_nothing_there(content: dict[str, Any]) -> None:
        pool = next(iter(content["entries"])).split("|")[0]
        content["entries"] = {f"{pool}|get_dy|DAI->USDC|{2**255}": {"value": None}}

    change(folder / ANSWERS[CURVE], ask_for_nothing_there)
    curve = next(pool for pool in validate_quotes(folder).pools if pool.protocol == "Curve")
    assert (curve.quotes, curve.exact_quotes) == (1, 1)


@pytest.mark.parametrize(
    ("pool", "mend", "problem"),
    [
        (CURVE, lambda content: content.pop("balances"), "'balances' is missing"),
        (CURVE, lambda content: content["tokens"].append(content["tokens"][0]), "a pool of 4 coins"),
        (CURVE, lambda content: content.update(balances=[0, 0, 0]), "no pool can hold these balances"),
        (UNISWAP, lambda content: content.pop("token0"), "'token0' is missing"),
        (UNISWAP, lambda content: content["scalars"].update(tick=1), "price and fee give tick 265269"),
        (UNISWAP, lambda content: content["scalars"].update(fee=500), "the factory puts this pool at"),
        (UNISWAP, lambda content: content["scalars"].update(fee="many"), "cannot be rebuilt"),
    ],
)
def test_a_pool_that_cannot_be_rebuilt_says_why_and_the_others_are_asked(
    folder: Path, pool: str, mend: Callable[[dict[str, Any]], object], problem: str
) -> None:
    change(folder / pool, mend)
    report = validate_quotes(folder)
    (wrong,) = [each for each in report.pools if not each.exact]
    assert problem in (wrong.problem or "")
    assert sum(each.exact for each in report.pools) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.json", "{", "broken.json"),
        ("broken.json", "[]", "is not a JSON object"),
        ("quotes.json", '{"entries": {"0x12|get_dy|A->B|1": {"value": 1}}, "block_number": 1}', "2 hex digits"),
        ("quotes.json", '{"entries": {"x": 1}}', "quotes.json"),
        (
            "quotes.json",
            '{"block_number":1,"entries": {"0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7|get_dy|A|1": {"value": 1}}}',
            "is not a quote of the form",
        ),
        (
            "quotes.json",
            '{"block_number":1,"entries": {"0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7|get_dy|A->B|1": {"value": 1}}}',
            "no file of that pool",
        ),
    ],
)
def test_a_file_of_another_shape_is_named(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(CaseError, match=message):
        validate_quotes(folder)


@pytest.mark.slow(0.3)
def test_an_unknown_function_is_said_to_be(folder: Path) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["entries"] = {key.replace("get_dy", "get_dx"): value for key, value in content["entries"].items()}

    change(folder / ANSWERS[CURVE], rename)
    curve = next(pool for pool in validate_quotes(folder).pools if pool.protocol == "Curve")
    assert curve.problem == "'get_dx' is not a quote of Curve known here"


def test_a_folder_without_quotes_is_a_misuse(tmp_path: Path, cases: Path) -> None:
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(UsageError):
            validate_quotes(place)
    with pytest.raises(MayaviError) as caught:
        validate_quotes(cases)
    assert "did you mean" in (caught.value.hint or "")


@pytest.mark.slow(0.7)
def test_the_command_prints_a_line_a_pool_and_exits_by_the_result(run_mayavi, folder: Path) -> None:
    finished = run_mayavi("validate", "quotes", str(folder))
    assert finished.returncode == 0, finished.stderr
    assert "98 of 98 quotes exact" in finished.stdout
    change(folder / CURVE, lambda content: content.update(fee=content["fee"] + 1))
    finished = run_mayavi("validate", "quotes", str(folder), "--json")
    assert finished.returncode == 1
    found = json.loads(finished.stdout)
    assert (found["pools"], found["exact_pools"], found["quotes"]) == (2, 1, 98)
