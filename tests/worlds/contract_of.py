"""Type of the fixture `contract`."""

from __future__ import annotations

from collections.abc import Callable

from mayavi.evm.abi.contract import Contract

ContractOf = Callable[[str, str], Contract]
