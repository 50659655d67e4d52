"""The part of the StableSwap ABI that the adapter uses."""

from __future__ import annotations

COINS = ["coins(uint256 i) view returns (address)"]


def pool_abi(n: int) -> list[str]:
    """Return the functions of a pool of `n` coins."""
    each = f"uint256[{n}]"
    return [
        *COINS,
        "balances(uint256 i) view returns (uint256)",
        "admin_balances(uint256 i) view returns (uint256)",
        "A() view returns (uint256)",
        "initial_A() view returns (uint256)",
        "future_A() view returns (uint256)",
        "initial_A_time() view returns (uint256)",
        "future_A_time() view returns (uint256)",
        "fee() view returns (uint256)",
        "admin_fee() view returns (uint256)",
        "owner() view returns (address)",
        "lp_token() view returns (address)",
        "get_virtual_price() view returns (uint256)",
        "get_dy(int128 i, int128 j, uint256 dx) view returns (uint256)",
        f"calc_token_amount({each} amounts, bool deposit) view returns (uint256)",
        "calc_withdraw_one_coin(uint256 amount, int128 i) view returns (uint256)",
        "exchange(int128 i, int128 j, uint256 dx, uint256 min_dy)",
        f"add_liquidity({each} amounts, uint256 min_mint)",
        f"remove_liquidity(uint256 amount, {each} min_amounts)",
        f"remove_liquidity_imbalance({each} amounts, uint256 max_burn)",
        "remove_liquidity_one_coin(uint256 amount, int128 i, uint256 min_amount)",
        "ramp_A(uint256 future_A, uint256 future_time)",
        "stop_ramp_A()",
    ]
