//! A witness gives accounts, slots and codes as far as it proves them, and the root after writes.

use std::collections::BTreeMap;

use alloy_trie::{HashBuilder, Nibbles, proof::ProofRetainer};
use revm::state::AccountInfo;

use super::*;
use crate::test_world::address;

type Slots = BTreeMap<u64, u64>;

/// A state: accounts with balance, code and slots.
#[derive(Clone, Default)]
struct Whole(BTreeMap<Address, (u64, Vec<u8>, Slots)>);

fn build(leaves: BTreeMap<B256, Vec<u8>>, proofs: &[B256], nodes: &mut Vec<Vec<u8>>) -> B256 {
    let retainer = ProofRetainer::new(proofs.iter().map(Nibbles::unpack).collect());
    let mut builder = HashBuilder::default().with_proof_retainer(retainer);
    leaves.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
    let root = builder.root();
    nodes.extend(builder.take_proof_nodes().into_inner().into_values().map(|node| node.to_vec()));
    root
}

impl Whole {
    /// Some contracts, the first of which has slots.
    fn some() -> Self {
        let slots: Slots = (0..20).map(|key| (key, 100 + key)).collect();
        let account = |byte: u8| (address(byte), (u64::from(byte), vec![0x60, byte, 0x00], Slots::new()));
        let mut all: BTreeMap<_, _> = (1..=30).map(account).collect();
        all.get_mut(&address(1)).expect("the first").2 = slots;
        Self(all)
    }

    /// The root, and the nodes that prove these accounts and these slots of the first.
    fn proven(&self, accounts: &[u8], slots: &[u64]) -> (B256, Vec<Vec<u8>>) {
        let mut nodes = Vec::new();
        let slot_keys: Vec<B256> = slots.iter().map(|key| slot_key(U256::from(*key))).collect();
        let leaves = self.0.iter().map(|(place, (balance, code, slots))| {
            let slots =
                slots.iter().map(|(key, value)| (slot_key(U256::from(*key)), alloy_rlp::encode(U256::from(*value))));
            let root = build(slots.collect(), if *place == address(1) { &slot_keys } else { &[] }, &mut nodes);
            let leaf = TrieAccount::new(1, U256::from(*balance), root, keccak256(code));
            (keccak256(place), alloy_rlp::encode(leaf))
        });
        let leaves = leaves.collect();
        let keys: Vec<B256> = accounts.iter().map(|byte| keccak256(address(*byte))).collect();
        let root = build(leaves, &keys, &mut nodes);
        (root, nodes)
    }

    fn witness(&self, accounts: &[u8], slots: &[u64]) -> Proven {
        let (root, nodes) = self.proven(accounts, slots);
        let codes: Vec<Vec<u8>> = accounts.iter().map(|byte| vec![0x60, *byte, 0x00]).collect();
        Proven::new(root, nodes.iter().map(Vec::as_slice), codes.iter().map(Vec::as_slice)).expect("a witness")
    }
}

fn written(byte: u8, balance: u64, slots: &[(u64, u64)]) -> Overlay {
    let mut overlay = Overlay::default();
    let (balance, code_hash) = (U256::from(balance), keccak256([0x60, byte, 0x00]));
    overlay.set_info(address(byte), AccountInfo { balance, nonce: 1, code_hash, ..AccountInfo::default() });
    slots.iter().for_each(|(key, value)| overlay.set_slot(address(byte), U256::from(*key), U256::from(*value)));
    overlay
}

#[test]
fn what_is_proven_is_read() {
    let witness = Whole::some().witness(&[1, 7, 99], &[3, 77]);
    let account = witness.account(address(7)).expect("proven").expect("there");
    assert_eq!((account.nonce, account.balance, account.storage_root), (1, U256::from(7), EMPTY_ROOT_HASH));
    assert_eq!(witness.account(address(99)), Ok(None), "it is proven that there is none");
    assert_eq!(witness.slot(address(1), U256::from(3)), Ok(U256::from(103)));
    assert_eq!(witness.slot(address(1), U256::from(77)), Ok(U256::ZERO), "a proof of absence");
    assert_eq!(witness.slot(address(7), U256::from(3)), Ok(U256::ZERO), "an account without slots");
    assert_eq!(witness.slot(address(99), U256::from(3)), Ok(U256::ZERO), "no account");
    assert_eq!(witness.code(&account.code_hash).map(|code| code.original_bytes().to_vec()), Some(vec![0x60, 7, 0]));
}

#[test]
fn what_is_not_proven_is_an_error_that_names_it() {
    let whole = Whole::some();
    let witness = whole.witness(&[1], &[3]);
    let unproven = (2..=30).filter(
        |byte| matches!(witness.account(address(*byte)), Err(Miss::Unproven(at, None, _)) if at == address(*byte)),
    );
    assert!(unproven.count() > 20);
    let slots = (0..20).filter(|key| {
        let key = U256::from(*key);
        matches!(witness.slot(address(1), key), Err(Miss::Unproven(at, Some(slot), _)) if at == address(1) && slot == key)
    });
    assert!(slots.count() > 10);
}

