"""Books of positions in scenarios: from files and text, on every kind of market, whole in a bundle."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest

from mayavi.errors import BadArgument, BadScenario, UsageError
from mayavi.protocols import AaveV3, CompoundV3, SparkLend
from mayavi.scenarios.figures.notes import notes
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.config import CHAINS
from tests.missing import skip_or_fail
from tests.scenarios.play import Played, play

BOOK = """\
account,asset,collateral,debt,emode
alice,WETH,10,,
alice,USDC,,17_000,
bob,wstETH,50,,ETH correlated
bob,WETH,,52,
carol,WETH,20,,
carol,WBTC,1,,
carol,USDC,,30_000,
carol,DAI,,20_000,
"""
SCENARIO = """\
name: mine
chain: ethereum
steps: 4
step_time: 5 minutes
prices: {WETH: {process: step, at: 1, size: -25%}}
positions: book.csv
agents:
  bot: {kind: liquidator, capital: {USDC: 5_000_000, DAI: 5_000_000, WETH: 2_000}}
"""
SHORT = """\
name: short
chain: ethereum
steps: 1
step_time: 5 minutes
positions: {data: ""}
agents: {bot: {kind: liquidator, frictionless: true}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def started(played: Played) -> dict[str, tuple[float, float]]:
    """Return collateral and debt in dollars before the first step, by account."""
    rows = {(row.subject, row.metric): row.number for row in played.snapshots if row.step == -1}
    return {
        who: (rows[who, "collateral"], rows[who, "debt"])
        for who, metric in rows
        if metric == "collateral" and "-" in who
    }


def data_of(rows: str, **options: str) -> list[str]:
    head = "account,asset,collateral,debt,emode\n"
    return [f"positions={json.dumps({'data': head + rows, **options})}"]


# -- opening ----------------------------------------------------------------------------------------------------------


def test_the_accounts_have_these_positions_are_watched_and_counted(folder: Path) -> None:
    played = play(str(folder / "mine.yaml"))
    market = AaveV3(played.built.world.fork)
    eth, btc, wsteth = (2562.92441874, 42_808.0, 2957.72327619)
    sides = started(played)
    assert set(sides) == {"positions-alice", "positions-bob", "positions-carol"}
    assert sides["positions-alice"] == pytest.approx((10 * eth, 17_000 * 0.99997427), rel=1e-6)
    assert sides["positions-bob"] == pytest.approx((50 * wsteth, 52 * eth), rel=1e-6)
    assert sides["positions-carol"][0] == pytest.approx(20 * eth + btc, rel=1e-6)
    world = played.built.world
    assert market.account(world.address("positions-bob")).emode == 1
    assert played.kpis["liquidated_accounts"] == 1
    assert {each["borrower"] for each in played.details("liquidate")} == {"positions-alice"}
    assert played.kpis["accounts_beyond_limit.positions"] == 1  # bob is above 90 % in his mode
    assert played.kpis["accounts_without_pool.positions"] == 0
    assert [note for note in notes({"accounts_beyond_limit.positions": 1.0}) if "lower price of the debt" in note]


@pytest.mark.parametrize(
    ("protocol", "rows"),
    [
        ("spark", "a,WETH,10,,\na,DAI,,12_000,\nb,wstETH,10,,1\nb,WETH,,9,\n"),
        ("compound_v3", "a,WETH,10,,\na,WBTC,1,,\na,USDC,,30_000,\nb,WETH,1,,\nb,USDC,,1_500,\n"),
    ],
)
def test_books_on_other_protocols(protocol: str, rows: str) -> None:
    played = play("", text=SHORT, overrides=[*data_of(rows, protocol=protocol), f"agents.bot.protocol={protocol}"])
    world = played.built.world
    first = world.address("positions-a")
    if protocol == "spark":
        market = SparkLend(world.fork)
        assert abs(market.account(first).debt("DAI") - 12_000 * 10**18) < 10**16  # with some minutes of interest
        assert market.account(world.address("positions-b")).emode == 1
    else:
        comet = CompoundV3(world.fork).account(first)
        assert comet.collaterals() == {"WETH": 10**19, "WBTC": 10**8}
        assert abs(comet.debt - 30_000 * 10**6) < 10**6
    assert played.kpis["debt"] > 0


@pytest.mark.parametrize("chain", CHAINS)
def test_a_book_opens_on_every_chain(chain: str) -> None:
    text = SHORT.replace("ethereum", chain)
    dollars = "USDC.e" if chain == "polygon" else "USDC"
    played = play("", text=text, overrides=data_of(f"a,WETH,2,,\na,{dollars},,1_000,\n"))
    (sides,) = started(played).values()
    assert sides[1] == pytest.approx(1_000, rel=0.01)


def test_several_books_are_agents_with_names_of_their_own() -> None:
    rows = "account,asset,collateral,debt\\na,WETH,1,\\na,USDC,,500\\n"
    books = {f'agents.{name}={{kind: positions, data: "{rows}"}}' for name in ("funds", "loopers")}
    played = play("", text=SHORT, overrides=[*data_of("a,WETH,1,,\n"), *sorted(books)])
    assert set(started(played)) == {"funds-a", "loopers-a", "positions-a"}


def test_positions_at_the_top_and_an_agent_of_that_name_exclude_each_other() -> None:
    with pytest.raises(BadScenario, match="'positions' is also the name of an agent"):
        load_text(
            SHORT, overrides=[*data_of("a,WETH,1,,\n"), "agents.positions={kind: liquidator, frictionless: true}"]
        )


def test_a_behaviour_of_a_book_acts() -> None:
    overrides = [*data_of("a,WETH,10,,\na,USDC,,15_000,\n", behaviour="band", cash="50%"), "steps=3"]
    text = SHORT + "prices: {WETH: {process: step, at: 1, size: -10%}}\n"
    played = play("", text=text, overrides=overrides)
    (repaid,) = played.details("repay")
    assert int(repaid["repaid_USDC"]) > 0


# -- files ------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_scenario_has_the_file_and_gives_the_same_run(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    loaded = load_scenario(folder / "mine.yaml")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "again.yaml"
    elsewhere.write_text(loaded.text, encoding="utf-8")
    assert str(folder) not in loaded.text
    first, second = play(str(folder / "mine.yaml"), steps=2), play(str(elsewhere), steps=2)
    assert (first.actions, first.snapshots) == (second.actions, second.snapshots)


def test_parquet_gives_the_same_positions_as_csv(folder: Path) -> None:
    table = str(folder / "book.parquet")
    rows = [line.replace("_", "").split(",") for line in BOOK.splitlines()[1:]]
    with duckdb.connect() as database:
        database.execute("create table book (account text, asset text, collateral double, debt double, emode text)")
        database.executemany(
            "insert into book values (?, ?, ?, ?, ?)", [[cell or None for cell in row] for row in rows]
        )
        database.execute(f"copy book to '{table}' (format parquet)")
    columns = load_scenario(folder / "mine.yaml", overrides=["positions=book.parquet"]).config.agents["positions"]
    lines = load_scenario(folder / "mine.yaml").config.agents["positions"]
    assert columns.accounts == lines.accounts  # type: ignore[union-attr]


def test_the_short_form_takes_options_and_another_file(folder: Path) -> None:
    (folder / "other.csv").write_text("account,asset,collateral,debt\nzoe,WETH,1,\n", encoding="utf-8")
    chosen = load_scenario(
        folder / "mine.yaml", overrides=["positions.allow_unhealthy=true", "positions.file=other.csv"]
    )
    model = chosen.config.agents["positions"]
    assert model.allow_unhealthy  # type: ignore[union-attr]
    assert model.count == 1  # type: ignore[union-attr]
    again = folder / "again.yaml"
    again.write_text(load_scenario(folder / "mine.yaml").text, encoding="utf-8")
    assert load_scenario(again).config.agents["positions"].count == 3  # type: ignore[union-attr]
    changed = load_scenario(again, overrides=["positions.file=other.csv"])
    assert changed.config.agents["positions"].count == 1  # type: ignore[union-attr]


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_missing_file_and_a_bad_row_name_the_place(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"--set positions=none.csv: there is no file"):
        load_scenario(folder / "mine.yaml", overrides=["positions=none.csv"])
    (folder / "book.csv").write_text(BOOK + "alice,WETH,1,,\n", encoding="utf-8")
    with pytest.raises(BadScenario, match=r"mine.yaml:6:12: 'book.csv', line 10: account 'alice', WETH: the same"):
        load_scenario(folder / "mine.yaml")
    with pytest.raises(BadScenario, match="positions needs its table from a 'file' or as 'data'"):
        load_text(SHORT, overrides=["positions={protocol: spark}"])


@pytest.mark.parametrize(
    ("rows", "message", "hint"),
    [
        ("a,WETH,1,,\na,USDX,,5,\n", "line 3: account 'a', USDX: unknown asset of Aave V3 'USDX'", "'USDC'"),
        ("a,WETH,1,,ETH corelated\n", "line 2: account 'a': unknown eMode 'ETH corelated'", "1 (ETH correlated)"),
        ("a,WETH,1,,9\n", "line 2: account 'a': unknown eMode '9'", "1 (ETH correlated)"),
        ("a,USDC,,5,\n", "line 2: account 'a', USDC: it owes and has no collateral", "bad debt already"),
        ("a,WETH,0.0000000000000000001,,\n", "is less than its smallest unit", "remove the row"),
        ("a,WETH,1,,\na,USDC,,2_300,\n", "1 of 1 accounts start with a health factor below 1: 'a' 0.9249", "allow_un"),
        ("a,WETH,1,,1\na,USDC,,5,\n", "line 3: account 'a' cannot borrow 5 USDC: 58 INCONSISTENT_EMODE", "eMode 0"),
        ("a,WETH,90_000_000,,\n", "line 2: account 'a' cannot supply 90,000,000 WETH: 51 SUPPLY_CAP", "raise the cap"),
    ],
)  # fmt: skip
def test_what_the_market_does_not_take_is_refused_with_file_line_account_and_asset(
    folder: Path, rows: str, message: str, hint: str
) -> None:
    (folder / "book.csv").write_text(f"account,asset,collateral,debt,emode\n{rows}", encoding="utf-8")
    with pytest.raises((BadScenario, BadArgument)) as caught:
        play(str(folder / "mine.yaml"), overrides=["agents.bot={kind: liquidator, frictionless: true}"])
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith("'book.csv'")
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,USDC,5,,\n", "line 2: account 'a', USDC: USDC cannot be collateral on cUSDCv3"),
        ("a,WETH,1,1,\n", "line 2: account 'a', WETH: WETH cannot be debt on cUSDCv3"),
        ("a,WETH,1,,1\n", "line 2: account 'a': Compound V3 has no efficiency modes"),
    ],
)
def test_compound_lends_its_base_token_alone(rows: str, message: str) -> None:
    with pytest.raises(BadScenario) as caught:
        play("", text=SHORT, overrides=data_of(rows, protocol="compound_v3"))
    assert message in caught.value.message


