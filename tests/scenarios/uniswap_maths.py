"""What a Uniswap V3 pool computes in a swap, in integers alone: the model that executed swaps are held against.

Of a pool whose liquidity is one position over all prices no tick is ever crossed. The contract still stops wherever a
word of its tick bitmap ends, and rounds there, so the model does too.
"""

from __future__ import annotations

Q96 = 1 << 96
_FACTORS = (
    *(0xFFFCB933BD6FAD37AA2D162D1A594001, 0xFFF97272373D413259A46990580E213A, 0xFFF2E50F5F656932EF12357CF3C7FDCC),
    *(0xFFE5CACA7E10E4E61C3624EAA0941CD0, 0xFFCB9843D60F6159C9DB58835C926644, 0xFF973B41FA98C081472E6896DFB254C0),
    *(0xFF2EA16466C96A3843EC78B326B52861, 0xFE5DEE046A99A2A811C461F1969C3053, 0xFCBE86C7900A88AEDCFFC83B479AA3A4),
    *(0xF987A7253AC413176F2B074CF7815E54, 0xF3392B0822B70005940C7A398E4B70F3, 0xE7159475A2C29B7443B29C7FA6E889D9),
    *(0xD097F3BDFD2022B8845AD8F792AA5825, 0xA9F746462D870FDF8A65DC1F90E061E5, 0x70D869A156D2A1B890BB3DF62BAF32F7),
    *(0x31BE135F97D08FD981231505542FCFA6, 0x9AA508B5B7A84E1C677DE54F3E99BC9, 0x5D6AF8DEDB81196699C329225EE604),
    *(0x2216E584F5FA1EA926041BEDFE98, 0x48A170391F7DC42444E8FA2),
)
"""1.0001 to the power of minus a half, minus one, minus two, minus four … with 128 binary digits."""


def sqrt_price_at_tick(tick: int) -> int:
    """1.0001 ** (tick / 2) times 2**96, as the contract rounds it."""
    ratio = 1 << 128
    for bit, factor in enumerate(_FACTORS):
        if abs(tick) >> bit & 1:
            ratio = ratio * factor >> 128
    if tick > 0:
        ratio = (2**256 - 1) // ratio
    return (ratio >> 32) + (1 if ratio % (1 << 32) else 0)


def swapped(
    root: int, tick: int, liquidity: int, spacing: int, fee: int, amount_in: int, *, zero_for_one: bool
) -> tuple[int, int]:
    """What `amount_in` brings, and the square root price after it."""
    left, received = amount_in, 0
    while left:
        word = tick // spacing >> 8 if zero_for_one else tick // spacing + 1 >> 8
        edge = word * 256 * spacing if zero_for_one else (word * 256 + 255) * spacing
        target = sqrt_price_at_tick(edge)
        able = left * (10**6 - fee) // 10**6
        needed = (
            _amount0(target, root, liquidity, up=True) if zero_for_one else _amount1(root, target, liquidity, up=True)
        )
        after = target if able >= needed else _next(root, liquidity, able, zero_for_one)
        if zero_for_one:
            spent = needed if after == target else _amount0(after, root, liquidity, up=True)
            received += _amount1(after, root, liquidity, up=False)
        else:
            spent = needed if after == target else _amount1(root, after, liquidity, up=True)
            received += _amount0(root, after, liquidity, up=False)
        paid = left - spent if after != target else -(-spent * fee // (10**6 - fee))
        left -= spent + paid
        root, tick = after, (edge - 1 if zero_for_one else edge) if after == target else tick
    return received, root


def _next(root: int, liquidity: int, amount: int, zero_for_one: bool) -> int:
    if not zero_for_one:
        return root + (amount << 96) // liquidity
    numerator = liquidity << 96
    return _ceil(numerator * root, numerator + amount * root)


def _amount0(low: int, high: int, liquidity: int, *, up: bool) -> int:
    numerator = (liquidity << 96) * (high - low)
    return _ceil(_ceil(numerator, high), low) if up else numerator // high // low


def _amount1(low: int, high: int, liquidity: int, *, up: bool) -> int:
    product = liquidity * (high - low)
    return _ceil(product, Q96) if up else product // Q96


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
