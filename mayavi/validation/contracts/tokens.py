"""Our tokens in lockstep with mainnet's bytecode of WETH, USDC, DAI and USDT.

Random transfers, approvals and spending of allowances run on both. Compared after each: success, return data, logs,
balances, allowances and the total supply. Not drawn, because our token is simpler there: unlimited allowances, the zero
address, and owners who spend their own allowance.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from mayavi.evm.abi.interface import Function
from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.evm.receipt import Log
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.gate import Tally
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account

HOLDERS = tuple(named_account(f"validation.holder{number}") for number in range(3))
SPENDER = named_account("validation.spender")
_SEED = 20_150_730
_RICHES = 10**24
_CHAIN_ID = 1

_BALANCE = Function.parse("balanceOf(address)(uint256)")
_ALLOWANCE = Function.parse("allowance(address,address)(uint256)")
_SUPPLY = Function.parse("totalSupply()(uint256)")


class TokenCase(NamedTuple):
    """A token of ours and the recorded contracts that it stands for."""

    symbol: str
    artifact: str
    block: int
    addresses: tuple[str, ...]
    """The token first, then the contracts that it delegates to."""
    decimals: int


TOKENS = (
    TokenCase("WETH", "WETH9", 17_666_333, ("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",), 18),
    TokenCase(
        "USDC",
        "Token",
        17_666_333,
        ("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xa2327a938Febf5FEC13baCFb16Ae10EcBc4cbDCF"),
        6,
    ),
    TokenCase("DAI", "Token", 19_426_586, ("0x6B175474E89094C44Da98b954EedeAC495271d0F",), 18),
    TokenCase("USDT", "SilentToken", 17_666_333, ("0xdAC17F958D2ee523a2206206994597C13D831ec7",), 6),
)


def compare_tokens(recorded: RecordedContracts, operations: int, tally: Tally) -> None:
    """Run `operations` random operations on each token and its replacement."""
    for case in TOKENS:
        _compare(case, *_worlds(case, recorded), operations, tally)


def _worlds(case: TokenCase, recorded: RecordedContracts) -> tuple[Fork, Fork]:
    """Return two chains with the token at the same address: mainnet's code, and ours."""
    token = to_address(case.addresses[0])
    real, ours = Fork.empty(chain_id=_CHAIN_ID), Fork.empty(chain_id=_CHAIN_ID)
    recorded.install(real, case.block, *map(to_address, case.addresses))
    arguments = () if case.artifact == "WETH9" else (case.symbol, case.symbol, case.decimals, "1", DEPLOYER)
    ours.create_at(token, ArtifactStore().get(case.artifact).initcode(arguments), DEPLOYER)
    for fork in (real, ours):
        fork.set_rules(check_balance=True)
        for holder in HOLDERS:
            fork.deal(token, holder, _RICHES)
            fork.set_balance(holder, _RICHES)
    return real, ours


def _compare(case: TokenCase, real: Fork, ours: Fork, operations: int, tally: Tally) -> None:
    token, part = to_address(case.addresses[0]), f"{case.artifact} as {case.symbol}"
    random, started = Random(_SEED), [_read(fork, token, _SUPPLY) for fork in (real, ours)]
    for number, (text, arguments, sender, value) in enumerate(_operations(random, operations, case)):
        data = Function.parse(text).encode(*arguments)
        outcomes = [_outcome(fork, token, data, sender, value, started[at]) for at, fork in enumerate((real, ours))]
        shown = f"{text} number {number} with {', '.join(map(_text, arguments)) or value}"
        for name, expected in outcomes[0].items():
            got = outcomes[1][name]
            if not tally.check(
                expected == got, f"{part}: {name} after {shown}: mainnet's code {expected}, ours {got}", part=part
            ):
                return  # the two have parted


def _operations(random: Random, count: int, case: TokenCase) -> Iterator[tuple[str, tuple[Any, ...], bytes, int]]:
    kinds = ["transfer", "approve", "transferFrom"] + (["deposit", "withdraw"] if case.artifact == "WETH9" else [])
    for _ in range(count):
        one, other = random.sample(HOLDERS, 2)
        amount = random.choice((0, 1, random.randrange(10**18), random.randrange(_RICHES), _RICHES * 2))
        match random.choice(kinds):
            case "transfer":
                yield "transfer(address,uint256)", (random.choice((one, other)), amount), one, 0
            case "approve":
                yield "approve(address,uint256)", (SPENDER, random.choice((0, amount))), one, 0
            case "transferFrom":
                yield "transferFrom(address,address,uint256)", (one, other, amount), SPENDER, 0
            case "deposit":
                yield "deposit()", (), one, amount // 10
            case "withdraw":
                yield "withdraw(uint256)", (amount,), one, 0


def _outcome(fork: Fork, token: bytes, data: bytes, sender: bytes, value: int, supply: int) -> dict[str, Any]:
    value = min(value, fork.balance(sender))
    receipt = fork.send(token, data, sender, value=value, check=False)
    found: dict[str, Any] = {"success": receipt.success}
    if receipt.success:
        found["output"] = receipt.output.hex()
        found["logs"] = [_hex(log) for log in receipt.logs]
    for number, holder in enumerate(HOLDERS):
        found[f"balance of holder {number}"] = _read(fork, token, _BALANCE, holder)
        found[f"allowance of holder {number}"] = _read(fork, token, _ALLOWANCE, holder, SPENDER)
    found["change of the supply"] = _read(fork, token, _SUPPLY) - supply
    return found


def _hex(log: Log) -> tuple[str, ...]:
    return (log.address.hex(), *(topic.hex() for topic in log.topics), log.data.hex())


def _read(fork: Fork, token: bytes, function: Function, *arguments: Any) -> int:
    value: int = function.decode(fork.call(token, function.encode(*arguments)))
    return value


def _text(argument: object) -> str:
    return f"0x{argument.hex()}" if isinstance(argument, bytes) else str(argument)
