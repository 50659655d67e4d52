"""Price paths of a run: one per symbol, as floats and as a feed's integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UnknownKey
from mayavi.markets.correlation import Correlation
from mayavi.markets.process import Floats, PriceProcess
from mayavi.numerics.parameters import above_zero, whole
from mayavi.numerics.streams import stream as stream
from mayavi.numerics.streams import streams

E8 = 10**8
_CLEAR = 2.0**39  # below, the last place of a product is at most a ten-thousandth


class PricePaths(Mapping[str, Floats]):
    """Symbol → prices in USD at step 0, 1, … `steps`. The arrays are read-only.

    `usd_e8` gives the exact integer with 8 decimals that a feed posts.
    """

    def __init__(self, paths: Mapping[str, Floats], step_seconds: float) -> None:
        if not paths:
            raise BadArgument("there are no price paths", "give at least one symbol")
        self.step_seconds = above_zero("step_seconds", step_seconds, "time goes forward")
        self._paths: dict[str, Floats] = {}
        for symbol in sorted(paths):
            path = np.array(paths[symbol], dtype=np.float64)
            if path.ndim != 1 or len(path) < 2:
                raise BadArgument(f"the path of {symbol} has the shape {path.shape}", "one price a step and the start")
            path.flags.writeable = False
            self._paths[symbol] = path
            self._check(symbol, path)
        lengths = {symbol: len(path) for symbol, path in self._paths.items()}
        if len(set(lengths.values())) > 1:
            lengths_text = ", ".join(f"{symbol} {length}" for symbol, length in lengths.items())
            raise BadArgument(f"the paths differ in length: {lengths_text}", "every symbol has a price at every step")
        self.steps = next(iter(lengths.values())) - 1

    @classmethod
    def draw(
        cls,
        processes: Mapping[str, PriceProcess],
        start_usd: Mapping[str, float],
        *,
        steps: int,
        step_seconds: float,
        seed: int,
        correlation: Correlation | None = None,
    ) -> Self:
        """Draw one path for each of `processes`, from the prices in `start_usd`.

        A symbol's RNG follows from `seed` and its name, so adding or removing symbols changes no path except those
        correlated with them, and their order changes none.
        """
        return next(
            cls.draw_each(
                processes,
                start_usd,
                steps=steps,
                step_seconds=step_seconds,
                seeds=[seed],
                correlation=correlation,
            )
        )

    @classmethod
    def draw_each(
        cls,
        processes: Mapping[str, PriceProcess],
        start_usd: Mapping[str, float],
        *,
        steps: int,
        step_seconds: float,
        seeds: Sequence[int],
        correlation: Correlation | None = None,
    ) -> Iterator[Self]:
        """Draw the paths of each of `seeds`, in order: those of `draw`. An invalid one raises when its turn comes."""
        whole("steps", steps, 1, "a path has at least one step")
        above_zero("step_seconds", step_seconds, "time goes forward")
        rngs = {symbol: streams(seeds, "price", symbol) for symbol in sorted(processes)}
        shocks = {symbol: np.array([rng.standard_normal(steps) for rng in each]) for symbol, each in rngs.items()}
        if correlation is not None:
            for symbol in correlation.symbols:
                if symbol in processes and not processes[symbol].diffuses:
                    raise BadArgument(
                        f"{symbol} is correlated, but {_type_name(processes[symbol])} has no random shocks",
                        "correlate those that diffuse, such as GeometricBrownianMotion",
                    )
            shocks = correlation.apply(shocks)
        paths: dict[str, Iterator[Floats]] = {}
        for symbol in rngs:
            if symbol not in start_usd:
                raise BadArgument(f"{symbol} has no start price", "every process needs the price it starts at")
            start = above_zero(f"start price of {symbol}", start_usd[symbol], "a price is more than zero")
            drawn = processes[symbol].driven_each(start, shocks[symbol], float(step_seconds), rngs[symbol])
            paths[symbol] = iter(drawn)
        for _ in seeds:
            yield cls({symbol: next(each) for symbol, each in paths.items()}, step_seconds)

    def usd(self, symbol: str, step: int) -> float:
        """Return the price of one whole `symbol` at `step`, in USD."""
        path = self[symbol]
        if not 0 <= step <= self.steps:
            raise BadArgument(f"there is no step '{step}' in these prices", f"they run from step 0 to {self.steps}")
        return float(path[step])

    def usd_e8(self, symbol: str, step: int) -> int:
        """Return the price with 8 decimals: the exact float rounded once, half to even."""
        return to_usd_e8(self.usd(symbol, step))

    def __getitem__(self, symbol: str) -> Floats:
        if symbol not in self._paths:
            raise UnknownKey.of("price", symbol, self._paths, f"there are prices of {', '.join(self._paths)}")
        return self._paths[symbol]

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"<PricePaths of {', '.join(self)}: {self.steps} steps of {self.step_seconds:g} s>"

    @staticmethod
    def _check(symbol: str, path: Floats) -> None:
        if path.min() * E8 >= 0.5 and path.max() < np.inf:  # the lowest is not a number if any is none
            return
        for bad, what in ((~np.isfinite(path), "is not a number"), (path * E8 < 0.5, "is less than a feed can say")):
            if bad.any():
                step = int(np.argmax(bad))
                raise BadArgument(
                    f"the price of {symbol} at step {step}, '{path[step]}', {what}",
                    "a price is finite and at least 0.00000001; lower volatility, drift or the size of the shock",
                )


def to_usd_e8(price_usd: float) -> int:
    """Return the integer with 8 decimals nearest to the exact float, without intermediate rounding."""
    numerator, denominator = float(price_usd).as_integer_ratio()
    whole_part, rest = divmod(numerator * E8, denominator)
    doubled = 2 * rest
    return whole_part + (doubled > denominator or (doubled == denominator and whole_part % 2 == 1))


def all_to_usd_e8(prices_usd: Floats) -> NDArray[np.int64]:
    """Vectorised `to_usd_e8`.

    A product is off by at most half a unit in its last place, which matters only near the middle of two integers.
    """
    products = prices_usd * E8
    nearest = np.rint(products)
    clear = (np.abs(products) < _CLEAR) & (np.abs(products - nearest) < 0.499)
    found: NDArray[np.int64] = np.where(clear, nearest, 0.0).astype(np.int64)
    for place in zip(*np.nonzero(~clear), strict=True):
        found[place] = to_usd_e8(float(prices_usd[place]))
    return found


def from_usd_e8(price_usd_e8: int) -> float:
    """Return the float nearest to an integer with 8 decimals. `to_usd_e8` inverts it up to 90 million dollars."""
    return price_usd_e8 / E8


def _type_name(process: PriceProcess) -> str:
    return type(process).__name__
