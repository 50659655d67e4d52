"""How markets, accounts and assets are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import (
    BadArgument,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.protocols import CompoundV3, CompoundV3Account
from tests.protocols.compound.positions import ALICE, BOB, indebted
from tests.protocols.compound.worlds import mainnet_world, replica, set_price


def test_a_market_is_found_by_symbol_label_or_address() -> None:
    fork = replica("ethereum").copy()
    by_default = CompoundV3(fork)
    assert by_default.address == fork.address_of("CompoundV3.cUSDCv3")
    assert CompoundV3(fork, "CompoundV3.cUSDCv3").address == by_default.address
    assert CompoundV3(fork, fork.labels["CompoundV3.cUSDCv3"]).symbol == "cUSDCv3"
    assert (by_default.quote, CompoundV3(fork, "cWETHv3").quote) == ("USD", "ETH")
    with pytest.raises(UnknownName, match="unknown Compound market 'cUSDTv3'") as caught:
        CompoundV3(fork, "cUSDTv3")
    assert caught.value.hint
    assert "cUSDCv3" in caught.value.hint
    with pytest.raises(UnknownName):
        CompoundV3(fork, "USDC")
    with pytest.raises(UnknownName, match="no Compound V3 market is known on ethereum"):
        CompoundV3(Fork.empty())
    with pytest.raises(UnknownName, match="no Compound V3 market is known on avalanche"):
        CompoundV3(replica("avalanche"))
    with pytest.raises(UsageError, match="WETH is not a Compound V3 market"):
        CompoundV3(fork, fork.labels["WETH"])
    with pytest.raises(NoCode):
        CompoundV3(fork, ALICE)
    with pytest.raises(UsageError, match="'ethereum' is not a fork"):
        CompoundV3("ethereum")  # type: ignore[arg-type]


def test_accounts_are_addresses_names_or_account_objects_of_this_fork(
    market: CompoundV3, alice: CompoundV3Account
) -> None:
    asset = indebted(alice)
    price = alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price)
    bob, other = market.account(BOB), CompoundV3(market.fork.copy(), market.address)
    expected = market.account_data([ALICE])[0]
    assert market.account_data(alice)[0] == market.account_data(ALICE)[0] == market.account_data([alice])[0] == expected
    for act in (
        lambda: other.absorb(alice, sender=BOB),
        lambda: other.absorb([ALICE], sender=bob),
        lambda: other.account(alice),
        lambda: other.account_data([alice]),
        lambda: other.buy_collateral(asset.symbol, 1, sender=bob),
        lambda: other.asset(market.base),
    ):
        with pytest.raises(UsageError, match="belongs to another fork"):
            act()
    with pytest.raises(BadArgument, match="5 is neither one of the accounts"):
        market.absorb(5, sender=BOB)  # type: ignore[arg-type]
    with market.fork.snapshot():
        market.absorb([alice], sender=bob)
        assert alice.debt == 0
    market.absorb(alice, sender=bob)
    assert alice.debt == 0


def test_an_account_is_itself(market: CompoundV3, alice: CompoundV3Account) -> None:
    assert alice == CompoundV3(market.fork, market.address).account(ALICE)
    assert len({alice, market.account(ALICE), market.account(BOB)}) == 2
    assert alice != market.account(BOB)
    assert alice != CompoundV3(market.fork.copy(), market.address).account(ALICE)
    assert alice != ALICE


def test_the_real_bytecode_is_where_the_tests_say(cases: Path) -> None:
    fork = mainnet_world(cases)
    assert len(fork.code("CompoundV3.cUSDCv3")) == 19_027
    assert fork.code("CompoundV3.cUSDCv3") != replica("ethereum").code("CompoundV3.cUSDCv3")