def test_unhealthy_accounts_are_accepted_by_a_flag() -> None:
    rows = "a,WETH,1,,\na,USDC,,2_300,\nb,WETH,1,,\nb,USDC,,100,\n"
    played = play("", text=SHORT, overrides=[*data_of(rows), "positions.allow_unhealthy=true"])
    assert {each["borrower"] for each in played.details("liquidate")} == {"positions-a"}


def test_pairs_that_no_pool_sells_are_left_alone_and_counted() -> None:
    rows = "a,WETH,1,,\na,USDC,,1_900,\nb,WETH,1,,\nb,LUSD,,1_900,\n"
    text = SHORT + "prices: {WETH: {process: step, at: 1, size: -20%}}\n"
    bot = "agents.bot={kind: liquidator, capital: {USDC: 100_000, LUSD: 100_000}}"
    played = play("", text=text, overrides=[*data_of(rows), bot, "steps=3"])
    assert played.kpis["accounts_without_pool.positions"] == 1
    assert {each["borrower"] for each in played.details("liquidate")} == {"positions-a"}
    assert played.kpis["liquidatable_accounts"] == 1
    for_all = play("", text=text, overrides=[*data_of(rows), "steps=3"])  # a frictionless one sells nothing
    assert for_all.kpis["accounts_without_pool.positions"] == 0
    assert {each["borrower"] for each in for_all.details("liquidate")} == {"positions-a", "positions-b"}


