"""Calls to the invented chain of `scripted_node.py`, and the values that it answers."""

from __future__ import annotations

from mayavi.evm.rpc.answers import quantity
from mayavi.evm.rpc.client import Call
from tests.evm.rpc.scripted_node import ALICE, POOL


def balance(address: bytes = ALICE) -> Call:
    return Call("eth_getBalance", ["0x" + address.hex(), "latest"], quantity)


def slots(count: int) -> list[Call]:
    return [Call("eth_getStorageAt", ["0x" + POOL.hex(), hex(slot), "latest"], quantity) for slot in range(count)]


def slot_values(count: int) -> list[int]:
    return [slot * 1000 + 1 for slot in range(count)]
