"""The exchange on Curve's 3pool in mainnet block 17,666,333, repeated on our StableSwap."""

from __future__ import annotations

from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.replay.case import read_receipts
from mayavi.validation.contracts.recorded import RecordedContracts
from mayavi.validation.gate import GateSkipped, Tally
from mayavi.worlds.deploy.curve import create_pool, pool_label
from mayavi.worlds.deploy.deployment import MARKET, Deployment, named_account
from mayavi.worlds.deploy.tokens import deploy_tokens
from mayavi.worlds.tables.chain import load_table
from mayavi.worlds.tables.curve import CurvePool

BLOCK = 17_666_333
POOL = to_address("0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7")
COINS = ("DAI", "USDC", "USDT")
_EXCHANGED = keccak_text("TokenExchange(address,int128,uint256,int128,uint256)")
_FEE, _ADMIN_FEE, _A = 2, 3, 7
_BALANCES = 1
_PART = "StableSwap3 in block 17,666,333"


def compare_exchanges(recorded: RecordedContracts, tally: Tally) -> None:
    """Set our pool to the recorded state and compare what each recorded exchange gives."""
    storage = recorded.get(BLOCK, POOL).storage
    at = int.from_bytes(keccak256(_BALANCES.to_bytes(32, "big")), "big")
    balances = [storage[at + coin] for coin in range(len(COINS))]
    pool = _pool(storage, balances)
    receipts = read_receipts(recorded.folder, BLOCK)
    if receipts is None:
        raise GateSkipped(f"'{recorded.folder}' has no receipts of block {BLOCK}")
    trader = named_account("validation.trader")
    for index, receipt in enumerate(receipts):
        for address, topics, data in receipt.logs:
            if address != POOL or topics[0] != _EXCHANGED:
                continue
            sold, amount, bought, expected = (int.from_bytes(data[at : at + 32], "big") for at in range(0, 128, 32))
            pool.fork.deal(pool.coins[sold].address, trader, amount)
            got = pool.exchange(sold, bought, amount, sender=trader).received
            what = f"transaction {index} sells {amount} units of {COINS[sold]} for {COINS[bought]}"
            tally.check(expected == got, f"{_PART}: {what}: the chain gave {expected}, ours {got}", part=_PART)


def _pool(storage: dict[int, int], balances: list[int]) -> CurveStableSwap:
    fork = Fork.empty(chain_id=1)
    fork.set_block(number=BLOCK, timestamp=1_688_900_000)
    deployment = Deployment(fork)
    tokens = load_table("ethereum").tokens
    deploy_tokens(deployment, {symbol: tokens[symbol] for symbol in COINS})
    facts = CurvePool(
        name="recorded",
        address=checksum(POOL),
        lp_token=checksum(named_account("shares")),
        lp_name="shares",
        lp_symbol="LP",
        owner=checksum(MARKET),
        coins=COINS,
        balances=(),  # deposited below in smallest units
        a=storage[_A],
        fee_e10=storage[_FEE],
        admin_fee_e10=storage[_ADMIN_FEE],
        measured_coin="USDT",
    )
    create_pool(deployment, facts)
    fork.labels = deployment.checksummed_labels()
    pool = CurveStableSwap(fork, pool_label(facts))
    for symbol, amount in zip(COINS, balances, strict=True):
        fork.deal(symbol, MARKET, amount)
    pool.add_liquidity(balances, sender=MARKET)
    return pool