def test_accounts_that_no_pool_can_liquidate_are_named() -> None:
    rows = "".join(f"a{at},WETH,1,,\na{at},LUSD,,1_900,\n" for at in range(7))
    text = SHORT + "prices: {WETH: {process: step, at: 1, size: -20%}}\n"
    bot = "agents.bot={kind: liquidator, capital: {USDC: 100_000, LUSD: 100_000}}"
    few = play(
        "",
        text=text,
        overrides=[*data_of("b,WETH,1,,\nb,USDC,,5,\n" + "".join(rows.splitlines(keepends=True)[:2])), bot, "steps=3"],
    )
    many = play("", text=text, overrides=[*data_of("b,WETH,1,,\nb,USDC,,5,\n" + rows), bot, "steps=3"])
    (said,) = [note for note in notes(few.kpis) if "no pool sells" in note]
    assert "their debt: 1 (a0); add one under `pools`" in said
    (said,) = [note for note in notes(many.kpis) if "no pool sells" in note]
    assert "their debt: 7 (a0, a1, a2, a3, a4, …); add one under `pools`" in said


def test_a_price_that_stays_constant_beside_one_that_moves_is_noted() -> None:
    text = SHORT.replace("steps: 1", "steps: 3") + "prices: {WETH: {process: step, at: 1, size: -5%}}\n"
    both = "a,WETH,1,,\na,WBTC,1,,\na,USDC,,100,\nb,WETH,5,,\nb,wstETH,1,,\nb,WBTC,,0.01,\n"
    said = [note for note in notes(play("", text=text, overrides=data_of(both)).kpis) if "stays constant" in note]
    assert len(said) == 1
    assert said[0].startswith("the price of WBTC stays constant while WETH, wstETH moves")
    owed = "b,WETH,5,,\nb,WBTC,,0.01,\nb,USDC,,100,\n"
    played = play("", text=text, overrides=data_of(owed))
    assert played.kpis["constant_price.WBTC"] == 1
    assert any(note.startswith("the price of WBTC stays constant while WETH moves") for note in notes(played.kpis))
    usual = play("", text=text, overrides=data_of("a,WETH,1,,\na,USDC,,100,\n"))
    assert not any(name.startswith("constant_price") for name in usual.kpis)
    assert not any("stays constant" in note for note in notes(usual.kpis))
    still = play("", text=SHORT, overrides=data_of(owed))  # nothing moves, so nothing is missing
    assert not any("stays constant" in note for note in notes(still.kpis))


