//! State proven by trie nodes: accounts and slots looked up from a state root, and the root after writes.

use std::sync::RwLock;

use alloy_rlp::{Decodable, Encodable};
use alloy_trie::{
    EMPTY_ROOT_HASH, TrieAccount,
    nodes::{RlpNode, TrieNode},
};
use revm::{
    bytecode::Bytecode,
    primitives::{Address, AddressMap, B256, B256Map, KECCAK_EMPTY, U256, alloy_primitives::map::B256Set, keccak256},
};

use super::trie::{Nodes, Trie, TrieError};
use crate::storage::{
    database::Miss,
    overlay::{Overlay, OverlayAccount},
    world::analyse,
};

/// A state root, and what is known below it.
#[derive(Debug)]
pub struct Proven {
    pub state_root: B256,
    pub nodes: Nodes,
    codes: B256Map<Bytecode>,
    storage_roots: RwLock<AddressMap<B256>>,
}

/// Hashes that the nodes below the state root refer to.
#[derive(Default)]
pub struct References {
    pub nodes: B256Set,
    pub codes: B256Set,
}

impl Proven {
    pub fn new<'a>(
        state_root: B256,
        nodes: impl IntoIterator<Item = &'a [u8]>,
        codes: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, String> {
        let mut known = Nodes::default();
        for node in nodes {
            known.insert(node)?;
        }
        let mut by_hash = B256Map::default();
        for code in codes {
            let hash = keccak256(code);
            by_hash.insert(hash, analyse(code).map_err(|error| format!("code {hash}: {error}"))?);
        }
        Ok(Self { state_root, nodes: known, codes: by_hash, storage_roots: RwLock::default() })
    }

    /// The account, or `None` if the nodes prove that there is none.
    pub fn account(&self, address: Address) -> Result<Option<TrieAccount>, Miss> {
        let found = self.nodes.get(self.state_root, keccak256(address)).map_err(|error| unproven(address, None, error));
        let account = match found? {
            Some(leaf) => Some(whole::<TrieAccount>(&leaf).ok_or(Miss::Malformed(address, None))?),
            None => None,
        };
        let root = account.as_ref().map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        self.storage_roots.write().unwrap_or_else(|e| e.into_inner()).insert(address, root);
        Ok(account)
    }

    pub fn slot(&self, address: Address, slot: U256) -> Result<U256, Miss> {
        let known = self.storage_roots.read().unwrap_or_else(|e| e.into_inner()).get(&address).copied();
        let root = match known {
            Some(root) => root,
            None => self.account(address)?.map_or(EMPTY_ROOT_HASH, |account| account.storage_root),
        };
        match self.nodes.get(root, slot_key(slot)).map_err(|error| unproven(address, Some(slot), error))? {
            Some(value) => whole::<U256>(&value).ok_or(Miss::Malformed(address, Some(slot))),
            None => Ok(U256::ZERO),
        }
    }

    pub fn code(&self, hash: &B256) -> Option<&Bytecode> {
        self.codes.get(hash)
    }

    pub fn codes(&self) -> impl Iterator<Item = &B256> {
        self.codes.keys()
    }

    /// The state root after the writes. Where empty accounts do not exist (EIP-161), the writes remove them.
    pub fn root_after(&self, overlay: &Overlay, clear_empty: bool) -> Result<B256, Miss> {
        let mut written: Vec<_> = overlay.iter().collect();
        written.sort_unstable_by_key(|(address, _)| **address);
        let mut trie = Trie::open(&self.nodes, self.state_root);
        let mut gone = Vec::new();
        for (address, account) in written {
            if account.destroyed || (clear_empty && account.info.is_empty()) {
                gone.push(*address);
                continue;
            }
            let leaf = TrieAccount::new(
                account.info.nonce,
                account.info.balance,
                self.storage_root_after(*address, account)?,
                account.info.code_hash,
            );
            trie.insert(keccak256(address), alloy_rlp::encode(leaf))
                .map_err(|error| unproven(*address, None, error))?;
        }
        // Removals come last: a branch that gains a child must not be joined with its other child before.
        for address in gone {
            trie.remove(keccak256(address)).map_err(|error| unremovable(address, None, error))?;
        }
        Ok(trie.root())
    }

    fn storage_root_after(&self, address: Address, account: &OverlayAccount) -> Result<B256, Miss> {
        let before = match account.cleared {
            true => EMPTY_ROOT_HASH,
            false => self.account(address)?.map_or(EMPTY_ROOT_HASH, |account| account.storage_root),
        };
        let mut trie = Trie::open(&self.nodes, before);
        let (zeros, values): (Vec<_>, Vec<_>) = account.slots.iter().partition(|(_, value)| value.is_zero());
        for (slot, value) in values {
            let mut encoded = Vec::with_capacity(33);
            value.encode(&mut encoded);
            trie.insert(slot_key(*slot), encoded).map_err(|error| unproven(address, Some(*slot), error))?;
        }
        for (slot, _) in zeros {
            trie.remove(slot_key(*slot)).map_err(|error| unremovable(address, Some(*slot), error))?;
        }
        Ok(trie.root())
    }

    /// Walk every known node from the state root, through the storage of every known account.
    pub fn references(&self) -> References {
        let mut found = References::default();
        let mut open = vec![(RlpNode::word_rlp(&self.state_root), true)];
        while let Some((link, accounts)) = open.pop() {
            // Some producers also list nodes that are short enough to lie inside others.
            let hash = link.as_hash();
            let inserted = found.nodes.insert(hash.unwrap_or_else(|| keccak256(&link)));
            if hash.is_some() && !inserted {
                continue;
            }
            let Ok(node) = self.nodes.resolve(&link) else { continue };
            match &*node {
                TrieNode::EmptyRoot => {}
                TrieNode::Extension(extension) => open.push((extension.child.clone(), accounts)),
                TrieNode::Branch(branch) => open.extend(branch.stack.iter().map(|child| (child.clone(), accounts))),
                TrieNode::Leaf(leaf) => {
                    let Some(account) = accounts.then(|| whole::<TrieAccount>(&leaf.value)).flatten() else { continue };
                    open.push((RlpNode::word_rlp(&account.storage_root), false));
                    found.codes.insert(account.code_hash);
                }
            }
        }
        found.codes.insert(KECCAK_EMPTY);
        found
    }
}

pub fn slot_key(slot: U256) -> B256 {
    keccak256(slot.to_be_bytes::<32>())
}

/// Decode a value that must take all bytes.
fn whole<T: Decodable>(mut rlp: &[u8]) -> Option<T> {
    T::decode(&mut rlp).ok().filter(|_| rlp.is_empty())
}

fn unproven(address: Address, slot: Option<U256>, error: TrieError) -> Miss {
    match error {
        TrieError::Missing(node) => Miss::Unproven(address, slot, node),
        TrieError::Malformed(_) => Miss::Malformed(address, slot),
    }
}

fn unremovable(address: Address, slot: Option<U256>, error: TrieError) -> Miss {
    match error {
        TrieError::Missing(node) => Miss::Unremovable(address, slot, node),
        TrieError::Malformed(_) => Miss::Malformed(address, slot),
    }
}

#[cfg(test)]
mod tests;
