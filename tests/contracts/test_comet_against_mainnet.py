"""Our Comet matches mainnet's cUSDCv3 implementation byte for byte: outputs, events, errors and state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_abi import encode

from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.validation.contracts.comet_driver import ABSORB_DEBT, NOWHERE, PRICES, STRANGER, USERS, WEIGHTS, Driver
from mayavi.validation.contracts.comet_markets import (
    BLOCK,
    MARKET,
    TIMESTAMP,
    Parameters,
    calldata,
    function,
    our_market,
    real_code,
    real_market,
    real_parameters,
    with_immutables,
)
from mayavi.validation.contracts.comet_pair import MAX, DisagreementError, Pair
from tests.worlds.signing import N as ORDER
from tests.worlds.signing import address_of_key, sign

NAMES = ("Compound USDC", "cUSDCv3")
CREATION_LIMIT = 24_576
BOB = USERS[1]
KEY = 0xA11CE
ALICE = address_of_key(KEY)

OTHER_IMMUTABLES = {
    6: 18,  # decimals of the base
    10**6: 10**18,  # its scale
    1: 10**12,  # how much finer it is than what rewards are counted in
    900_000_000_000_000_000: 800_000_000_000_000_000,  # both kinks
    2_641_425_672: 1_585_489_599,
    136_352_105_530: 31_709_791_983,
    475_646_879: 317_097_919,
    600_000_000_000_000_000: 1_000_000_000_000_000_000,  # the whole penalty goes to buyers
    10**12: 10**21,  # least total that earns rewards
    10**8: 10**17,  # least debt
    20 * 10**12: 5_000 * 10**18,  # target of reserves
}
"""Immutables of an 18-decimals market in place of cUSDCv3's."""

EVENTS = (
    "Supply(address,address,uint256)",
    "Withdraw(address,address,uint256)",
    "Transfer(address,address,uint256)",
    "SupplyCollateral(address,address,address,uint256)",
    "WithdrawCollateral(address,address,address,uint256)",
    "TransferCollateral(address,address,address,uint256)",
    "AbsorbDebt(address,address,uint256,uint256)",
    "AbsorbCollateral(address,address,address,uint256,uint256)",
    "BuyCollateral(address,address,uint256,uint256)",
    "PauseAction(bool,bool,bool,bool,bool)",
    "WithdrawReserves(address,uint256)",
    "Approval(address,address,uint256)",
)
ERRORS = (
    *("AlreadyInitialized", "BadAmount", "BadAsset", "BadPrice", "BorrowTooSmall", "InsufficientReserves"),
    *("InvalidInt104", "InvalidInt256", "InvalidUInt104", "InvalidUInt128", "InvalidUInt64", "NoSelfTransfer"),
    *("NotCollateralized", "NotForSale", "NotLiquidatable", "Paused", "SupplyCapExceeded", "TooMuchSlippage"),
    "Unauthorized",
)
BUY = keccak_text("BuyCollateral(address,address,uint256,uint256)")
NEVER_FAIL = {"donate", "fill_reserves", "allow"}
NEVER_SUCCEED = {"initialize"}

TOTALS_BASIC = "totalsBasic()(uint64,uint64,uint64,uint64,uint104,uint104,uint40,uint8)"

Code = tuple[bytes, bytes]
MakePair = Callable[..., Pair]


@pytest.fixture(scope="module")
def code(cases: Path) -> Code:
    if not (cases / "mainnet" / "blocks" / str(BLOCK)).is_dir():
        pytest.fail(f"the reference data at '{cases}' lacks block {BLOCK}")
    return real_code(cases)


@pytest.fixture(scope="module")
def parameters(code: Code) -> Parameters:
    return real_parameters(code)


@pytest.fixture(scope="module")
def make_pair(code: Code, parameters: Parameters) -> MakePair:
    def make(ours: Parameters = parameters, **options: Any) -> Pair:
        real = real_market(code, parameters, PRICES)
        mine = our_market(ours, PRICES, names=NAMES)
        return Pair(real, mine, parameters, (*USERS, STRANGER, NOWHERE, ALICE), **options)

    return make