def test_all_errors_of_a_book_are_listed_up_to_ten() -> None:
    rows = "a,WETH,one,,\nb,,1,,\nc,WETH,1,,\nc,WETH,2,,\nd,WETH,,,\ne,WETH\n"
    with pytest.raises(BadScenario, match="line 2: account 'a', WETH: collateral is 'one'") as caught:
        load_text(SHORT, overrides=data_of(rows))
    listed = str(caught.value.hint).splitlines()
    assert [line.partition("line ")[2][:1] for line in listed[1:]] == ["3", "5", "6", "7"]
    assert "2 cells where the header has 5" in listed[-1]
    with pytest.raises(BadScenario) as caught:
        load_text(SHORT, overrides=data_of("".join(f"a{at},WETH,-1,,\n" for at in range(14))))
    listed = str(caught.value.hint).splitlines()
    assert [line.startswith("also ") for line in listed] == [False, *[True] * 9, False]
    assert listed[-1] == "and 4 more"


def test_all_that_a_market_lacks_is_listed_once_for_each_asset() -> None:
    rows = "a,USDX,1,,\nb,USDX,1,,\nc,WETH,1,,7\nd,USDC,,5,\ne,WETH,0.0000000000000000001,,\n"
    with pytest.raises(BadScenario, match="line 2: account 'a', USDX: unknown asset") as caught:
        play("", text=SHORT, overrides=data_of(rows))
    listed = [line for line in str(caught.value.hint).splitlines() if line.startswith("also ")]
    assert [line.partition("line ")[2][:1] for line in listed] == ["4", "5", "6"]


# -- a real book ------------------------------------------------------------------------------------------------------


@pytest.mark.slow(0.4)
def test_every_borrower_against_wsteth_of_june_2023_opens_on_the_replica(cases: Path, tmp_path: Path) -> None:
    """Accounts whose assets the source lists in full; those in eMode keep the health factor they had."""
    path = cases / "books" / "steth-2023" / "book_aave_v3_wsteth.csv"
    if not path.exists():
        skip_or_fail(f"the reference data has no '{path}'")
    names = {each.lower(): each for each in ("wstETH", "cbETH", "rETH", "WETH", "WBTC", "USDC", "DAI", "USDT", "LUSD")}
    recorded, lines = {}, ["account,asset,collateral,debt,emode"]
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            whole = float(row["collateral_total_usd"]), float(row["debt_total_usd"])
            rest = abs(float(row["other_collateral_usd"])), abs(float(row["other_debt_usd"]))
            if rest[0] > 0.005 * whole[0] or rest[1] > 0.005 * whole[1] or whole[1] < 100:
                continue
            recorded[row["user"]] = row
            for low, asset in names.items():
                sides = [row.get(f"{low}_{side}", "0") for side in ("collateral", "debt")]
                if any(float(side) for side in sides):
                    lines.append(",".join([row["user"], asset, *sides, row["emode"]]))
    (tmp_path / "book.csv").write_text("\n".join(lines), encoding="utf-8")
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(SHORT.replace('positions: {data: ""}', "positions: book.csv"), encoding="utf-8")
    played = play(str(scenario), overrides=["positions.allow_unhealthy=true"])
    factors = {row.subject: row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"}
    assert len(recorded) > 200
    assert len(factors) >= len(recorded)
    sides = [f"{low}_{side}" for low in names for side in ("collateral", "debt")]
    used = {user: {side for side in sides if float(row.get(side, "0"))} for user, row in recorded.items()}
    loops = [user for user, own in used.items() if own == {"wsteth_collateral", "weth_debt"}]
    assert len(loops) > 50
    # A wstETH has earned half a year of staking since: 1.1288 ETH in the book, 1.1540 on the replica.
    for row in (recorded[user] for user in loops if recorded[user]["emode"] == "1"):
        if float(row["health_factor"]) > 15:
            continue  # recorded factors end at 18.4
        ratio = factors[f"positions-{row['user']}"] / float(row["health_factor"])
        assert ratio == pytest.approx(1.1540 / 1.1288, rel=0.001)
