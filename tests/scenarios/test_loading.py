"""Bad input is told with its place, the value and what would fit; good input with files is whole in itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import BadScenario, BadSeries, MayaviError, UnknownName, UsageError
from mayavi.scenarios.loading import load_scenario, load_text, scenario_source
from tests.scenarios.refusals import assert_refused

GOOD = """\
name: mine
chain: ethereum
chains:
  ethereum:
  base: {steps: 6, agents: {crowd: {count: 7}}}
steps: 4
step_time: 1h
prices:
  WETH: {process: step, at: 2, size: -25%}
agents:
  crowd:
    kind: borrower
    count: 3
    collateral: WETH
    debt: USDC
    health_factor: {uniform: [1.1, 2]}
  bot: {kind: liquidator, capital: {USDC: 5_000_000}}
"""


def fault(text: str, **options: object) -> MayaviError:
    with pytest.raises(UsageError) as caught:
        load_text(text, origin="mine.yaml", **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    return caught.value


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("steps: 4", "stepps: 4", "mine.yaml:6:1: unknown key 'stepps'", "did you mean 'steps'?"),
        ("count: 3", "cuont: 3", "mine.yaml:13:5: unknown key 'cuont' in agents.crowd", "did you mean 'count'?"),
        ("count: 3", "count: many", "mine.yaml:13:12: agents.crowd.count is 'many', not a whole number", "100"),
        ("count: 3", "count: 3.5", "mine.yaml:13:12: agents.crowd.count is '3.5', not a whole number", ""),
        ("count: 3", "count: 0", "mine.yaml:13:12: agents.crowd.count is '0', and must be at least 1", ""),
        ("count: 3", "count: -3", "mine.yaml:13:12: agents.crowd.count is '-3', and must be at least 1", ""),
        ("USDC: 5_000_000", "USDC: -5", "mine.yaml:17:43: agents.bot.capital.USDC is -5, and must not be", ""),
        ("collateral: WETH", "collateral: -1 WETH", "mine.yaml:14:17: agents.crowd.collateral is '-1 WETH'", ""),
        ("chain: ethereum", "chain: etherium", "mine.yaml:2:8: unknown chain 'etherium'", "did you mean 'ethereum'?"),
        ("chain: ethereum", "chain: polygon", "'mine' cannot be run on 'polygon'", "ethereum, base"),
        ("  base:", "  bse:", "unknown chain 'bse'", "did you mean 'base'?"),
        ("steps: 4", "steps: 0", "mine.yaml:6:8: steps is '0', and must be at least 1", ""),
        ("steps: 4\n", "", "'steps' is missing", ""),
        ("step_time: 1h", "step_time: 1 moon", "mine.yaml:7:12: step_time is '1 moon': 'moon' is not a unit", ""),
        ("step_time: 1h", "step_time: 0", "step_time is 0", ""),
        ("step_time: 1h\n", "", "'step_blocks' is missing", "step_time: 1h"),
        ("step_time: 1h", "step_time: 1h\nstep_blocks: 5", "say the same", ""),
        ("step_time: 1h", "step_time: 1h\nseed: -1", "seed is '-1', and must be at least 0", ""),
        ("step_time: 1h", "step_time: 1h\nseed: 99999999999999999999", "seed is '99999999999999999999'", ""),
        ("process: step", "process: stepp", "mine.yaml:9:19: unknown process 'stepp' of prices.WETH", "'step'"),
        ("size: -25%", "size: a quarter", "mine.yaml:9:38: prices.WETH.size is 'a quarter', not a number", ""),
        ("size: -25%", "size: -100%", "a price cannot fall by all of it", ""),
        ("size: -25%", "size: -25%, to: 5", "prices.WETH changes by a 'size' or 'to' a price", ""),
        ("at: 2", "at: 9", "the price of WETH changes at step 9, and the last step is 3", "more steps"),
        ("kind: borrower", "kind: borower", "mine.yaml:12:11: unknown kind 'borower' of agents.crowd", "'borrower'"),
        ("    kind: borrower\n", "", "mine.yaml:12:5: agents.crowd does not say its 'kind'", "kind"),
        ("uniform: [1.1, 2]", "unifrom: [1.1, 2]", "unknown form 'unifrom' of agents.crowd.health", "'uniform'?"),
        ("uniform: [1.1, 2]", "uniform: [2, 1.1]", "give the lower bound first", ""),
        ("uniform: [1.1, 2]", "uniform: [1.1]", "has 1 entries, and needs at least 2", ""),
        ("capital: {USDC: 5_000_000}", "capital: {}", "agents.bot has no 'capital'", ""),
        ("    health_factor: {uniform: [1.1, 2]}\n", "", "agents.crowd borrows USDC without an amount", ""),
        ("steps: 4", "steps: 4\nordering: prio", "ordering is 'prio', and may be 'fifo', 'shuffle' or", ""),
        ("steps: 4", "steps: 4\ngas: {base_fee: 20}", "gas.base_fee is '20' without a unit", ""),
        ("steps: 4", "steps: 4\nblocks: {one: [crwd, bot]}", "which is not an agent here", "did you mean 'crowd'?"),
        ("steps: 4", "steps: 4\nblocks: {one: [bot]}", "'crowd' is in no block", ""),
        ("steps: 4", "steps: 4\ncorrelations: {WETH/WBTC: 0.5}", "'WBTC' has no price process", ""),
        (
            "    count: 3",
            "    count: 3\n    behaviour: keep_band",
            "may be 'hold', 'band' or 'panic'",
            "did you mean 'band'?",
        ),
        (
            "    count: 3",
            "    count: 3\n    behaviour: {bnd: 1}",
            "behaviour.bnd is 'bnd', and may be",
            "did you mean 'band'?",
        ),
        (
            "agents:\n",
            "agents:\n  crash: {kind: oracle_shock, asset: WETH, at: 4, size: -5%}\n",
            "mine.yaml:11:10: 'crash' moves WETH at step 4, and the last is 3",
            "more steps",
        ),
        ("steps: 4", "steps: 4\npools: {NOVA: {price: 1, liquidity: {NOVA: 1}}}", "is not a pool name", "NOVA/USDC"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(old: str, new: str, message: str, hint: str) -> None:
    error = fault(changed(old, new))
    assert message in error.message
    assert hint in (error.hint or "")


def test_one_fault_of_a_value_with_several_forms_is_told_once() -> None:
    assert fault("name: x\nchain: etherium\n" + GOOD[GOOD.index("\nsteps:") + 1 :]).hint == "did you mean 'ethereum'?"
    assert "also" not in str(fault(changed("count: 3", "count: 3\n    behaviour: keep_band")).hint)
    assert "also" not in str(fault(changed("count: 3", "count: 3\n    behaviour: {bnd: 1}")).hint)


def test_prices_that_nothing_random_moves_cannot_be_correlated() -> None:
    both = changed("prices:\n", "correlations: {WETH/WBTC: 0.5}\nprices:\n  WBTC: {process: gbm, volatility: 60%}\n")
    error = fault(both)
    assert error.message.startswith("mine.yaml:8:27: 'WETH/WBTC' are correlated, but the price of")
    assert "then: {process: gbm, volatility: 80%}" in str(error.hint)
    load_text(both.replace("size: -25%", "size: -25%, then: {process: gbm, volatility: 80%}"))


@pytest.mark.parametrize(
    ("shock", "last"),
    [("at: 3, size: -5%", True), ("at: 1, steps: 3, size: -5%", False), ("at: 2, path: [9, 8]", True)],
)
def test_an_oracle_that_is_shocked_to_the_last_step_is_seen_and_one_step_later_is_refused(
    shock: str, last: bool
) -> None:
    text = changed("agents:\n", f"agents:\n  crash: {{kind: oracle_shock, asset: WETH, {shock}}}\n")
    if last:
        load_text(text)
        with pytest.raises(UsageError, match="and the last is 2"):
            load_text(text, steps=3)
    else:
        assert "moves WETH at step 4, and the last is 3" in fault(text).message


def test_no_agents_at_all_are_refused() -> None:
    text = GOOD[: GOOD.index("agents:\n")] + "agents: {}\n"
    assert (
        "agents has 0 entries, and needs at least 1" in fault(text.replace(", agents: {crowd: {count: 7}}", "")).message
    )


def test_everything_that_is_wrong_is_told_at_once() -> None:
    error = fault(changed("count: 3", "count: many").replace("steps: 4", "steps: 0"))
    assert "steps" in error.message
    assert "also mine.yaml:13:12: agents.crowd.count" in (error.hint or "")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("agents.crowd.count=many", "--set agents.crowd.count=many: agents.crowd.count is 'many', not a whole number"),
        ("agents.crowd.cuont=5", "--set agents.crowd.cuont=5: unknown key 'cuont' in agents.crowd"),
        ("agents.bot.capital.USDC=-1", "--set agents.bot.capital.USDC=-1: agents.bot.capital.USDC is -1"),
        ("prices.WETH.size=-120%", "--set prices.WETH.size=-120%: prices.WETH.size is -120%"),
        ("nothing.at.all=5", "--set nothing.at.all=5: unknown key 'nothing'"),
        (
            "agents.crowd.kind=liquidator",
            "--set agents.crowd.kind=liquidator: unknown key 'collateral' in agents.crowd",
        ),
        ("prices.WETH.process=gbm", "--set prices.WETH.process=gbm: unknown key 'at' in prices.WETH"),
        ("prices.WETH.process=ramp", "--set prices.WETH.process=ramp: 'steps' is missing from prices.WETH"),
        (
            "agents.crowd.health_factor.normal={mean: 2, deviation: 1}",
            "--set agents.crowd.health_factor.normal={mean: 2, deviation: 1}: agents.crowd.health_factor has 2 forms, "
            "'uniform' and 'normal', and may have one",
        ),
        ("agents.crowd.health_factor={a: 1, b: 2}", "--set agents.crowd.health_factor={a: 1, b: 2}: agents.crowd"),
    ],
)
def test_an_override_is_validated_and_its_error_names_it(option: str, message: str) -> None:
    assert fault(GOOD, overrides=[option]).message.startswith(message)


def test_an_option_that_leaves_keys_of_the_file_behind_says_how_to_replace_all() -> None:
    kind = fault(GOOD, overrides=["agents.crowd.kind=liquidator"])
    assert "replace all of it: --set 'agents.crowd={kind: liquidator, …}'" in str(kind.hint)
    form = fault(GOOD, overrides=["agents.crowd.health_factor.normal={mean: 2, deviation: 1}"])
    assert form.hint == "replace all of it: --set 'agents.crowd.health_factor={normal: {mean: 2, deviation: 1}}'"
    whole = "agents.crowd.health_factor={normal: {mean: 2, deviation: 1}}"
    assert load_text(GOOD, overrides=[whole]).config.agents["crowd"].health_factor.normal.mean == 2  # type: ignore[union-attr]


def test_an_option_is_not_blamed_for_what_the_file_has_wrong() -> None:
    text = changed("count: 3", "cuont: 3")
    assert fault(text, overrides=["agents.crowd.cash=20%"]).message.startswith("mine.yaml:13:5: unknown key 'cuont'")
    text = changed("steps: 4\n", "")
    assert fault(text, overrides=["agents.crowd.cash=20%"]).message.startswith("mine.yaml:1:1: 'steps' is missing")
    text = changed("uniform: [1.1, 2]", "uniform: [1.1, 2], normal: 3")
    assert fault(text, overrides=["agents.crowd.cash=20%"]).message.startswith("mine.yaml:16:20: agents.crowd.health")


def test_a_point_of_a_grid_is_named_by_its_option(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    for option in ("agents.crowd.count=many", "agents.crowd.kind=liquidator", "nothing.at.all=5"):
        with pytest.raises(BadScenario) as caught:
            load_scenario(path, grid=[option])
        assert caught.value.message.startswith(f"--grid {option}: ")


def test_an_error_of_the_build_names_the_options_it_is_about() -> None:
    options = ["agents.crowd.count=5", "agents.crowd.collateral=FOO", "agents.bot.capital.BAR=7"]
    loaded = load_text(GOOD, overrides=options)
    of_value = loaded.blame(BadScenario("agents.crowd: unknown asset of Aave V3 'FOO'", "there are: WETH"))
    assert of_value.message == "--set agents.crowd.collateral=FOO: agents.crowd: unknown asset of Aave V3 'FOO'"
    assert of_value.hint == "there are: WETH"
    of_key = loaded.blame(BadScenario("agents.bot: unknown address or contract 'BAR'"))
    assert of_key.message.startswith("--set agents.bot.capital.BAR=7: agents.bot")
    other = BadScenario("agents.crowd: the market is closed")
    assert loaded.blame(other) is other


def test_overrides_chain_and_steps_apply_in_that_order() -> None:
    assert load_text(GOOD).config.agents["crowd"].count == 3  # type: ignore[union-attr]
    on_base = load_text(GOOD, chain="base")
    assert (on_base.config.steps, on_base.config.agents["crowd"].count) == (6, 7)  # type: ignore[union-attr]
    both = load_text(GOOD, chain="base", steps=9, overrides=["agents.crowd.count=11"])
    assert (both.config.steps, both.config.agents["crowd"].count) == (9, 11)  # type: ignore[union-attr]
    assert load_text(GOOD, overrides=["chain=base"]).text == on_base.text
    assert load_text(both.text).config == both.config
    with pytest.raises(UsageError, match="given twice"):
        load_text(GOOD, chain="base", overrides=["chain=base"])


def test_the_text_of_a_scenario_says_nothing_of_the_seed() -> None:
    seeded = load_text(GOOD + "seed: 5\n")
    assert seeded.config.seed == 5
    assert seeded.text == load_text(GOOD).text


PRICES = "time,price\n0,2500\n3600,2400\n7200,2300\n10800,2350\n14400,2360\n"


def with_file(tmp_path: Path, content: str, name: str = "weth.csv") -> Path:
    (tmp_path / name).write_text(content, encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(changed("{process: step, at: 2, size: -25%}", f"{{process: path, file: {name}}}"), encoding="utf-8")
    return path


def test_prices_from_a_file_become_part_of_the_scenario(tmp_path: Path) -> None:
    path = with_file(tmp_path, PRICES)
    scenario = load_scenario(path)
    path.with_name("weth.csv").unlink()
    again = load_text(scenario.text)
    assert again.config == scenario.config

    from mayavi import Fork
    from mayavi.scenarios.build.build import build

    built = build(again.config, Fork.replica("ethereum"), 1)
    seen = []
    for _ in range(4):
        built.scheduler.tick()
        seen.append(built.world.price_usd("WETH"))
    assert seen == [2500.0, 2400.0, 2300.0, 2350.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("time,price\n0,2500\n7200,2300\n3600,2400\n", "line 4"),
        ("time,price\n0,2500\n3600,-5\n7200,1\n", "line 3"),
        ("time,price\n0,2500\n3600,nan\n7200,1\n", "line 3"),
        ("time,price\n0,2500\n3600,\n7200,1\n", "line 3"),
        ("when,cost\n0,2500\n3600,2400\n", "column"),
        ("", "weth.csv"),
    ],
)
def test_a_bad_file_of_prices_is_told_with_file_line_and_where_the_scenario_names_it(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(BadSeries) as caught:
        load_scenario(with_file(tmp_path, content))
    assert message in caught.value.message
    assert "mine.yaml:9:31" in caught.value.message


def test_a_gap_in_the_prices_is_an_error_unless_it_is_filled(tmp_path: Path) -> None:
    from mayavi import Fork
    from mayavi.scenarios.build.build import build

    gappy = "time,price\n" + "".join(f"{hour * 3600},2500\n" for hour in (0, 1, 2, 3, 40, 41, 42, 43))
    path = with_file(tmp_path, gappy)
    options = {"steps": 6}
    with pytest.raises(BadSeries, match="without a price"):
        build(load_scenario(path, **options).config, Fork.replica("ethereum"))
    build(load_scenario(path, **options, overrides=["prices.WETH.fill=hold"]).config, Fork.replica("ethereum"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = with_file(tmp_path, PRICES)
    (tmp_path / "weth.csv").unlink()
    with pytest.raises(UsageError, match="there is no file"):
        load_scenario(path)


@pytest.mark.parametrize("name", ["depeg_casade", "Depeg_cascade", "aave"])
def test_an_unknown_scenario_offers_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match="unknown scenario") as caught:
        load_scenario(name)
    assert "did you mean" in (caught.value.hint or "")


def test_a_file_without_a_yaml_suffix_or_a_folder_is_no_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "saver.py").write_text("", encoding="utf-8")
    (tmp_path / "mine").mkdir()
    (tmp_path / "morpho_depeg").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, message in (
        ("saver.py", "'saver.py' is not a scenario: the name of its file must end in .yaml or .yml"),
        ("mine", "'mine' is a folder, not a scenario"),
    ):
        with pytest.raises(UsageError) as caught:
            load_scenario(name)
        assert caught.value.message == message
        with pytest.raises(UsageError, match="not a scenario"):
            scenario_source(name)
    assert load_scenario("morpho_depeg").name == "morpho_depeg"


def test_an_error_in_a_scenario_survives_the_way_from_a_worker_process() -> None:
    import pickle

    error = fault(changed("count: 3", "count: many"))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, BadScenario)
    assert (again.message, again.hint) == (error.message, error.hint)


@pytest.mark.parametrize(
    ("header", "change", "message", "hint"),
    [
        ("time,close", "gap", "line 10: 9 hours without a price between line 9", "`fill: hold` or `fill: linear`"),
        ("time,close", "backwards", "runs from new to old", "`order: descending`"),
        ("time,answer", "", "an answer of a feed is an integer", "`decimals: 8`"),
        ("time,close", "blank", "line 3: there is no price", "`skip_blank: true`"),
        ("time,close", "twice", "is the time of line 2 too", "`keep_last: true`"),
        ("when,close", "", "has no column of times", "`time: …`"),
    ],
)
def test_what_is_wrong_with_a_file_of_prices_names_it_and_speaks_yaml(
    tmp_path: Path, header: str, change: str, message: str, hint: str
) -> None:
    hours = [*range(8), *range(16 if change == "gap" else 8, 60)]
    rows = [f"{1_700_000_000 + 3_600 * hour},{2_000 + hour}" for hour in hours]
    if change == "backwards":
        rows.reverse()
    if change in {"blank", "twice"}:
        rows[1] = f"{1_700_000_000 + 3_600 * (change == 'blank')},{'' if change == 'blank' else 5}"
    (tmp_path / "p.csv").write_text("\n".join([header, *rows]) + "\n")
    scenario = tmp_path / "mine.yaml"
    text = scenario_source("depeg_cascade")
    old = next(line for line in text.splitlines() if line.startswith("  WETH: {process"))
    scenario.write_text(text.replace(old, "  WETH: {process: path, file: p.csv}"))
    assert_refused(scenario, "mine.yaml:10:31: '", "p.csv'", message, hint=hint)
    mended = {
        "gap": "fill=hold",
        "backwards": "order=descending",
        "blank": "skip_blank=true",
        "twice": "keep_last=true",
    }
    setting = mended.get(change, "decimals=2" if "answer" in header else "time=when")
    assert "\n    order: " not in load_scenario(scenario, overrides=[f"prices.WETH.{setting}"]).text