class Tally:
    """Outcomes of many random runs."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.errors: Counter[bytes] = Counter()
        self.events: Counter[bytes] = Counter()
        self.absorbed: Counter[int] = Counter()

    def live(self, pair: Pair, seed: int, operations: int) -> None:
        with pair.episode():
            driver = Driver(pair, seed)
            driver.run(operations)
        self.counts += driver.counts
        self.errors += driver.errors
        self.events += driver.events
        self.absorbed += driver.absorbed

    def require_everything_happened(self, times: int) -> None:
        seldom = {
            (kind, result): self.counts[kind, result]
            for kind in WEIGHTS
            for result in ("success", "revert")
            if self.counts[kind, result] < times
        }
        expected = {(kind, "revert") for kind in NEVER_FAIL} | {(kind, "success") for kind in NEVER_SUCCEED}
        assert seldom.keys() <= expected, seldom
        assert [text for text in EVENTS if self.events[keccak_text(text)] < times] == []
        assert self.events[BUY] >= 15 * times
        assert self.events[ABSORB_DEBT] >= 40 * times
        assert sum(count for accounts, count in self.absorbed.items() if accounts > 1) >= 5 * times
        assert [name for name in ERRORS if not self.errors[keccak_text(f"{name}()")[:4]]] == []
        assert self.counts.total() == sum(self.counts[key] for key in self.counts if key[1] in ("success", "revert"))


@pytest.mark.slow(0.5)
def test_a_short_life_of_the_market_agrees(make_pair: MakePair) -> None:
    tally = Tally()
    pair = make_pair()
    for seed in (7, 8):
        tally.live(pair, seed, 150)
    assert tally.counts.total() >= 300
    assert tally.events[ABSORB_DEBT] > 0


@pytest.mark.slow
def test_five_thousand_operations_agree(make_pair: MakePair) -> None:
    tally = Tally()
    pair = make_pair()
    for seed in range(25):
        tally.live(pair, seed, 200)
    assert tally.counts.total() >= 5_000
    tally.require_everything_happened(times=3)


@pytest.mark.slow
def test_a_market_of_eighteen_decimals_agrees(code: Code) -> None:
    other = with_immutables(code, OTHER_IMMUTABLES)
    parameters = real_parameters(other)
    real = real_market(other, parameters, PRICES)
    ours = our_market(parameters, PRICES, base_decimals=18, names=NAMES)
    pair = Pair(real, ours, parameters, (*USERS, STRANGER, NOWHERE))
    assert pair.ask("decimals()(uint8)") == 18
    tally = Tally()
    for seed in range(100, 112):
        tally.live(pair, seed, 200)
    tally.require_everything_happened(times=1)


@pytest.mark.slow(1)
def test_with_a_base_fee_only_the_cost_of_absorbing_differs(make_pair: MakePair) -> None:
    """`approxSpend` is gas times the base fee: non-zero in both worlds, but not equal."""
    tally = Tally()
    pair = make_pair(base_fee=10**10)
    for seed in (3, 4, 5):
        tally.live(pair, seed, 150)
    assert tally.events[ABSORB_DEBT] >= 10


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_rewards_begin_at_exactly_their_least_total(make_pair: MakePair, parameters: Parameters, beyond: int) -> None:
    """Lenders and borrowers each at the edge; in the first second a principal equals its amount."""
    pair = make_pair()
    lender, borrower, whale, *_ = USERS
    collateral, total = parameters.assets[2].address, parameters.min_for_rewards + beyond
    for token, user in ((parameters.base_token, lender), (parameters.base_token, whale), (collateral, borrower)):
        pair.mint(token, user, 10**24)
        pair.send("approve(address,uint256)", MARKET, MAX, sender=user, to=token)
    pair.send("supply(address,uint256)", parameters.base_token, total, sender=lender)
    with pair.episode():
        assert rewarded(pair) == (beyond >= 0, False)
    pair.send("supply(address,uint256)", parameters.base_token, total, sender=whale)
    pair.send("supply(address,uint256)", collateral, 10**22, sender=borrower)
    assert pair.send("withdraw(address,uint256)", parameters.base_token, total, sender=borrower).result == "success"
    assert rewarded(pair) == (True, beyond >= 0)


def rewarded(pair: Pair) -> tuple[bool, bool]:
    """Whether an hour earns rewards for lenders and for borrowers."""
    pair.pass_time(3_600)
    pair.send("accrueAccount(address)", BOB, sender=BOB)
    pair.compare_everything()
    _, _, supply, borrow, *_ = pair.ask(TOTALS_BASIC)
    return supply > 0, borrow > 0


CHANGES: dict[str, Callable[[Parameters], Parameters]] = {
    "the price of the store front": lambda it: it.but(store_front_price_factor=it.store_front_price_factor + 10**12),
    "the kink of supply": lambda it: it.but(supply_kink=it.supply_kink - 10**15),
    "the kink of borrowing": lambda it: it.but(borrow_kink=it.borrow_kink - 10**15),
    "the slope of borrowing": lambda it: it.but(borrow_slope_low=it.borrow_slope_low + 31_536_000),
    "the speed of rewards": lambda it: it.but(tracking_supply_speed=it.tracking_supply_speed + 10**6),
    "the least debt": lambda it: it.but(borrow_min=it.borrow_min + 1),
    "the target of reserves": lambda it: it.but(target_reserves=it.target_reserves - 1),
    "the borrow factor of an asset": lambda it: it.but(
        assets=(it.assets[0]._replace(borrow_factor=it.assets[0].borrow_factor - 10**14), *it.assets[1:])
    ),
    "the penalty of an asset": lambda it: it.but(
        assets=(*it.assets[:4], it.assets[4]._replace(liquidation_factor=it.assets[4].liquidation_factor + 10**14))
    ),
}


@pytest.mark.slow(0.2)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_parameter_shows_in_behaviour(
    make_pair: MakePair, parameters: Parameters, change: Callable[[Parameters], Parameters]
) -> None:
    pair = make_pair(change(parameters), constants=False)
    with pytest.raises(DisagreementError):
        live_many_times(pair)


def live_many_times(pair: Pair) -> None:
    for seed in range(20):
        Tally().live(pair, seed, 100)


def test_permission_by_signature_agrees(make_pair: MakePair) -> None:
    pair = make_pair()
    text = "allowBySig(address,address,bool,uint256,uint256,uint8,bytes32,bytes32)"
    seen = Counter[bytes]()
    for nonce, expiry, owner, change in (
        (0, TIMESTAMP + 1, ALICE, {}),
        (0, TIMESTAMP + 1, ALICE, {}),
        (1, TIMESTAMP, ALICE, {}),
        (1, TIMESTAMP + 1, BOB, {}),
        (1, TIMESTAMP + 1, NOWHERE, {"r": bytes(32)}),
        (1, TIMESTAMP + 1, ALICE, {"v": 29}),
        (1, TIMESTAMP + 1, ALICE, {"s": (ORDER // 2).to_bytes(32, "big")}),
        (1, TIMESTAMP + 1, ALICE, {"s": (ORDER // 2 + 1).to_bytes(32, "big")}),
        (1, MAX, ALICE, {}),
    ):
        v, r, s = sign(authorization_digest(owner, BOB, nonce, expiry), KEY)
        signature = {"v": v, "r": r, "s": s} | change
        outcome = pair.send(text, owner, BOB, True, nonce, expiry, *signature.values(), sender=STRANGER)
        seen[outcome.output] += 1
        pair.compare_everything()
    assert seen[b""] == 2
    assert len(seen) == 6


def authorization_digest(owner: bytes, manager: bytes, nonce: int, expiry: int) -> bytes:
    domain = keccak256(
        encode(
            ["bytes32", "bytes32", "bytes32", "uint256", "address"],
            [
                keccak_text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak_text(NAMES[0]),
                keccak_text("0"),
                1,
                MARKET,
            ],
        )
    )
    kind = keccak_text("Authorization(address owner,address manager,bool isAllowed,uint256 nonce,uint256 expiry)")
    types = ["bytes32", "address", "address", "bool", "uint256", "uint256"]
    return keccak256(b"\x19\x01" + domain + keccak256(encode(types, [kind, owner, manager, True, nonce, expiry])))


RETURN_FALSE = bytes.fromhex("600060005260206000f3")
RETURN_NOTHING = bytes.fromhex("00")
RETURN_TWO = bytes.fromhex("600260005260206000f3")


@pytest.mark.parametrize("token", [RETURN_FALSE, RETURN_NOTHING, RETURN_TWO], ids=["false", "nothing", "no boolean"])
def test_tokens_that_do_not_say_yes_agree(make_pair: MakePair, parameters: Parameters, token: bytes) -> None:
    pair = make_pair()
    asset = parameters.assets[0].address
    for market in (pair.real, pair.ours):
        market.fork.set_code(asset, token)
        market.fork.set_code(parameters.base_token, token)
    for each in (asset, parameters.base_token):
        assert pair.send("supply(address,uint256)", each, 5, sender=BOB).result == "revert"
        assert pair.send("withdraw(address,uint256)", each, 0, sender=BOB).result == "revert"
        pair.send("approveThis(address,address,uint256)", BOB, each, 5, sender=parameters.governor)
    pair.send("withdrawReserves(address,uint256)", BOB, 0, sender=parameters.governor)
    pair.send("buyCollateral(address,uint256,uint256,address)", asset, 0, 0, BOB, sender=BOB)


def test_the_end_of_time_agrees(make_pair: MakePair, parameters: Parameters) -> None:
    pair = make_pair()
    base = parameters.base_token
    pair.mint(base, BOB, 10**14)
    pair.send("approve(address,uint256)", MARKET, MAX, sender=BOB, to=base)
    pair.send("supply(address,uint256)", base, 10**13, sender=BOB)
    results = []
    for timestamp in (2**40 - 1, 2**40):
        for market in (pair.real, pair.ours):
            market.fork.set_block(timestamp=timestamp)
        results.append(pair.send("supply(address,uint256)", base, 5, sender=BOB).result)
        pair.compare_everything()
    assert results == ["success", "revert"]


ODD_CALLS = {
    "nothing": (b"", 0),
    "ether alone": (b"", 1),
    "no selector": (b"\x01", 0),
    "an unknown function": (b"\xde\xad\xbe\xef", 0),
    "ether for a function that takes none": (calldata("supply(address,uint256)", BOB, 0), 1),
    "ether for the extension": (calldata("allow(address,bool)", BOB, True), 1),
    "an argument cut short": (calldata("supply(address,uint256)", BOB, 0)[:-1], 0),
    "a boolean of two": (calldata("allow(address,bool)", BOB, True)[:-1] + b"\x02", 0),
    "an address too wide": (function("balanceOf(address)").selector + b"\xff" * 32, 0),
    "a number too wide": (function("getAssetInfo(uint8)").selector + (256).to_bytes(32, "big"), 0),
    "more than needed": (calldata("allow(address,bool)", BOB, True) + b"more", 0),
}


@pytest.mark.parametrize(("data", "value"), ODD_CALLS.values(), ids=ODD_CALLS.keys())
def test_odd_calls_agree(make_pair: MakePair, data: bytes, value: int) -> None:
    pair = make_pair()
    outcomes = []
    for market in (pair.real, pair.ours):
        market.fork.set_balance(STRANGER, value)
        receipt = market.fork.send(MARKET, data, STRANGER, value=value, check=False)
        outcomes.append((receipt.reason, receipt.output, receipt.logs))
    assert outcomes[0] == outcomes[1]


def test_the_contract_fits_on_chain(make_pair: MakePair) -> None:
    assert len(make_pair().ours.fork.code(MARKET)) <= CREATION_LIMIT
