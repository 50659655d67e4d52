"""Liquidity that amounts pay for in a range of ticks, as Uniswap's `LiquidityAmounts` and `TickMath` compute it."""

from __future__ import annotations

_RATIOS = (
    *(0xFFFCB933BD6FAD37AA2D162D1A594001, 0xFFF97272373D413259A46990580E213A, 0xFFF2E50F5F656932EF12357CF3C7FDCC),
    *(0xFFE5CACA7E10E4E61C3624EAA0941CD0, 0xFFCB9843D60F6159C9DB58835C926644, 0xFF973B41FA98C081472E6896DFB254C0),
    *(0xFF2EA16466C96A3843EC78B326B52861, 0xFE5DEE046A99A2A811C461F1969C3053, 0xFCBE86C7900A88AEDCFFC83B479AA3A4),
    *(0xF987A7253AC413176F2B074CF7815E54, 0xF3392B0822B70005940C7A398E4B70F3, 0xE7159475A2C29B7443B29C7FA6E889D9),
    *(0xD097F3BDFD2022B8845AD8F792AA5825, 0xA9F746462D870FDF8A65DC1F90E061E5, 0x70D869A156D2A1B890BB3DF62BAF32F7),
    *(0x31BE135F97D08FD981231505542FCFA6, 0x9AA508B5B7A84E1C677DE54F3E99BC9, 0x5D6AF8DEDB81196699C329225EE604),
    *(0x2216E584F5FA1EA926041BEDFE98, 0x48A170391F7DC42444E8FA2),
)
"""1.0001 ** -(2**n / 2), times 2**128; the first is that of one tick."""


def sqrt_price_at_tick(tick: int) -> int:
    """Return the square root price of a tick, rounded up, times 2**96."""
    ratio = 1 << 128
    for power, factor in enumerate(_RATIOS):
        if abs(tick) >> power & 1:
            ratio = ratio * factor >> 128
    if tick > 0:
        ratio = (2**256 - 1) // ratio
    return (ratio + 2**32 - 1) >> 32


def liquidity_for(root: int, lower: int, upper: int, amount0: int, amount1: int) -> int:
    """Return the liquidity that both amounts pay for between two square root prices, at the price `root`."""
    if root <= lower:
        return _of_amount0(lower, upper, amount0)
    if root >= upper:
        return _of_amount1(lower, upper, amount1)
    return min(_of_amount0(root, upper, amount0), _of_amount1(lower, root, amount1))


def _of_amount0(lower: int, upper: int, amount: int) -> int:
    return amount * (lower * upper >> 96) // (upper - lower)


def _of_amount1(lower: int, upper: int, amount: int) -> int:
    return (amount << 96) // (upper - lower)
