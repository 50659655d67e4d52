"""Access lists: accounts and slots to prefetch before a call, as far as the node reports them."""

from __future__ import annotations

from collections.abc import Callable

from mayavi.errors import RpcHttpError
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.refusals import NodeRefused

AccessList = list[tuple[bytes, list[int]]]

_UNSUPPORTED_CODES = {-32600, -32601, -32602, -32004}


class AccessLists:
    """Client of `eth_createAccessList` and `debug_traceCall`; skips methods that the node lacks."""

    def __init__(self, client: RpcClient, block: str) -> None:
        self._client = client
        self._block = block
        self._lacking: set[str] = set()

    def of(self, sender: bytes, to: bytes | None, calldata: bytes, value: int) -> AccessList | None:
        """Addresses and slots of a call, sender and target included; None if the node does not report them."""
        question = {"from": "0x" + sender.hex(), "data": "0x" + calldata.hex(), "value": hex(value)}
        if to is not None:
            question["to"] = "0x" + to.hex()
        for method, params, read in (
            ("eth_createAccessList", [question, self._block], _created),
            ("debug_traceCall", [question, self._block, {"tracer": "prestateTracer"}], _traced),
        ):
            if method in self._lacking:
                continue
            try:
                answer = self._client.attempt([Call(method, params, _none_if_malformed(read), patient=False)])[0]
            except RpcHttpError:
                answer = None
            if answer is None or isinstance(answer, NodeRefused):
                if answer is None or answer.unsupported or answer.code in _UNSUPPORTED_CODES:
                    self._lacking.add(method)
                continue
            touched: dict[bytes, list[int]] = answer
            touched.setdefault(sender, [])
            if to is not None:
                touched.setdefault(to, [])
            return list(touched.items())
        return None


def _none_if_malformed(
    read: Callable[[object], dict[bytes, list[int]]],
) -> Callable[[object], dict[bytes, list[int]] | None]:
    """Return a reader that gives None for a malformed list: the fork works without one."""

    def reader(answer: object) -> dict[bytes, list[int]] | None:
        try:
            return read(answer)
        except BadValue:
            return None

    return reader


def _created(answer: object) -> dict[bytes, list[int]]:
    """Read {"accessList": [{"address", "storageKeys"}]}; a call that reverts has one too."""
    entries = fields(answer).get("accessList")
    if not isinstance(entries, list):
        raise BadValue("there is no 'accessList'")
    touched: dict[bytes, list[int]] = {}
    for entry in map(fields, entries):
        slots = entry.get("storageKeys") or []
        if not isinstance(slots, list):
            raise BadValue("'storageKeys' is not a list")
        keys = touched.setdefault(data(entry.get("address"), 20), [])
        keys.extend(int.from_bytes(hash32(slot), "big") for slot in slots)
    return touched


def _traced(answer: object) -> dict[bytes, list[int]]:
    """Read the prestate tracer's {address: {"storage": {slot: value}}}."""
    touched: dict[bytes, list[int]] = {}
    for address, account in fields(answer).items():
        storage = fields(fields(account).get("storage") or {})
        touched[data(address, 20)] = [int.from_bytes(hash32(slot), "big") for slot in storage]
    return touched
