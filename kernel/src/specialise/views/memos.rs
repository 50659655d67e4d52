//! What is remembered of calldata from batch to batch: the path it took last, and what was derived from it.

use std::sync::Mutex;

use revm::primitives::{HashMap, U256};

use crate::storage::changes::Sieve;

pub struct Memo {
    pub path: usize,
    pub derived: Option<Derived>,
}

/// What was derived from calldata for its path.
pub struct Derived {
    /// Words that the path goes on with.
    pub kept: Box<[U256]>,
    /// Slots whose keys are derived from the calldata, by their number.
    pub slots: Box<[Slot]>,
    /// What the path's function read of the call alone in some batch.
    pub latest: Mutex<Latest>,
}

/// What stands in a slot below the writes, which never changes, and the slot's mark.
#[derive(Clone, Copy)]
pub struct Slot {
    pub below: U256,
    pub mark: u64,
}

#[derive(Default)]
pub struct Latest {
    pub batch: u64,
    pub own: Vec<u64>,
}

/// The batch that runs, and the one before it with what was written since.
pub struct Since {
    pub batch: u64,
    pub before: Option<(u64, Sieve)>,
}

impl Since {
    /// Whether what was read in a batch is the same now.
    #[inline]
    fn is_current(&self, batch: u64, slots: &[Slot]) -> bool {
        let written = self.before.as_ref().filter(|(before, _)| *before == batch);
        written.is_some_and(|(_, written)| !slots.iter().any(|slot| written.may_hold(slot.mark)))
    }

    /// Put what a call's function reads into its row, if that is the same as in the batch before.
    #[inline]
    pub fn repeat(&self, known: &Derived, row: &mut [u64]) -> bool {
        let Ok(mut latest) = known.latest.try_lock() else { return false };
        let current = self.is_current(latest.batch, &known.slots) && latest.own.len() == row.len();
        if current {
            row.copy_from_slice(&latest.own);
            latest.batch = self.batch;
        }
        current
    }

    /// Remember what a call's function reads in this batch.
    pub fn remember(&self, known: &Derived, row: &[u64]) {
        if let Ok(mut latest) = known.latest.try_lock() {
            latest.batch = self.batch;
            latest.own.clear();
            latest.own.extend_from_slice(row);
        }
    }
}

/// What is remembered, by the words in which calldata differs.
#[derive(Default)]
pub struct Memos {
    numbers: HashMap<Box<[u8]>, usize>,
    list: Vec<(Box<[u8]>, Memo)>,
}

impl Memos {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn get(&self, words: &[u8]) -> Option<&Memo> {
        self.numbers.get(words).map(|at| &self.list[*at].1)
    }

    /// The same for calls that mostly come in the order in which they were first seen.
    #[inline]
    pub fn get_next(&self, words: &[u8], next: &mut usize) -> Option<&Memo> {
        let at = match self.list.get(*next) {
            Some((known, _)) if **known == *words => *next,
            _ => *self.numbers.get(words)?,
        };
        *next = at + 1;
        Some(&self.list[at].1)
    }

    pub fn insert(&mut self, words: Box<[u8]>, memo: Memo) {
        match self.numbers.get(&words) {
            Some(at) => self.list[*at].1 = memo,
            None => {
                self.numbers.insert(words.clone(), self.list.len());
                self.list.push((words, memo));
            }
        }
    }
}
