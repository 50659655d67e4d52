"""Lines between points have the values of `np.interp`, and the same bits in a program."""

from __future__ import annotations

import numpy as np

from mayavi.evm.fleet import Fleet, Program
from mayavi.evm.float_word import FloatWord
from mayavi.evm.fork import Fork
from mayavi.gym_env.onchain.pool_trades import Polyline


def test_lines_between_points_in_arrays_and_in_a_program() -> None:
    rng = np.random.default_rng(3)
    for count in (2, 3, 17):
        xs, ys = np.sort(rng.normal(size=count)) * 1e20, np.cumsum(rng.random(count))
        line = Polyline(xs, ys)
        x = np.concatenate((xs, np.nextafter(xs, -np.inf), rng.uniform(1.5 * xs[0], 1.5 * xs[-1], 200)))
        found = line.at(x)
        assert np.allclose(found, np.interp(x, xs, ys), rtol=1e-14, atol=0)
        program = Program()
        (word,) = program.input_floats("x", 1)
        program.output_floats("y", [line.word_at(FloatWord(program, word)).word])
        fork = Fork.from_state(Fork.empty().freeze(), labels={}, source={})
        computed = Fleet(fork, len(x)).run(program, x=x[:, None]).arrays["y"][:, 0]
        assert computed.tobytes() == found.tobytes()
