"""State roots of the kernel's sparse tries equal those of an independent implementation."""

from __future__ import annotations

from itertools import count

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from mayavi._kernel import Evm, MissingState, State, Witness
from mayavi.evm.hashing import keccak256
from tests.evm.assembler import assemble
from tests.evm.witness.oracle_state import EMPTY_ROOT, OracleAccount, OracleState

VAULT = bytes.fromhex("00000000000000000000000000000000000a11ce")
SENDER = bytes.fromhex("0000000000000000000000000000000000000b0b")


def evm_of(state: OracleState, nodes: list[bytes] | None = None) -> Evm:
    """EVM on a state of which `nodes` are known, by default all."""
    return Evm.from_witness(1, "cancun", Witness(state.root, state.nodes() if nodes is None else nodes, state.codes))


def nibbles(slot: int) -> str:
    return keccak256(slot.to_bytes(32, "big")).hex()


def slots_at(*prefixes: str) -> list[int]:
    """Different slots whose hashed keys begin with the prefixes, in order."""
    found: list[int] = []
    for prefix in prefixes:
        found.append(next(slot for slot in count() if nibbles(slot).startswith(prefix) and slot not in found))
    return found


def with_slots(*slots: int) -> OracleState:
    others = {keccak256(bytes([n]))[:20]: OracleAccount(balance=n) for n in range(1, 9)}
    return OracleState({VAULT: OracleAccount(1, 7, b"\x00", {slot: 1000 + slot for slot in slots}), **others})


@given(
    before=st.dictionaries(st.integers(0, 60), st.integers(1, 2**256 - 1), max_size=40),
    writes=st.dictionaries(st.integers(0, 60), st.integers(0, 3), max_size=40),
)
def test_any_writes_give_the_root_of_the_state_they_make(before: dict[int, int], writes: dict[int, int]) -> None:
    state = with_slots()
    state.accounts[VAULT].slots = dict(before)
    evm = evm_of(state)
    for slot, value in writes.items():
        evm.set_storage(VAULT, slot, value)
    state.accounts[VAULT].slots.update(writes)
    assert evm.state_root() == state.root


@given(
    balances=st.dictionaries(st.binary(min_size=20, max_size=20), st.integers(1, 2**100), min_size=1, max_size=30),
    data=st.data(),
)
def test_accounts_come_and_go(balances: dict[bytes, int], data: st.DataObject) -> None:
    state = OracleState({address: OracleAccount(balance=balance) for address, balance in balances.items()})
    evm = evm_of(state)
    gone = data.draw(st.lists(st.sampled_from(sorted(balances)), unique=True))
    fresh = data.draw(st.lists(st.binary(min_size=20, max_size=20), unique=True, max_size=10))
    for address in gone:
        evm.set_balance(address, 0)  # empty: EIP-161 removes it
        del state.accounts[address]
    for address in fresh:
        evm.set_balance(address, 5)
        evm.set_nonce(address, 3)
        state.accounts[address] = OracleAccount(3, 5)
    assert evm.state_root() == state.root


@pytest.mark.parametrize(
    "kept",
    [("a",), ("ab1", "ab2"), ("a1", "a2", "a3")],
    ids=["a leaf", "an extension", "a branch"],
)
def test_a_branch_that_loses_all_but_one_child_is_joined_with_it(kept: tuple[str, ...]) -> None:
    removed, *others = slots_at("1", *kept)
    state = with_slots(removed, *others)
    paths = state.proof(VAULT, removed)
    evm = evm_of(state, paths)
    evm.set_storage(VAULT, removed, 0)

    # The neighbour is not on the path of the removed slot, so the new root cannot be known.
    with pytest.raises(MissingState, match=rf"removal of 0x0+A11cE slot {removed:#x} is not proven: trie node 0x"):
        evm.state_root()

    whole = evm_of(state, [*paths, *state.proof(VAULT, *others)])
    whole.set_storage(VAULT, removed, 0)
    del state.accounts[VAULT].slots[removed]
    assert whole.state_root() == state.root


