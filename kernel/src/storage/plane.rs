//! Values of slots that replays read and write, by the slot's number: a plain array beside a row's writes.
//!
//! What a replay writes stays here until somebody else wants to read the row; `Overlay::flush` brings it over. Whatever
//! changes the overlay in another way empties the plane, or tells it the new values.

use revm::primitives::{Address, U256};

const KNOWN: u8 = 1;
/// Written here, and not in the overlay yet.
const DIRTY: u8 = 2;

/// Lines of the cache, two slots each, that are fetched before a row's turn.
const MOST_AHEAD: usize = 24;

/// Ask for a line of the cache; nothing waits for it.
#[inline(always)]
fn fetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: this is a hint, which may name any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// A slot that was written here.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    number: u32,
    address: Address,
    key: U256,
}

/// A slot to be brought into the overlay.
pub struct Written {
    pub address: Address,
    pub key: U256,
    pub value: U256,
    /// None where this run has not written it. Otherwise its value when the run began, where the overlay lacks that.
    pub begin: Option<Option<U256>>,
}

#[derive(Clone, Debug, Default)]
pub struct Plane {
    values: Vec<U256>,
    states: Vec<u8>,
    dirty: Vec<Dirty>,
    /// Slots before each write of this run: number, value, state.
    undo: Vec<(u32, U256, u8)>,
    /// Endings whose accounts are all in the overlay.
    settled: Vec<u64>,
    /// Accounts with numbers that are in the overlay, a bit each.
    pub accounts: u64,
}

impl Plane {
    #[inline]
    pub fn get(&self, number: u32) -> Option<U256> {
        match self.states.get(number as usize) {
            Some(state) if state & KNOWN != 0 => Some(self.values[number as usize]),
            _ => None,
        }
    }

    /// Have the first slots come into the processor's cache: another row is computed meanwhile.
    #[inline]
    pub fn fetch_ahead(&self) {
        fetch(self.states.as_ptr().cast());
        for pair in self.values.chunks(2).take(MOST_AHEAD) {
            fetch(pair.as_ptr().cast());
        }
    }

    fn reach(&mut self, number: u32) -> usize {
        let at = number as usize;
        if self.states.len() <= at {
            self.states.resize(at + 1, 0);
            self.values.resize(at + 1, U256::ZERO);
        }
        at
    }

    /// Note a value that the overlay has too.
    pub fn learn(&mut self, number: u32, value: U256) {
        let at = self.reach(number);
        self.states[at] |= KNOWN;
        self.values[at] = value;
    }

    /// Write a slot here alone.
    pub fn write(&mut self, number: u32, address: Address, key: U256, value: U256) {
        let at = self.reach(number);
        let state = self.states[at];
        self.undo.push((number, self.values[at], state));
        if state & DIRTY == 0 {
            self.dirty.push(Dirty { number, address, key });
            self.states[at] = KNOWN | DIRTY;
        }
        self.values[at] = value;
    }

    /// Write a slot here alone, if its value is another one; `slot` says which it is.
    #[inline]
    pub fn change(&mut self, number: u32, value: &U256, slot: impl FnOnce() -> (Address, U256)) {
        match (self.values.get_mut(number as usize), self.states.get_mut(number as usize)) {
            (Some(kept), Some(state)) if *state & KNOWN != 0 => {
                if kept == value {
                    return;
                }
                self.undo.push((number, *kept, *state));
                *kept = *value;
                if *state & DIRTY == 0 {
                    *state |= DIRTY;
                    let (address, key) = slot();
                    self.dirty.push(Dirty { number, address, key });
                }
            }
            _ => {
                let (address, key) = slot();
                self.write(number, address, key, *value);
            }
        }
    }

    #[inline]
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Slots that the overlay has other values of, or none.
    pub fn unwritten(&self) -> impl Iterator<Item = (Address, U256, U256)> {
        self.dirty.iter().map(|slot| (slot.address, slot.key, self.values[slot.number as usize]))
    }

    /// What the overlay lacks; from now on it has it.
    pub fn take_written(&mut self) -> Vec<Written> {
        let Self { values, states, dirty, undo, .. } = self;
        let first = |number: u32| undo.iter().find(|(written, ..)| *written == number);
        let written = dirty
            .iter()
            .map(|slot| Written {
                address: slot.address,
                key: slot.key,
                value: values[slot.number as usize],
                begin: first(slot.number).map(|(_, before, state)| (state & DIRTY != 0).then_some(*before)),
            })
            .collect();
        for slot in dirty.drain(..) {
            states[slot.number as usize] &= !DIRTY;
        }
        undo.clear();
        written
    }

    /// The writes so far can be taken back no longer.
    pub fn begin_run(&mut self) {
        self.undo.clear();
    }

    /// Stand where the run began, as far as it wrote here alone.
    pub fn take_run_back(&mut self) {
        while let Some((number, value, state)) = self.undo.pop() {
            self.values[number as usize] = value;
            self.states[number as usize] = state;
        }
        let states = &self.states;
        self.dirty.retain(|slot| states[slot.number as usize] & DIRTY != 0);
    }

    /// Whether the ending was settled before; it is from now on.
    pub fn settle(&mut self, ending: u64) -> bool {
        if self.settled.contains(&ending) {
            return true;
        }
        self.settled.push(ending);
        false
    }

    /// Forget everything; nothing here is missing in the overlay.
    pub fn clear(&mut self) {
        self.states.fill(0);
        self.settled.clear();
        self.accounts = 0;
        self.undo.clear();
    }

    /// How many slots there is room for.
    pub fn reach_of(&self) -> usize {
        self.states.len()
    }

    /// Become like another one.
    pub fn set_to(&mut self, other: &Self) {
        self.values.clone_from(&other.values);
        self.states.clone_from(&other.states);
        self.dirty.clone_from(&other.dirty);
        self.undo.clone_from(&other.undo);
        self.settled.clone_from(&other.settled);
        self.accounts = other.accounts;
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * (size_of::<U256>() + 1)
            + self.dirty.capacity() * size_of::<Dirty>()
            + self.undo.capacity() * size_of::<(u32, U256, u8)>()
            + self.settled.capacity() * size_of::<u64>()
    }
}
