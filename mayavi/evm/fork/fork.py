"""`Fork`: a writable, local copy of a chain at one block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi import _kernel
from mayavi.errors import SetupError, UsageError
from mayavi.evm import chains
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import u64, word
from mayavi.evm.fork import token_balance
from mayavi.evm.fork.deploying import ForkDeploying
from mayavi.evm.state import known_hardfork

if TYPE_CHECKING:
    from mayavi.evm.rpc.header import Header
    from mayavi.evm.rpc.remote import RemoteState

_replica_builder: Callable[..., Fork] | None = None
_label_lookup: Callable[[int], dict[str, str]] | None = None


def register_replica_builder(
    builder: Callable[..., Fork], labels: Callable[[int], dict[str, str]] | None = None
) -> None:
    """Register the replica builder and the lookup of contract labels by chain id. `mayavi.worlds` calls it."""
    global _replica_builder, _label_lookup
    _replica_builder, _label_lookup = builder, labels


class Fork(ForkDeploying):
    """Writable fork of a chain at one block. No write ever reaches the real chain.

    Open one with `Fork.replica("ethereum")` (offline), `Fork.from_rpc(url, block)` (a node, through a cache),
    `Fork.load_snapshot(path)`, `Fork.from_witness(path)` or `Fork.empty(...)`. `Fork(rpc_url=..., fork_block=...)` is
    `from_rpc`.

    Reads (`call`, `balance`, `storage` …) have no effects; `send`, `deploy`, `deal` and setters write to this fork
    only. Addresses are 20 bytes or checksummed text; amounts are exact integers in the token's smallest unit. A failed
    call raises with its decoded reason. Missing state raises `MissingStateError`; it never reads as zero.

        fork = Fork.replica("ethereum")
        fork.deal("WETH", alice, 10**18)
        with fork.snapshot():
            fork.send(pool, calldata, sender=alice)
    """

    def __init__(self, rpc_url: str | None = None, fork_block: int | str | None = None, **options: Any) -> None:
        opened = Fork.from_rpc(rpc_url, fork_block, **options)
        self._adopt(opened._evm, opened._fetcher.remote, opened.labels, opened.source)

    # -- opening ------------------------------------------------------------------------------------------------------

    @classmethod
    def replica(cls, chain: str = "ethereum", *, block: int | None = None, hardfork: str | None = None) -> Fork:
        """Open the offline replica of `chain`: the protocols' own code at their real addresses.

        `block` is one that `mayavi world list` shows, by default the newest. `hardfork` runs it under the rules of
        another hard fork than that of its block, for code of newer compilers.
        """
        if _replica_builder is None:
            raise SetupError(
                "no replica builder is registered", "import Fork from `mayavi`, or import `mayavi.worlds` first"
            )
        if not isinstance(chain, str):
            raise UsageError(f"{chain!r} is not the name of a chain", "`mayavi world list` shows the replicas")
        return _replica_builder(chain, block=block)._with_rules(hardfork)

    @classmethod
    def from_rpc(
        cls,
        url: str | None = None,
        block: int | str | None = None,
        *,
        chain: str | int | None = None,
        hardfork: str | None = None,
        **options: Any,
    ) -> Fork:
        """Open the state of a node after `block`: a number, a block hash or "latest" (the default).

        `url` defaults to `MAYAVI_RPC_URL_<CHAIN>`, `MAYAVI_RPC_URL` or `ALCHEMY_RPC_URL`. `chain` names the chain that
        the node must serve; `hardfork` overrides the rules implied by chain and block. Reads are cached on disk, so
        opening the same block again makes no request. Other `options` go to `RemoteState.open`.
        """
        from mayavi.evm.rpc.remote import RemoteState, url_from_environment

        expected = chains.chain(chain) if chain is not None else None
        url = url or url_from_environment(expected.name if expected else None)
        expected_id = expected.chain_id if expected else None
        remote = RemoteState.open(url, "latest" if block is None else block, chain_id=expected_id, **options)
        header = remote.header
        rules = hardfork or _rules(remote.chain_id, header)
        evm = _new_evm(remote.chain_id, rules, closed=False)
        header.enter(evm, chains.blob_fee_fraction_at(remote.chain_id, header.timestamp, rules))
        evm.learn_block_hash(header.number, header.hash)
        evm.probe = True
        source = {
            "kind": "rpc",
            "chain_id": remote.chain_id,
            "block": header.number,
            "block_hash": "0x" + header.hash.hex(),
        }
        return cls._of(evm, remote, _labels_of(remote.chain_id), source)

    @classmethod
    def load_snapshot(cls, path: str | Path, *, hardfork: str | None = None) -> Fork:
        """Open the fork that `dump_snapshot` wrote to `path`, without network; `hardfork` overrides its rules."""
        from mayavi.evm.snapshot.file import read_snapshot

        state, metadata = read_snapshot(Path(path))
        facts = {key: metadata.get(key, {}) for key in ("labels", "source", "abis")}
        opened = cls.from_state(state, **facts)
        return opened._with_rules(hardfork)

    @classmethod
    def from_witness(cls, path: str | Path, *, hardfork: str | None = None) -> Fork:
        """Open the state before a block from its execution witness, with the environment of that block.

        Every account and slot is looked up in the witness's trie nodes, from the pre-state root down. Reading what the
        witness does not prove raises `MissingStateError`; a witness that contradicts itself raises `WitnessError`.
        """
        from mayavi.evm.witness.block_witness import BlockWitness

        witness = BlockWitness.read(path, hardfork=hardfork)
        witness.verify()
        source = {
            "kind": "witness",
            "chain_id": witness.chain_id,
            "block": witness.number - 1,
            "block_hash": "0x" + witness.header.parent_hash.hex(),
            "state_root": "0x" + witness.pre_state_root.hex(),
        }
        return cls._of(witness.evm(), None, _labels_of(witness.chain_id), source)

    @classmethod
    def from_state(
        cls,
        state: _kernel.State,
        *,
        labels: dict[str, str],
        source: dict[str, Any],
        abis: dict[str, Any] | None = None,
    ) -> Fork:
        """Create a fork of a frozen world."""
        fork = cls._of(_kernel.Evm.from_state(state), None, dict(labels), dict(source))
        fork.abis = dict(abis or {})
        return fork

    @classmethod
    def empty(cls, *, chain_id: int = 1, hardfork: str = "shanghai") -> Fork:
        """Create an empty chain: reading any account gives an empty one, never an error."""
        chain_id = u64(chain_id, "chain id")
        source = {"kind": "empty", "chain_id": chain_id}
        return cls._of(_new_evm(chain_id, hardfork, closed=True), None, {}, source)

    @classmethod
    def of_evm(
        cls, evm: _kernel.Evm, remote: RemoteState | None, labels: dict[str, str], source: dict[str, Any]
    ) -> Fork:
        """Create a fork over `evm` itself, which it changes; missing state is read from `remote`, if given."""
        return cls._of(evm, remote, dict(labels), dict(source))

    @classmethod
    def _of(cls, evm: _kernel.Evm, remote: RemoteState | None, labels: dict[str, str], source: dict[str, Any]) -> Fork:
        fork = object.__new__(cls)
        fork._adopt(evm, remote, labels, source)
        return fork

    def _with_rules(self, hardfork: str | None) -> Fork:
        if hardfork is not None:
            self._evm.hardfork = known_hardfork(hardfork)
        return self

    # -- tokens -------------------------------------------------------------------------------------------------------

    def deal(self, token: AddressLike, holder: AddressLike, amount: int) -> None:
        """Give `holder` exactly `amount` of `token`: a name of `labels`, an address, or "ETH" for the native coin.

        Writes the balance into the token's storage and changes its total supply by the difference.
        """
        place = self.address_of(holder)
        amount = word(amount)
        if isinstance(token, str) and token.upper() == "ETH":
            self.set_balance(place, amount)
        else:
            token_balance.deal(self, self.address_of(token), place, amount)

    # -- copies -------------------------------------------------------------------------------------------------------

    def copy(self, *, share_reads: bool = False) -> Fork:
        """Return an independent copy. Its cost grows with the writes of this fork, not with the size of the world.

        With `share_reads` both remember what either reads, until it writes.
        """
        duplicate = Fork._of(self._evm.copy(), self._fetcher.remote, dict(self.labels), dict(self.source))
        duplicate.abis = dict(self.abis)
        duplicate.specialise = self.specialise
        duplicate.threads, duplicate._charges_fees, duplicate._checks_balance = (
            self.threads,
            self._charges_fees,
            self._checks_balance,
        )
        if share_reads:
            duplicate._reads = duplicate._snapshots.marker, self._known_reads()
        return duplicate

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Fork:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker process gets the current state. The copy of a fork of a node has no node, only what was read so far.
        return _restored, (self._evm.dump(), self.labels, self.source, self.abis)

    def frozen(self) -> Fork:
        """Return a copy over its own frozen world, whose copies and fleet rows cost only what they write."""
        return Fork.from_state(self._evm.freeze(), labels=self.labels, source=self.source, abis=self.abis)

    def freeze(self) -> _kernel.State:
        """Return the current state as a frozen world, the base of fleets and other forks."""
        return self._evm.freeze()

    def dump_snapshot(self, path: str | Path, *, prove: bool = False) -> str:
        """Write everything this fork has read or written to `path`, and return the digest of the state.

        The file opens without network. A run on it gives the same results, or fails naming the slot that is missing. An
        old file at `path` stays intact until the new one is complete. `prove` fetches proofs of all of it from the
        node and stores them in the file; `ProofError` names the first value that the node does not prove.
        """
        from mayavi import __version__
        from mayavi.evm.snapshot.file import write_snapshot

        metadata = {
            "labels": self.labels,
            **({"abis": self.abis} if self.abis else {}),
            "source": self.source,
            "chain_id": self.chain_id,
            "block": self.block_number,
            "hardfork": self.hardfork,
            "written_by": __version__,
        }
        if prove and self._fetcher.remote is None:
            raise UsageError("this fork has no node that proves its state", "use prove=True with `Fork.from_rpc`")
        digest = write_snapshot(Path(path), self._evm.dump(), metadata)
        if prove and self._fetcher.remote is not None:
            from mayavi.evm.snapshot.proof import prove_snapshot

            prove_snapshot(path, client=self._fetcher.remote.client).require()
        return digest

    def close(self) -> None:
        """Close the connection to the node and the cache. State read so far stays usable."""
        if self._fetcher.remote is not None:
            self._fetcher.remote.close()

    def __repr__(self) -> str:
        return f"<Fork {self.source.get('kind', '?')} chain {self.chain_id} block {self.block_number} {self.hardfork}>"


def _restored(dump: bytes, labels: dict[str, str], source: dict[str, Any], abis: dict[str, Any]) -> Fork:
    return Fork.from_state(_kernel.State.load(dump), labels=labels, source=source, abis=abis)


def _new_evm(chain_id: int, hardfork: str, *, closed: bool) -> _kernel.Evm:
    return _kernel.Evm(chain_id, known_hardfork(hardfork), closed=closed)


def _rules(chain_id: int, header: Header) -> str:
    """Hard fork of a block: from the chain's schedule, on development nodes from the fields of the header."""
    scheduled = chains.hardfork_at(chain_id, header.number, header.timestamp)
    return header.form if chains.chain(chain_id).dev else scheduled


def _labels_of(chain_id: int) -> dict[str, str]:
    return _label_lookup(chain_id) if _label_lookup else {}
