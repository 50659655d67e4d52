"""Gate `quoter`: quotes against executed trades, on every pool of the worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mayavi.errors import MissingStateError, UnknownName
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally
from mayavi.validation.quoter.curve import compare_curve_pool, curve_pools
from mayavi.validation.quoter.odd_pools import odd_world
from mayavi.validation.quoter.uniswap import compare_pool, uniswap_pools
from mayavi.worlds import world_names
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

ODD = "odd pools"


@dataclass(frozen=True, slots=True)
class QuoterGate:
    """Compare QuoterV2 with executed swaps and `get_dy` with exchanges, from one unit to beyond the liquidity."""

    sources: Sequence[WorldSource] = ()
    """Worlds; by default all replicas and the odd pools."""
    pools: Sequence[str] = ()
    """Labels or addresses of the pools; by default every labelled pool."""
    name: str = "quoter"
    what: str = "QuoterV2 and get_dy with executed trades, up to beyond the liquidity"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare every pool of every world."""
        tally = Tally()
        worlds: list[WorldSource | None] = list(self.sources or map(_replica, world_names()))
        if not self.sources and not self.pools:
            worlds.append(None)
        done, rounded = 0, 0
        for number, source in enumerate(worlds):
            fork = odd_world() if source is None else source.open()
            where = ODD if source is None else _name(source, fork)
            uniswap, curve = self._chosen(fork)
            total = done + (len(uniswap) + len(curve)) * (len(worlds) - number)  # the others are about as large
            for label in (*uniswap, *curve):
                try:
                    if label in curve:
                        rounded += compare_curve_pool(fork, label, tally, where=where)
                    else:
                        compare_pool(fork, label, tally, where=where)
                except MissingStateError as missing:
                    tally.skip(f"{where}, {label}: {missing}")
                done += 1
                progress(done, total)
        if rounded:
            tally.notes.append(f"{rounded:,} exchanges gave one unit less than get_dy: Curve rounds its fee so")
        return tally.report(self.what)

    def _chosen(self, fork: Fork) -> tuple[list[str], list[str]]:
        uniswap, curve = uniswap_pools(fork), curve_pools(fork)
        if not self.pools:
            return uniswap, curve
        for pool in self.pools:
            if pool[:2] in ("0x", "0X"):
                if not fork.code(pool):
                    raise UnknownName(f"no contract stands at {pool}", "check the address, the chain and the block")
            elif pool not in (*uniswap, *curve):
                raise UnknownName.of("pool", pool, (*uniswap, *curve), "`mayavi world info CHAIN --names` lists them")
        return [each for each in self.pools if each not in curve], [each for each in self.pools if each in curve]


def _replica(chain: str) -> WorldSource:
    return WorldSource("replica", chain)


def _name(source: WorldSource, fork: Fork) -> str:
    if source.kind == "replica":
        return source.chain or "ethereum"
    return f"{source.kind} of chain {fork.chain_id}, block {fork.block_number:,}"
