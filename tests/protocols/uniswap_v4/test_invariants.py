"""Nothing comes from nothing: currencies are conserved over random swaps and positions, and refusals leave no trace."""

from __future__ import annotations

from random import Random

import pytest

from mayavi.errors import MayaviError
from mayavi.protocols import UniswapV4
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.position import UniswapV4Position
from mayavi.protocols.uniswap_v4.router import router_of
from tests.protocols.uniswap_v4.worlds import ALICE, LP, POOLS, Made, open_world, pool_on
from tests.states import state_of

ROUNDS = 40


@pytest.mark.parametrize("made", [POOLS[0], POOLS[10], POOLS[15]], ids=lambda made: str(made[:3]))
def test_currencies_are_conserved(made: Made) -> None:
    uniswap, rng = open_world(), Random(str(made))
    fork, pool = uniswap.fork, pool_on(uniswap, made)
    contracts = [fork.address_of(f"UniswapV4.{name}") for name in ("PoolManager", "PositionManager", "Quoter")]
    between = [router_of(fork).address, *contracts[1:], fork.address_of("Permit2")]
    everybody = [ALICE, LP, contracts[0]]

    def totals() -> list[int]:
        return [sum(each.balance_of(who) for who in everybody) for each in (pool.currency0, pool.currency1)]

    first, positions, done = totals(), list[UniswapV4Position](), 0
    for _ in range(ROUNDS):
        before = state_of(fork)
        try:
            _act(uniswap, made, positions, rng)
            done += 1
        except MayaviError:
            assert state_of(fork) == before
        assert totals() == first
        for currency in (pool.currency0, pool.currency1):
            assert [currency.balance_of(each) for each in between] == [0] * len(between)
    assert done > ROUNDS // 2


def _act(uniswap: UniswapV4, made: Made, positions: list[UniswapV4Position], rng: Random) -> None:
    fork, pool = uniswap.fork, pool_on(uniswap, made)
    kind = rng.choice(["swap", "swap", "buy", "mint", "increase", "decrease", "collect", "burn"])
    pair = [made.currency, made.other]
    rng.shuffle(pair)
    unit = 10 ** Currency(fork, pair[0]).decimals
    amount = int(unit * 10 ** rng.uniform(-4, 3))
    if kind == "swap":
        uniswap.swap_exact_input((*pair, made.fee), amount, sender=ALICE)
    elif kind == "buy":
        uniswap.swap_exact_output((*pair[::-1], made.fee), amount, sender=ALICE)
    elif kind == "mint":
        spacing = pool.tick_spacing
        middle = pool.tick // spacing * spacing + rng.randint(-5, 5) * spacing
        amounts = (rng.randrange(10**12), rng.randrange(10**12))
        positions.append(uniswap.mint(pool, middle - 9 * spacing, middle + 9 * spacing, amounts, sender=LP).position)
    elif positions:
        position = rng.choice(positions)
        if kind == "increase":
            position.increase((rng.randrange(10**12), rng.randrange(10**12)))
        elif kind == "decrease":
            position.decrease(max(1, position.liquidity // rng.choice([1, 2, 7])))
        elif kind == "collect":
            position.collect()
        else:
            positions.remove(position)
            position.burn()
