"""`FloatWord`: a float of a program, for formulas.

    wealth = FloatWord(program, program.float_of_word(value)) / 1e8
    program.output_floats("gain", [((wealth - start) / start.at_least(1.0)).word])

Every operation is one of the program, in the order written: bits are those of the same formula in NumPy.
"""

from __future__ import annotations

from mayavi.evm.fleet import Program, Word


class FloatWord:
    """A word of `program` that holds a float."""

    __slots__ = ("program", "word")

    def __init__(self, program: Program, word: Word | float) -> None:
        self.program = program
        self.word = program.float_constant(word) if isinstance(word, float | int) else word

    @classmethod
    def of(cls, program: Program, word: Word) -> FloatWord:
        """The integer `word` as a float."""
        return cls(program, program.float_of_word(word))

    def __add__(self, other: FloatWord | float) -> FloatWord:
        return FloatWord(self.program, self.program.float_add(self.word, _word(other)))

    def __sub__(self, other: FloatWord | float) -> FloatWord:
        return FloatWord(self.program, self.program.float_subtract(self.word, _word(other)))

    def __rsub__(self, other: float) -> FloatWord:
        return FloatWord(self.program, self.program.float_subtract(_word(other), self.word))

    def __mul__(self, other: FloatWord | float) -> FloatWord:
        return FloatWord(self.program, self.program.float_multiply(self.word, _word(other)))

    def __rmul__(self, other: float) -> FloatWord:
        return FloatWord(self.program, self.program.float_multiply(_word(other), self.word))

    def __truediv__(self, other: FloatWord | float) -> FloatWord:
        return FloatWord(self.program, self.program.float_divide(self.word, _word(other)))

    def __abs__(self) -> FloatWord:
        return FloatWord(self.program, self.program.float_absolute(self.word))

    def __lt__(self, other: FloatWord | float) -> Word:
        return self.program.float_less(self.word, _word(other))

    def at_least(self, low: FloatWord | float) -> FloatWord:
        """The larger of two, as `np.maximum`."""
        return FloatWord(self.program, self.program.float_maximum(self.word, _word(low)))

    def at_most(self, high: FloatWord | float) -> FloatWord:
        """The smaller of two, as `np.minimum`."""
        return FloatWord(self.program, self.program.float_minimum(self.word, _word(high)))

    def log(self) -> FloatWord:
        """Natural logarithm, as `portable.log`."""
        return FloatWord(self.program, self.program.float_log(self.word))

    def rounded(self) -> Word:
        """The nearest integer as a word, as `np.rint`."""
        return self.program.word_of_float(self.word)

    def where(self, condition: Word, other: FloatWord | float) -> FloatWord:
        """This float where `condition` is not zero, else `other`."""
        others = self.program.float_constant(other) if isinstance(other, float | int) else other.word
        return FloatWord(self.program, self.program.either(condition, self.word, others))


def _word(value: FloatWord | float) -> Word | float:
    return value.word if isinstance(value, FloatWord) else float(value)
