"""Actions with decoded calls and state changes, agents, explanations and steps, against the store."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mayavi.api.reading.runs.action_search import _pattern, plain
from mayavi.api.reading.runs.state_changes import state_changes
from mayavi.report.run.actions import describe
from mayavi.sim.store.amounts import decimals_of
from tests.api.reading.conftest import SMALL, Served


def actions(served: Served, scenario: str, **wanted: Any) -> dict[str, Any]:
    answer = served.client.get(f"/runs/{served.runs[scenario]}/actions", params={"limit": 5000, **wanted})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("scenario", SMALL)
def test_every_action_has_its_row_its_call_and_its_changes(served: Served, scenario: str) -> None:
    run_id = served.runs[scenario]
    found = actions(served, scenario)
    rows = list(served.store.actions(run_id))
    decimals = decimals_of(served.store, run_id)
    assert found["total"] == len(rows) == len(found["items"])
    for item, row in zip(found["items"], rows, strict=True):
        details = json.loads(row.details)
        assert (item["agent"], item["account"], item["kind"]) == (row.agent, row.account, row.kind)
        assert (item["status"], item["reason"], item["step"]) == (row.status, row.reason, row.step)
        assert (item["gas_used"], item["fee_wei"], item["details"]) == (row.gas_used, row.fee_wei, details)
        assert item["call"] == describe(row.kind, details, decimals)
        if row.status == "success":
            assert item["changes"], row.kind
            assert "smallest units" not in "".join(item["changes"])
        else:
            assert item["changes"] == []


@pytest.mark.slow(0.5)
def test_the_log_is_filtered_and_paged(served: Served) -> None:
    everything = actions(served, "depeg_cascade")["items"]
    for name in ("agent", "kind", "status", "step", "account"):
        value = everything[0][name]
        wanted = [item["seq"] for item in everything if item[name] == value]
        found = actions(served, "depeg_cascade", **{name: value})
        assert [item["seq"] for item in found["items"]] == wanted
        assert found["total"] == len(wanted)
    found = actions(served, "depeg_cascade", search="LIQUIDATE")
    assert found["items"]
    assert all(item["kind"] == "liquidate" or "liquidate" in json.dumps(item).lower() for item in found["items"])
    seen: list[int] = []
    offset = 0
    while True:
        page = actions(served, "depeg_cascade", limit=7, offset=offset)
        seen += [item["seq"] for item in page["items"]]
        if page["next"] is None:
            break
        offset = int(page["next"])
    assert seen == [item["seq"] for item in everything]


@pytest.mark.slow(0.3)
def test_actions_are_found_by_what_the_log_shows(served: Served) -> None:
    everything = actions(served, "depeg_cascade")["items"]
    liquidation = next(item for item in everything if item["kind"] == "liquidate" and item["status"] == "success")
    amount = re.search(r"[\d,]+\.\d+ USDC", liquidation["call"])
    assert amount is not None
    number, _, symbol = amount[0].partition(" ")
    for text in (
        amount[0],
        f"{number.replace(',', '')} {symbol.lower()}",
        f"  {number}   {symbol}",
        liquidation["call"],
    ):
        found = [item["seq"] for item in actions(served, "depeg_cascade", search=text)["items"]]
        assert liquidation["seq"] in found, text
        assert len(found) < len(everything)
    change = next(each for each in liquidation["changes"] if "−" in each)
    found = actions(served, "depeg_cascade", search=change.replace("−", "-"), kind="liquidate")
    assert [item["seq"] for item in found["items"]] == [liquidation["seq"]]
    assert actions(served, "depeg_cascade", search=change, kind="post_price")["total"] == 0
    wei = liquidation["details"]["covered"]
    assert liquidation["seq"] in [item["seq"] for item in actions(served, "depeg_cascade", search=wei)["items"]]


@pytest.mark.slow(0.5)
def test_bad_debt_is_found(served: Served) -> None:
    every = 0
    for scenario in served.runs:
        wanted = [item["seq"] for item in actions(served, scenario)["items"] if "bad debt" in item["call"]]
        assert [item["seq"] for item in actions(served, scenario, search="Bad debt")["items"]] == wanted
        every += len(wanted)
    assert every


@pytest.mark.parametrize(
    ("sought", "found"),
    [("1,234.5 USDC", True), ("1234.50 usdc", True), ("1,234.57 USDC", False), ("234.5", True), ("1,235", False)],
)
def test_numbers_are_found_however_they_are_typed(sought: str, found: bool) -> None:
    pattern = _pattern(plain(sought))
    assert pattern is not None
    assert bool(pattern.search(plain("repay 1,234.50 USDC"))) is found


@pytest.mark.parametrize("text", ["' OR 1=1 --", "%", "<script>", "x" * 200, "\x00"])
def test_hostile_filters_find_nothing(served: Served, text: str) -> None:
    for name in ("agent", "account", "kind", "search"):
        if name == "kind":
            text = text[:60]
        if name == "search" and text == "%":
            continue
        assert actions(served, "depeg_cascade", **{name: text})["total"] == 0


def test_agents_have_all_their_accounts_in_natural_order(served: Served) -> None:
    run_id = served.runs["depeg_cascade"]
    found = {each["agent"]: each for each in served.client.get(f"/runs/{run_id}/agents").json()}
    rows = list(served.store.actions(run_id))
    assert set(found) == {row.agent for row in rows} | {row.agent for row in served.store.accounts(run_id)}
    assert found["borrowers"]["accounts"] == [f"borrowers-{number}" for number in range(30)]
    for agent, each in found.items():
        own = [row for row in rows if row.agent == agent]
        assert each["actions"] == len(own)
        assert each["failed"] == sum(row.status in {"failed", "raised"} for row in own)
        assert [activity["account"] for activity in each["activity"]] == each["accounts"]
        for activity in each["activity"]:
            of_account = [row for row in own if row.account == activity["account"]]
            assert activity["actions"] == len(of_account)
            assert activity["failed"] == sum(row.status in {"failed", "raised"} for row in of_account)
    positions = {row.account: row.liquidations for row in served.store.accounts(run_id)}
    borrowers = {each["account"]: each["liquidations"] for each in found["borrowers"]["activity"]}
    assert borrowers == positions
    assert any(borrowers.values())
    assert all(each["liquidations"] is None for each in found["prices"]["activity"])


def test_an_account_is_explained_as_the_command_explains_it(served: Served) -> None:
    run_id = served.runs["depeg_cascade"]
    liquidated = next(row for row in served.store.accounts(run_id) if row.liquidations)
    wanted = served.store.explain(run_id, liquidated.account)
    found = served.client.get(f"/runs/{run_id}/explain", params={"agent": liquidated.account}).json()
    assert (found["agent"], found["account"]) == ("borrowers", liquidated.account)
    assert found["sentences"] == wanted.why()
    assert sum(event["liquidates"] for event in found["events"]) == liquidated.liquidations
    before = next(event["health_factor_before"] for event in found["events"] if event["liquidates"])
    assert before == (wanted.liquidations[0].health_factor_before or 0) / 10**18
    assert found["health_factors"][0][0] == -1


def test_an_agent_of_many_accounts_and_an_unknown_one_are_refused_with_names(served: Served) -> None:
    path = f"/runs/{served.runs['depeg_cascade']}/explain"
    many = served.client.get(path, params={"agent": "borrowers"})
    assert (many.status_code, "borrowers-" in many.json()["hint"]) == (409, True)
    near = served.client.get(path, params={"agent": "borowers-1"})
    assert (near.status_code, "borrowers-1" in near.json()["hint"]) == (404, True)
    assert served.client.get(path, params={"agent": "' OR 1=1 --"}).status_code == 404
    assert served.client.get(path).status_code == 422


@pytest.mark.slow(0.3)
def test_a_step_has_the_figures_and_actions_of_the_store(served: Served) -> None:
    run_id = served.runs["depeg_cascade"]
    for step in (-1, 2):
        found = served.client.get(f"/runs/{run_id}/steps/{step}").json()
        rows = [row for row in served.store.snapshots(run_id) if row.step == step]
        assert [(each["subject"], each["metric"], each["value"], each["unit"]) for each in found["figures"]] == [
            (row.subject, row.metric, row.value, row.unit) for row in rows
        ]
        assert [each["number"] for each in found["figures"]] == [row.number for row in rows]
        own = [row for row in served.store.actions(run_id) if row.step == step]
        assert found["action_count"] == len(found["actions"]) == len(own)
        assert (found["block_number"], found["timestamp"]) == (rows[-1].block_number, rows[-1].timestamp)


@pytest.mark.parametrize("step", [5, -2, 10**6, 2**63, -(10**30)])
def test_a_step_that_the_run_lacks_is_refused_with_its_range(served: Served, step: int) -> None:
    answer = served.client.get(f"/runs/{served.runs['depeg_cascade']}/steps/{step}")
    assert answer.status_code == 404
    assert answer.json()["hint"] == "its steps go from -1 to 4"


DECIMALS = {"USDC": 6, "WETH": 18, "NOVA": 18, "DAI": 18}


@pytest.mark.parametrize(
    ("kind", "details", "wanted"),
    [
        (
            "liquidate",
            {
                "borrower": "b-1",
                "borrower_health_factor_wad": "956892645620669461",
                "borrower_health_factor_after_wad": "1050000000000000000",
                "covered": "1700000000",
                "debt": "USDC",
                "borrower_debt_after_e8": "16910074692",
                "seized": "1000000000000000000",
                "collateral": "WETH",
                "borrower_collateral_after_e8": "0",
            },
            [
                "b-1: health factor 0.9568 → 1.0500",
                "b-1: debt −1,700.00 USDC, $169.10 left",
                "b-1: collateral −1.0000 WETH, $0.00 left",
            ],
        ),
        (
            "open",
            {
                "supplied": "1000000000000000000",
                "collateral": "WETH",
                "borrowed": "1700000000",
                "debt": "USDC",
                "health_factor_after_wad": "1251342354421132197",
            },
            ["health factor 1.2513", "collateral +1.0000 WETH", "debt +1,700.00 USDC"],
        ),
        (
            "exit",
            {
                "repaid": "5196060679",
                "debt": "USDC",
                "debt_left": "0",
                "sold": "2897682298627633299",
                "withdrawn": "703087661532451652",
                "collateral": "WETH",
                "health_factor_wad": "830423555347592874",
                "health_factor_after_wad": str(2**256 - 1),
            },
            [
                "health factor 0.8304 → ∞ (no debt)",
                "debt −5,196.06 USDC",
                "collateral −2.8976 WETH, sold",
                "collateral −0.703 WETH, withdrawn",
                "debt left 0 USDC",
            ],
        ),
        (
            "post_price",
            {"symbol": "WETH", "answer_before": "256292441874", "answer": "179404709312", "decimals": "8"},
            ["oracle price of WETH 2,562.92 → 1,794.05 (−30.00 %)"],
        ),
        (
            "arbitrage",
            {"token_in": "WETH", "token_out": "USDC", "amount_in": "2000000000000000000", "amount_out": "5000000000"},
            ["balance −2.0000 WETH", "balance +5,000.00 USDC"],
        ),
        (
            "release",
            {"token": "NOVA", "released": "5000000000000000000000", "left_in_wallet": "0"},
            ["balance +5,000.00 NOVA, 0 NOVA left in the wallet"],
        ),
        (
            "sell",
            {
                "token": "NOVA",
                "sold": "5000000000000000000000",
                "received": "1",
                "sqrt_price_before_x96": "4",
                "sqrt_price_after_x96": "5",
            },
            ["balance −5,000.00 NOVA", "price of NOVA in the pool −36.00 %"],
        ),
        ("liquidate", {"borrower": 5, "covered": [], "health_factor_after_wad": "x"}, []),
        ("post_price", {"answer_before": "0", "answer": "1", "decimals": "900"}, []),
        ("note", {"note": "<b>"}, []),
    ],
)
def test_changes_in_words(kind: str, details: dict[str, Any], wanted: list[str]) -> None:
    assert state_changes(kind, "success", details, DECIMALS) == wanted
    assert state_changes(kind, "failed", details, DECIMALS) == []
