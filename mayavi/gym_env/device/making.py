"""Compile kernels of the known paths: at once, or in the background, while rows use the previous kernels."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from mayavi.evm.devices import EMULATED, DeviceError, explained
from mayavi.evm.driver_cache import CacheFiller
from mayavi.gym_env.device.host import HostRows
from mayavi.gym_env.device.parts import Part

Took = list[dict[str, float]]
FIRST_PATHS = 48
"""Most paths of the first kernels, which rows wait for: those taken most often. Later kernels have all paths."""
TOGETHER = 2_000_000
"""Most bytes of kernels that a single process compiles; several processes share larger compilations."""


class KernelMaker:
    """Compiler of the kernels of all parts of a step. When it runs does not change a bit of the rows."""

    def __init__(self, host: HostRows, device: str, spread: int, most: int) -> None:
        """`spread`: most entries that an episode adds to a mapping. `most`: most paths of a kernel."""
        self.host, self.parts, self.spread, self.most = host, host.parts, spread, most
        self._filler = CacheFiller(device)
        self._thread = ThreadPoolExecutor(1, "mayavi-kernels")
        self._compiled: Future[Took] | None = None

    def make(self) -> None:
        """Compile kernels and use them."""
        if self._compiled is not None:
            self._compiled.exception()  # its result is outdated
            self._compiled = None
        self._print(min(self.most, FIRST_PATHS))
        texts = self._texts()
        if sum(map(len, texts)) > TOGETHER:
            self._filler.fill(texts)
        try:
            self._use(_compile(self.parts))
        except DeviceError as error:
            raise explained(error) from None

    def begin(self) -> None:
        """Start to compile kernels of all known paths in the background, unless a compilation is running."""
        if self._compiled is None:
            self._print(self.most)
            self._compiled = self._thread.submit(self._compile_beside)

    def adopt(self) -> None:
        """Use the kernels compiled in the background, if they are ready."""
        if self._compiled is None or not self._compiled.done():
            return
        compiled, self._compiled = self._compiled, None
        try:
            self._use(compiled.result())
        except DeviceError as error:
            raise explained(error) from None

    def close(self) -> None:
        """Stop background compilation."""
        self._filler.stop()
        self._thread.shutdown()

    def _compile_beside(self) -> Took:
        """Compile while rows are stepped: a driver that compiles in this process would stop them."""
        self._filler.fill(self._texts())
        return [] if self._filler.stopped else _compile(self.parts)

    def _texts(self) -> list[str]:
        """Kernels for a driver to compile, the largest first."""
        if self._filler.device == EMULATED:
            return []
        return sorted((text for part in self.parts for text in part.kernel.printed()), key=len, reverse=True)

    def _print(self, most: int) -> None:
        host = self.host
        try:
            for part in self.parts:
                part.kernel.reserve(host.fleet, part.wiring.program, host.starts, self.spread, self.most)
            for part in self.parts:
                part.wide |= part.left > 0
                part.printed = part.kernel.print(
                    host.fleet, part.wiring.program, host.starts, self.spread, most, part.wide
                )
        except DeviceError as error:
            raise explained(error) from None

    def _use(self, took: Took) -> None:
        for part, its in zip(self.parts, took, strict=True):
            part.kernel.adopt()
            part.took, part.leaves, part.left, part.made = its, part.printed, 0, part.made + 1


def _compile(parts: Sequence[Part]) -> Took:
    return [part.kernel.compile() for part in parts]
