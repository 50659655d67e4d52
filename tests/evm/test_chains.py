"""A block's rules follow from its chain, number and time."""

from __future__ import annotations

import pytest

from mayavi._kernel import hardforks
from mayavi.errors import UnknownName
from mayavi.evm.chains import blob_fee_fraction_at, chain, deposit_contract_of, hardfork_at


@pytest.mark.parametrize(
    ("number", "timestamp", "expected"),
    [
        (7_279_999, 1_551_383_501, "byzantium"),
        (7_280_000, 1_551_383_524, "petersburg"),
        (9_068_999, 1_575_764_708, "petersburg"),
        (9_069_000, 1_575_764_709, "istanbul"),
        (12_243_999, 1_618_481_214, "istanbul"),
        (12_244_000, 1_618_481_223, "berlin"),
        (12_965_000, 1_628_166_822, "london"),
        (15_537_393, 1_663_224_162, "london"),
        (15_537_394, 1_663_224_179, "paris"),
        (17_034_869, 1_681_338_443, "paris"),
        (17_034_870, 1_681_338_455, "shanghai"),
        (19_426_586, 1_710_338_123, "shanghai"),
        (19_426_587, 1_710_338_135, "cancun"),
        (22_431_084, 1_746_612_311, "prague"),
        (23_935_694, 1_764_798_551, "osaka"),
    ],
)
def test_mainnet_changes_its_rules_at_the_right_block(number: int, timestamp: int, expected: str) -> None:
    assert hardfork_at(1, number, timestamp) == expected


@pytest.mark.parametrize(
    ("name", "number", "timestamp", "expected"),
    [
        ("optimism", 105_235_063, 1_686_068_903, "paris"),
        ("optimism", 114_696_813, 1_704_992_401, "shanghai"),
        ("base", 9_101_526, 1_704_992_399, "paris"),
        ("base", 9_101_527, 1_704_992_401, "shanghai"),
        ("base", 11_792_527, 1_710_374_401, "cancun"),
        ("base", 30_008_527, 1_746_806_401, "prague"),
        ("arbitrum", 184_097_478, 1_708_804_872, "paris"),
        ("arbitrum", 184_097_479, 1_708_804_873, "shanghai"),
        ("arbitrum", 190_301_729, 1_710_424_089, "cancun"),
        ("arbitrum", 348_448_105, 1_750_201_532, "prague"),
        ("polygon", 50_522_999, 1_701_000_000, "london"),
        ("polygon", 50_523_000, 1_701_000_002, "shanghai"),
        ("polygon", 54_876_000, 1_710_900_000, "cancun"),
        ("polygon", 73_440_256, 1_751_300_000, "prague"),
        ("avalanche", 40_300_000, 1_705_173_443, "london"),
        ("avalanche", 42_000_000, 1_709_740_800, "shanghai"),
        ("avalanche", 54_000_000, 1_734_368_400, "cancun"),
        ("holesky", 894_732, 1_707_305_652, "shanghai"),
        ("holesky", 894_733, 1_707_305_664, "cancun"),
        ("holesky", 3_419_704, 1_740_434_112, "prague"),
        ("holesky", 4_900_000, 1_759_308_480, "osaka"),
        ("sepolia", 5_187_022, 1_706_655_060, "shanghai"),
        ("sepolia", 5_187_023, 1_706_655_072, "cancun"),
        ("sepolia", 7_836_331, 1_741_159_776, "prague"),
        ("hoodi", 60_411, 1_742_999_820, "cancun"),
        ("hoodi", 60_412, 1_742_999_832, "prague"),
    ],
)
def test_other_chains_change_theirs_at_the_times_their_clients_name(
    name: str, number: int, timestamp: int, expected: str
) -> None:
    assert hardfork_at(chain(name).chain_id, number, timestamp) == expected


def test_every_fork_named_is_one_the_kernel_knows() -> None:
    names = (
        "ethereum",
        "arbitrum",
        "optimism",
        "polygon",
        "base",
        "avalanche",
        "hardhat",
        "holesky",
        "sepolia",
        "hoodi",
    )
    for name in names:
        assert {fork for _, _, fork in chain(name).forks} <= set(hardforks())


def test_the_blob_fee_moves_at_its_own_times() -> None:
    assert blob_fee_fraction_at(1, 1_710_338_135) == 3_338_477
    assert blob_fee_fraction_at(1, 1_746_612_311) == 5_007_716
    assert blob_fee_fraction_at(1, 1_767_747_671) == 11_684_671
    assert blob_fee_fraction_at(777, 0, "prague") == 5_007_716
    assert blob_fee_fraction_at(17_000, 1_760_389_823) == 8_346_193
    assert blob_fee_fraction_at(17_000, 1_760_389_824) == 11_684_671


def test_deposits_are_made_to_a_contract_of_the_chain() -> None:
    mainnet, holesky = deposit_contract_of(1), deposit_contract_of(17_000)
    assert mainnet == bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa")
    assert holesky == bytes.fromhex("42" * 20)
    assert deposit_contract_of(8453) is None


def test_an_unknown_chain_or_age_is_an_error() -> None:
    with pytest.raises(UnknownName, match="unknown chain 'etherium'") as failure:
        chain("etherium")
    assert "did you mean 'ethereum'?" in str(failure.value.hint)
    with pytest.raises(UnknownName, match="unknown chain '999'"):
        hardfork_at(999, 1, 1)
    with pytest.raises(UnknownName, match="the rules of polygon block 1 are not known"):
        hardfork_at(137, 1, 1)


@pytest.mark.parametrize(
    ("nickname", "name"),
    [("mainnet", "ethereum"), ("ETH", "ethereum"), ("arbitrum one", "arbitrum"), ("avax", "avalanche")],
)
def test_what_people_call_a_chain_leads_to_its_name(nickname: str, name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        chain(nickname)
    assert f"did you mean '{name}'?" in str(caught.value.hint)