#[test]
fn a_leaf_that_is_no_account_is_malformed() {
    for leaf in [vec![0xc0], [alloy_rlp::encode(TrieAccount::default()), vec![0]].concat(), vec![1; 40]] {
        let mut nodes = Vec::new();
        let key = keccak256(address(1));
        let root = build([(key, leaf)].into(), &[key], &mut nodes);
        let witness = Proven::new(root, nodes.iter().map(Vec::as_slice), []).expect("nodes");
        assert_eq!(witness.account(address(1)), Err(Miss::Malformed(address(1), None)));
    }
}

#[test]
fn the_root_after_writes_is_that_of_the_whole_state() {
    let mut whole = Whole::some();
    let witness = whole.witness(&[1, 7], &[3, 4, 77]);
    assert_eq!(witness.root_after(&Overlay::default(), true), Ok(witness.state_root));
    let found = witness.root_after(&written(1, 55, &[(3, 9), (77, 8)]), true).expect("proven");
    let first = whole.0.get_mut(&address(1)).expect("the first");
    first.0 = 55;
    first.2.extend([(3, 9), (77, 8)]);
    assert_eq!(found, whole.proven(&[], &[]).0);
    assert_ne!(found, witness.state_root);
}

#[test]
fn a_slot_that_becomes_zero_leaves_the_trie() {
    let mut whole = Whole::some();
    let witness = whole.witness(&[1], &(0..20).collect::<Vec<_>>());
    let found = witness.root_after(&written(1, 1, &[(3, 0), (4, 0), (77, 0)]), true).expect("proven");
    let first = whole.0.get_mut(&address(1)).expect("the first");
    first.2.retain(|key, _| ![3, 4].contains(key));
    assert_eq!(found, whole.proven(&[], &[]).0);
}

#[test]
fn empty_and_destroyed_accounts_leave_the_trie() {
    let mut whole = Whole::some();
    let witness = whole.witness(&(1..=30).collect::<Vec<_>>(), &[]);
    let mut overlay = Overlay::default();
    overlay.set_info(address(7), AccountInfo::default());
    overlay.set_info(address(99), AccountInfo::default());
    whole.0.remove(&address(7));
    assert_eq!(witness.root_after(&overlay, true), Ok(whole.proven(&[], &[]).0));
    // Before EIP-161 they stay.
    assert_ne!(witness.root_after(&overlay, false), witness.root_after(&overlay, true));
}

#[test]
fn writes_to_what_is_not_proven_have_no_root() {
    let witness = Whole::some().witness(&[1], &[3]);
    assert!(
        matches!(witness.root_after(&written(9, 5, &[]), true), Err(Miss::Unproven(at, None, _)) if at == address(9))
    );
    let slots: Vec<(u64, u64)> = (0..20).map(|key| (key, 5)).collect();
    let found = witness.root_after(&written(1, 1, &slots), true);
    assert!(matches!(found, Err(Miss::Unproven(at, Some(_), _)) if at == address(1)));
    // All but one go, and it is not known what that one is.
    let mut two = Whole::default();
    two.0.insert(address(1), (1, vec![0x60, 1, 0x00], [(0, 5), (1, 6)].into()));
    let found = two.witness(&[1], &[0]).root_after(&written(1, 1, &[(0, 0)]), true);
    assert!(
        matches!(found, Err(Miss::Unremovable(at, Some(slot), _)) if at == address(1) && slot == U256::ZERO),
        "{found:?}"
    );
}

#[test]
fn a_new_storage_begins_empty() {
    let mut whole = Whole::some();
    let witness = whole.witness(&[1], &[]);
    let mut overlay = written(1, 1, &[]);
    overlay.clear_storage(address(1));
    overlay.set_slot(address(1), U256::from(5), U256::from(6));
    whole.0.get_mut(&address(1)).expect("the first").2 = [(5, 6)].into();
    assert_eq!(witness.root_after(&overlay, true), Ok(whole.proven(&[], &[]).0));
}

#[test]
fn references_are_the_nodes_and_codes_below_the_root() {
    let whole = Whole::some();
    let (root, nodes) = whole.proven(&[1, 7], &[3]);
    let stray = vec![0xc2, 0x20, 0x01];
    let with = [&nodes[..], std::slice::from_ref(&stray)].concat();
    let codes = [vec![0x60, 1, 0x00], vec![0x5b]];
    let witness =
        Proven::new(root, with.iter().map(Vec::as_slice), codes.iter().map(Vec::as_slice)).expect("a witness");
    let found = witness.references();
    assert!(nodes.iter().all(|node| found.nodes.contains(&keccak256(node))));
    assert!(!found.nodes.contains(&keccak256(&stray)));
    assert!(found.codes.contains(&keccak256(&codes[0])));
    assert!(!found.codes.contains(&keccak256(&codes[1])));
}
