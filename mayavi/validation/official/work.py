"""Check of some files of official tests, in this process or in a worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from mayavi.validation.official.blockchain import check_blockchain_test
from mayavi.validation.official.findings import Findings
from mayavi.validation.official.transactions import check_state_test

File = tuple[str, bytes]
"""Name and content."""
BATCH_BYTES = 1 << 20
"""Content of the files that a worker is given at once; a larger file is given alone."""


def prepare_checks() -> Callable[[list[File]], Findings]:
    """Prepare a worker process."""
    return check_files


def check_files(files: list[File]) -> Findings:
    """Check every test of some files. What cannot be read is a difference."""
    found = Findings()
    for name, content in files:
        try:
            tests = json.loads(content)
            if not isinstance(tests, dict) or not tests:
                raise ValueError("there is no test in it")
        except (ValueError, RecursionError) as error:
            found.differs(name, f"the file cannot be read: {error}")
            found.counts["unreadable files"] += 1
            continue
        for test in tests:
            _check_test(f"{name}, {test}" if len(tests) > 1 else name, tests[test], found)
        found.counts["files"] += 1
    return found


def _check_test(name: str, test: object, found: Findings) -> None:
    try:
        if isinstance(test, dict) and "blocks" in test:
            check_blockchain_test(name, test, found)
        elif isinstance(test, dict) and "post" in test:
            check_state_test(name, test, found)
        else:
            found.differs(name, "it is neither a blockchain test nor a state test")
    except Exception as error:
        found.differs(name, f"the test cannot be read: {type(error).__name__}: {error}")


def in_batches(files: Iterable[File]) -> Iterator[list[File]]:
    """Group files, so that a worker is given enough to do."""
    batch: list[File] = []
    size = 0
    for file in files:
        if batch and size + len(file[1]) > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += len(file[1])
    if batch:
        yield batch
