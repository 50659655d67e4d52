"""Names of addresses and tokens in a replayed transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mayavi.errors import MayaviError
from mayavi.evm.address import checksum, shorten
from mayavi.evm.units import format_units
from mayavi.protocols.tokens import Erc20
from mayavi.replay.transactions.token_flows import NOBODY

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_LONGEST_SYMBOL = 16
_MOST_DECIMALS = 77
PRECOMPILES = {
    1: "ecrecover",
    2: "sha256",
    3: "ripemd160",
    4: "identity",
    5: "modexp",
    6: "bn254 add",
    7: "bn254 mul",
    8: "bn254 pairing",
    9: "blake2f",
    10: "point evaluation",
}
"""Names of precompiled contracts by the last byte of their address."""


@dataclass(frozen=True, slots=True)
class Token:
    """Symbol and decimals of a token; unknown where its contract does not answer."""

    symbol: str
    decimals: int | None


@dataclass
class Names:
    """Names by the labels of the fork's chain and by the tokens' own symbols."""

    fork: Fork
    roles: dict[bytes, str] = field(default_factory=dict)
    """Names given by the transaction itself, such as its sender."""
    table: dict[str, int] = field(default_factory=dict)
    """Decimals of the chain's known tokens by symbol, for tokens that do not tell."""
    _labels: dict[str, str] = field(default_factory=dict)
    _tokens: dict[bytes, Token] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._labels = {address: label for label, address in self.fork.labels.items()}

    def name(self, address: bytes) -> str:
        """Label of an address, its role, or a short form of the address."""
        if address == NOBODY:
            return "0x0"
        label = self._labels.get(checksum(address)) or self.roles.get(address)
        if label is None and is_precompile(address):
            return PRECOMPILES.get(address[19], f"precompile {address[19]}")
        return label or shorten(address)

    def full(self, address: bytes) -> str:
        """Label or role, and checksummed address."""
        label = self._labels.get(checksum(address)) or self.roles.get(address)
        return f"{label} {checksum(address)}" if label else checksum(address)

    def token(self, address: bytes) -> Token:
        """Symbol and decimals of a token: its own where the state at hand holds them."""
        if address not in self._tokens:
            label = self._labels.get(checksum(address))
            symbol = label if label and "." not in label else self._symbol(address) or label or shorten(address)
            decimals = self._decimals(address)
            self._tokens[address] = Token(symbol, self.table.get(symbol) if decimals is None else decimals)
        return self._tokens[address]

    def amount(self, token: bytes, amount: int, *, sign: bool = False) -> str:
        """Format an amount of a token in whole units; in smallest units if its decimals are not known."""
        known = self.token(token)
        lead = "+" if sign and amount > 0 else ""
        if known.decimals is None:
            return f"{lead}{amount:,} units of {known.symbol}"
        return f"{lead}{format_units(amount, known.decimals)} {known.symbol}"

    def _symbol(self, address: bytes) -> str | None:
        try:
            symbol = Erc20(self.fork, address).symbol
        except MayaviError:
            return None
        usable = symbol.isprintable() and not symbol.startswith("0x")  # an address stands for a missing one
        return symbol[:_LONGEST_SYMBOL] if symbol and usable else None

    def _decimals(self, address: bytes) -> int | None:
        try:
            decimals = Erc20(self.fork, address).decimals
        except MayaviError:
            return None
        return decimals if decimals <= _MOST_DECIMALS else None


def is_precompile(address: bytes) -> bool:
    """Whether an address is one of the lowest, where precompiled contracts are."""
    return not any(address[:19]) and address != NOBODY


def known_decimals(chain_id: int) -> dict[str, int]:
    """Return the decimals of the tokens in the chain's table; empty if there is no table."""
    from mayavi.worlds.tables.chain import chain_names, load_table

    for name in chain_names():
        table = load_table(name)
        if table.chain_id == chain_id:
            return {symbol: token.decimals for symbol, token in table.tokens.items()}
    return {}
