"""What `make bench` computes and prints. How fast anything is, is not tested: that depends on the machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.measuring.report import Effort, Quantity, Section, Target, timed
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.peer.conversation import creation_code, read_world
from benchmarks.peers import export
from benchmarks.replayed import played
from benchmarks.sim import every_block
from benchmarks.specialise_check import main as specialise_check
from benchmarks.subjects.position import BORROWER, USDC_E6, open_position
from benchmarks.sweep import main as sweep
from mayavi import Fork
from mayavi.evm.hashing import keccak256
from tests.benchmark_command import check_row, run_benchmarks
from tests.command_server import CommandServer


class TestTimings:
    def test_rounds_are_compared_with_their_neighbours(self) -> None:
        # The machine was ten times slower in the second round, for both: that is no difference between them.
        ours, theirs = Timing((1.1, 11.0, 1.1)), Timing((1.0, 10.0, 1.0))
        assert ours.ratio(theirs) == pytest.approx(1.1)
        assert ours.more(theirs) == pytest.approx(0.1)

    def test_spread_is_how_much_slower_the_slowest_round_was(self) -> None:
        timing = Timing((2.0, 3.0, 2.5))
        assert (timing.median, timing.fastest, timing.spread) == (2.5, 2.0, 0.5)

    def test_contestants_take_turns_and_the_order_turns_around(self) -> None:
        order: list[str] = []

        def contestant(name: str, seconds: float) -> float:
            order.append(name)
            return seconds

        timings = in_turns({"a": lambda: contestant("a", 1.0), "b": lambda: contestant("b", 2.0)}, rounds=3)
        assert order == ["a", "b", "b", "a", "a", "b"]
        assert timings == {"a": Timing((1.0,) * 3), "b": Timing((2.0,) * 3)}


class TestSpecialiseCheck:
    @pytest.mark.slow
    def test_replays_of_a_pool_and_of_an_environment_are_compared(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert specialise_check(["--env", "pool", "--env", "compound", "--steps", "1000", "--json"]) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(each["subject"], each["differences"], each["off"]) for each in found] == [
            ("pool", 0, []),
            ("compound", 0, []),
        ]
        assert all(each["steps"] >= 1_000 and each["hits"] > each["calls"] / 2 for each in found)

    def test_what_it_found_is_told_in_words(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert specialise_check(["--env", "compound", "--steps", "100"]) == 0
        assert capsys.readouterr().out.startswith("compound: 192 steps, ")
        with pytest.raises(SystemExit, match="2"):
            specialise_check(["--steps", "0"])


class TestSweep:
    @pytest.mark.slow(2)
    def test_runs_of_a_sweep_are_those_made_one_by_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert sweep(["--scenario", "vesting_cliff", "--runs", "2", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["runs"], found["differences"]) == (2, 0)
        assert sum(found["shares"].values()) == pytest.approx(1)
        with pytest.raises(SystemExit, match="2"):
            sweep(["--runs", "0"])


class TestEveryBlock:
    @pytest.mark.slow(2)
    def test_bots_that_act_block_by_block_are_timed_only_at_equal_outcomes(self) -> None:
        section = Section("sim", "bots")
        every_block(section, Effort(quick=True))
        assert [row.what.rpartition(" act ")[2] for row in section.rows] == ["block by block", "once a step"]
        (target,) = section.targets
        assert target.limit == Quantity(1.5, "×")
        assert target.measured.value > 0.3
        with pytest.raises(AssertionError, match="outcomes differ"):  # one a block: once a step is too rarely
            every_block(section, Effort(quick=True), most_a_block=1)


class TestTargets:
    @pytest.mark.parametrize(("measured", "met"), [(2.9, True), (3.0, True), (3.1, False)])
    def test_at_most(self, measured: float, met: bool) -> None:
        target = Target("more", Quantity(3, "µs"), Quantity(measured, "µs"))
        assert (target.met, target.wanted) == (met, "≤ 3.00 µs")

    @pytest.mark.parametrize(("measured", "met"), [(1.79, False), (1.8, True), (1.9, True)])
    def test_at_least(self, measured: float, met: bool) -> None:
        target = Target("gain", Quantity(1.8, "×"), Quantity(measured, "×"), at_most=False)
        assert (target.met, target.wanted) == (met, "≥ 1.800×")

    def test_figures_are_printed_with_their_unit(self) -> None:
        figures = [Quantity(0.051, "%"), Quantity(2_345.6, "Mgas/s"), Quantity(130_514, "gas"), Quantity(-0.5, "µs")]
        assert [str(figure) for figure in figures] == ["5.1 %", "2,346 Mgas/s", "130,514", "-0.50 µs"]

    def test_a_timing_becomes_a_row_in_the_unit_asked_for(self) -> None:
        row = timed("a call", Timing((2e-6, 3e-6, 4e-6)), "µs")
        assert {name: str(figure) for name, figure in row.figures.items()} == {
            "median": "3.00 µs",
            "fastest": "2.00 µs",
            "spread": "100.0 %",
        }

    def test_six_rounds_have_an_interval_of_the_median_and_five_do_not(self) -> None:
        rounds = (5e-3, 1e-3, 2e-3, 6e-3, 3e-3, 4e-3)
        assert Timing(rounds[:5]).median_interval is None
        figures = timed("a call", Timing(rounds), "ms").figures
        assert (str(figures["median_low"]), str(figures["median_high"])) == ("1.00 ms", "6.00 ms")


class TestPosition:
    def test_every_timed_call_succeeds_alike_on_both_forks(self) -> None:
        position = open_position()
        for call in position.calls:
            outputs = {fork.call(call.to, call.data, BORROWER) for fork in (position.frozen, position.written)}
            assert len(outputs) == 1, call.name
        balance_of = position.calls[0]
        assert balance_of.function.decode(position.frozen.call(balance_of.to, balance_of.data)) == 1_000 * USDC_E6


class TestWhatPeersAreGiven:
    def test_creation_code_leaves_exactly_the_code(self) -> None:
        fork = Fork.empty()
        code = bytes(range(1, 255)) * 80
        assert fork.code(fork.deploy(creation_code(code))) == code

    def test_the_world_survives_the_way_to_the_runner(self, tmp_path: Path) -> None:
        position = open_position()
        path = tmp_path / "world.json"
        path.write_text(json.dumps(export(position)), encoding="utf-8")
        world = read_world(path)
        fork = position.frozen
        assert (world.number, world.timestamp) == (fork.block_number, fork.timestamp)
        assert [call.data for call in world.calls.values()] == [call.data for call in position.calls]
        for address, account in world.accounts.items():
            assert (account.balance, account.nonce) == (fork.balance(address), fork.nonce(address))
            assert (account.code, account.code_hash) == (fork.code(address), keccak256(account.code))
            assert all(fork.storage(address, slot) == value for slot, value in account.slots.items())


class TestReplayed:
    @pytest.mark.slow
    def test_the_share_of_replayed_calls_is_that_of_a_cold_start(self) -> None:
        found = played("aave", 640)
        assert 0 < found["share"] < 1, "the first steps of a process are recorded"
        assert found["hits"] == round(found["share"] * found["calls"])
        assert found["memory"] > 0


class TestCommand:
    @pytest.mark.slow(0.3)
    def test_an_unknown_benchmark_is_refused_with_the_known_ones(self, repository: Path) -> None:
        finished = run_benchmarks(repository, "--only", "calls,tulips")
        assert finished.returncode == 2
        known = "startup, calls, batch, peers, codec, codegen, fleet, specialise, sim, rl, scenario_env, rwa, blocks"
        assert f"unknown benchmark 'tulips'; there are: {known}" in finished.stderr

    @pytest.mark.slow(0.4)
    @pytest.mark.parametrize("name", ["blocks", "witness"])
    def test_without_the_cases_the_replay_says_why_it_is_skipped(
        self, repository: Path, tmp_path: Path, name: str
    ) -> None:
        finished = run_benchmarks(repository, "--only", name, "--quick", "--json", MAYAVI_CASES=str(tmp_path))
        assert finished.returncode == 0, finished.stderr
        section = json.loads(finished.stdout)["sections"][name]
        assert "MAYAVI_CASES" in section["skipped"]
        assert section["targets"] == []

    @pytest.mark.slow(10)
    def test_a_quick_run_measures_every_part_that_needs_no_build(self, repository: Path) -> None:
        finished = run_benchmarks(repository, "--only", "startup,batch,codec,codegen,fleet", "--quick", "--json")
        assert finished.returncode == 0, finished.stderr
        found = json.loads(finished.stdout.splitlines()[-1])
        assert {"processor", "cores", "system"} <= found["machine"].keys()
        assert {"mayavi", "revm", "Python", "rustc", "eth-abi", "pyrevm", "verbs"} <= found["versions"].keys()
        assert found["quick"] is True
        assert list(found["sections"]) == ["startup", "batch", "codec", "codegen", "fleet"]
        for section in found["sections"].values():
            assert section["skipped"] is None
            assert section["rows"]
            for row in section["rows"]:
                check_row(row)
        promised = [each["what"] for section in found["sections"].values() for each in section["targets"]]
        assert {"mayavi demo", "mayavi --help", "what a row holds"} <= set(promised)

    @pytest.mark.slow(12)
    @pytest.mark.node
    def test_a_quick_run_of_simulations_compares_with_a_node_that_gives_the_same_rows(self, repository: Path) -> None:
        finished = run_benchmarks(repository, "--only", "sim", "--quick", "--json")
        assert finished.returncode == 0, finished.stderr
        section = json.loads(finished.stdout.splitlines()[-1])["sections"]["sim"]
        for row in section["rows"]:
            check_row(row)
        promised = [each["what"] for each in section["targets"]]
        assert [what.partition(",")[0] for what in promised[:2]] == [
            "mayavi run aave_borrower",
            "time outside the kernel",
        ]
        assert any(what.startswith("CPU of bots that act block by block against once a step") for what in promised)
        through = [row for row in section["rows"] if "hardhat node" in row["what"]]
        assert len(through) == 2 or any("hardhat is not installed" in note for note in section["notes"])
        assert all(row["against_us"]["value"] > 1 for row in through)

    @pytest.mark.slow(8)
    def test_a_quick_run_of_the_portfolio_measures_market_rows_backtest_and_memory(
        self, repository: Path, learning_server: CommandServer
    ) -> None:
        asked = ["--only", "rwa", "--quick", "--json"]  # in a fork, for it trains with Stable-Baselines3
        finished = learning_server.run(asked, os.environ, repository, module="benchmarks")
        assert finished.returncode == 0, finished.stderr
        section = json.loads(finished.stdout.splitlines()[-1])["sections"]["rwa"]
        assert section["skipped"] is None
        for row in section["rows"]:
            check_row(row)
        told = " ".join(row["what"] for row in section["rows"])
        for part in (
            "an hour of a path",
            "rows, steps alone",
            "the plain environment",
            "mayavi backtest rwa",
            "DummyVecEnv",
        ):
            assert part in told
        assert [each["wanted"] for each in section["targets"]] == ["≥ 500,000 /s", "≤ 60.00 s", "≥ 1.000×"]

    @pytest.mark.slow(3)
    def test_a_quick_run_of_the_service_compares_reads_with_a_bare_route(self, repository: Path) -> None:
        finished = run_benchmarks(repository, "--only", "api", "--quick", "--json")
        assert finished.returncode == 0, finished.stderr
        section = json.loads(finished.stdout.splitlines()[-1])["sections"]["api"]
        assert [row["what"].partition(",")[0] for row in section["rows"]] == [
            "GET /runs/{id}",
            "bare FastAPI route",
            "GET /runs?limit=50",
            "bare FastAPI route",
        ]
        assert [each["wanted"] for each in section["targets"]] == ["≥ 60.0 %", "≥ 60.0 %"]

    @pytest.mark.slow
    def test_people_get_tables_and_the_verdict_on_every_target(self, repository: Path) -> None:
        finished = run_benchmarks(repository, "--only", "fleet", "--quick")
        assert finished.returncode == 0, finished.stderr
        assert "a quick run" in finished.stdout
        line = next(line for line in finished.stdout.splitlines() if line.startswith("what a row holds"))
        assert line.split()[4:6] == ["≤", "64.00"]
        assert line.endswith(("met", "MISSED"))
        assert finished.stdout.splitlines()[-1].endswith("targets met")
