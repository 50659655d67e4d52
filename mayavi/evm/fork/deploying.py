"""Deploy contracts on a fork: creation code, compilers' artifacts, and sources of one's own. A base of `Fork`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.evm import failures
from mayavi.evm.abi.contract import Contract
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import to_bytes, word
from mayavi.evm.fork.calls import ForkCalls, gas_limit
from mayavi.evm.receipt import Receipt

if TYPE_CHECKING:
    from mayavi.evm.fork.creation_code import ContractCode


class ForkDeploying(ForkCalls):
    """Creation of contracts, and contracts as Python objects."""

    @overload
    def deploy(
        self, code: bytes, /, *, sender: AddressLike | None = None, value: int = 0, gas: int | None = None
    ) -> bytes: ...

    @overload
    def deploy(
        self,
        code: bytes,
        /,
        *arguments: object,
        abi: Any,
        constructor: Mapping[str, object] | None = None,
        label: str | None = None,
        sender: AddressLike | None = None,
        value: int = 0,
        gas: int | None = None,
    ) -> Contract: ...

    @overload
    def deploy(
        self,
        code: str | Path | Mapping[str, Any] | ContractCode,
        /,
        *arguments: object,
        constructor: Mapping[str, object] | None = None,
        contract: str | None = None,
        libraries: Mapping[str, AddressLike] | None = None,
        label: str | None = None,
        abi: Any = None,
        sender: AddressLike | None = None,
        value: int = 0,
        gas: int | None = None,
    ) -> Contract: ...

    def deploy(
        self,
        code: object,
        /,
        *arguments: object,
        constructor: Mapping[str, object] | None = None,
        contract: str | None = None,
        libraries: Mapping[str, AddressLike] | None = None,
        label: str | None = None,
        abi: Any = None,
        sender: AddressLike | None = None,
        value: int = 0,
        gas: int | None = None,
    ) -> bytes | Contract:
        """Create a contract, at an address that depends on the sender and its nonce.

        `code` is a Solidity or Vyper file, the artifact of a compiler (its path, JSON or mapping), the folder of a
        project, or creation code in bytes: `fork.deploy("Vault.sol", "USDC", sender=alice)`. `FILE:NAME` or `contract`
        names one of several. Constructor arguments go by position, or by name in `constructor`; an address may be a
        name of `labels`. Libraries that were compiled with the contract are deployed first, unless `libraries` has
        their addresses. `label` gives the contract a name in `labels`.

        Returns a `Contract`, or the address of creation code that was given without an ABI.
        """
        from mayavi.evm.fork.creation_code import contract_code

        found = contract_code(code, abi, contract=contract)
        encoded = found.arguments(arguments, constructor or {}, self.address_of)
        if label is not None:
            self._check_label(label)
        linked = found.linked(self._libraries(found, libraries or {}, sender))
        address = self._create(linked + encoded, sender, value, gas, found.name or "deployment")
        if label is not None:
            self.labels[label] = checksum(address)
            if found.abi is not None:
                self.abis[label] = found.abi
        return address if found.abi is None else Contract(address, found.abi, self, name=label or found.name)

    def create_at(
        self, address: AddressLike, initcode: bytes, sender: AddressLike | None = None, value: int = 0
    ) -> Receipt:
        """Run a constructor and put its contract at `address`, which must be free."""
        place, origin, code = self.address_of(address), self._sender(sender), to_bytes(initcode, "initcode")
        value = word(value)
        receipt = Receipt(self._fetcher.run(lambda: self._evm.create_at(place, code, origin, value)))
        self._snapshots.record_write()
        if not receipt.success:
            raise failures.failure(receipt, f"creation at {self.name(place)}", b"")
        return receipt

    def contract(self, address: AddressLike, abi: Any = None) -> Contract:
        """Contract at `address` with the functions of `abi` (JSON entries, an artifact, or signatures) as methods.

        The ABI of a contract that was deployed with a label is known.
        """
        if abi is None:
            abi = self.abis.get(address) if isinstance(address, str) else None
            if abi is None:
                known = f"those of {', '.join(self.abis)} are known" if self.abis else "none is known on this fork"
                raise UsageError(f"the ABI of {address!r} is missing", f"give it as abi=…; {known}")
        return Contract(self.address_of(address), abi, self)

    def _create(self, initcode: bytes, sender: AddressLike | None, value: int, gas: int | None, what: str) -> bytes:
        origin, value, limit = self._sender(sender), word(value), gas_limit(gas)
        price, tip = self._price_for(origin)
        receipt = Receipt(
            self._fetcher.run(lambda: self._evm.transact(None, initcode, origin, value, limit, price, tip))
        )
        self._sent(None, origin, receipt, price, tip)
        if not receipt.success or receipt.created is None:
            raise failures.failure(receipt, what if what == "deployment" else f"deployment of {what}", b"")
        return receipt.created

    def _libraries(
        self, code: ContractCode, given: Mapping[str, AddressLike], sender: AddressLike | None
    ) -> dict[str, bytes]:
        """Addresses of the libraries that the code needs; deploy those that were compiled with it."""
        for name in given:
            if name not in code.libraries:
                raise UnknownName.of("library", name, code.libraries, f"{code.name or 'the code'} does not use it")
        places = {name: self.address_of(each) for name, each in given.items()}

        def deploy(name: str) -> bytes:
            if name not in places:
                library = code.others[name]
                needed = {each: deploy(each) for each in library.links if each in places or each in code.others}
                places[name] = self._create(library.linked(needed), sender, 0, None, name)
            return places[name]

        # All or nothing: a library that is missing is an error before the first is deployed.
        if all(name in places or name in code.others for name in code.libraries):
            for name in code.libraries:
                deploy(name)
        return places

    def _check_label(self, label: str) -> None:
        if label in self.labels:
            raise BadArgument(f"the name '{label}' is taken by {self.labels[label]}", "choose another label")
        if not label or label[:2] in ("0x", "0X"):
            raise BadArgument(f"'{label}' cannot be the name of a contract", "a name does not start with 0x")
