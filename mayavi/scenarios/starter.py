"""Files that `mayavi new scenario` writes: a small scenario with comments, ready to run, and its schema."""

from __future__ import annotations

import json
from pathlib import Path

from mayavi.scenarios.schema import HINT, json_schema

SCHEMA_NAME = "scenario.schema.json"
"""Name by which an editor finds the schema beside a scenario."""

_TEXT = """\
{hint}
# `mayavi run {file}` runs this scenario, `mayavi scenarios show {file}` checks and summarises it.
title: WETH falls by a quarter, and leveraged borrowers are liquidated
chain: ethereum
chains: [ethereum, arbitrum, optimism, polygon, base, avalanche]   # chains it can run on; --chain chooses
steps: 24
step_time: 1h                          # or `step_blocks: 300`

# Price processes off chain; price feeds follow. Also: constant, ramp, path, peg, jump_diffusion.
prices:
  WETH: {{process: step, at: 6, size: -25%, then: {{process: gbm, volatility: 80%}}}}

# Agents. Choose any names; `kind` decides what an agent does.
agents:
  borrowers:
    kind: borrower
    count: 50
    protocol: aave_v3                  # or spark, compound_v3
    collateral: WETH                   # the value of each account is drawn from size_usd
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
    pool: WETH/USDC.500                # it keeps this pool near the outside price
    capital: {{WETH: 200_000, USDC: 400_000_000}}   # with too little, the pool stays at the old price
    priority_fee: 5 gwei               # it trades before the liquidators

ordering: priority_fee                 # order in a block: fifo, shuffle or priority_fee
gas: {{base_fee: 20 gwei}}
"""


def starter(file: str) -> str:
    """Return the text of a first scenario for the path `file`."""
    return _TEXT.format(hint=HINT, file=file)


def schema_text() -> str:
    """Return the JSON Schema of scenario files as text."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def schema_file(folder: Path) -> tuple[Path, str]:
    """Return path and text of the schema for the scenarios of a folder."""
    return folder / SCHEMA_NAME, schema_text()
