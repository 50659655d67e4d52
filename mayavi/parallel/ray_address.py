"""Connect to a Ray cluster, and fail within seconds if it is unreachable.

Ray itself retries a dead address for many minutes, so try a plain TCP connection first.
"""

from __future__ import annotations

import logging
import socket
from typing import Any

from mayavi.errors import WorkerError

_TIMEOUT_S = 5.0
_THIS_MACHINE = {"localhost", "127.0.0.1"}


def join_cluster(ray: Any, address: str) -> None:
    """Connect to the Ray cluster at `address`; `WorkerError` if none answers."""
    try:
        _check_listening(ray, address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise WorkerError(
            f"no Ray cluster answers at '{address}': {first[:1].lower()}{first[1:].rstrip('.')}",
            "`ray start --head` starts one and prints its address; `auto` finds the one on this machine",
        ) from None


def _check_listening(ray: Any, address: str) -> None:
    """Raise `OSError` if nothing listens at HOST:PORT; other forms of address are left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    # Local Ray nodes may listen only at the address that other machines use.
    hosts = [host, ray.util.get_node_ip_address()] if host in _THIS_MACHINE else [host.strip("[]")]
    for at, each in enumerate(hosts):
        try:
            socket.create_connection((each, int(port)), timeout=_TIMEOUT_S).close()
        except (OSError, OverflowError) as error:
            if at + 1 == len(hosts):
                raise OSError(getattr(error, "strerror", None) or str(error)) from None
        else:
            return
