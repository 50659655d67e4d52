"""Float operations in every back end: the bits of NumPy and the portable functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi._kernel import NativeBuilder
from mayavi.numerics import portable
from tests.evm.floats import CODES, EDGES, TWO, bits, defined_by_numpy, expected, float_of_word, floats, word_of_float
from tests.evm.native.words import integers, limbs, words

BACKENDS = ["machine", "interpreter", "plain"]
NAMES = sorted(set(CODES) - {"float_of_word", "word_of_float"})
ADD, MUL = 0x01, 0x02


def of(value: float) -> int:
    return int(np.float64(value).view(np.uint64))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_every_operation_has_the_bits_of_numpy(name: str, data: st.DataObject) -> None:
    takes = 2 if name in TWO else 1
    rows = data.draw(st.lists(st.tuples(floats, floats), min_size=1, max_size=40))
    upper = data.draw(words) >> 64 << 64  # bits that an operation ignores
    constants = data.draw(st.tuples(*[st.one_of(st.none(), floats)] * takes))
    builder = NativeBuilder()
    operands = [
        builder.input(at) if value is None else builder.constant(of(value)) for at, value in enumerate(constants)
    ]
    builder.input(1)
    builder.output(builder.input(1))
    builder.output(builder.pure(CODES[name], *operands))
    given_floats = np.array(rows)
    columns = [
        given_floats[:, at] if value is None else np.full(len(rows), value) for at, value in enumerate(constants)
    ]
    sure = defined_by_numpy(name, *columns)
    if name in {"float_absolute", "float_negate"}:
        sure &= ~np.isnan(columns[0])
    wanted = expected(name, *columns)
    found = {}
    for backend in BACKENDS:
        _, outputs = builder.compile(backend).run(limbs([[upper | of(a), upper | of(b)] for a, b in rows]))
        found[backend] = outputs.tobytes()
        assert (outputs[:, 4] == wanted)[sure].all(), backend
        assert not outputs[:, 5:].any()
    assert len(set(found.values())) == 1


@given(st.lists(st.tuples(words, floats), min_size=1, max_size=40), st.integers(1, 256))
def test_words_become_floats_and_floats_become_words(rows: list[tuple[int, float]], width: int) -> None:
    builder = NativeBuilder()
    word, value = builder.input(0, width), builder.input(1)
    builder.output(builder.pure(CODES["float_of_word"], word))
    builder.output(builder.pure(CODES["word_of_float"], value))
    kept = [(word % 2**width, value) for word, value in rows]
    for backend in BACKENDS:
        _, outputs = builder.compile(backend).run(limbs([[word, of(value)] for word, value in kept]))
        for (word, value), found in zip(kept, outputs, strict=True):
            assert integers(found) == [of(float_of_word(word)), word_of_float(value)], backend


@pytest.mark.parametrize("backend", BACKENDS)
def test_exp_and_log_are_the_portable_ones_on_many_numbers(backend: str) -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate((rng.uniform(-760, 730, 3_000), rng.uniform(-1, 1, 1_000), EDGES))
    above = np.concatenate((np.exp(rng.uniform(-740, 700, 3_000)), rng.uniform(0.5, 2, 1_000), EDGES))
    builder = NativeBuilder()
    builder.output(builder.pure(CODES["float_exp"], builder.input(0)))
    builder.output(builder.pure(CODES["float_log"], builder.input(1)))
    rows = np.zeros((len(x), 8), dtype=np.uint64)
    rows[:, 0], rows[:, 4] = x.view(np.uint64), above.view(np.uint64)
    _, outputs = builder.compile(backend).run(rows)
    assert (outputs[:, 0] == bits(portable.exp(x))).all()
    assert (outputs[:, 4] == bits(portable.log(above))).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_product_and_a_sum_are_rounded_one_by_one(backend: str) -> None:
    builder = NativeBuilder()
    a, b, c = (builder.input(at) for at in range(3))
    product = builder.pure(CODES["float_multiply"], a, b)
    builder.output(builder.pure(CODES["float_add"], product, c))
    x, y = 1.0 + 2.0**-30, 1.0 - 2.0**-30
    _, outputs = builder.compile(backend).run(limbs([[of(x), of(y), of(-1.0)]] * 33))
    assert (outputs[:, 0] == of(x * y - 1.0)).all()
    assert x * y - 1.0 == 0.0  # a fused one would give -2**-60


def test_operations_have_names_and_sizes() -> None:
    builder = NativeBuilder()
    total = builder.pure(ADD, builder.input(0), builder.input(1))
    value = builder.pure(CODES["float_of_word"], total)
    builder.output(builder.pure(CODES["float_log"], value))
    builder.output(builder.pure(MUL, builder.pure(CODES["float_less"], value, value), total))
    text = builder.compile("machine").text()[1]
    assert "= FLOAT_OFWORD %2  ; 64 bits, 1 limbs" in text
    assert "= FLOAT_LOG %3  ; 64 bits, 1 limbs" in text
    assert "= FLOAT_LESS %3 %3  ; 1 bits, 1 limbs" in text


def test_an_instruction_of_the_evm_is_never_a_float_operation() -> None:
    builder = NativeBuilder()
    builder.input(0)
    with pytest.raises(ValueError, match="0xbe is not a pure instruction"):
        builder.pure(0xBE, 0)
