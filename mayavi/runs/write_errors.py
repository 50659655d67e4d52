"""Turn `OSError`s of writing into errors with a hint."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mayavi.errors import StoreError, StoreFull

ELSEWHERE = "name another place with `--store` or MAYAVI_STORE"


@contextmanager
def explain_write_errors(place: Path) -> Iterator[None]:
    """Raise `StoreFull` or `StoreError` if writing to `place` fails."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull(
                f"no space is left in '{place}'", f"free some, or {ELSEWHERE}; what was stored before is intact"
            ) from error
        why = error.strerror or str(error)
        raise StoreError(f"cannot write to '{place}': {why[:1].lower()}{why[1:]}", ELSEWHERE) from error