def test_a_branch_that_gains_a_child_as_it_loses_one_needs_no_neighbour() -> None:
    removed, stays, added = slots_at("1", "a", "7")
    state = with_slots(removed, stays)
    evm = evm_of(state, [*state.proof(VAULT, removed), *state.proof(VAULT, added)])
    evm.set_storage(VAULT, removed, 0)
    evm.set_storage(VAULT, added, 9)
    state.accounts[VAULT].slots.update({removed: 0, added: 9})
    assert evm.state_root() == state.root


def test_the_last_slot_leaves_an_empty_trie() -> None:
    state = with_slots(4)
    evm = evm_of(state)
    evm.set_storage(VAULT, 4, 0)
    state.accounts[VAULT].slots.clear()
    assert state.accounts[VAULT].storage().root_hash == EMPTY_ROOT
    assert evm.state_root() == state.root


def test_the_last_account_leaves_the_empty_root() -> None:
    state = OracleState({SENDER: OracleAccount(balance=1)})
    evm = evm_of(state)
    evm.set_balance(SENDER, 0)
    assert evm.state_root() == EMPTY_ROOT


def test_a_state_can_start_from_nothing() -> None:
    evm = Evm.from_witness(1, "cancun", Witness(EMPTY_ROOT, []))
    assert evm.balance(SENDER) == 0
    evm.set_balance(SENDER, 12)
    assert evm.state_root() == OracleState({SENDER: OracleAccount(balance=12)}).root


def test_a_destroyed_contract_takes_its_storage_along() -> None:
    # Under Shanghai's rules SELFDESTRUCT still removes any contract.
    state = with_slots(1, 2, 3)
    state.accounts[VAULT].code = assemble("0x000000000000000000000000000000000000dead SELFDESTRUCT")
    state.accounts[SENDER] = OracleAccount(balance=10**18)
    evm = Evm.from_witness(1, "shanghai", Witness(state.root, state.nodes(), state.codes))
    assert evm.transact(VAULT, b"", SENDER).success
    beneficiary = bytes.fromhex("000000000000000000000000000000000000dead")
    state.accounts[beneficiary] = OracleAccount(balance=state.accounts.pop(VAULT).balance)
    state.accounts[SENDER].nonce = evm.nonce(SENDER)
    assert evm.state_root() == state.root

    evm.set_balance(VAULT, 3)
    evm.set_storage(VAULT, 2, 8)
    state.accounts[VAULT] = OracleAccount(balance=3, slots={2: 8})
    assert evm.state_root() == state.root


def test_reads_come_from_the_nodes_and_name_what_is_missing() -> None:
    state = with_slots(1, 2, 3)
    evm = evm_of(state, state.proof(VAULT, 1))
    assert (evm.balance(VAULT), evm.nonce(VAULT), evm.storage(VAULT, 1)) == (7, 1, 1001)
    with pytest.raises(MissingState, match=r"state of 0x0+A11cE slot 0x3 is not proven: trie node 0x[0-9a-f]{64} is"):
        evm.storage(VAULT, 3)
    unknown = keccak256(b"\x05")[:20]
    with pytest.raises(MissingState, match=r"state of account 0x\w{40} is not proven: trie node 0x[0-9a-f]{64} is"):
        evm.balance(unknown)
    assert evm_of(state).storage(VAULT, 4) == 0  # proven to be zero


def test_code_is_needed_only_where_it_is_used() -> None:
    state = with_slots(1)
    state.accounts[VAULT].code = assemble("1 0 SSTORE")
    evm = Evm.from_witness(1, "cancun", Witness(state.root, state.nodes()))
    assert (evm.balance(VAULT), evm.has_code(VAULT)) == (7, True)
    missing = rf"code 0x{keccak256(state.accounts[VAULT].code).hex()} of account 0x0+A11cE is missing"
    with pytest.raises(MissingState, match=missing):
        evm.code(VAULT)
    with pytest.raises(MissingState, match=missing):
        evm.call(VAULT, b"", SENDER)


def test_nodes_and_codes_that_nothing_refers_to_are_listed() -> None:
    state = with_slots(1, 2)
    stray = with_slots(5).nodes()
    known = set(state.nodes())
    witness = Witness(state.root, [*state.nodes(), *stray], [*state.codes, b"\x60\x01"])
    nodes, codes = witness.unreferenced()
    assert set(nodes) == {keccak256(node) for node in stray if node not in known}
    assert codes == [keccak256(b"\x60\x01")]
    assert Witness(state.root, [*state.nodes(), b"\x80"], state.codes).unreferenced() == ([], [])


