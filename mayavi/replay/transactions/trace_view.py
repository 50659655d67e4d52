"""Decoded view of a replayed transaction: call tree, token transfers, balance and storage changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.evm.receipt import CallFrame
from mayavi.evm.units import format_units
from mayavi.replay.history.receipt_fields import effective_gas_price
from mayavi.replay.transactions.decoding import SignatureBook, show_arguments, show_value, signature_book
from mayavi.replay.transactions.names import Names, is_precompile, known_decimals
from mayavi.replay.transactions.storage_names import SlotNames
from mayavi.replay.transactions.storage_values import field_changes, slot_change
from mayavi.replay.transactions.token_flows import TokenTransfer, net_flows, token_transfers
from mayavi.replay.transactions.transaction import Change, Outcome, TransactionReplay
from mayavi.worlds.labels import labels_of

ETHER_DECIMALS = 18
_JSON_SAFE = 2**53


class TraceView:
    """Texts and JSON data of a replayed transaction."""

    def __init__(self, replay: TransactionReplay, book: SignatureBook | None = None) -> None:
        self.replay = replay
        self.book = book or signature_book()
        source = {"kind": "replay", "chain_id": replay.block.chain_id, "block": replay.block.number - 1}
        labels = labels_of(replay.block.chain_id)
        world = Fork.of_evm(replay.state.evm.copy(), replay.remote, labels, source)
        roles = {replay.block.header.coinbase: "block producer", replay.transaction.sender: "sender"}
        self.names = Names(world, roles, known_decimals(replay.block.chain_id))

    # -- header -------------------------------------------------------------------------------------------------------

    def facts(self) -> list[tuple[str, str]]:
        """Return name and value of what identifies the transaction and its result."""
        replay, each = self.replay, self.replay.transaction
        outcome = replay.outcome
        to = "a new contract" if each.to is None else self.names.full(each.to)
        status = "success" if outcome.success else f"failed: {outcome.reason or 'no reason given'}"
        return [
            ("transaction", "0x" + each.hash.hex()),
            ("block", f"{replay.block.number}, index {each.index}, rules of {replay.block.hardfork}"),
            ("from", checksum(each.sender)),
            ("to", to),
            ("value", f"{format_units(each.value, ETHER_DECIMALS)} ETH"),
            ("status", status),
            ("gas used", f"{outcome.gas_used:,} of {each.gas_limit:,}"),
            ("fee", f"{format_units(self.fee_wei, ETHER_DECIMALS)} ETH"),
            ("receipt", self.verdict()),
        ]

    @property
    def fee_wei(self) -> int:
        """Fee that the sender paid for gas, in wei; blob fees not included."""
        return self.replay.outcome.gas_used * effective_gas_price(self.replay.block, self.replay.transaction)

    def verdict(self) -> str:
        """Return how the replay compares with the chain's receipt."""
        if self.replay.difference is not None:
            return f"differs: {self.replay.difference}"
        if self.replay.expected is None:
            return "not compared: there is none"
        return f"status, gas and {len(self.replay.outcome.logs)} logs equal the chain's"

    # -- calls --------------------------------------------------------------------------------------------------------

    def call_lines(self, outcome: Outcome) -> list[str]:
        """Return the call tree, one indented line a call; precompiles are named in the line of their caller."""
        return [] if outcome.call is None else [*self._lines(outcome.call, 0), _gas_text(outcome)]

    def _lines(self, call: CallFrame, depth: int) -> Iterator[str]:
        value = f" {{{format_units(call.value, ETHER_DECIMALS)} ETH}}" if call.value else ""
        failed = "" if call.success else f"  ✗ {call.revert_reason or call.result}"
        folded = Counter(self.names.name(inner.to) for inner in call.calls if _is_quiet_precompile(inner))
        helpers = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in folded.items())
        used = f"  uses {helpers}" if helpers else ""
        yield f"{'  ' * depth}{call.kind} {self.call_text(call)}{value}  gas {call.gas_used:,}{used}{failed}"
        for inner in call.calls:
            if not _is_quiet_precompile(inner):
                yield from self._lines(inner, depth + 1)

    def call_text(self, call: CallFrame) -> str:
        """Format target, function, arguments and result of a call."""
        target = self.names.name(call.to)
        if call.kind.startswith("CREATE"):
            return f"{target}, {len(call.input):,} bytes of creation code"
        decoded = self.book.call(call)
        if decoded is None:
            calldata = f".0x{call.input[:4].hex()}" if len(call.input) >= 4 else ""
            rest = f" with {len(call.input) - 4:,} bytes" if len(call.input) > 4 else ""
            return f"{target}{calldata}{rest}"
        signature = decoded.function.signature
        names = tuple(parameter.name for parameter in signature.inputs)
        text = f"{target}.{decoded.function.name}{show_arguments(names, decoded.arguments, self.names.name)}"
        if decoded.returned is not None:
            text += f" → {show_value(decoded.returned, self.names.name)}"
        return text

    def _call_json(self, call: CallFrame) -> dict[str, Any]:
        decoded = self.book.call(call)
        names = () if decoded is None else tuple(each.name for each in decoded.function.signature.inputs)
        return {
            "kind": call.kind,
            "from": checksum(call.sender),
            "to": checksum(call.to),
            "name": self.names.name(call.to),
            "function": None if decoded is None else decoded.function.text,
            "arguments": None
            if decoded is None
            else [{"name": name, "value": _json(value)} for name, value in zip(names, decoded.arguments, strict=True)],
            "returned": None if decoded is None else _json(decoded.returned),
            "selector": "0x" + call.input[:4].hex(),
            "value_wei": str(call.value),
            "gas_used": call.gas_used,
            "success": call.success,
            "reason": None if call.success else str(call.revert_reason or call.result),
            "calls": [self._call_json(inner) for inner in call.calls],
        }

    # -- effects ------------------------------------------------------------------------------------------------------

    def transfer_lines(self, outcome: Outcome) -> list[str]:
        """Return one line per token transfer."""
        return [self._transfer_text(each) for each in token_transfers(outcome.logs)]

    def _transfer_text(self, each: TokenTransfer) -> str:
        ends = f"{self.names.name(each.sender)} → {self.names.name(each.receiver)}"
        if each.token_id is not None:
            return f"{self.names.token(each.token).symbol} #{each.token_id}  {ends}"
        return f"{self.names.amount(each.token, each.amount)}  {ends}"

    def balance_lines(self, outcome: Outcome) -> list[str]:
        """Return what each account gained or lost, native coin first."""
        native = [each for each in outcome.changes if each.field == "balance"]
        lines = [f"{self.names.name(each.address)}  {signed(each.after - each.before)} ETH" for each in native]
        flows = net_flows(token_transfers(outcome.logs))
        lines += [
            f"{self.names.name(holding.account)}  {self.names.amount(holding.token, amount, sign=True)}"
            for holding, amount in flows.items()
        ]
        return lines

    def storage_lines(self, outcome: Outcome) -> list[str]:
        """Return one line per changed slot, below a line for its contract."""
        lines: list[str] = []
        namer = self._slot_names(outcome)
        last: bytes | None = None
        for each in outcome.changes:
            if each.field not in ("slot", "code"):
                continue
            if each.address != last:
                lines.append(self.names.full(each.address))
                last = each.address
            lines.append(f"  {self._change_text(each, namer)}")
        return lines

    def _change_text(self, each: Change, namer: SlotNames) -> str:
        if each.field == "code":
            return f"code: {each.before} → {each.after}"
        name = namer.name(each.address, each.slot or 0, each.before, each.after)
        word = namer.word(each.address, name)
        change = slot_change(
            name, word, each.before, each.after, lambda amount: self.names.amount(each.address, amount)
        )
        return f"{name or 'slot'} ({_slot_text(each.slot or 0)}): {change}"

    def _slot_names(self, outcome: Outcome) -> SlotNames:
        frames = list(outcome.call.walk()) if outcome.call else []
        accounts = [self.replay.transaction.sender, self.replay.block.header.coinbase]
        accounts += [place for frame in frames for place in (frame.sender, frame.to)]
        accounts += [topic[12:] for log in outcome.logs for topic in log.topics[1:] if not any(topic[:12])]
        for frame in frames:
            decoded = self.book.call(frame)
            accounts += _addresses(decoded.arguments) if decoded else []
        return SlotNames(outcome.logs, accounts, self.names.name, net_flows(token_transfers(outcome.logs)))

    def event_lines(self, outcome: Outcome) -> list[str]:
        """Return one line per log."""
        lines = []
        for log in outcome.logs:
            event = self.book.event(log)
            if event is None:
                topic = "0x" + log.topics[0].hex()[:8] if log.topics else "anonymous"
                lines.append(f"{self.names.name(log.address)}  {topic}… with {len(log.data):,} bytes")
            else:
                fields = event.args._fields
                lines.append(
                    f"{self.names.name(log.address)}  "
                    f"{event.name}{show_arguments(fields, tuple(event.args), self.names.name)}"
                )
        return lines

    def outcome_json(self, outcome: Outcome) -> dict[str, Any]:
        """Return the effects of an execution as JSON data."""
        namer = self._slot_names(outcome)
        transfers = token_transfers(outcome.logs)
        return {
            "success": outcome.success,
            "reason": outcome.reason or None,
            "gas_used": outcome.gas_used,
            "gas_before_calls": outcome.gas_before_calls,
            "gas_refunded": outcome.gas_refunded,
            "call": None if outcome.call is None else self._call_json(outcome.call),
            "logs": len(outcome.logs),
            "transfers": [
                {
                    "token": checksum(each.token),
                    "symbol": self.names.token(each.token).symbol,
                    "from": checksum(each.sender),
                    "to": checksum(each.receiver),
                    "amount": str(each.amount),
                    "token_id": None if each.token_id is None else str(each.token_id),
                }
                for each in transfers
            ],
            "balances": [
                {"account": checksum(each.address), "before_wei": str(each.before), "after_wei": str(each.after)}
                for each in outcome.changes
                if each.field == "balance"
            ],
            "token_balances": [
                {
                    "account": checksum(holding.account),
                    "token": checksum(holding.token),
                    "symbol": self.names.token(holding.token).symbol,
                    "change": str(amount),
                }
                for holding, amount in net_flows(transfers).items()
            ],
            "storage": [_slot_json(each, namer) for each in outcome.changes if each.field == "slot"],
        }

    def to_json(self) -> dict[str, Any]:
        """Return the transaction, its comparison with the chain and its effects as JSON data."""
        replay, each = self.replay, self.replay.transaction
        return {
            "transaction": "0x" + each.hash.hex(),
            "chain_id": replay.block.chain_id,
            "block": replay.block.number,
            "index": each.index,
            "hardfork": replay.block.hardfork,
            "from": checksum(each.sender),
            "to": None if each.to is None else checksum(each.to),
            "value_wei": str(each.value),
            "fee_wei": str(self.fee_wei),
            "exact": None if replay.expected is None else replay.difference is None,
            "difference": None if replay.difference is None else replay.difference.to_json(),
            "notes": replay.notes,
            **self.outcome_json(replay.outcome),
        }


