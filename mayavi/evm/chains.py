"""Known chains: ids, block times and hard forks by block and time.

Forks activate at block numbers before the merge and at timestamps after it. The rules of a block follow from its
chain, number and timestamp alone. An unlisted chain is an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from mayavi.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Chain:
    """One chain: `forks` are (first block, first timestamp, hard fork) in order, `blob_fees` (timestamp, fraction).

    A chain without `forks` is known by name and as a replica; a fork of the real one has to name its hard fork.
    """

    name: str
    chain_id: int
    block_seconds: int
    forks: tuple[tuple[int, int, str], ...] = ()
    blob_fees: tuple[tuple[int, int], ...] = ()
    dev: bool = False
    deposit_contract: bytes | None = None
    """Contract whose logs are deposit requests since Prague (EIP-6110)."""


_ETHEREUM = Chain(
    "ethereum",
    1,
    12,
    (
        (0, 0, "frontier"),
        (1_150_000, 0, "homestead"),
        (2_463_000, 0, "tangerine"),
        (2_675_000, 0, "spurious_dragon"),
        (4_370_000, 0, "byzantium"),
        (7_280_000, 0, "petersburg"),
        (9_069_000, 0, "istanbul"),
        (12_244_000, 0, "berlin"),
        (12_965_000, 0, "london"),
        (15_537_394, 0, "paris"),
        (0, 1_681_338_455, "shanghai"),
        (0, 1_710_338_135, "cancun"),
        (0, 1_746_612_311, "prague"),
        (0, 1_764_798_551, "osaka"),
    ),
    # The blob schedule has its own forks: Cancun, Prague, then the two parameter-only forks that followed Osaka.
    (
        (1_710_338_135, 3_338_477),
        (1_746_612_311, 5_007_716),
        (1_765_290_071, 8_346_193),
        (1_767_747_671, 11_684_671),
    ),
    deposit_contract=bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa"),
)

# Ethereum's test networks, from the merge on.
_HOLESKY = Chain(
    "holesky",
    17_000,
    12,
    (
        (0, 0, "paris"),
        (0, 1_696_000_704, "shanghai"),
        (0, 1_707_305_664, "cancun"),
        (0, 1_740_434_112, "prague"),
        (0, 1_759_308_480, "osaka"),
    ),
    (
        (1_707_305_664, 3_338_477),
        (1_740_434_112, 5_007_716),
        (1_759_800_000, 8_346_193),
        (1_760_389_824, 11_684_671),
    ),
    deposit_contract=bytes.fromhex("4242424242424242424242424242424242424242"),
)
_SEPOLIA = Chain(
    "sepolia",
    11_155_111,
    12,
    (
        (1_450_409, 0, "paris"),
        (0, 1_677_557_088, "shanghai"),
        (0, 1_706_655_072, "cancun"),
        (0, 1_741_159_776, "prague"),
        (0, 1_760_427_360, "osaka"),
    ),
    (
        (1_706_655_072, 3_338_477),
        (1_741_159_776, 5_007_716),
        (1_761_017_184, 8_346_193),
        (1_761_607_008, 11_684_671),
    ),
    deposit_contract=bytes.fromhex("7f02c3e3c98b133055b8b348b2ac625669ed295d"),
)
_HOODI = Chain(
    "hoodi",
    560_048,
    12,
    ((0, 0, "cancun"), (0, 1_742_999_832, "prague"), (0, 1_761_677_592, "osaka")),
    ((0, 3_338_477), (1_742_999_832, 5_007_716), (1_762_365_720, 8_346_193), (1_762_955_544, 11_684_671)),
    deposit_contract=bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa"),
)

# Other chains are listed from the first block that follows a named fork; earlier blocks are an error.
# The two rollups of the OP Stack: Bedrock, Canyon, Ecotone and Isthmus.
_OPTIMISM = Chain(
    "optimism",
    10,
    2,
    (
        (105_235_063, 0, "paris"),
        (0, 1_704_992_401, "shanghai"),
        (0, 1_710_374_401, "cancun"),
        (0, 1_746_806_401, "prague"),
    ),
)
_BASE = Chain(
    "base",
    8453,
    2,
    (
        (0, 0, "paris"),
        (0, 1_704_992_401, "shanghai"),
        (0, 1_710_374_401, "cancun"),
        (0, 1_746_806_401, "prague"),
    ),
)
# ArbOS 11, 20 and 40.
_ARBITRUM = Chain(
    "arbitrum",
    42_161,
    1,
    (
        (22_207_817, 0, "paris"),
        (0, 1_708_804_873, "shanghai"),
        (0, 1_710_424_089, "cancun"),
        (0, 1_750_201_532, "prague"),
    ),
)
# Jaipur, Agra, Napoli and Bhilai.
_POLYGON = Chain(
    "polygon",
    137,
    2,
    ((23_850_000, 0, "london"), (50_523_000, 0, "shanghai"), (54_876_000, 0, "cancun"), (73_440_256, 0, "prague")),
)
# Apricot 3, Durango and Etna. There was never proof of work, but the DIFFICULTY opcode kept its old meaning.
_AVALANCHE = Chain(
    "avalanche", 43_114, 2, ((0, 1_629_813_600, "london"), (0, 1_709_740_800, "shanghai"), (0, 1_734_368_400, "cancun"))
)
# A development node chooses its own rules; a fork of one infers them from the header.
_HARDHAT = Chain("hardhat", 31_337, 1, ((0, 0, "shanghai"),), dev=True)
_GANACHE = Chain("ganache", 1337, 1, ((0, 0, "shanghai"),), dev=True)

_TEST_NETWORKS = (_HOLESKY, _SEPOLIA, _HOODI)
_WITHOUT_RULES = (
    Chain("bnb", 56, 1),
    Chain("celo", 42_220, 1),
    Chain("gnosis", 100, 5),
    Chain("ink", 57_073, 1),
    Chain("linea", 59_144, 2),
    Chain("mantle", 5_000, 2),
    Chain("megaeth", 4_326, 1),
    Chain("metis", 1_088, 2),
    Chain("plasma", 9_745, 1),
    Chain("scroll", 534_352, 3),
    Chain("soneium", 1_868, 2),
    Chain("sonic", 146, 1),
)
_MAIN = (_ETHEREUM, _ARBITRUM, _OPTIMISM, _POLYGON, _BASE, _AVALANCHE)
_CHAINS = (*_MAIN, _HARDHAT, _GANACHE, *_TEST_NETWORKS, *_WITHOUT_RULES)


_NAME_ONE = "name a hard fork: `Fork.from_rpc(hardfork=…)`"
_NICKNAMES = {
    **dict.fromkeys(["mainnet", "eth", "l1"], "ethereum"),
    **dict.fromkeys(["arb", "arbitrum-one"], "arbitrum"),
    **dict.fromkeys(["op", "op-mainnet"], "optimism"),
    **dict.fromkeys(["matic", "pol"], "polygon"),
    **dict.fromkeys(["avax", "c-chain"], "avalanche"),
    **dict.fromkeys(["bsc", "bnb-chain"], "bnb"),
    "xdai": "gnosis",
}


def unknown_chain(name: str, known: Iterable[str], more: str, *, what: str = "chain") -> UnknownName:
    """Error for an unknown chain, or `what` is named after one, with the names that were probably meant."""
    return UnknownName.of(what, name, known, more, meant=_NICKNAMES.get(name.casefold().replace(" ", "-")))


@cache
def chain(name_or_id: str | int) -> Chain:
    """Return the chain with this name or id; raise `UnknownName` with the nearest names."""
    for known in _CHAINS:
        if name_or_id in (known.name, known.chain_id):
            return known
    names = [known.name for known in _CHAINS if not known.dev]
    known_ids = ", ".join(f"{known.name} ({known.chain_id})" for known in _CHAINS)
    raise unknown_chain(str(name_or_id), names, f"known chains: {known_ids}")


def hardfork_at(chain_id: int, number: int, timestamp: int) -> str:
    """Hard fork whose rules apply to block `number` of a chain."""
    known = chain(chain_id)
    active = [name for block, time, name in known.forks if number >= block and timestamp >= time]
    if not known.forks:
        raise UnknownName(f"the rules of {known.name} are not listed", _NAME_ONE)
    if not active:
        block, time, _ = known.forks[0]
        since = f"block {block:,}" if block else f"timestamp {time}"
        raise UnknownName(
            f"the rules of {known.name} block {number} are not known",
            f"they are from {since} on; or {_NAME_ONE}",
        )
    return active[-1]


def blob_fee_fraction_at(chain_id: int, timestamp: int, hardfork: str = "cancun") -> int:
    """Blob fee update fraction at a time: the divisor of EIP-4844's exponential.

    A chain without a blob schedule uses the fraction that Ethereum had at the same hard fork.
    """
    schedule = next((known.blob_fees for known in _CHAINS if known.chain_id == chain_id), ())
    active = [fraction for time, fraction in schedule if timestamp >= time]
    return active[-1] if active else _FRACTION_OF_FORK.get(hardfork, _FRACTION_OF_FORK["cancun"])


def deposit_contract_of(chain_id: int) -> bytes | None:
    """Contract whose logs are deposit requests; None if the chain has none or is unknown."""
    return next((known.deposit_contract for known in _CHAINS if known.chain_id == chain_id), None)


_FRACTION_OF_FORK = {"cancun": 3_338_477, "prague": 5_007_716, "osaka": 5_007_716}
