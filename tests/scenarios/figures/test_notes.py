"""Warnings of a run: one line for each kind, with the number of cases and their names."""

from __future__ import annotations

from mayavi.scenarios.figures.notes import notes, notes_of_many

TOLD = "from the oracle's price: what is sold there is not sold at the price of the shock; an arbitrageur"


def test_warnings_of_one_kind_become_one_line_with_count_and_names() -> None:
    (pools,) = notes({"pool_gap.A/B.500": 0.2, "pool_gap.C/D.3000": -0.07, "pool_gap.E/F.100": 0.01})
    assert pools.startswith(f"2 pools: A/B.500 ends +20.0 % and C/D.3000 ends −7.0 % {TOLD}")
    assert pools.count("an arbitrageur") == 1
    (agents,) = notes({f"never_opened.{name}": 1.0 for name in ("ann", "bob", "cem")})
    assert agents == "3 agents: ann, bob and cem never opened their loans; `mayavi runs explain` shows why"
    (sellers,) = notes({"sold.ann.NOVA": 0.0, "sold.bob.NOVA": 0.0})
    assert sellers.startswith("2 sellers: ann and bob sold no NOVA: none was released in time")


def test_many_names_are_counted() -> None:
    (agents,) = notes({f"never_opened.agent-{index}": 1.0 for index in range(200)})
    assert agents.startswith("200 agents: agent-0, agent-1, agent-2, agent-3, agent-4 and 195 more never opened their")


def test_a_single_warning_stays_as_it_is_and_other_kinds_keep_their_own_line() -> None:
    pool, agent = notes({"pool_gap.A/B.500": 0.2, "never_opened.bob": 1.0})
    assert pool.startswith(f"A/B.500 ends +20.0 % {TOLD}")
    assert agent == "bob never opened its loan; `mayavi runs explain` shows why"


def test_groups_with_the_same_limit_share_the_sentence() -> None:
    kpis = {}
    for name, count in (("crowd", 100.0), ("whales", 5.0)):
        kpis |= {f"accounts_at_limit.{name}": 2.0, f"accounts.{name}": count, f"health_factor_limit.{name}": 1.031}
    (text,) = notes(kpis)
    assert text.startswith("2 groups of borrowers: 2 of 100 accounts of crowd and 2 of 5 accounts of whales start at")
    assert text.count("the market does not lend that much") == 1


def test_a_sweep_tells_a_kind_once_even_if_its_runs_differ_in_names() -> None:
    runs = [{"pool_gap.A/B.500": 0.2, "pool_gap.C/D.500": 0.01}, {"pool_gap.A/B.500": 0.0, "pool_gap.C/D.500": -0.3}]
    (text,) = notes_of_many([*runs, {}])
    assert text.startswith("in 2 of 3 runs, with different details; in the first of them: A/B.500 ends +20.0 %")


def test_numbers_in_which_runs_differ_are_ranges_not_those_of_the_first() -> None:
    runs = [{"jump.WETH": -share, "bad_debt": 1.0} for share in (0.3, 0.45, 0.3)]
    (text,) = notes_of_many([*runs, {}])
    assert text.startswith("in 3 of 4 runs: WETH jumps by −45.0 % to −30.0 % at once, as")
    (same,) = notes_of_many([runs[0], runs[2]])
    assert same.startswith("in 2 of 2 runs: WETH jumps by −30.0 % at once, as")
