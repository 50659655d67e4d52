"""Joining a Ray cluster, and an answer within seconds where none is there.

Ray itself asks an address at which nobody listens for many minutes; a connection tells it at once.
"""

from __future__ import annotations

import logging
import socket
from typing import Any

from mayavi.errors import WorkerError

_PATIENCE_S = 5.0
_THIS_MACHINE = {"localhost", "127.0.0.1"}


def join_cluster(ray: Any, address: str) -> None:
    """Connect `ray` to the cluster at `address`; `WorkerError` where none answers."""
    try:
        _listening(ray, address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise WorkerError(
            f"no Ray cluster answers at '{address}': {first[:1].lower()}{first[1:].rstrip('.')}",
            "`ray start --head` starts one and says its address; `auto` finds the one on this machine",
        ) from None


def _listening(ray: Any, address: str) -> None:
    """`OSError` where nobody listens at a HOST:PORT; what is written otherwise is Ray's to understand."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    # Ray takes this machine by the address that others know, and its nodes may listen there alone.
    hosts = [host, ray.util.get_node_ip_address()] if host in _THIS_MACHINE else [host.strip("[]")]
    for at, each in enumerate(hosts):
        try:
            socket.create_connection((each, int(port)), timeout=_PATIENCE_S).close()
        except (OSError, OverflowError) as error:
            if at + 1 == len(hosts):
                raise OSError(getattr(error, "strerror", None) or str(error)) from None
        else:
            return
