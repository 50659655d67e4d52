"""Snapshot of one reserve of an Aave V3 market."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mayavi.evm.address import checksum
from mayavi.evm.units import RAY, from_units

if TYPE_CHECKING:
    from mayavi.protocols.aave.rules.generation import Generation


def fraction(amount: int, decimals: int) -> Decimal:
    """Return `amount` scaled by `decimals`, exactly; zero is a plain 0."""
    return from_units(amount, decimals) if amount else Decimal(0)


def _format_record(record: Any) -> str:
    """Format a record's fields by name, with checksummed addresses."""
    values = ((field.name, getattr(record, field.name)) for field in fields(record))
    inside = (f"{name}={checksum(value) if isinstance(value, bytes) else repr(value)}" for name, value in values)
    return f"{type(record).__name__}({', '.join(inside)})"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Reserve parameters set by governance. Caps are in smallest units; an unset cap or ceiling is None.

    `liquidation_bonus_bps` counts from 100 %: at 10,500 a liquidator receives collateral worth 105 % of the debt
    repaid. Of the 5 % bonus, `liquidation_protocol_fee_bps` goes to the treasury.
    """

    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    liquidation_protocol_fee_bps: int
    reserve_factor_bps: int
    decimals: int
    active: bool
    frozen: bool
    paused: bool
    borrowing: bool
    flash_loans: bool
    borrowable_in_isolation: bool
    siloed: bool
    supply_cap: int | None
    borrow_cap: int | None
    debt_ceiling_usd_e2: int | None
    emode: int
    """eMode category of the asset, 0 for none. Since V3.2 an asset may be in several: see `AaveV3.emode`."""

    @classmethod
    @lru_cache(maxsize=1024)  # words change with governance only, and are read in every block
    def of(cls, word: int, generation: Generation | None = None) -> Configuration:
        """Decode the pool's configuration word; bits that `generation` does not use any more are off."""
        isolation = generation is None or generation.isolation

        def bits(start: int, length: int = 1) -> int:
            return word >> start & (1 << length) - 1

        decimals = bits(48, 8)
        unit = 10**decimals
        return cls(
            ltv_bps=bits(0, 16),
            liquidation_threshold_bps=bits(16, 16),
            liquidation_bonus_bps=bits(32, 16),
            liquidation_protocol_fee_bps=bits(152, 16),
            reserve_factor_bps=bits(64, 16),
            decimals=decimals,
            active=bool(bits(56)),
            frozen=bool(bits(57)),
            paused=bool(bits(60)),
            borrowing=bool(bits(58)),
            flash_loans=bool(bits(63)),
            borrowable_in_isolation=isolation and bool(bits(61)),
            siloed=isolation and bool(bits(62)),
            supply_cap=bits(116, 36) * unit or None,
            borrow_cap=bits(80, 36) * unit or None,
            debt_ceiling_usd_e2=(bits(212, 40) or None) if isolation else None,
            emode=0 if generation and generation.emode_bitmaps else bits(168, 8),
        )

    @property
    def isolated(self) -> bool:
        """Whether the asset must be an account's only collateral and limits its debt."""
        return self.debt_ceiling_usd_e2 is not None


@dataclass(frozen=True, slots=True)
class Reserve:
    """One reserve of a market when it was read. Amounts are exact, in the asset's smallest unit.

    Rates are yearly and not compounded: `variable_borrow_rate` of `Decimal("0.0315…")` is 3.15 %, `…_rate_ray` the
    pool's integer. They hold since the last action on the reserve. The stored indexes are as of `last_update`; the
    normalised ones are as of now, and scale the balances.
    """

    symbol: str
    address: bytes
    id: int
    configuration: Configuration
    a_token: bytes
    variable_debt_token: bytes
    stable_debt_token: bytes | None
    """None since V3.2, which has no stable rate."""
    rate_strategy: bytes
    price_usd_e8: int
    supply_rate_ray: int
    variable_borrow_rate_ray: int
    liquidity_index_ray: int
    variable_borrow_index_ray: int
    normalised_income_ray: int
    normalised_variable_debt_ray: int
    last_update: int
    """Unix time of the last update."""
    supplied: int
    """Total supply of aTokens with interest up to now; excludes what is still due to the treasury."""
    borrowed: int
    """Total debt with interest up to now."""
    available: int
    """Most that can be withdrawn or borrowed. Since V3.1 the pool counts it; tokens sent to it do not add to it."""
    accrued_to_treasury_scaled: int
    isolated_debt_usd_e2: int | None
    """Debt against this asset as isolated collateral; None since V3.7, which has no isolation mode."""
    deficit: int | None
    """Debt that was burnt without being repaid, and is not covered yet; None up to V3.2, which burns none."""

    @property
    def decimals(self) -> int:
        """Decimal places of the asset's smallest unit."""
        return self.configuration.decimals

    @property
    def supply_rate(self) -> Decimal:
        """Rate earned by suppliers, as a fraction per year."""
        return fraction(self.supply_rate_ray, 27)

    @property
    def variable_borrow_rate(self) -> Decimal:
        """Rate paid by borrowers, as a fraction per year."""
        return fraction(self.variable_borrow_rate_ray, 27)

    @property
    def utilisation_ray(self) -> int:
        """Share of the reserve lent out: debt over debt plus available, rounded down."""
        total = self.borrowed + self.available
        return self.borrowed * RAY // total if total else 0

    @property
    def utilisation(self) -> Decimal:
        """`utilisation_ray` as a fraction."""
        return fraction(self.utilisation_ray, 27)

    def __repr__(self) -> str:
        return _format_record(self)


@dataclass(frozen=True, slots=True)
class EMode:
    """Efficiency mode: its parameters replace those of its assets for accounts that entered it."""

    id: int
    label: str
    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    price_source: bytes | None
    """Asset whose price is used for the whole category; None if each has its own, as always since V3.2."""
    assets: tuple[str, ...]
    """Symbols of the assets that count as its collateral."""
    borrowable: tuple[str, ...] = ()
    """Symbols of the assets that can be borrowed in it; up to V3.1 the same as `assets`."""
    ltvzero: tuple[str, ...] = ()
    """Symbols of its collateral that has no borrowing power in it; since V3.6."""

    def __repr__(self) -> str:
        return _format_record(self)
