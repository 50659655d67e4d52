"""The processes of a scenario are those its words say."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.markets import JumpDiffusion, stream
from mayavi.scenarios.build.pricing import process_of
from mayavi.scenarios.loading import load_text

TEXT = """\
name: jumps
chain: ethereum
steps: 4
step_time: 1h
prices:
  WETH: {process: jump_diffusion, volatility: 0, jumps_per_year: 12, jump_mean: -10%, jump_deviation: 30%}
agents:
  alice: {kind: borrower, collateral: 1 WETH, debt: 100 USDC}
"""


def test_a_jump_moves_the_price_by_its_mean_on_average() -> None:
    process = process_of(load_text(TEXT).config.prices["WETH"], "WETH")
    assert process == JumpDiffusion.of_mean_size(0.0, 12.0, -0.1, 0.3)
    assert isinstance(process, JumpDiffusion)
    sizes = np.exp(stream(1, "sizes").normal(process.jump_mean, process.jump_deviation, 200_000)) - 1
    assert sizes.mean() == pytest.approx(-0.1, abs=0.003)


def test_jumps_that_are_all_alike_can_be_asked_for() -> None:
    process = process_of(load_text(TEXT, overrides=["prices.WETH.jump_deviation=0"]).config.prices["WETH"], "WETH")
    assert process == JumpDiffusion.of_mean_size(0.0, 12.0, -0.1, 0.0)
