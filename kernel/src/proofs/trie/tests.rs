//! Tries of which some nodes are known: what they prove is true, what they do not prove is an error.

use alloy_trie::{HashBuilder, proof::ProofRetainer};

use super::*;
use crate::native::samples::Samples;

type Pairs = std::collections::BTreeMap<B256, Vec<u8>>;

/// Keys and values; some keys differ in their last bytes only, so that nodes lie inside others.
fn pairs(samples: &mut Samples, count: usize) -> Pairs {
    let mut pairs = Pairs::new();
    let near = B256::from(samples.word());
    for at in 0..count {
        let mut key = B256::from(samples.word());
        if at % 3 == 0 {
            key = near;
            key.0[31] = samples.bits() as u8;
            key.0[30] ^= (at % 2) as u8;
        }
        let value = alloy_rlp::encode(samples.word() >> samples.one_of(&[0, 128, 240, 250]));
        pairs.insert(key, value);
    }
    pairs
}

/// Root and nodes by alloy's builder, with a proof of each of these keys.
fn proven(pairs: &Pairs, of: &[B256]) -> (B256, Vec<Vec<u8>>) {
    let retainer = ProofRetainer::new(of.iter().map(Nibbles::unpack).collect());
    let mut builder = HashBuilder::default().with_proof_retainer(retainer);
    pairs.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_inner().into_values().map(|node| node.to_vec()).collect();
    (root, nodes)
}

fn known(nodes: &[Vec<u8>]) -> Nodes {
    let mut known = Nodes::default();
    nodes.iter().for_each(|node| _ = known.insert(node).expect("a node"));
    known
}

fn absent(samples: &mut Samples, pairs: &Pairs, at: usize) -> B256 {
    // Far from all keys, or a neighbour of one.
    let mut key = if at.is_multiple_of(2) { B256::from(samples.word()) } else { *pairs.keys().next().expect("a key") };
    while pairs.contains_key(&key) {
        key.0[31] = key.0[31].wrapping_add(1);
    }
    key
}

#[test]
fn a_trie_that_grows_has_the_root_of_the_whole_whatever_the_order() {
    let mut samples = Samples::new(1);
    for count in [0, 1, 2, 3, 17, 90] {
        let pairs = pairs(&mut samples, count);
        let nodes = Nodes::default();
        let mut trie = Trie::open(&nodes, EMPTY_ROOT_HASH);
        let mut order: Vec<_> = pairs.iter().collect();
        order.sort_by_cached_key(|_| samples.bits());
        for (key, value) in order {
            trie.insert(*key, vec![1]).expect("inserted");
            trie.insert(*key, value.clone()).expect("replaced");
        }
        assert_eq!(trie.root(), proven(&pairs, &[]).0, "{count} keys");
    }
}

#[test]
fn a_trie_that_shrinks_has_the_root_of_what_is_left() {
    let mut samples = Samples::new(2);
    let mut left = pairs(&mut samples, 60);
    let nodes = Nodes::default();
    let mut trie = Trie::open(&nodes, EMPTY_ROOT_HASH);
    left.iter().for_each(|(key, value)| trie.insert(*key, value.clone()).expect("inserted"));
    let mut order: Vec<_> = left.keys().copied().collect();
    order.sort_by_cached_key(|_| samples.bits());
    for key in order {
        trie.remove(absent(&mut samples, &left, 1)).expect("nothing to remove");
        trie.remove(key).expect("removed");
        left.remove(&key);
        assert_eq!(trie.root(), proven(&left, &[]).0, "{} keys are left", left.len());
        if left.is_empty() {
            break;
        }
    }
    assert_eq!(trie.root(), EMPTY_ROOT_HASH);
}

