"""`mayavi keys`: create, list and revoke keys without a running service."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

KEY = re.compile(r"mvk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")


def test_keys_are_created_listed_and_revoked(run_mayavi, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "service"))
    plain = run_mayavi("keys", "create", "analyst", *data)
    assert plain.returncode == 0, plain.stderr
    (text,) = KEY.findall(plain.stdout)
    assert "shown this once" in plain.stdout

    made = json.loads(
        run_mayavi("keys", "create", "robot", "--scope", "full", "--concurrent-jobs", "3", *data, "--json").stdout
    )
    assert KEY.fullmatch(made["key"])
    assert (made["name"], made["scope"], made["concurrent_jobs"], made["revoked_at"]) == ("robot", "full", 3, None)

    revoked = run_mayavi("keys", "revoke", made["key_id"], *data)
    assert revoked.returncode == 0
    assert made["key_id"] in revoked.stdout

    listed = json.loads(run_mayavi("keys", "list", *data, "--json").stdout)
    by_name = {key["name"]: key for key in listed["keys"]}
    assert by_name["analyst"]["scope"] == "read"
    assert by_name["analyst"]["last_used_at"] is None
    assert by_name["robot"]["revoked_at"].endswith("Z")

    table = run_mayavi("keys", "list", *data).stdout
    assert "analyst" in table
    assert "revoked 20" in table
    assert text not in table
    assert "never" in table


@pytest.mark.slow(0.3)
def test_mistakes_are_explained(run_mayavi, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "service"))
    nowhere = run_mayavi("keys", "list", *data)
    assert nowhere.returncode == 2
    assert "has no service" in nowhere.stderr
    assert not (tmp_path / "service").exists()

    for name in ("", "a\nb", "x" * 81):
        refused = run_mayavi("keys", "create", name, *data)
        assert refused.returncode == 2
        assert "the name" in refused.stderr

    assert run_mayavi("keys", "create", "a", "--scope", "root", *data).returncode == 2
    key = json.loads(run_mayavi("keys", "create", "a", *data, "--json").stdout)
    unknown = run_mayavi("keys", "revoke", "nobody", *data, "--json")
    assert unknown.returncode == 2
    assert json.loads(unknown.stdout)["error"] == "unknown key 'nobody'"
    assert run_mayavi("keys", "revoke", key["key_id"], *data).returncode == 0
    again = run_mayavi("keys", "revoke", key["key_id"], *data)
    assert again.returncode == 2
    assert "revoked already" in again.stderr


def test_data_of_a_newer_version_are_left_alone(run_mayavi, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "service.sqlite") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    refused = run_mayavi("keys", "list", "--data", str(tmp_path))
    assert refused.returncode == 1
    assert "update Mayavi" in refused.stderr
