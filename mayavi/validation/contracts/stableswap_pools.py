"""StableSwap pools to compare in one situation: the 3pool's bytecode and our contracts.

Each has `apply` (act and report), `ask` (a view) and `observe` (the whole visible state).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mayavi.errors import ExecutionError
from mayavi.evm.abi.interface import Function, Interface
from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from mayavi.evm.receipt import Log
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER, Deployment, named_account

POOL = to_address("0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7")
TETHER = to_address("0xdAC17F958D2ee523a2206206994597C13D831ec7")
POOL_CODE = "0x954a1e212c557c85043985931498ffa3e2fcbe7dfe9cd61513f36eb47d6f4dfc"
TETHER_CODE = "0xb44fb4e949d0f78f87f79ee46428f23a2a5713ce6fc6e0beb3dda78c2ac1ea55"
TWO_COIN_CODE = "0xf8b6ec0714326b3183e32c835b0ae5be7156bb248fface95fb6d83aa6abaa3c8"
LP_TOKEN = named_account("test.lp")
ACCOUNTS = {name: named_account(f"test.{name}") for name in ("alice", "bob", "owner", "heir", "tether")}
USERS = ("alice", "bob", "owner", "heir")
NAMES = {address: name for name, address in {**ACCOUNTS, "pool": POOL}.items()} | {bytes(20): ""}
FOREVER = 2**256 - 1


@dataclass(frozen=True)
class Situation:
    """Initial state of a pool. The last coin is USDT with its transfer fee; `measured` names pools aware of it."""

    decimals: tuple[int, ...] = (18, 6, 6)
    amp: int = 2000
    fee: int = 10**6
    admin_fee: int = 5 * 10**9
    now: int = 1_700_000_000
    kill_deadline: int = 1_710_000_000
    measured: bool = True

    @property
    def n(self) -> int:
        """Number of coins."""
        return len(self.decimals)


class Operation(NamedTuple):
    """Operation of a user: a pool function, or `wait`, `hold` (mint tokens) or `tether_fee`."""

    name: str
    user: str
    args: tuple[Any, ...]


class Outcome(NamedTuple):
    """Result of an operation: success, and the pool's event.

    `logs` are all raw logs, and `output` is the transaction's return data: None for the model.
    """

    success: bool
    event: tuple[Any, ...]
    logs: tuple[Log, ...] | None = None
    output: bytes | None = None


class EvmPool:
    """Pool of contracts on its own fork."""

    def __init__(self, situation: Situation, codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
        self.n = situation.n
        self.fork = Fork.empty()
        self.fork.set_block(number=1, timestamp=situation.now)
        self.interface = Interface.of(artifacts.get(f"StableSwap{self.n}").abi)
        self.deployment = Deployment(self.fork, artifacts)
        self.coins = self._place_coins(situation, codes[TETHER_CODE])
        self.deployment.place("LP", "CurveLpToken", "LP", "LP", POOL, at="0x" + LP_TOKEN.hex())
        for name in USERS:
            for coin in self.coins:
                self.deployment.send(coin, "approve(address,uint256)", POOL, FOREVER, sender=ACCOUNTS[name])
        self._functions = {function.name: function for function in self.interface.functions.values()}
        self._views = self._all_views()

    def _place_coins(self, situation: Situation, tether: bytes) -> list[bytes]:
        coins = []
        for i, decimals in enumerate(situation.decimals[:-1]):
            at = named_account(f"test.coin{i}")
            arguments = (f"coin {i}", f"C{i}", decimals, "1", DEPLOYER)
            coins.append(self.deployment.place(f"coin {i}", "Token", *arguments, at="0x" + at.hex()))
        self.fork.set_code(TETHER, tether)
        self.fork.set_storage(TETHER, 0, int.from_bytes(ACCOUNTS["tether"], "big"))
        self.fork.set_storage(TETHER, 9, situation.decimals[-1])
        return [*coins, TETHER]

    def _all_views(self) -> list[tuple[str, bytes, bytes]]:
        views = []
        for function in self.interface.functions.values():
            if function.reads and not function.signature.inputs:
                views.append((function.name, POOL, function.encode()))
            elif function.name in ("coins", "balances", "admin_balances"):
                views += [(f"{function.name} {i}", POOL, function.encode(i)) for i in range(self.n + 1)]
        held = Function.parse("balanceOf(address)(uint256)")
        for token_name, token in [("shares", LP_TOKEN), *((f"coin {i}", coin) for i, coin in enumerate(self.coins))]:
            for address, name in NAMES.items():
                views.append((f"{token_name} of {name}", token, held.encode(address)))
        views.append(("supply", LP_TOKEN, Function.parse("totalSupply()").encode()))
        return views

    def apply(self, operation: Operation) -> Outcome:
        """Execute the operation."""
        name, user, args = operation
        if name == "wait":
            self.fork.mine(1, seconds=args[0])
            return Outcome(True, ())
        if name == "hold":
            self.fork.deal(self.coins[args[0]], ACCOUNTS[user], args[1])
            return Outcome(True, ())
        if name == "tether_fee":
            data = Function.parse("setParams(uint256,uint256)").encode(*args)
            return Outcome(self.fork.send(TETHER, data, ACCOUNTS["tether"], check=False).success, ())
        receipt = self.fork.send(POOL, self.calldata(operation), ACCOUNTS[user], check=False)
        return Outcome(receipt.success, self._event(receipt.logs), receipt.logs, receipt.output)

    def calldata(self, operation: Operation) -> bytes:
        """Encode the operation."""
        args = (ACCOUNTS.get(arg, arg) if isinstance(arg, str) else arg for arg in operation.args)
        return self._functions[operation.name].encode(*args)

    def ask(self, name: str, *args: Any) -> int | None:
        """Call a view; None if it reverts."""
        return self._read(POOL, self.calldata(Operation(name, "", args)))

    def observe(self) -> dict[str, Any]:
        """Return the whole visible state."""
        seen: dict[str, Any] = {name: self._read(to, data) for name, to, data in self._views}
        for name in ("owner", "future_owner"):
            seen[name] = NAMES[seen[name].to_bytes(20, "big")]
        return seen

    def dry_run(self, operation: Operation) -> Outcome:
        """Return the result without keeping it."""
        with self.fork.snapshot():
            return self.apply(operation)

    def _read(self, to: bytes, data: bytes) -> int | None:
        try:
            return int.from_bytes(self.fork.call(to, data), "big")
        except ExecutionError:
            return None

    def _event(self, logs: tuple[Log, ...]) -> tuple[Any, ...]:
        decoded = [self.interface.decode_log(log) for log in logs if log.address == POOL]
        if not decoded:
            return ()
        event = decoded[-1]
        if event is None:
            return ()
        return (event.event.name, *(_plain(value) for value in event.args))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return NAMES.get(to_address(value), value) if isinstance(value, str | bytes) else value


class RealPool(EvmPool):
    """The 3pool's mainnet code, with its storage laid out as by Vyper 0.2."""

    def __init__(self, situation: Situation, codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
        super().__init__(situation, codes, artifacts)
        install_tripool(
            self.fork,
            codes[POOL_CODE],
            coins=self.coins,
            balances=[0, 0, 0],
            fees=(situation.fee, situation.admin_fee),
            owner=ACCOUNTS["owner"],
            lp_token=LP_TOKEN,
            amp=situation.amp,
            kill_deadline=situation.kill_deadline,
        )


def install_tripool(
    fork: Fork,
    code: bytes,
    *,
    coins: Sequence[bytes],
    balances: Sequence[int],
    fees: tuple[int, int],
    owner: bytes,
    lp_token: bytes,
    amp: int,
    kill_deadline: int = 0,
) -> None:
    """Place the 3pool's code at its address and write every slot it reads."""
    fork.set_code(POOL, code)
    fields: list[int | bytes] = [*fees, owner, lp_token, amp, amp, 0, 0, *[0] * 6, kill_deadline]
    slots: dict[int, int | bytes] = dict(enumerate(fields, start=2))
    slots |= {_array_slot(0) + i: coin for i, coin in enumerate(coins)}
    slots |= {_array_slot(1) + i: balance for i, balance in enumerate(balances)}
    for slot, value in slots.items():
        fork.set_storage(POOL, slot, int.from_bytes(value, "big") if isinstance(value, bytes) else value)


class OurPool(EvmPool):
    """Our `StableSwap3` or `StableSwap2`."""

    def __init__(self, situation: Situation, codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
        super().__init__(situation, codes, artifacts)
        self.deployment.place(
            "pool",
            f"StableSwap{self.n}",
            ACCOUNTS["owner"],
            self.coins,
            LP_TOKEN,
            situation.amp,
            situation.fee,
            situation.admin_fee,
            self.n - 1 if situation.measured else self.n,
            situation.kill_deadline,
            at="0x" + POOL.hex(),
        )


def _array_slot(slot: int) -> int:
    return int.from_bytes(keccak256(slot.to_bytes(32, "big")), "big")


class RealTwoCoinPool(EvmPool):
    """Code behind crvUSD/USDC: a later two-coin pool that is its own LP token, with half of the fees for the owner.

    Its A has two more internal digits and its events and return values differ, but while A is constant it computes the
    same amounts. It measures no coin.
    """

    def __init__(self, situation: Situation, codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
        super().__init__(situation, codes, artifacts)
        self.fork.set_code(POOL, codes[TWO_COIN_CODE])
        rates = [10 ** (36 - decimals) for decimals in situation.decimals]
        create = Function.parse("initialize(string,string,address[4],uint256[4],uint256,uint256)")
        padded = [*self.coins, bytes(20), bytes(20)], [*rates, 0, 0]
        self.fork.send(POOL, create.encode("LP", "LP", *padded, situation.amp, situation.fee), ACCOUNTS["owner"])
        # What both families show: not the administration, which is the factory's here.
        common = (
            "A",
            "get_virtual_price",
            "fee",
            "admin_fee",
            "balances",
            "admin_balances",
            "coin",
            "shares",
            "supply",
        )
        views = [view for view in self._views if view[0].split()[0] in common]
        self._views = [(name, POOL if to == LP_TOKEN else to, data) for name, to, data in views]

    def observe(self) -> dict[str, Any]:
        """Return the state visible in both families."""
        return {name: self._read(to, data) for name, to, data in self._views}
