"""The cache of node answers: what is kept comes back exactly, what is damaged does not come back at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.evm.rpc.block_cache import Account, BlockCache
from mayavi.evm.rpc.cache import FILE_NAME, SCHEMA_VERSION, Cache, CacheError, default_cache_dir

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
POOL = bytes.fromhex("9001000000000000000000000000000000000002")
BLOCK = bytes.fromhex("b1" * 32)
OTHER_BLOCK = bytes.fromhex("b2" * 32)
CODE = bytes(range(256)) * 90


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache.open(tmp_path / "cache") as opened:
        yield opened


def block_of(cache: Cache, chain_id: int = 1, block_hash: bytes = BLOCK) -> BlockCache:
    cache.remember_header(chain_id, block_hash, {"number": "0x1"})
    return BlockCache(cache, chain_id, block_hash)


def edit(cache: Cache, statement: str, *values: object) -> None:
    """Change the file behind the cache's back, as a failing disk would."""
    assert cache.path is not None
    connection = sqlite3.connect(cache.path)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


words = st.integers(min_value=0, max_value=2**256 - 1)
addresses = st.binary(min_size=20, max_size=20)
accounts = st.tuples(words, st.integers(min_value=0, max_value=2**64 - 1), st.binary(max_size=300))


@given(
    st.dictionaries(addresses, accounts, max_size=8),
    st.dictionaries(st.tuples(addresses, words), words, max_size=20),
    st.dictionaries(st.integers(min_value=0, max_value=2**63 - 1), st.binary(min_size=32, max_size=32), max_size=5),
)
def test_everything_kept_comes_back_exactly(
    kept_accounts: dict[bytes, Account],
    kept_slots: dict[tuple[bytes, int], int],
    kept_hashes: dict[int, bytes],
) -> None:
    with Cache.in_memory() as cache:
        block = block_of(cache)
        block.store(kept_accounts, kept_slots, kept_hashes)
        assert block.everything() == (kept_accounts, kept_slots, kept_hashes)
        assert block.accounts(kept_accounts) == kept_accounts
        assert block.slots(kept_slots) == kept_slots
        assert block.block_hashes(kept_hashes) == kept_hashes


def test_what_was_never_kept_is_absent(cache: Cache) -> None:
    block = block_of(cache)
    block.store({ALICE: (1, 2, b"")}, {(POOL, 5): 6}, {})
    assert block.accounts([POOL]) == {}
    assert block.slots([(POOL, 6), (ALICE, 5)]) == {}
    assert BlockCache(cache, 1, OTHER_BLOCK).everything() == ({}, {}, {})


def test_state_belongs_to_one_block_of_one_chain(cache: Cache) -> None:
    for chain_id, block_hash, value in ((1, BLOCK, 10), (1, OTHER_BLOCK, 20), (5, BLOCK, 30)):
        block_of(cache, chain_id, block_hash).store({}, {(POOL, 0): value}, {})
    assert BlockCache(cache, 1, BLOCK).slots([(POOL, 0)]) == {(POOL, 0): 10}
    assert BlockCache(cache, 1, OTHER_BLOCK).slots([(POOL, 0)]) == {(POOL, 0): 20}
    assert BlockCache(cache, 5, BLOCK).slots([(POOL, 0)]) == {(POOL, 0): 30}


def test_code_is_stored_once_whatever_the_number_of_accounts(cache: Cache) -> None:
    everyone = {bytes([number]) * 20: (number, 1, CODE) for number in range(50)}
    block_of(cache).store(everyone, {}, {})
    block_of(cache, 1, OTHER_BLOCK).store(everyone, {}, {})
    assert cache.one("SELECT count(*), sum(length(code)) FROM code") == (1, len(CODE))
    assert BlockCache(cache, 1, OTHER_BLOCK).accounts(everyone) == everyone


def test_nodes_blocks_and_headers_are_kept(tmp_path: Path) -> None:
    with Cache.open(tmp_path) as cache:
        assert cache.chain_of(b"url") is None
        assert cache.canonical(1, 19_000_000) is None
        assert cache.header(1, BLOCK) is None
        cache.remember_chain(b"url", 1, 1000.5)
        cache.remember_canonical(1, 19_000_000, BLOCK, 2000.5)
        cache.remember_header(1, BLOCK, {"number": "0x121eac0"})
    with Cache.open(tmp_path) as cache:
        assert cache.chain_of(b"url") == (1, 1000.5)
        assert cache.canonical(1, 19_000_000) == (BLOCK, 2000.5)
        assert cache.canonical(5, 19_000_000) is None
        assert cache.header(1, BLOCK) == {"number": "0x121eac0"}
        cache.forget_canonical(1, 19_000_000)
        assert cache.canonical(1, 19_000_000) is None


