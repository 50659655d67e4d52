//! The canonical bytes of a frozen world, kept with it: a state over it merges and writes only the accounts it changed,
//! and hashes only what comes after the codes.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use revm::primitives::{Address, B256};
use sha2::{Digest, Sha256};

use super::{
    dump::{Merged, dump_account, dump_codes},
    overlay::Overlay,
    world::World,
};

/// The codes and accounts of a closed world, as a dump has them.
#[derive(Debug)]
pub struct Canonical {
    pub codes: Vec<u8>,
    code_index: HashMap<B256, u32>,
    /// Where the bytes of each account are, by address.
    accounts: Vec<(Address, Range<usize>)>,
    bytes: Vec<u8>,
    /// The head of the last digest, and the hash of that head and the codes.
    begun: Mutex<Option<(Vec<u8>, Sha256)>>,
}

impl Canonical {
    pub fn of(world: &World) -> Self {
        let all = world.base.iter().filter_map(|below| Some((below.address, Merged::of(Some(below), None, true)?)));
        let all: BTreeMap<Address, Merged> = all.collect();
        let mut codes = Vec::new();
        let code_index = dump_codes(&mut codes, all.values());
        let mut bytes = Vec::new();
        let mut accounts = Vec::with_capacity(all.len());
        for (address, account) in &all {
            let start = bytes.len();
            dump_account(&mut bytes, address, account, code_index.get(&account.info.code_hash).copied());
            accounts.push((*address, start..bytes.len()));
        }
        Self { codes, code_index, accounts, bytes, begun: Mutex::new(None) }
    }

    /// The accounts of a state over the world, with their number; none where its codes differ from the world's.
    pub fn accounts(&self, world: &World, overlay: &Overlay) -> Option<Vec<u8>> {
        let mut written: Vec<_> = overlay.iter().collect();
        written.sort_unstable_by_key(|(address, _)| **address);
        let mut out = Vec::with_capacity(self.bytes.len() + 4 + 256 * written.len());
        let mut count = self.accounts.len();
        out.extend_from_slice(&[0; 4]);
        let mut next = 0; // the first account of the world that is not written yet
        for (address, account) in written {
            let place = self.accounts[next..].binary_search_by_key(address, |(each, _)| *each);
            let (Ok(before) | Err(before)) = place;
            self.copy(&mut out, next..next + before);
            next += before + usize::from(place.is_ok());
            count -= usize::from(place.is_ok());
            let below = world.base.get(address);
            let had = below.filter(|_| place.is_ok()).and_then(|below| self.code_index.get(&below.info.code_hash));
            let merged = Merged::of(below, Some(account), true);
            let has = merged.as_ref().filter(|merged| merged.has_code());
            if has.map(|merged| self.code_index.get(&merged.info.code_hash)) != had.map(Some) {
                return None;
            }
            if let Some(merged) = merged {
                dump_account(&mut out, address, &merged, had.copied());
                count += 1;
            }
        }
        self.copy(&mut out, next..self.accounts.len());
        out[..4].copy_from_slice(&(count as u32).to_be_bytes());
        Some(out)
    }

    fn copy(&self, out: &mut Vec<u8>, accounts: Range<usize>) {
        if let [first, .., last] | [first @ last] = &self.accounts[accounts] {
            out.extend_from_slice(&self.bytes[first.1.start..last.1.end]);
        }
    }

    /// SHA-256 of a head, the codes and `accounts`. States of one block share the hash of the first two.
    pub fn digest(&self, head: &[u8], accounts: &[u8]) -> [u8; 32] {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = match &*begun {
            Some((known, hash)) if known == head => hash.clone(),
            _ => {
                let hash = Sha256::new().chain_update(head).chain_update(&self.codes);
                *begun = Some((head.to_vec(), hash.clone()));
                hash
            }
        };
        drop(begun);
        hash.chain_update(accounts).finalize().into()
    }
}
