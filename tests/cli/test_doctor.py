"""`mayavi doctor` names what is missing or broken and the command that repairs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.cli.doctor import torch_finding


def findings(finished) -> dict[str, dict]:
    return {each["name"]: each for each in json.loads(finished.stdout)["findings"]}


@pytest.mark.slow(0.3)
def test_a_working_checkout_is_healthy(run_mayavi) -> None:
    finished = run_mayavi("doctor", "--json")
    assert finished.returncode == 0, finished.stdout
    assert json.loads(finished.stdout)["healthy"] is True
    found = findings(finished)
    for needed in ["Python", "contracts", "Vyper contracts"]:
        assert found[needed]["status"] == "ok", found[needed]
    assert found["kernel"]["status"] in {"ok", "stale"}  # stale while somebody works on its sources


@pytest.mark.slow(1)
def test_missing_contract_packages_are_named_with_the_command_that_installs_them(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("doctor", "--json", env={"MAYAVI_CONTRACTS": str(tmp_path)})
    assert finished.returncode == 1
    found = findings(finished)
    assert found["contracts"]["status"] == "missing"
    assert "@aave/core-v3@" in found["contracts"]["detail"]
    assert found["Vyper contracts"]["status"] == "missing"
    assert {found[name]["mend"] for name in ("contracts", "Vyper contracts")} == {"mayavi setup"}

    later = [found[name] for name in ("Aave V3.6", "Uniswap V4", "Pendle V2")]
    assert {(each["status"], each["mend"]) for each in later} == {("absent", "mayavi setup --all")}

    plain = run_mayavi("doctor", env={"MAYAVI_CONTRACTS": str(tmp_path)})
    assert plain.returncode == 1
    assert "mayavi setup" in plain.stdout


def test_tools_and_a_replica_that_are_absent_do_no_harm(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("doctor", "--json", env={"PATH": str(tmp_path), "MAYAVI_CACHE_DIR": str(tmp_path)})
    assert finished.returncode == 0
    found = findings(finished)
    assert {found[tool]["status"] for tool in ("cargo", "node")} == {"absent"}
    assert found["npm"]["status"] in {"absent", "ok"}  # the extra `contracts` brings one
    assert found["replica ethereum"]["mend"] == "mayavi world build ethereum"


@pytest.mark.slow(0.3)
def test_the_key_in_an_rpc_address_is_never_shown(run_mayavi) -> None:
    finished = run_mayavi("doctor", env={"MAYAVI_RPC_URL": "https://node.example/v2/very-secret-key"})
    assert "MAYAVI_RPC_URL" in finished.stdout
    assert "secret" not in finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("version", "status", "says"),
    [(None, "absent", "on a GPU need it"), ("2.9.1+cpu", "absent", "without CUDA"), ("2.9.1+cu130", "ok", "2.9.1")],
)
def test_a_torch_without_cuda_is_named_beside_a_gpu(version: str | None, status: str, says: str) -> None:
    found = torch_finding(version)
    assert found.status == status
    assert says in found.detail
    assert bool(found.mend) == (status != "ok")


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("address", ["garbage", "wss://node.example/v2/very-secret-key", "https://", "http://a b"])
def test_an_rpc_address_that_cannot_be_one_is_broken(run_mayavi, address: str) -> None:
    finished = run_mayavi("doctor", "--json", env={"MAYAVI_RPC_URL": address, "MAYAVI_RPC_URL_BASE": "http://node"})
    assert finished.returncode == 1
    found = findings(finished)
    assert found["RPC endpoint MAYAVI_RPC_URL"]["status"] == "broken"
    assert found["RPC endpoint"]["detail"] == "named by MAYAVI_RPC_URL_BASE"
    assert "secret" not in finished.stdout + finished.stderr


@pytest.mark.slow(1)
def test_a_damaged_replica_is_broken_until_it_is_built_again(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    assert run_mayavi("world", "build", env=here).returncode == 0
    (kept,) = (tmp_path / "replicas").iterdir()
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.write_bytes(content)
    finished = run_mayavi("doctor", "--json", env=here)
    assert finished.returncode == 1
    replica = findings(finished)["replica ethereum"]
    assert (replica["status"], replica["mend"]) == ("broken", "mayavi world build ethereum")
    assert "its checksum does not match" in replica["detail"]

    assert run_mayavi("world", "build", "ethereum", env=here).returncode == 0
    assert findings(run_mayavi("doctor", "--json", env=here))["replica ethereum"]["status"] == "ok"


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("place", ["file", "file/below", "folder"])
def test_a_cache_folder_that_cannot_be_used_is_broken(run_mayavi, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("a file where a folder should be")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "replicas").write_text("a file where a folder should be")
    finished = run_mayavi("doctor", "--json", env={"MAYAVI_CACHE_DIR": str(tmp_path / place)})
    assert finished.returncode == 1
    cache = findings(finished)["cache"]
    assert cache["status"] == "broken"
    assert "is a file where a folder should be" in cache["detail"]
    assert "MAYAVI_CACHE_DIR" in cache["mend"]


@pytest.mark.slow(0.3)
def test_a_cache_folder_nobody_made_yet_is_fine_and_is_not_made(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("doctor", "--json", env={"MAYAVI_CACHE_DIR": str(tmp_path / "a" / "b")})
    assert findings(finished)["cache"]["status"] == "ok"
    assert list(tmp_path.iterdir()) == []