def _slot_json(each: Change, namer: SlotNames) -> dict[str, Any]:
    name = namer.name(each.address, each.slot or 0, each.before, each.after)
    fields = field_changes(namer.word(each.address, name), each.before, each.after)
    return {
        "contract": checksum(each.address),
        "slot": f"{each.slot:#x}",
        "name": name,
        "before": _word(each.before),
        "after": _word(each.after),
        "fields": {key: {"before": str(old), "after": str(new)} for key, (old, new) in fields.items()},
    }


def _gas_text(outcome: Outcome) -> str:
    """Format how the gas of the receipt follows from that of the first call."""
    inside = outcome.call.gas_used if outcome.call else 0
    parts = f"{inside:,} in calls + {outcome.gas_before_calls:,} for the transaction itself"
    if outcome.is_at_floor:
        return f"gas {outcome.gas_used:,}: the least that its calldata costs; it spent {parts}"
    refund = f" - {outcome.gas_refunded:,} refunded" if outcome.gas_refunded else ""
    return f"gas {outcome.gas_used:,} = {parts}{refund}"


def _is_quiet_precompile(call: CallFrame) -> bool:
    return call.success and not call.value and not call.calls and is_precompile(call.to)


def _addresses(value: Any) -> list[bytes]:
    """Return the addresses among decoded arguments, in nested ones too."""
    if isinstance(value, bytes):
        return [value] if len(value) == 20 else []
    if isinstance(value, list | tuple):
        return [found for each in value for found in _addresses(each)]
    return []


def signed(wei: int) -> str:
    """Format wei in ether, gains with a plus sign."""
    return ("+" if wei > 0 else "") + format_units(wei, ETHER_DECIMALS)


def _slot_text(slot: int) -> str:
    text = f"{slot:#x}"
    return text if len(text) <= 12 else f"{text[:8]}…{text[-4:]}"


def _word(value: object) -> str:
    if value is None:
        return "not known"
    return f"{value:#x}" if isinstance(value, int) else str(value)


def _json(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if abs(value) < _JSON_SAFE else str(value)
    if isinstance(value, bytes):
        return checksum(value) if len(value) == 20 else "0x" + value.hex()
    return [_json(each) for each in value]
