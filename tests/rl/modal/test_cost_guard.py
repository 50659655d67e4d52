"""Maximum cost of a training on Modal: its figures, and errors that say what to change."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import CostCeiling, UnknownName, UsageError
from mayavi.rl.modal.cost_guard import STARTUP_S, Machine, ceiling_usd, check_cost
from mayavi.rl.training.backend import chosen_backend


def test_the_default_is_four_hours_of_an_a10g_with_its_cores_and_memory() -> None:
    machine = Machine.from_environment({})
    # 0.000306 + 4 × 0.0000131 + 16 × 0.00000222 dollars a second, for 14,400 seconds
    assert machine.worst_case_usd == Decimal("0.000306") * 14_400 + Decimal("0.0000879200") * 14_400
    assert machine.describe() == (
        "at most $5.68: A10G $1.1016 + 4 cores $0.1886 + 16 GiB $0.1279 = $1.4181 an hour, for 14,400 s"
    )
    check_cost(machine, ceiling_usd({}))  # below ten dollars
    assert machine == Machine()


def test_all_attempts_and_their_starts_fit_into_the_timeout() -> None:
    for attempts in (1, 2, 3):
        machine = Machine.from_environment({"MAYAVI_MODAL_ATTEMPTS": str(attempts)})
        assert attempts * (machine.attempt_s + STARTUP_S) <= machine.timeout_s
        assert machine.worst_case_usd == Machine().worst_case_usd  # a retry spends no more


def test_above_the_ceiling_it_is_refused_with_the_figures_and_what_fits() -> None:
    machine = Machine.from_environment({"MAYAVI_MODAL_GPU": "h100"})
    with pytest.raises(CostCeiling) as error:
        check_cost(machine, Decimal(10))
    assert "could cost more than $10.00: at most $17.07: H100 $3.9492" in error.value.message
    hint = str(error.value.hint)
    assert "MAYAVI_MODAL_COST_CEIL_USD to 17.07" in hint
    check_cost(machine, Decimal("17.07"))  # cents are rounded up: the suggested ceiling suffices
    assert "MAYAVI_MODAL_GPU=L40S fits" in hint
    fits = int(hint.partition("MAYAVI_MODAL_TIMEOUT_S=")[2].partition(" ")[0])
    variables = {"MAYAVI_MODAL_GPU": "H100", "MAYAVI_MODAL_TIMEOUT_S": str(fits)}
    check_cost(Machine.from_environment(variables), Decimal(10))
    with pytest.raises(CostCeiling):
        check_cost(Machine.from_environment(variables | {"MAYAVI_MODAL_TIMEOUT_S": str(fits + 10)}), Decimal(10))


def test_a_ceiling_of_zero_allows_nothing_and_exactly_the_cost_is_allowed() -> None:
    with pytest.raises(CostCeiling):
        check_cost(Machine(), ceiling_usd({"MAYAVI_MODAL_COST_CEIL_USD": "0"}))
    check_cost(Machine(), Machine().worst_case_usd)


@pytest.mark.parametrize("written", ["-1", "ten", "nan", "inf", "1e99", "$10", "0x10"])
def test_a_ceiling_that_is_no_amount_of_dollars(written: str) -> None:
    with pytest.raises(UsageError, match="MAYAVI_MODAL_COST_CEIL_USD is ") as error:
        ceiling_usd({"MAYAVI_MODAL_COST_CEIL_USD": written})
    assert f"'{written}'" in error.value.message


def test_prices_are_settings() -> None:
    variables = {
        "MAYAVI_MODAL_GPU": "none",
        "MAYAVI_MODAL_CPU_CORES": "2",
        "MAYAVI_MODAL_MEMORY_GIB": "8",
        "MAYAVI_MODAL_CPU_USD_PER_CORE_HOUR": "0.5",
        "MAYAVI_MODAL_MEMORY_USD_PER_GIB_HOUR": "0.25",
        "MAYAVI_MODAL_TIMEOUT_S": "7200",
    }
    assert Machine.from_environment(variables).worst_case_usd == 6
    assert Machine.from_environment(variables | {"MAYAVI_MODAL_GPU_USD_PER_HOUR": "2"}).worst_case_usd == 10


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"MAYAVI_MODAL_GPU": "B200"}, "the price of a B200 is not known"),
        ({"MAYAVI_MODAL_GPU_USD_PER_HOUR": "-2"}, "MAYAVI_MODAL_GPU_USD_PER_HOUR is '-2'"),
        ({"MAYAVI_MODAL_TIMEOUT_S": "60"}, "MAYAVI_MODAL_TIMEOUT_S is 60"),
        ({"MAYAVI_MODAL_TIMEOUT_S": "soon"}, "MAYAVI_MODAL_TIMEOUT_S is soon"),
        ({"MAYAVI_MODAL_TIMEOUT_S": "²"}, "MAYAVI_MODAL_TIMEOUT_S is ²"),
        ({"MAYAVI_MODAL_ATTEMPTS": "0"}, "MAYAVI_MODAL_ATTEMPTS is 0"),
        ({"MAYAVI_MODAL_CPU_CORES": "0"}, "MAYAVI_MODAL_CPU_CORES is '0'"),
        ({"MAYAVI_MODAL_MEMORY_GIB": "much"}, "MAYAVI_MODAL_MEMORY_GIB is 'much'"),
    ],
)
def test_settings_that_make_no_machine(variables: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        Machine.from_environment(variables)


def test_an_unknown_gpu_has_near_names() -> None:
    with pytest.raises(UnknownName, match="unknown GPU 'A10H'") as error:
        Machine.from_environment({"MAYAVI_MODAL_GPU": "A10H"})
    assert "did you mean 'A10" in str(error.value.hint)


def test_the_option_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAYAVI_RL_BACKEND", raising=False)
    assert chosen_backend() == "local"
    monkeypatch.setenv("MAYAVI_RL_BACKEND", "local")
    assert chosen_backend("modal") == "modal"
    monkeypatch.setenv("MAYAVI_RL_BACKEND", "modal")
    assert (chosen_backend(), chosen_backend("local")) == ("modal", "local")
    monkeypatch.setenv("MAYAVI_RL_BACKEND", "model")
    with pytest.raises(UnknownName, match="unknown backend in MAYAVI_RL_BACKEND 'model'") as error:
        chosen_backend()
    assert "did you mean 'modal'?" in str(error.value.hint)
    with pytest.raises(UnknownName, match="unknown remote 'modla'") as error:
        chosen_backend("modla")
    assert "did you mean 'modal'?" in str(error.value.hint)


def test_the_command_tells_the_worst_case_and_refuses_before_anything_else(run_mayavi) -> None:
    options = ("train", "--env", "aave", "--framework", "sb3", "--remote", "modal")
    refused = run_mayavi(*options, env={"MAYAVI_MODAL_COST_CEIL_USD": "5"})
    assert refused.returncode == 2
    assert "at most $5.68" in refused.stdout
    assert "could cost more than $5.00" in refused.stderr
    assert "Traceback" not in refused.stderr
