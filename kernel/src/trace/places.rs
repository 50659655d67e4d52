//! Numbers of the slots that replays read and write, so that a row finds them without hashing.

use std::sync::{
    PoisonError, RwLock, RwLockReadGuard,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use revm::primitives::{Address, AddressMap, U256, U256Map};

/// Slots that get a number: every row has a word for each.
const MOST_PLACES: usize = 1 << 12;
/// Slots that get one although no recording came upon them.
const MOST_UNRECORDED: usize = 1 << 10;

/// Slots by number, in the order in which they came up. A number never changes.
#[derive(Default)]
pub struct Places {
    numbers: RwLock<AddressMap<U256Map<u32>>>,
    /// The slot of each number.
    slots: RwLock<Vec<(Address, U256)>>,
    count: AtomicUsize,
}

impl Places {
    fn read(&self) -> RwLockReadGuard<'_, AddressMap<U256Map<u32>>> {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many slots have a number.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// The slots with numbers from this one on.
    pub fn since(&self, first: usize) -> Vec<(Address, U256)> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).iter().skip(first).copied().collect()
    }

    /// The number of a slot that has one.
    pub fn find(&self, address: Address, key: U256) -> Option<u32> {
        self.read().get(&address)?.get(&key).copied()
    }

    /// The number of a slot; none where there are too many.
    pub fn number(&self, address: Address, key: U256) -> Option<u32> {
        self.number_below(MOST_PLACES, address, key)
    }

    /// The number of a slot that is read outside recordings.
    pub fn number_unrecorded(&self, address: Address, key: U256) -> Option<u32> {
        self.number_below(MOST_UNRECORDED, address, key)
    }

    fn number_below(&self, most: usize, address: Address, key: U256) -> Option<u32> {
        if let Some(number) = self.find(address, key) {
            return Some(number);
        }
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        let known = numbers.entry(address).or_default();
        if let Some(number) = known.get(&key) {
            return Some(*number);
        }
        let next = self.count();
        if next >= most {
            return None;
        }
        known.insert(key, next as u32);
        self.slots.write().unwrap_or_else(PoisonError::into_inner).push((address, key));
        self.count.store(next + 1, Relaxed);
        Some(next as u32)
    }
}