# Damage


def test_a_damaged_row_is_absent_not_wrong(cache: Cache) -> None:
    block = block_of(cache)
    block.store({ALICE: (1, 2, b""), POOL: (3, 4, CODE)}, {(POOL, 1): 11, (POOL, 2): 22}, {7: b"\7" * 32})
    cache.remember_canonical(1, 5, BLOCK, 1.0)
    edit(cache, "UPDATE slots SET value = zeroblob(36) WHERE slot = ?", (1).to_bytes(32, "big"))
    edit(cache, "UPDATE accounts SET state = zeroblob(76) WHERE address = ?", ALICE)
    edit(cache, "UPDATE ancestors SET hash = 'text'")
    edit(cache, "UPDATE canonical SET hash = zeroblob(36)")
    assert block.slots([(POOL, 1), (POOL, 2)]) == {(POOL, 2): 22}
    assert block.accounts([ALICE, POOL]) == {POOL: (3, 4, CODE)}
    assert block.block_hashes([7]) == {}
    assert cache.canonical(1, 5) is None


def test_a_row_moved_to_another_key_is_absent(cache: Cache) -> None:
    block = block_of(cache)
    block.store({}, {(POOL, 1): 11}, {})
    edit(cache, "UPDATE slots SET slot = ?", (2).to_bytes(32, "big"))
    assert block.slots([(POOL, 2)]) == {}


def test_an_account_whose_code_is_damaged_or_gone_is_fetched_again(cache: Cache) -> None:
    block = block_of(cache)
    block.store({POOL: (3, 4, CODE)}, {}, {})
    edit(cache, "UPDATE code SET code = ?", CODE[:-1] + b"\0")
    assert block.accounts([POOL]) == {}
    block.store({POOL: (3, 4, CODE)}, {}, {})
    assert block.accounts([POOL]) == {POOL: (3, 4, CODE)}
    edit(cache, "DELETE FROM code")
    assert block.accounts([POOL]) == {}


def test_a_header_that_is_no_json_is_absent(cache: Cache) -> None:
    cache.remember_header(1, BLOCK, {"number": "0x1"})
    edit(cache, "UPDATE blocks SET header = '{\"number\":'")
    assert cache.header(1, BLOCK) is None


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be looked at" * 50, b"SQLite format 3\0xx"]
)
def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(CacheError, match=f"{FILE_NAME}' is damaged") as caught:
        Cache.open(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "delete it" in str(caught.value.hint)
    assert (tmp_path / FILE_NAME).read_bytes() == content, "nothing is thrown away without being asked"


@pytest.mark.slow(0.3)
def test_a_file_with_overwritten_pages_never_gives_a_wrong_value(tmp_path: Path) -> None:
    slots = {(POOL, number): number * 7 for number in range(2000)}
    with Cache.open(tmp_path) as cache:
        block_of(cache).store({}, slots, {})
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    for start in range(4096, len(whole) - 4096, len(whole) // 13):
        path.write_bytes(whole[:start] + b"\xa5" * 700 + whole[start + 700 :])
        found: dict[tuple[bytes, int], int] = {}
        with suppress(CacheError), Cache.open(tmp_path) as cache:
            found = BlockCache(cache, 1, BLOCK).slots(slots)
        assert all(slots[key] == value for key, value in found.items())


def test_a_cache_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with Cache.open(tmp_path) as cache:
        edit(cache, "INSERT INTO nodes VALUES ('x', 1, 1.0)")
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(
        CacheError, match=rf"has version {SCHEMA_VERSION + 1}, this mayavi knows {SCHEMA_VERSION}"
    ) as caught:
        Cache.open(tmp_path)
    assert "newer mayavi" in str(caught.value.hint)


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("CREATE TABLE cookies (name TEXT)")
    connection.close()
    content = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(CacheError, match="no mayavi cache"):
        Cache.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot be opened") as caught:
        Cache.open(tmp_path / "file" / "cache")
    assert "MAYAVI_CACHE_DIR" in str(caught.value.hint)


def test_what_cannot_be_written_is_dropped_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mayavi.evm.rpc.cache._BUSY_MS", 1)
    with Cache.open(tmp_path) as cache:
        block = block_of(cache)
        holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        block.store({}, {(POOL, 1): 11}, {})
        block.store({}, {(POOL, 1): 11}, {})
        assert block.slots([(POOL, 1)]) == {}, "reading goes on while another process writes"
        holder.execute("ROLLBACK")
        holder.close()
        block.store({}, {(POOL, 1): 11}, {})
        assert block.slots([(POOL, 1)]) == {(POOL, 1): 11}
    assert [record.levelname for record in caplog.records] == ["WARNING"]


# Places


def test_the_directory_is_private(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "new") as cache:
        block_of(cache).store({}, {(POOL, 1): 11}, {})
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
        for file in (tmp_path / "new").iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_the_default_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "named"))
    assert default_cache_dir() == tmp_path / "named"
    monkeypatch.setenv("MAYAVI_CACHE_DIR", "")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "mayavi"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / ".cache" / "mayavi"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_cache_dir() == tmp_path / "Library" / "Caches" / "mayavi"