#[test]
fn a_proof_proves_its_key_and_nothing_else() {
    let mut samples = Samples::new(3);
    let pairs = pairs(&mut samples, 80);
    let mut unproven = 0;
    for (key, value) in &pairs {
        let (root, nodes) = proven(&pairs, &[*key]);
        let known = known(&nodes);
        assert_eq!(known.get(root, *key), Ok(Some(value.clone())));
        for (other, own) in &pairs {
            match known.get(root, *other) {
                Ok(found) => assert_eq!(found.as_ref(), Some(own)),
                Err(TrieError::Missing(_)) => unproven += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    assert!(unproven > 3_000, "{unproven} lookups were not proven");
}

#[test]
fn a_proof_of_absence_proves_that_there_is_no_such_key() {
    let mut samples = Samples::new(4);
    let pairs = pairs(&mut samples, 50);
    for at in 0..100 {
        let key = absent(&mut samples, &pairs, at);
        let (root, nodes) = proven(&pairs, &[key]);
        assert_eq!(known(&nodes).get(root, key), Ok(None));
    }
    assert_eq!(Nodes::default().get(EMPTY_ROOT_HASH, B256::ZERO), Ok(None));
}

#[test]
fn a_changed_node_proves_nothing() {
    let mut samples = Samples::new(5);
    let pairs = pairs(&mut samples, 50);
    for key in pairs.keys().take(20) {
        let (root, nodes) = proven(&pairs, &[*key]);
        // Shorter ones lie inside others, where they are read.
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.len() >= 32) {
            let mut changed = nodes.clone();
            let byte = samples.below(node.len());
            changed[at][byte] ^= 1 << samples.below(8);
            let mut known = Nodes::default();
            // What is no node any more is refused at once.
            changed.iter().for_each(|node| _ = known.insert(node));
            assert_eq!(known.get(root, *key), Err(TrieError::Missing(keccak256(node))), "byte {byte}");
        }
    }
}

#[test]
fn what_is_no_node_is_refused() {
    let mut nodes = Nodes::default();
    for wrong in [&[][..], &[0xc0], &[0x83, 1, 2, 3], &[0xc1, 0x80, 0]] {
        let error = nodes.insert(wrong).expect_err("no node");
        assert!(error.starts_with(&format!("trie node {} is malformed: ", keccak256(wrong))), "{error}");
    }
    assert_eq!(nodes.len(), 0);
}

#[test]
fn changes_to_a_proven_trie_give_the_root_of_the_whole() {
    let mut samples = Samples::new(6);
    for round in 0..40 {
        let mut all = pairs(&mut samples, 2 + round);
        let changed: Vec<B256> = all.keys().step_by(3).copied().collect();
        let fresh = absent(&mut samples, &all, round);
        let (root, nodes) = proven(&all, &[&changed[..], &[fresh]].concat());
        let nodes = known(&nodes);
        let mut trie = Trie::open(&nodes, root);
        assert_eq!(trie.root(), root, "nothing has changed");
        for key in changed.iter().chain([&fresh]) {
            let value = alloy_rlp::encode(samples.word());
            trie.insert(*key, value.clone()).expect("its nodes are known");
            all.insert(*key, value);
        }
        assert_eq!(trie.root(), proven(&all, &[]).0, "round {round}");
    }
}

#[test]
fn a_removal_needs_the_neighbour_that_is_left_alone() {
    // Two keys: the branch above them becomes one leaf when the other is removed.
    let pairs: Pairs = [(B256::repeat_byte(0x11), vec![7; 40]), (B256::repeat_byte(0x21), vec![8; 40])].into();
    let (removed, left) = (B256::repeat_byte(0x11), B256::repeat_byte(0x21));
    let (root, nodes) = proven(&pairs, &[removed]);
    let leaf = proven(&pairs, &[left]).1.into_iter().find(|node| !nodes.contains(node)).expect("a node of its own");
    let without = known(&nodes);
    let mut trie = Trie::open(&without, root);
    assert_eq!(trie.remove(removed), Err(TrieError::Missing(keccak256(&leaf))));
    let with = known(&[&nodes[..], &[leaf]].concat());
    let mut trie = Trie::open(&with, root);
    trie.remove(removed).expect("its neighbour is known");
    assert_eq!(trie.root(), proven(&[(left, vec![8; 40])].into(), &[]).0);
}
