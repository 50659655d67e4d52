//! Numbers of the slots that replays read and write, so that a row finds them without hashing.

use std::sync::{PoisonError, RwLock};

use revm::primitives::{Address, HashMap, U256};

/// Slots by number, in the order in which recordings came upon them. A number never changes.
#[derive(Default)]
pub struct Places(RwLock<HashMap<(Address, U256), u32>>);

impl Places {
    /// The number of a slot that has one.
    pub fn find(&self, address: Address, key: U256) -> Option<u32> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&(address, key)).copied()
    }

    pub fn number(&self, address: Address, key: U256) -> u32 {
        let place = (address, key);
        if let Some(number) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&place) {
            return *number;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = known.len() as u32;
        *known.entry(place).or_insert(next)
    }
}
