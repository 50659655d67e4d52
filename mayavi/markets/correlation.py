"""Correlated normal shocks by Cholesky factorisation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from mayavi.errors import BadArgument, UnknownName
from mayavi.markets.process import Floats
from mayavi.numerics.parameters import finite

_SLACK = 1e-9


class Correlation:
    """Correlations of the shocks of pairs of symbols: `Correlation({("WETH", "WBTC"): 0.8})`.

    Pairs not named are uncorrelated; inconsistent correlations are refused. Symbols are sorted, so the order of the
    pairs does not matter.
    """

    def __init__(self, pairs: Mapping[tuple[str, str], float]) -> None:
        known: dict[tuple[str, str], float] = {}
        for (one, other), value in pairs.items():
            number = finite(f"correlation of {one} and {other}", value)
            if not -1 <= number <= 1:
                raise BadArgument(f"correlation of {one} and {other} is '{value}'", "a correlation is from -1 to 1")
            if one == other:
                if number != 1:
                    raise BadArgument(f"correlation of {one} with itself is '{value}'", "leave it out: it is 1")
                continue
            key = (min(one, other), max(one, other))
            if known.get(key, number) != number:
                raise BadArgument(
                    f"correlation of {one} and {other} is both '{known[key]}' and '{value}'", "give each pair once"
                )
            known[key] = number
        self.pairs = dict(sorted(known.items()))
        self.symbols = tuple(sorted({symbol for pair in known for symbol in pair}))
        self.matrix = np.eye(len(self.symbols))
        for (one, other), value in self.pairs.items():
            row, column = self.symbols.index(one), self.symbols.index(other)
            self.matrix[row, column] = self.matrix[column, row] = value
        self._check()
        self.matrix.flags.writeable = False
        self._factor = _cholesky(self.matrix.tolist())

    @classmethod
    def of_matrix(cls, symbols: Sequence[str], matrix: Sequence[Sequence[float]] | Floats) -> Self:
        """Build from a full matrix with rows and columns in the order of `symbols`."""
        values = np.asarray(matrix, dtype=np.float64)
        count = len(symbols)
        if len(set(symbols)) != count:
            raise BadArgument(f"a symbol is listed twice in '{', '.join(symbols)}'", "each has one row and one column")
        if values.shape != (count, count):
            raise BadArgument(
                f"the correlation matrix has the shape {values.shape}", f"{count} symbols need {count} × {count}"
            )
        for row in range(count):
            if values[row, row] != 1:
                raise BadArgument(
                    f"correlation of {symbols[row]} with itself is '{values[row, row]}'",
                    "the diagonal of the matrix is 1",
                )
            for column in range(row):
                if values[row, column] != values[column, row]:
                    raise BadArgument(
                        f"correlation of {symbols[row]} and {symbols[column]} is both '{values[row, column]}' and "
                        f"'{values[column, row]}'",
                        "the matrix is the same above and below its diagonal",
                    )
        return cls({(symbols[r], symbols[c]): float(values[r, c]) for r in range(count) for c in range(r)})

    def of(self, one: str, other: str) -> float:
        """Return the correlation of two symbols."""
        return 1.0 if one == other else self.pairs.get((min(one, other), max(one, other)), 0.0)

    def apply(self, shocks: Mapping[str, Floats]) -> dict[str, Floats]:
        """Correlate independent standard normal `shocks`, by symbol.

        The results stay standard normal. An uncorrelated symbol keeps its shocks to the last bit.
        """
        joint = dict(shocks)
        for symbol in self.symbols:
            if symbol not in shocks:
                raise UnknownName.of("symbol of a correlation", symbol, shocks, f"there are {', '.join(shocks)}")
        for row, symbol in enumerate(self.symbols):
            factors = self._factor[row]
            mixed = np.zeros_like(shocks[symbol])
            for factor, other in zip(factors, self.symbols, strict=False):
                if factor:
                    mixed = mixed + factor * shocks[other]
            joint[symbol] = mixed
        return joint

    def _check(self) -> None:
        if not self.symbols:
            return
        least = float(np.linalg.eigvalsh(self.matrix)[0])
        if least < -_SLACK:
            weaker = math.floor(100 / (1 - least)) / 100
            raise BadArgument(
                f"correlations of {', '.join(self.symbols)} contradict each other: "
                f"the matrix has the eigenvalue {least:.3g}, and none may be negative",
                f"weaker ones do not: each times {weaker:g}, for one",
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Correlation) and self.pairs == other.pairs

    def __hash__(self) -> int:
        return hash(tuple(self.pairs.items()))

    def __repr__(self) -> str:
        return f"Correlation({self.pairs})"


def _cholesky(matrix: list[list[float]]) -> list[list[float]]:
    """Return the lower factor of a positive semidefinite matrix, in plain operations: the same bits everywhere."""
    factor: list[list[float]] = []
    for row, values in enumerate(matrix):
        line: list[float] = []
        for column in range(row):
            rest = values[column] - sum(a * b for a, b in zip(line, factor[column], strict=False))
            pivot = factor[column][column]
            line.append(rest / pivot if pivot else 0.0)
        left = 1.0 - sum(value * value for value in line)
        line.append(math.sqrt(left) if left > _SLACK else 0.0)  # zero: fully determined by the symbols before it
        factor.append(line)
    return factor
