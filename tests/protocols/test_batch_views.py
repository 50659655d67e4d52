"""Batched views on the protocols' bytecode equal single calls."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from mayavi import Fork, Function
from mayavi.errors import ExecutionError
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols import AaveV3
from tests.protocols.aave.reference import (
    an_asset_for_isolation,
    an_emode,
    an_isolated_asset,
    give_and_supply,
    move_price,
)

COLLATERAL = {"WETH": 10**18, "WBTC": 5 * 10**6, "wstETH": 10**18, "DAI": 3_000 * 10**18, "LINK": 200 * 10**18}
DEBT = {"USDC": 300 * 10**6, "DAI": 250 * 10**18, "LUSD": 200 * 10**18, "WETH": 10**17}
ACCOUNT_DATA = Function.parse(
    "getUserAccountData(address) view returns (uint256,uint256,uint256,uint256,uint256,uint256)"
)
BORROWERS = 260


@pytest.fixture(scope="module")
def fork() -> Fork:
    """Ethereum replica with borrowers of every kind, some undercollateralised."""
    fork = Fork.replica("ethereum")
    market, rng = AaveV3(fork), random.Random(20)
    isolated, lent_to_isolated = an_isolated_asset(market), an_asset_for_isolation(market)
    category, of_category = an_emode(market, "WETH")
    for index, address in enumerate(borrowers()):
        account = market.account(address)
        if index % 13 == 0:
            give_and_supply(account, isolated, 10**21)
            account.set_collateral(isolated)
            account.borrow(lent_to_isolated, 10**6)
            continue
        held = rng.sample(sorted(COLLATERAL), rng.randrange(1, 4))
        for asset in held:
            give_and_supply(account, asset, COLLATERAL[asset] * rng.randrange(500, 1500) // 1000)
        if index % 7 == 0 and "WETH" in held:
            account.set_emode(category)
            account.borrow(of_category, 10**16)
        elif index % 5:
            for asset in rng.sample(sorted(DEBT), rng.randrange(1, 4)):
                account.borrow(asset, DEBT[asset] * rng.randrange(200, 1000) // 1000)
        if index % 11 == 0 and not account.data().debt_usd_e8:
            account.set_collateral(held[0], False)
        if index % 50 == 0:
            fork.mine(100)
    fork.mine(1_000)
    for asset in ("WETH", "WBTC", "LINK"):
        move_price(market, asset, market.price_usd_e8(asset) * 45 // 100)
    return fork


def borrowers() -> list[bytes]:
    return [index.to_bytes(2, "big") + b"\xb0" * 18 for index in range(BORROWERS)]


def accounts() -> list[bytes]:
    """Borrowers, mixed with empty accounts and contracts."""
    rng = random.Random(21)
    strangers = [rng.randbytes(20) for _ in range(60)]
    mixed = [*borrowers(), *strangers, ZERO_ADDRESS, b"\xff" * 20, bytes(19) + b"\1"]
    rng.shuffle(mixed)
    return mixed


def one_by_one(fork: Fork, to: str, datas: Sequence[bytes]) -> list[bytes | None]:
    outputs: list[bytes | None] = []
    for data in datas:
        try:
            outputs.append(fork.call(to, data))
        except ExecutionError:
            outputs.append(None)
    return outputs


@pytest.mark.slow
def test_account_data_of_many_borrowers(fork: Fork) -> None:
    asked = accounts()
    datas = [ACCOUNT_DATA.encode(address) for address in asked]
    expected = one_by_one(fork, "AaveV3.Pool", datas)
    assert None not in expected
    assert fork.call_many("AaveV3.Pool", datas, threads=1, verify=True) == expected
    assert fork.call_many("AaveV3.Pool", datas * 4, threads=2) == expected * 4
    assert fork.frozen().call_many("AaveV3.Pool", datas) == expected

    table = AaveV3(fork).account_data(asked)
    assert [tuple(row) for row in table] == [ACCOUNT_DATA.decode(output) for output in expected if output]
    assert any(0 < factor < 10**18 for factor in table.health_factor_wad.ints())


@pytest.mark.slow(0.6)
def test_most_of_them_are_replayed(fork: Fork) -> None:
    datas = [ACCOUNT_DATA.encode(address) for address in accounts()] * 8
    pool = fork.address_of("AaveV3.Pool")
    outputs, failed, effort = fork._evm.call_many(pool, datas, None, None, 1, True)
    assert (len(outputs), failed) == (len(datas), [])
    assert effort["replayed"] > 0.8 * len(datas)


def test_time_and_prices_are_those_of_the_moment(fork: Fork) -> None:
    twin = fork.copy()
    datas = [ACCOUNT_DATA.encode(address) for address in borrowers()]
    before = twin.call_many("AaveV3.Pool", datas)
    twin.mine(10_000)
    market = AaveV3(twin)
    move_price(market, "WETH", market.price_usd_e8("WETH") * 2)
    after = twin.call_many("AaveV3.Pool", datas)
    assert after == one_by_one(twin, "AaveV3.Pool", datas)
    assert sum(a != b for a, b in zip(after, before, strict=True)) > BORROWERS // 2


VIEWS = [
    ("AaveV3.aWETH", "balanceOf(address)", "account"),
    ("AaveV3.variableDebtUSDC", "balanceOf(address)", "account"),
    ("AaveV3.Pool", "getUserConfiguration(address)", "account"),
    ("AaveV3.Pool", "getReserveData(address)", "asset"),
    ("AaveV3.Pool", "getReserveNormalizedVariableDebt(address)", "asset"),
    ("AaveV3.DataProvider", "getUserReserveData(address,address)", "asset account"),
    ("AaveV3.Oracle", "getAssetPrice(address)", "asset"),
    ("USDT", "balanceOf(address)", "account"),
    ("WETH", "allowance(address,address)", "account account"),
    ("CompoundV3.cUSDCv3", "borrowBalanceOf(address)", "account"),
    ("CompoundV3.cUSDCv3", "isLiquidatable(address)", "account"),
    ("CompoundV3.cUSDCv3", "quoteCollateral(address,uint256)", "asset number"),
    ("CompoundV3.cUSDCv3", "getSupplyRate(uint256)", "number"),
    ("UniswapV3.WETH/USDC.500", "ticks(int24)", "tick"),
    ("UniswapV3.WETH/USDC.500", "tickBitmap(int16)", "small"),
    ("UniswapV3.WETH/USDC.500", "observe(uint32[])", "seconds"),
    ("UniswapV3.Factory", "getPool(address,address,uint24)", "asset asset fee"),
    ("UniswapV3.QuoterV2", "quoteExactInputSingle((address,address,uint256,uint24,uint160))", "quote"),
]


@pytest.mark.parametrize(("to", "signature", "kinds"), VIEWS, ids=[f"{view[0]}.{view[1]}" for view in VIEWS])
def test_other_views(fork: Fork, to: str, signature: str, kinds: str) -> None:
    function, rng = Function.parse(signature), random.Random(signature)
    assets = [fork.address_of(asset) for asset in [*COLLATERAL, *DEBT, "USDT"]]
    held = accounts()
    make = {
        "account": lambda: rng.choice(held),
        "asset": lambda: rng.choice(assets) if rng.random() < 0.95 else rng.randbytes(20),
        "number": lambda: rng.getrandbits(rng.randrange(1, 80)),
        "tick": lambda: rng.randrange(-90_000, 90_000) * 10,
        "small": lambda: rng.randrange(-2_000, 2_000),
        "seconds": lambda: [rng.choice([0, 0, 1, 5, 10**6])],
        "fee": lambda: rng.choice([100, 500, 3_000, 10_000, 7]),
        "quote": lambda: (
            fork.address_of("WETH"), fork.address_of("USDC"), rng.getrandbits(rng.randrange(30, 68)), 500, 0
        ),
    }  # fmt: skip
    datas = [function.encode(*(make[kind]() for kind in kinds.split())) for _ in range(300)]
    expected = one_by_one(fork, to, datas)
    assert fork.call_many(to, datas, check=False, threads=1, verify=True) == expected
    assert fork.call_many(to, datas, check=False, threads=3) == expected
    assert any(expected)
