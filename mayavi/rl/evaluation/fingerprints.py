"""Identity of a trajectory: a hash of its start and its actions.

Nothing is random in an episode once it has begun, so two episodes with the same fingerprint are one trajectory played
twice. Only distinct trajectories count as evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.rows import RowsEnv

_NOT_STATE = {"clipped", "remembered", "observed"}
"""Columns that do not influence later steps."""


def states(env: RowsEnv[Any], rows: Sequence[int] | NDArray[np.intp]) -> list[bytes]:
    """Hash the whole state of each of `rows`: its chain and its columns."""
    places = np.asarray(rows, dtype=np.intp)
    if not len(places):
        return []
    head = f"{env.name} {env.world_digest}"
    parts: list[NDArray[np.uint8]] = []
    for name in sorted(env.columns):
        if name in _NOT_STATE:
            continue
        column = env.columns[name][places]
        if column.dtype.hasobject:  # integers beyond 64 bits
            column = np.array([hashlib.sha256(repr(value).encode()).digest() for value in column.tolist()], dtype="S32")
        head += f" {name} {column.dtype.str} {column.shape[1:]}"
        parts.append(np.ascontiguousarray(column).view(np.uint8).reshape(len(places), -1))
    known = np.ascontiguousarray(np.concatenate(parts, axis=1))
    start = hashlib.sha256(head.encode())
    found = []
    for chain, row in zip(env.identities(places), known, strict=True):
        whole = start.copy()
        whole.update(chain + row.tobytes())
        found.append(whole.digest())
    return found


def fingerprint(start: bytes, actions: NDArray[Any]) -> str:
    """Identity of a trajectory: 32 hexadecimal digits of the hash of its start and its actions."""
    exact = actions.astype("<i8" if actions.dtype.kind in "iub" else "<f8")
    whole = hashlib.sha256(start + f" {exact.shape} {exact.dtype.str} ".encode() + exact.tobytes())
    return whole.hexdigest()[:32]
