"""The file that `mayavi scenarios new` writes: a small scenario that runs, with a comment to every line."""

from __future__ import annotations

from mayavi.scenarios.schema import HINT

_TEXT = """\
{hint}
# `mayavi run {file}` runs this, `mayavi scenarios show {file}` checks it and says what it means.
title: WETH falls by a quarter, and what that does to leveraged borrowers
chain: ethereum
chains: [ethereum, arbitrum, optimism, polygon, base, avalanche]   # where it can be run; --chain chooses
steps: 24
step_time: 1h                          # or `step_blocks: 300`

# How prices move outside the chain; the oracles follow. Also: constant, ramp, path, peg, jump_diffusion.
prices:
  WETH: {{process: step, at: 6, size: -25%, then: {{process: gbm, volatility: 80%}}}}

# Who acts. Names are yours; `kind` decides what an agent does.
agents:
  borrowers:
    kind: borrower
    count: 50
    protocol: aave_v3                  # or spark, compound_v3
    collateral: WETH                   # each account's value is drawn from size_usd
    debt: USDC
    size_usd: {{lognormal: {{median: 20_000, sigma: 1}}}}
    health_factor: {{uniform: [1.05, 2.5]}}
    behaviour: {{hold: 70%, band: 20%, panic: 10%}}
  liquidators:
    kind: liquidator
    count: 2
    capital: {{USDC: 5_000_000}}
  arbitrageur:
    kind: arbitrageur
    pool: WETH/USDC.500                # kept near the outside price
    capital: {{WETH: 200_000, USDC: 400_000_000}}   # too little, and liquidators sell at the price before the shock
    priority_fee: 5 gwei               # comes first, so that they do not either when they are quick

ordering: priority_fee                 # who comes first in a block: fifo, shuffle or priority_fee
gas: {{base_fee: 20 gwei}}
"""


def starter(file: str) -> str:
    """The text of a first scenario; `file` is what it will be called."""
    return _TEXT.format(hint=HINT, file=file)
