//! What was written lately over a world, so that who has read it before knows what to read again.
//!
//! Slots are noted by marks of 64 bits. Two slots may have the same mark: then one is read again for nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use revm::primitives::{Address, U256};

/// Marks that are kept. Who has not looked for longer reads everything again.
const MOST: usize = 1 << 12;

/// Slots written since somebody first asked, in order.
#[derive(Debug, Default)]
pub struct Changes {
    /// Its number among all that were ever asked for; zero before that.
    id: u64,
    /// Marks that were let go.
    past: u64,
    marks: Vec<u64>,
}

/// A moment in the life of some writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    id: u64,
    at: u64,
}

/// A copy goes its own way: what is known of the original does not hold for it.
impl Clone for Changes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What a slot is noted by.
#[inline]
pub fn mark(address: &Address, key: &U256) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = address.first_chunk::<8>().copied().map_or(0, u64::from_ne_bytes);
    key.as_limbs().iter().fold(first, |mixed, limb| (mixed.rotate_left(23) ^ limb).wrapping_mul(ODD))
}

impl Changes {
    /// Note from now on what is written.
    pub fn watch(&mut self) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if self.id == 0 {
            self.id = NEXT.fetch_add(1, Relaxed);
        }
    }

    /// A slot is written.
    #[inline]
    pub fn note(&mut self, address: &Address, key: &U256) {
        if self.id != 0 {
            self.push(mark(address, key));
        }
    }

    fn push(&mut self, mark: u64) {
        if self.marks.len() >= MOST {
            self.past += self.marks.len() as u64;
            self.marks.clear();
        }
        self.marks.push(mark);
    }

    /// More than single slots may have changed, or code.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// This moment; none while nobody has asked for changes.
    pub fn now(&self) -> Option<Moment> {
        (self.id != 0).then_some(Moment { id: self.id, at: self.past + self.marks.len() as u64 })
    }

    /// Marks of all slots that were written since then. None where that is not known, or more than slots has changed.
    pub fn since(&self, then: Moment) -> Option<&[u64]> {
        let known = self.id == then.id && self.id != 0;
        known.then(|| then.at.checked_sub(self.past)).flatten().and_then(|from| self.marks.get(from as usize..))
    }
}

/// A set of marks that may hold some more than were put in.
pub struct Sieve(Box<[u64; Self::WORDS]>);

impl Sieve {
    const WORDS: usize = 256;

    pub fn new(marks: &[u64]) -> Self {
        let mut sieve = Self(Box::new([0; Self::WORDS]));
        for mark in marks {
            sieve.0[(mark >> 6) as usize % Self::WORDS] |= 1 << (mark % 64);
        }
        sieve
    }

    #[inline]
    pub fn may_hold(&self, mark: u64) -> bool {
        self.0[(mark >> 6) as usize % Self::WORDS] >> (mark % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(key: u64) -> (Address, U256) {
        (Address::with_last_byte(7), U256::from(key))
    }

    fn noted(changes: &mut Changes, key: u64) -> u64 {
        let (address, key) = slot(key);
        changes.note(&address, &key);
        mark(&address, &key)
    }

    #[test]
    fn what_was_written_since_a_moment_is_told() {
        let mut changes = Changes::default();
        noted(&mut changes, 1);
        assert_eq!(changes.now(), None);
        changes.watch();
        let then = changes.now().unwrap();
        assert_eq!(changes.since(then), Some(&[][..]));
        let marks = [noted(&mut changes, 2), noted(&mut changes, 3)];
        assert_eq!(changes.since(then), Some(&marks[..]));
        assert_eq!(changes.since(changes.now().unwrap()), Some(&[][..]));
    }

    #[test]
    fn a_copy_and_who_forgets_are_others() {
        let mut changes = Changes::default();
        changes.watch();
        let then = changes.now().unwrap();
        let mut copy = changes.clone();
        copy.watch();
        assert_eq!(copy.since(then), None);
        changes.forget();
        assert_eq!(changes.since(then), None);
        changes.watch();
        assert_eq!(changes.since(then), None);
    }

    #[test]
    fn what_is_too_long_ago_is_not_known() {
        let mut changes = Changes::default();
        changes.watch();
        let then = changes.now().unwrap();
        (0..MOST as u64).for_each(|key| _ = noted(&mut changes, key));
        assert_eq!(changes.since(then).map(<[u64]>::len), Some(MOST));
        let mark = noted(&mut changes, 0);
        assert_eq!(changes.since(then), None);
        let later = changes.now().unwrap();
        assert_eq!(changes.since(Moment { at: later.at - 1, ..later }), Some(&[mark][..]));
    }

    #[test]
    fn a_sieve_holds_what_was_put_in() {
        let marks: Vec<u64> = (0..200).map(|key| mark(&slot(key).0, &slot(key).1)).collect();
        let sieve = Sieve::new(&marks);
        assert!(marks.iter().all(|mark| sieve.may_hold(*mark)));
        assert!((200..400).any(|key| !sieve.may_hold(mark(&slot(key).0, &slot(key).1))));
    }
}
