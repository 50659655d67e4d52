"""MetaMorpho vaults: share price, bad debt, caps, queues, allocation and the public allocator."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.evm.address import to_address
from mayavi.evm.units import WAD
from mayavi.protocols import MetaMorphoVault, MorphoBlue
from mayavi.protocols.morpho.creation import MARKETS, create_market, create_vault
from mayavi.protocols.morpho.vault import ALL
from mayavi.worlds.tables.morpho import VAULTS
from tests.protocols.morpho.model import Market
from tests.protocols.morpho.worlds import ALICE, BOB, CAROL, DAVE, DAY, USDC, move_price, open_blue, pass_time

WSTETH, WBTC, SDAI = MARKETS


def open_vault(fee_wad: int = 0) -> MetaMorphoVault:
    """A vault with a million of Alice's dollars in each market, of which Dave is the owner."""
    blue = open_blue()
    caps = dict.fromkeys(MARKETS, 10**6 * USDC)
    vault = create_vault(blue.fork, "mine", caps, owner=DAVE, fee_wad=fee_wad)
    blue.fork.deal("USDC", ALICE, 10**7 * USDC)
    vault.deposit(3 * 10**6 * USDC, sender=ALICE)
    return vault


def lose_peg(vault: MetaMorphoVault, factor: str = "0.9", days: int = 0) -> tuple[Market, int]:
    """Bob owes 95 % of sDAI's value when it falls to `factor`; Carol liquidates. Return a model of the market."""
    fork, market = vault.fork, vault.blue.market(SDAI)
    model = Market(market.lltv_wad, fork.timestamp, market.price_e36)
    model.updated = model.now = market.stored_state().last_update
    model.supply(vault.address, 10**6 * USDC, 0)
    model.now = fork.timestamp
    amount = 10**6 * 10**18 * 95 // 100
    owed = amount * market.price_e36 // 10**36 * 95 // 100
    fork.deal("sDAI", BOB, amount)
    market.account(BOB).supply_collateral(amount)
    model.supply_collateral(BOB, amount)
    market.account(BOB).borrow(owed)
    model.borrow(BOB, owed, 0)
    pass_time(fork, days * DAY)
    move_price(fork, "sDAI", Decimal(factor))
    model.now, model.price = fork.timestamp, market.price_e36
    fork.deal("USDC", CAROL, 10**7 * USDC)
    done = market.account(CAROL).liquidate(BOB)
    model.liquidate(BOB, amount, 0)
    assert done.bad_debt == model.bad_debt > 0
    return model, done.bad_debt


@pytest.mark.parametrize(("days", "factor"), [(0, "0.9"), (30, "0.8"), (300, "0.5")])
def test_the_share_price_after_bad_debt_is_that_of_the_model(days: int, factor: str) -> None:
    vault = open_vault()
    shares = vault.total_supply
    model, bad_debt = lose_peg(vault, factor, days)
    left = model.of(vault.address).supply_shares * (model.supplied + 1) // (model.supply_shares + 10**6)
    total = 2 * 10**6 * USDC + left
    assert vault.total_assets == total
    offset = 10**12  # of a vault over a token with six decimals
    assert vault.share_price_wad == 10**36 * (total + 1) // (shares + offset) // USDC
    assert vault.assets_of(ALICE) == vault.balance_of(ALICE) * (total + 1) // (shares + offset)
    assert vault.allocation()[SDAI] == left
    if not days:
        assert vault.assets_of(ALICE) == pytest.approx(3 * 10**6 * USDC - bad_debt, abs=3)


