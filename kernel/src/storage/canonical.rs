//! The canonical bytes of a frozen world, kept with it: a state over it merges and writes only the accounts it changed,
//! and hashes only what comes after the codes.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use pyo3::{prelude::*, types::PyBytes};
use revm::primitives::{Address, B256};

use super::{
    digest::sha256,
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
    begun: Mutex<Option<(Vec<u8>, Py<PyAny>)>>,
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

    /// The hash of a head and the codes, to be continued. States of one block share it.
    pub fn hash_after_codes<'py>(&self, py: Python<'py>, head: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let known = self.begun.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|(known, hash)| {
            (known == head).then(|| hash.clone_ref(py)) // no lock is held while Python works
        });
        if let Some(hash) = known {
            return hash.bind(py).call_method0("copy");
        }
        let hash = sha256(py, head)?;
        hash.call_method1("update", (PyBytes::new(py, &self.codes),))?;
        let copy = hash.call_method0("copy")?;
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some((head.to_vec(), hash.unbind()));
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use revm::{
        primitives::{U256, U256Map, address, hardfork::SpecId},
        state::AccountInfo,
    };

    use super::*;
    use crate::storage::{
        dump,
        overlay::Row,
        world::{Base, BaseAccount, info_with_code},
    };

    const FIRST: Address = address!("1000000000000000000000000000000000000001");
    const TOKEN: Address = address!("2000000000000000000000000000000000000002");
    const BETWEEN: Address = address!("2500000000000000000000000000000000000002");
    const OTHER: Address = address!("3000000000000000000000000000000000000003");

    fn world() -> std::sync::Arc<World> {
        let mut base = Base::default();
        for (address, code) in [(OTHER, &[0_u8, 1][..]), (TOKEN, &[0, 2]), (FIRST, &[])] {
            let slots: U256Map<U256> = (1..4).map(|key| (U256::from(key), U256::from(7 * key))).collect();
            let slots = if code.is_empty() { U256Map::default() } else { slots };
            let info = info_with_code(U256::from(5), 1, code).unwrap();
            base.insert(BaseAccount { address, info, complete: true, slots });
        }
        World::new(1, true, base)
    }

    /// A row after `writes`, whose bytes must be those of all layers merged; whether the kept bytes served.
    fn agrees(writes: impl FnOnce(&mut Overlay, &World)) -> bool {
        let world = world();
        let mut row = Row { overlay: Overlay::default(), block: Default::default() };
        writes(&mut row.overlay, &world);
        assert_eq!(dump::dump(&world, &row, SpecId::CANCUN), dump::dump_all(&world, &row, SpecId::CANCUN));
        world.canonical().unwrap().accounts(&world, &row.overlay).is_some()
    }

    fn plain(balance: u64) -> AccountInfo {
        info_with_code(U256::from(balance), 0, &[]).unwrap()
    }

    #[test]
    fn kept_bytes_are_those_of_all_layers() {
        assert!(agrees(|_, _| {}));
        assert!(agrees(|overlay, _| overlay.set_info(BETWEEN, plain(9))));
        assert!(agrees(|overlay, world| {
            overlay.set_info(TOKEN, world.base.get(&TOKEN).unwrap().info.clone());
            overlay.set_slot(TOKEN, U256::from(2), U256::ZERO);
            overlay.set_slot(TOKEN, U256::from(9), U256::from(1));
        }));
        assert!(agrees(|overlay, _| overlay.set_info(FIRST, plain(0)))); // emptied: it is gone
        assert!(agrees(|overlay, _| overlay.set_info(BETWEEN, plain(0)))); // was not there, and is not
    }

    #[test]
    fn other_codes_are_written_anew() {
        assert!(!agrees(|overlay, _| overlay.set_info(BETWEEN, info_with_code(U256::ZERO, 1, &[0, 3]).unwrap())));
        assert!(!agrees(|overlay, _| overlay.set_info(BETWEEN, info_with_code(U256::ZERO, 1, &[0, 1]).unwrap())));
        assert!(!agrees(|overlay, _| overlay.set_info(TOKEN, info_with_code(U256::ZERO, 1, &[0, 1]).unwrap())));
        assert!(!agrees(|overlay, _| overlay.set_info(OTHER, plain(3))));
    }
}