# Several processes

_WRITER = """
import sys
from pathlib import Path
from mayavi.evm.rpc.block_cache import BlockCache
from mayavi.evm.rpc.cache import Cache
folder, writer, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cache = Cache.open(folder)
cache.remember_header(1, b"\\xb1" * 32, {"number": "0x1"})
block = BlockCache(cache, 1, b"\\xb1" * 32)
address = bytes([writer]) * 20
for number in range(rounds):
    account = (number, number, bytes([writer]) * 20_000)
    block.store({address: account}, {(address, number * 100 + k): number for k in range(100)}, {})
    print(number, flush=True)
"""


def writer(folder: Path, number: int, rounds: int) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    arguments = [sys.executable, "-c", _WRITER, str(folder), str(number), str(rounds)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow(0.5)
def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    rounds = 20
    writers = [writer(tmp_path, number, rounds) for number in range(1, 5)]
    for process in writers:
        _, errors = process.communicate(timeout=600)
        assert (process.returncode, errors) == (0, "")
    with Cache.open(tmp_path) as cache:
        accounts, slots, _ = BlockCache(cache, 1, BLOCK).everything()
    assert accounts == {bytes([n]) * 20: (rounds - 1, rounds - 1, bytes([n]) * 20_000) for n in range(1, 5)}
    assert slots == {(bytes([n]) * 20, k): k // 100 for n in range(1, 5) for k in range(rounds * 100)}


@pytest.mark.parametrize("seen_before_the_kill", [1, 7, 23])
def test_a_process_killed_while_writing_leaves_every_finished_write(tmp_path: Path, seen_before_the_kill: int) -> None:
    process = writer(tmp_path, 1, 1_000_000)
    assert process.stdout is not None
    finished = -1
    for line in process.stdout:
        finished = int(line)
        if finished >= seen_before_the_kill:
            break
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=600)
    finished = max([finished, *(int(line) for line in rest.split("\n")[:-1] if line)])
    assert process.returncode == -signal.SIGKILL
    with Cache.open(tmp_path) as cache:
        _, slots, _ = BlockCache(cache, 1, BLOCK).everything()
        assert cache.one("PRAGMA integrity_check") == ("ok",)
        rounds = len(slots) // 100
        assert rounds >= finished + 1
        assert slots == {(b"\1" * 20, k): k // 100 for k in range(rounds * 100)}, "no write is there by half"
        BlockCache(cache, 1, BLOCK).store({}, {(POOL, 0): 1}, {})
        assert BlockCache(cache, 1, BLOCK).slots([(POOL, 0)]) == {(POOL, 0): 1}


@pytest.mark.slow(1)
def test_a_cache_that_several_make_at_the_same_moment_is_never_taken_for_another_database(tmp_path: Path) -> None:
    def opened(folder: Path, together: threading.Barrier) -> None:
        together.wait()
        Cache.open(folder).close()

    with ThreadPoolExecutor(8) as pool:
        for number in range(120):
            together = threading.Barrier(8)
            for done in [pool.submit(opened, tmp_path / str(number), together) for _ in range(8)]:
                done.result()
