"""Distributions have the right shape, and members do not depend on the population's size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from pydantic import TypeAdapter

from mayavi.errors import BadArgument, BadInteger, UnknownName, UsageError
from mayavi.markets.distributions import (
    DISTRIBUTIONS,
    Choice,
    Constant,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
    distribution_of,
)
from mayavi.numerics.streams import stream
from mayavi.scenarios.build.distributions import distribution as distribution_from_model
from mayavi.scenarios.models.values.distributions import Distribution as ScenarioDistribution
from mayavi.settings.document import Document

N = 200_000
EVERY = [
    Constant(1.5),
    Uniform(1.05, 2.5),
    Normal(2.0, 0.3),
    Normal(2.0, 0.3, low=1.5, high=2.2),
    LogNormal(10_000.0, 1.2),
    LogNormal(10_000.0, 1.2, low=100.0, high=50_000.0),
    Pareto(1_000.0, 1.5),
    Pareto(1_000.0, 1.5, high=5_000.0),
    Choice(("holds", "panics", "repays"), (5, 1, 4)),
    Choice((1.2, 1.5)),
]


def drawn(distribution, count: int = N, seed: int = 1):
    return distribution.sample(count, stream(seed, "population"))


def test_uniform_values_fill_their_range_evenly() -> None:
    values = drawn(Uniform(1.05, 2.5))
    assert values.min() >= 1.05
    assert values.max() <= 2.5
    assert values.mean() == pytest.approx((1.05 + 2.5) / 2, abs=4 * 1.45 / math.sqrt(12 * N))
    counts, _ = np.histogram(values, bins=20, range=(1.05, 2.5))
    assert np.sum((counts - N / 20) ** 2 / (N / 20)) < 43.8  # chi-squared, 19 degrees of freedom, one in a thousand


def test_normal_values_have_mean_and_deviation() -> None:
    values = drawn(Normal(2.0, 0.3))
    assert values.mean() == pytest.approx(2.0, abs=4 * 0.3 / math.sqrt(N))
    assert values.std() == pytest.approx(0.3, rel=4 / math.sqrt(2 * N))
    assert np.mean(values < 1.7) == pytest.approx(0.158655, abs=4 * 0.366 / math.sqrt(N))


def test_a_value_on_a_bound_is_within_it() -> None:
    class Scripted:
        """Generator of three shocks; a fourth would mean that one of them was redrawn."""

        shocks = iter([-1.0, 0.0, 1.0])

        def standard_normal(self, count: int):
            return np.array([next(self.shocks) for _ in range(count)])

    assert Normal(2.0, 0.5, low=1.5, high=2.5).sample(3, Scripted()).tolist() == [1.5, 2.0, 2.5]


def test_a_bounded_normal_is_the_part_within_the_bounds() -> None:
    values = drawn(Normal(2.0, 0.3, low=1.5, high=2.2))
    everything = drawn(Normal(2.0, 0.3), count=3 * N, seed=2)
    within = everything[(everything >= 1.5) & (everything <= 2.2)]
    assert values.min() >= 1.5
    assert values.max() <= 2.2
    for quantile in (0.1, 0.5, 0.9):
        assert np.quantile(values, quantile) == pytest.approx(np.quantile(within, quantile), abs=0.004)


def test_lognormal_values_have_median_and_sigma() -> None:
    values = np.log(drawn(LogNormal(10_000.0, 1.2)))
    assert values.mean() == pytest.approx(math.log(10_000), abs=4 * 1.2 / math.sqrt(N))
    assert values.std() == pytest.approx(1.2, rel=4 / math.sqrt(2 * N))


def test_pareto_values_have_the_tail_they_should() -> None:
    values = drawn(Pareto(1_000.0, 1.5))
    assert values.min() >= 1_000.0
    for multiple in (2, 10, 100):
        share = multiple**-1.5
        error = 4 * math.sqrt(share * (1 - share) / N)
        assert np.mean(values > multiple * 1_000) == pytest.approx(share, abs=error)
    bounded = drawn(Pareto(1_000.0, 1.5, high=5_000.0))
    assert bounded.max() <= 5_000.0
    assert np.mean(bounded > 2_000) == pytest.approx((2**-1.5 - 5**-1.5) / (1 - 5**-1.5), abs=4 * 0.45 / math.sqrt(N))


def test_choices_come_as_often_as_their_weights_say() -> None:
    values = drawn(Choice(("holds", "panics", "repays", "never"), (5, 1, 4, 0)))
    shares = {name: float(np.mean(values == name)) for name in ("holds", "panics", "repays", "never")}
    for name, expected in (("holds", 0.5), ("panics", 0.1), ("repays", 0.4)):
        assert shares[name] == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / N))
    assert shares["never"] == 0
    assert np.mean(drawn(Choice((1.2, 1.5))) == 1.2) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(N))


def test_a_constant_is_the_same_for_all() -> None:
    assert drawn(Constant(1.5), count=3).tolist() == [1.5, 1.5, 1.5]


@pytest.mark.parametrize("distribution", EVERY, ids=repr)
def test_the_same_stream_gives_the_same_members_and_more_of_them_begin_alike(distribution) -> None:
    few, again, many = drawn(distribution, 100), drawn(distribution, 100), drawn(distribution, 5_000)
    assert few.tolist() == again.tolist() == many[:100].tolist()
    assert len(many) == 5_000
    assert len(drawn(distribution, 0)) == 0


@pytest.mark.parametrize("distribution", EVERY, ids=repr)
def test_another_seed_gives_others(distribution) -> None:
    assert (
        isinstance(distribution, Constant) or drawn(distribution, 100).tolist() != drawn(distribution, 100, 2).tolist()
    )


def test_no_global_generator_is_touched() -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tobytes()
    for distribution in EVERY:
        drawn(distribution, 100)
    assert np.random.get_state()[1].tobytes() == before


# -- as a scenario writes them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (1.5, Constant(1.5)),
        ({"constant": 2}, Constant(2)),
        ({"uniform": [1.05, 2.5]}, Uniform(1.05, 2.5)),
        ({"normal": [2, 0.3]}, Normal(2, 0.3)),
        ({"normal": {"mean": 2, "deviation": 0.3, "low": 1}}, Normal(2, 0.3, low=1)),
        ({"lognormal": {"median": 10_000, "sigma": 1.2}}, LogNormal(10_000, 1.2)),
        ({"pareto": [1_000, 1.5]}, Pareto(1_000, 1.5)),
        ({"choice": ["holds", "panics"]}, Choice(("holds", "panics"))),
        ({"choice": {"holds": 9, "panics": 1}}, Choice(("holds", "panics"), (9, 1))),
        ({"choice": {"options": ["holds", "panics"], "weights": [9, 1]}}, Choice(("holds", "panics"), (9, 1))),
        (Uniform(1, 2), Uniform(1, 2)),
    ],
)
def test_a_scenario_writes_them_as_it_likes(spec, expected) -> None:
    assert distribution_of(spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "1.5",
        "150%",
        "1_000",
        1.5,
        "{constant: 120%}",
        "{uniform: [105%, 2.5]}",
        "{uniform: [1_000, 20_000]}",
        "{normal: {mean: 2, deviation: 30%}}",
        "{normal: {mean: 2, deviation: 0.3, between: [1, 3]}}",
        "{lognormal: {median: 10_000, sigma: 1.2, between: [100, 1_000_000]}}",
        "{pareto: {minimum: 1_000, shape: 1.5}}",
        "{pareto: {minimum: 1_000, shape: 1.5, maximum: 50_000}}",
        "{choice: [1.2, 150%, 2]}",
        "{choice: {1.2: 3, 2.0: 1}}",
        "{choice: {120%: 75%, 200%: 25%}}",
    ],
)
def test_they_are_those_of_the_scenario_that_is_written_alike(spec: str | float) -> None:
    text = f"value: {spec}"
    model = TypeAdapter(ScenarioDistribution).validate_python(Document.parse(text, "scenario").data["value"])
    expected = distribution_from_model(model)
    assert distribution_of(spec) == expected
    assert distribution_of(yaml.safe_load(text)["value"]) == expected
    assert distribution_of(Document.parse(text, "scenario").data["value"]) == expected


def test_every_distribution_has_a_name() -> None:
    assert set(DISTRIBUTIONS) == {"constant", "uniform", "normal", "lognormal", "pareto", "choice"}


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Uniform(2.5, 1.05), BadArgument, "low '2.5' is above high '1.05'"),
        (lambda: Uniform(math.nan, 1.05), BadArgument, "low 'nan' is not a finite number"),
        (lambda: Normal(2.0, -1.0), BadArgument, "deviation '-1.0' is negative"),
        (lambda: Normal(2.0, 0.1, low=5, high=3), BadArgument, "low '5' is above high '3'"),
        (lambda: Normal(2.0, 0.1, low=5.0), BadArgument, "almost no value is within the bounds of Normal"),
        (lambda: Normal(2.0, 0.0, low=5.0), BadArgument, "almost no value is within the bounds of Normal"),
        (lambda: LogNormal(0.0, 1.0), BadArgument, "median '0.0' is not above zero"),
        (lambda: LogNormal(1.0, -1.0), BadArgument, "sigma '-1.0' is negative"),
        (lambda: LogNormal(1.0, 0.1, high=0.1), BadArgument, "almost no value is within the bounds of LogNormal"),
        (lambda: LogNormal(1.0, 0.1, high=0.0), BadArgument, "high '0.0' is not above zero"),
        (lambda: LogNormal(1.0, 0.1, low=3.0, high=2.0), BadArgument, "low '3.0' is above high '2.0'"),
        (lambda: Pareto(0.0, 1.0), BadArgument, "minimum '0.0' is not above zero"),
        (lambda: Pareto(1.0, 0.0), BadArgument, "alpha '0.0' is not above zero"),
        (lambda: Pareto(1.0, 1.0, high=0.5), BadArgument, "low '1.0' is above high '0.5'"),
        (lambda: Pareto(1.0, 1.0, high=1.0), BadArgument, "almost no value is below the bound '1.0'"),
        (lambda: Choice(()), BadArgument, "there is nothing to choose from"),
        (lambda: Choice((1, 2), (1,)), BadArgument, "2 options have 1 weights"),
        (lambda: Choice((1, 2), (1, -1)), BadArgument, "weight of 2 '-1' is negative"),
        (lambda: Choice((1, 2), (0, 0)), BadArgument, "all weights are zero"),
        (lambda: Constant(math.inf), BadArgument, "value 'inf' is not a finite number"),
        (lambda: Constant("many"), BadArgument, "value 'many' is not a number"),
        (lambda: drawn(Constant(1), -1), BadInteger, "count '-1' is less than 0"),
        (lambda: drawn(Constant(1), 1.5), BadInteger, "count '1.5' is not a whole number"),
        (lambda: distribution_of({"unifrom": [1, 2]}), UnknownName, "unknown distribution 'unifrom'"),
        (lambda: distribution_of({"normal": {"men": 1}}), UnknownName, "unknown parameter of normal 'men'"),
        (lambda: distribution_of({"uniform": [1]}), BadArgument, "'[1]' does not fit uniform"),
        (lambda: distribution_of({"uniform": [1, 2, 3]}), BadArgument, "'[1, 2, 3]' does not fit uniform"),
        (lambda: distribution_of({"uniform": [1, 2], "normal": [1, 2]}), BadArgument, "one name, not 2"),
        (lambda: distribution_of({}), BadArgument, "one name, not 0"),
        (lambda: distribution_of("many"), BadArgument, "'many' is neither a number nor a distribution"),
        (
            lambda: distribution_of({"uniform": ["few", "many"]}),
            BadArgument,
            "'few' is neither a number nor a distribution",
        ),
        (lambda: distribution_of("{unifrom: [1, 2]}"), UnknownName, "unknown distribution 'unifrom'"),
        (lambda: distribution_of("{uniform: [1, 2"), UsageError, "distribution:1:"),
        (lambda: distribution_of({"normal": {"mean": 1, "deviation": 1, "between": 3}}), BadArgument, "not two bounds"),
        (
            lambda: distribution_of({"normal": {"mean": 1, "deviation": 1, "between": [0, 2], "low": 0}}),
            BadArgument,
            "normal has 'between' and 'low' or 'high'",
        ),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(make, error, words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_an_unknown_distribution_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        distribution_of({"unifrom": [1, 2]})
    assert caught.value.hint.startswith("did you mean 'uniform'?")