def test_a_node_inside_another_may_also_be_listed_alone() -> None:
    """A leaf shorter than a hash lies in its branch."""
    seen: dict[str, int] = {}
    twin = next(slot for slot in count() if seen.setdefault(nibbles(slot)[:8], slot) != slot)
    state = with_slots()
    state.accounts[VAULT].slots = {seen[nibbles(twin)[:8]]: 1, twin: 2}
    inside, *_ = [
        rlp.encode(item) for node in state.nodes() for item in rlp.decode(node) if isinstance(item, list | tuple)
    ]
    assert Witness(state.root, [*state.nodes(), inside], state.codes).unreferenced() == ([], [])


def test_a_malformed_node_is_refused() -> None:
    with pytest.raises(ValueError, match=r"trie node 0x[0-9a-f]{64} is malformed"):
        Witness(EMPTY_ROOT, [b"\xc3\x01\x02\x03"])


def test_a_state_of_which_something_is_unknown_has_no_root() -> None:
    partial = Evm(1, "cancun", closed=False)
    with pytest.raises(ValueError, match="only a state from a witness or known in full has a state root"):
        partial.state_root()
    partial.learn_account(b"\x01" * 20, 1, 0, b"")
    with pytest.raises(ValueError, match="known in full"):  # which slots the account has is not known
        Evm.from_state(partial.freeze(closed=True)).state_root()


@given(
    before=st.dictionaries(st.integers(0, 60), st.integers(1, 2**256 - 1), max_size=40),
    writes=st.dictionaries(st.integers(0, 60), st.integers(0, 3), max_size=40),
)
def test_a_closed_world_has_the_root_of_its_accounts(before: dict[int, int], writes: dict[int, int]) -> None:
    state = with_slots()
    state.accounts[VAULT].slots = dict(before)
    accounts = {
        address: (each.balance, each.nonce, each.code, dict(each.slots)) for address, each in state.accounts.items()
    }
    evm = Evm.from_state(State.of_accounts(1, "cancun", accounts))
    assert evm.state_root() == state.root
    for slot, value in writes.items():
        evm.set_storage(VAULT, slot, value)
    evm.set_balance(SENDER, 7)
    state.accounts[VAULT].slots.update(writes)
    state.accounts[SENDER] = OracleAccount(0, 7)
    assert evm.state_root() == state.root
    assert Evm.from_state(evm.freeze()).state_root() == state.root


def test_an_empty_account_of_a_closed_world_stays_until_it_is_touched() -> None:
    empty = {SENDER: (0, 0, b"", {})}
    evm = Evm.from_state(State.of_accounts(1, "cancun", empty))
    assert evm.state_root() == OracleState({SENDER: OracleAccount()}).root
    evm.set_balance(SENDER, 0)
    assert evm.state_root() == EMPTY_ROOT
    early = Evm.from_state(State.of_accounts(1, "homestead", empty))
    early.set_balance(SENDER, 0)
    assert early.state_root() == OracleState({SENDER: OracleAccount()}).root  # before EIP-161


def test_a_closed_world_is_told_of_its_ancestors() -> None:
    asks = bytes.fromhex("6008405f5260205ff3")  # returns BLOCKHASH(8)
    evm = Evm.from_state(State.of_accounts(1, "cancun", {VAULT: (0, 1, asks, {})}))
    evm.set_block(number=9)
    assert evm.call(VAULT, b"") == keccak256((8).to_bytes(8, "big"))  # invented
    evm.shares, evm.specialise = True, "on"
    for _ in range(3):
        evm.transact(VAULT, b"")
    evm.learn_block_hash(8, b"\x08" * 32)
    assert evm.transact(VAULT, b"").output == evm.call(VAULT, b"") == b"\x08" * 32


def test_a_dump_leaves_out_accounts_whose_code_is_unknown() -> None:
    state = with_slots(1)
    evm = Evm.from_witness(1, "cancun", Witness(state.root, state.nodes()))
    evm.balance(VAULT)
    evm.balance(keccak256(b"\x05")[:20])
    copy = Evm.from_state(evm.freeze())
    assert copy.balance(keccak256(b"\x05")[:20]) == 5
    with pytest.raises(MissingState):
        copy.balance(VAULT)
