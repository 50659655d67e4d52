"""Price adapters: a ratio with a cap that grows, and a principal token's discount to maturity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import CallReverted
from mayavi.evm.abi.contract import Contract
from mayavi.evm.fork import Fork
from mayavi.worlds.deploy.deployment import DEPLOYER, Deployment
from tests.worlds.replicas import artifact_store, interface_of

NOW, YEAR, ONE = 1_765_281_600, 365 * 86_400, 10**18
STRANGER = b"\x11" * 20


@pytest.fixture
def deployment() -> Deployment:
    fork = Fork.empty(chain_id=1, hardfork="cancun")
    fork.set_block(number=1, timestamp=NOW)
    deployment = Deployment(fork, artifact_store())
    deployment.place("base", "PriceFeed", "ETH / USD", 8, 3_000 * 10**8, 1, NOW, DEPLOYER)
    return deployment


def place(deployment: Deployment, contract: str, *arguments: object) -> Contract:
    address = deployment.place("feed", contract, "a feed", deployment["base"], *arguments, DEPLOYER)
    assert isinstance(deployment.chain, Fork)
    return deployment.chain.contract(address, interface_of(contract))


def at(deployment: Deployment, timestamp: int) -> None:
    assert isinstance(deployment.chain, Fork)
    deployment.chain.set_block(timestamp=timestamp)


def test_a_ratio_below_its_cap_is_the_price(deployment: Deployment) -> None:
    feed = place(deployment, "CappedRatioFeed", 12 * ONE // 10, 12 * ONE // 10, NOW, 1_000)
    assert feed.latestAnswer() == 3_600 * 10**8
    assert feed.latestRoundData()[1] == 3_600 * 10**8
    assert feed.decimals() == 8
    assert feed.is_capped() is False


def test_a_ratio_above_its_cap_counts_as_the_cap_which_grows_evenly(deployment: Deployment) -> None:
    feed = place(deployment, "CappedRatioFeed", ONE, ONE, NOW, 1_000)
    deployment.send("feed", "set_ratio(uint256)", 2 * ONE)
    assert feed.is_capped() is True
    assert feed.latestAnswer() == 3_000 * 10**8
    at(deployment, NOW + YEAR // 2)
    assert feed.max_ratio() == 105 * ONE // 100
    assert feed.latestAnswer() == 3_150 * 10**8
    at(deployment, NOW + YEAR)
    assert feed.latestAnswer() == 3_300 * 10**8
    deployment.send("feed", "set_ratio(uint256)", 104 * ONE // 100)
    assert feed.latestAnswer() == 3_120 * 10**8


def test_a_fall_of_the_ratio_is_not_capped(deployment: Deployment) -> None:
    feed = place(deployment, "CappedRatioFeed", ONE, ONE, NOW, 1_000)
    deployment.send("feed", "set_ratio(uint256)", ONE // 2)
    assert feed.latestAnswer() == 1_500 * 10**8


def test_a_principal_token_gains_until_maturity(deployment: Deployment) -> None:
    feed = place(deployment, "DiscountFeed", NOW + YEAR, ONE // 10)
    assert feed.latestAnswer() == 2_700 * 10**8
    at(deployment, NOW + YEAR // 2)
    assert feed.latestAnswer() == 2_850 * 10**8
    for later in (NOW + YEAR, NOW + 2 * YEAR):
        at(deployment, later)
        assert feed.latestAnswer() == 3_000 * 10**8
        assert feed.current_discount() == 0


def test_a_base_that_moves_moves_both(deployment: Deployment) -> None:
    feed = place(deployment, "DiscountFeed", NOW + YEAR, ONE // 10)
    deployment.send("base", "set_answer(int256)", 1_000 * 10**8)
    assert feed.latestAnswer() == 900 * 10**8


@pytest.mark.parametrize(
    ("contract", "arguments", "function", "values"),
    [
        ("CappedRatioFeed", (ONE, ONE, NOW, 1_000), "set_ratio(uint256)", (ONE,)),
        ("CappedRatioFeed", (ONE, ONE, NOW, 1_000), "set_cap(uint256,uint256,uint256)", (ONE, NOW, 1)),
        ("DiscountFeed", (NOW + YEAR, ONE // 10), "set_discount_rate(uint256)", (ONE,)),
    ],
)
def test_only_the_owner_changes_a_feed(
    deployment: Deployment, contract: str, arguments: tuple[int, ...], function: str, values: tuple[int, ...]
) -> None:
    place(deployment, contract, *arguments)
    with pytest.raises(CallReverted, match="caller is not the owner"):
        deployment.send("feed", function, *values, sender=STRANGER)


def test_impossible_settings_are_refused(deployment: Deployment) -> None:
    place(deployment, "CappedRatioFeed", ONE, ONE, NOW, 1_000)
    with pytest.raises(CallReverted, match="the snapshot is in the future"):
        deployment.send("feed", "set_cap(uint256,uint256,uint256)", ONE, NOW + 1, 1_000)
    place(deployment, "DiscountFeed", NOW + 2 * YEAR, ONE // 10)
    with pytest.raises(CallReverted, match="nothing would be left"):
        deployment.send("feed", "set_discount_rate(uint256)", ONE // 2)


@given(
    ratio=st.integers(0, 10 * ONE),
    snapshot=st.integers(1, 10 * ONE),
    growth=st.integers(0, 20_000),
    later=st.integers(0, 5 * YEAR),
    price=st.integers(0, 10**14),
)
def test_the_capped_price_is_the_formula(ratio: int, snapshot: int, growth: int, later: int, price: int) -> None:
    fork = Fork.empty(chain_id=1, hardfork="cancun")
    fork.set_block(number=1, timestamp=NOW)
    deployment = Deployment(fork, artifact_store())
    deployment.place("base", "PriceFeed", "ETH / USD", 8, price, 1, NOW, DEPLOYER)
    feed = place(deployment, "CappedRatioFeed", ratio, snapshot, NOW, growth)
    fork.set_block(timestamp=NOW + later)
    cap = snapshot + snapshot * growth * later // (10_000 * YEAR)
    assert feed.latestAnswer() == price * min(ratio, cap) // ONE