def test_a_fee_is_taken_of_interest_and_not_given_back_after_a_loss() -> None:
    vault = open_vault(fee_wad=WAD // 10)
    supply, before = vault.total_supply, vault.contract.lastTotalAssets()
    model, _ = lose_peg(vault, "0.96", days=200)
    left = model.of(vault.address).supply_shares * (model.supplied + 1) // (model.supply_shares + 10**6)
    total, offset = 2 * 10**6 * USDC + left, 10**12
    gain = max(0, total - before)
    fee = gain // 10
    fee_shares = fee * (supply + offset) // (total - fee + 1)
    assert vault.share_price_wad == 10**36 * (total + 1) // (supply + fee_shares + offset) // USDC


def test_depositors_can_leave_with_what_is_not_lent() -> None:
    vault = open_vault()
    lose_peg(vault)
    most = vault.most_withdrawable(ALICE)
    assert most == vault.assets_of(ALICE)
    vault.withdraw(sender=ALICE)
    assert vault.balance_of(ALICE) == 0
    assert vault.total_assets <= 2


def test_lent_assets_cannot_be_withdrawn() -> None:
    vault = open_vault()
    market = vault.blue.market(WSTETH)
    vault.fork.deal("wstETH", BOB, 10**3 * WAD)
    market.account(BOB).supply_collateral(10**3 * WAD)
    market.account(BOB).borrow(900_000 * USDC)
    assert vault.most_withdrawable(ALICE) == 3 * 10**6 * USDC - 900_000 * USDC
    with pytest.raises(CallReverted, match="withdraw of the vault mine reverted: NotEnoughLiquidity") as caught:
        vault.withdraw(2_500_000 * USDC, sender=ALICE)
    assert "wait" in (caught.value.hint or "")


def test_deposits_follow_the_queue_up_to_the_caps() -> None:
    vault = open_vault()
    assert vault.allocation() == dict.fromkeys(MARKETS, 10**6 * USDC)
    with pytest.raises(CallReverted, match="AllCapsReached"):
        vault.deposit(USDC, sender=ALICE)
    vault.submit_cap(WBTC, 2 * 10**6 * USDC, sender=DAVE)
    with pytest.raises(CallReverted, match="TimelockNotElapsed"):
        vault.accept_cap(WBTC, sender=DAVE)
    pass_time(vault.fork, vault.timelock)
    vault.accept_cap(WBTC, sender=DAVE)
    vault.set_supply_queue([SDAI, WBTC, WSTETH], sender=DAVE)
    assert [each.name for each in vault.supply_queue()] == [SDAI, WBTC, WSTETH]
    vault.deposit(500_000 * USDC, sender=ALICE)
    assert vault.allocation()[WBTC] == 1_500_000 * USDC
    vault.submit_cap(SDAI, 0, sender=DAVE)
    assert vault.caps() == {WSTETH: 10**6 * USDC, WBTC: 2 * 10**6 * USDC, SDAI: 0}
    with pytest.raises(CallReverted, match="NotCuratorRole"):
        vault.submit_cap(SDAI, 1, sender=ALICE)


def test_the_withdraw_queue_can_be_reordered() -> None:
    vault = open_vault()
    vault.set_withdraw_queue([SDAI, WSTETH, WBTC], sender=DAVE)
    vault.withdraw(10 * USDC, sender=ALICE)
    assert vault.allocation()[SDAI] == 10**6 * USDC - 10 * USDC
    with pytest.raises(CallReverted, match="InvalidMarketRemovalNonZeroCap"):
        vault.set_withdraw_queue([SDAI, WSTETH], sender=DAVE)
    other = create_market(vault.fork, "WETH/USDC.86")
    with pytest.raises(UnknownName, match="market of this vault"):
        vault.set_withdraw_queue([SDAI, other], sender=DAVE)


def test_an_allocator_moves_assets_between_markets() -> None:
    vault = open_vault()
    vault.withdraw(500_000 * USDC, sender=ALICE)  # out of the first market
    vault.reallocate({WBTC: 700_000 * USDC, WSTETH: ALL}, sender=DAVE)
    assert vault.allocation() == {WSTETH: 800_000 * USDC, WBTC: 700_000 * USDC, SDAI: 10**6 * USDC}
    with pytest.raises(CallReverted, match="SupplyCapExceeded"):
        vault.reallocate({SDAI: 0, WSTETH: ALL}, sender=DAVE)
    with pytest.raises(CallReverted, match="NotAllocatorRole"):
        vault.reallocate({SDAI: 0, WSTETH: ALL}, sender=ALICE)


def test_anybody_reallocates_within_the_flow_caps() -> None:
    vault = open_vault()
    vault.withdraw(500_000 * USDC, sender=ALICE)
    caps = {WBTC: (0, 200_000 * USDC), SDAI: (0, 100_000 * USDC), WSTETH: (250_000 * USDC, 0)}
    vault.set_flow_caps(caps, sender=DAVE)
    vault.reallocate_to(WSTETH, {WBTC: 150_000 * USDC, SDAI: 100_000 * USDC}, sender=BOB)
    assert vault.allocation() == {WSTETH: 750_000 * USDC, WBTC: 850_000 * USDC, SDAI: 900_000 * USDC}
    assert vault.flow_caps(WBTC) == (150_000 * USDC, 50_000 * USDC)
    with pytest.raises(CallReverted, match="MaxOutflowExceeded") as caught:
        vault.reallocate_to(WSTETH, {WBTC: 50_001 * USDC}, sender=BOB)
    assert "flow_caps" in (caught.value.hint or "")
    with pytest.raises(CallReverted, match="NotAdminNorVaultOwner"):
        vault.set_flow_caps({WBTC: (0, 0)}, sender=BOB)


def test_the_recorded_vault_stands_at_its_address() -> None:
    blue = open_blue()
    vault = blue.vault("steakUSDC")
    assert blue.vaults == ["steakUSDC"]
    assert vault.address == to_address(VAULTS["steakUSDC"].address) == blue.vault("MetaMorpho.steakUSDC").address
    assert vault.contract.name() == "Steakhouse USDC"
    assert vault.contract.decimals() == 18
    assert vault.share_price == 1


def test_wrong_vaults_are_refused() -> None:
    blue = open_blue()
    with pytest.raises(UnknownName, match="unknown MetaMorpho vault 'steakUSD'") as caught:
        blue.vault("steakUSD")
    assert "steakUSDC" in (caught.value.hint or "")
    with pytest.raises(BadArgument, match="already"):
        create_vault(blue.fork, "steakUSDC", {WSTETH: 1})
    with pytest.raises(BadArgument, match="has no market"):
        create_vault(blue.fork, "empty", {})
    create_market(blue.fork, "wstETH/WETH.94.5")
    with pytest.raises(BadArgument, match="of the vault 'mixed' lend USDC, WETH"):
        create_vault(blue.fork, "mixed", {WSTETH: 1, "wstETH/WETH.94.5": 1})
    with pytest.raises(UnknownName):
        create_vault(blue.fork, "wrong", {"wstETH/USDC.1": 1})


def test_a_fork_without_labels_is_read_by_ids_and_addresses() -> None:
    """As a fork of a node is, whose chain has Morpho and no labels of ours."""
    vault = open_vault()
    fork, identifier = vault.fork.copy(), vault.blue.market(WBTC).id
    for label in [each for each in fork.labels if each.startswith(("Morpho.", "MetaMorpho."))]:
        del fork.labels[label]
    blue = MorphoBlue(fork)
    assert (blue.markets, blue.vaults) == ([], [])
    assert blue.market(identifier).name == WBTC
    found = blue.vault(vault.address)
    assert found.name == "mine"
    assert found.allocation() == vault.allocation()
    assert found.flow_caps(identifier) == (0, 0)
    with pytest.raises(UnknownName, match="unknown Morpho market") as caught:
        blue.market(WBTC)
    assert "give an id" in (caught.value.hint or "")
