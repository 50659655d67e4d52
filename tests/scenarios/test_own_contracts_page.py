"""The page on contracts of one's own works as written, from an empty folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RunMayavi
from tests.pages import page

PAGE = page("how-to/use-your-own-contracts.md")


@pytest.mark.slow
def test_its_files_run_from_an_empty_folder(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    files = {
        "Coin.vy": PAGE.only_block("vyper"),
        "Bank.sol": PAGE.only_block("solidity"),
        "saver.py": PAGE.only_block("python"),
        "bank.yaml": PAGE.blocks("yaml")[0],
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    store = ("--store", str(tmp_path / "runs.duckdb"))
    ran = run_mayavi("run", "bank.yaml", "--seed", "7", *store, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "15 transactions" in ran.stdout
    assert "failed" not in ran.stdout
    told = run_mayavi("report", "latest", *store, cwd=tmp_path)
    assert "In 15 actions, bank.deposits goes from 0 to 53.7." in told.stdout, told.stderr

    made = run_mayavi("new", "protocol", "bank", "--artifact", "Bank.sol", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["files"] == ["bank.py", "test_bank.py"]
    assert "def deposit(self, amount: int, *, sender: AddressLike) -> Receipt:" in (tmp_path / "bank.py").read_text()
