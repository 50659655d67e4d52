//! The self-check: one replay in so many is interpreted too. Which ones follows from a seed, so that a run that finds a
//! difference finds it again.

use std::sync::LazyLock;

/// The setting that switches it off, to measure what it costs: `MAYAVI_SELF_CHECK=0`.
const SETTING: &str = "MAYAVI_SELF_CHECK";

/// One replay in so many, as a power of two. The interpreter takes a few hundred times as long as a replay of a fleet
/// or of a batch, and ten to forty times as long as that of a single call or transaction.
pub const OF_MANY: u32 = 14;
pub const OF_SINGLE: u32 = 11;

/// Which replays of a fleet or an EVM are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCheck {
    seed: u64,
    /// Replays, or what could have been one, so far.
    count: u64,
}

impl SelfCheck {
    pub fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// The number of the first of the next `many` replays.
    pub fn next(&mut self, many: usize) -> u64 {
        let first = self.count;
        self.count = self.count.wrapping_add(many as u64);
        first
    }

    /// Whether the replay with this number is checked, one in 2^`power`. Its `content` goes in too: many copies that
    /// begin alike do not all check the same ones.
    #[inline]
    pub fn picks(self, number: u64, content: u64, power: u32) -> bool {
        mixed(self.seed ^ mixed(number ^ mixed(content))) >> (64 - power) == 0 && is_on()
    }
}

/// The words of calldata as one number.
pub fn content(data: &[u8]) -> u64 {
    let (chunks, rest) = data.as_chunks::<8>();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    chunks.iter().fold(rest, |all, chunk| (all ^ u64::from_le_bytes(*chunk)).wrapping_mul(ODD).rotate_left(29))
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

fn is_on() -> bool {
    static ON: LazyLock<bool> = LazyLock::new(|| std::env::var(SETTING).map_or(true, |value| value.trim() != "0"));
    *ON
}

/// The finaliser of SplitMix64.
#[inline]
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(ODD);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(seed: u64) -> Vec<u64> {
        (0..1 << 16).filter(|number| SelfCheck::new(seed).picks(*number, 7, 8)).collect()
    }

    #[test]
    fn one_in_so_many_is_picked_and_the_seed_decides_which() {
        let (one, other) = (picked(1), picked(2));
        assert!((200..320).contains(&one.len()), "{}", one.len());
        assert_eq!(one, picked(1));
        assert_ne!(one, other);
    }

    #[test]
    fn equal_numbers_of_other_contents_are_picked_apart() {
        let check = SelfCheck::new(1);
        assert!((0..1 << 12).any(|content| check.picks(0, content, 8)));
        assert!((0..1 << 12).any(|content| !check.picks(0, content, 8)));
        assert_ne!(content(&[1; 36]), content(&[2; 36]));
        assert_ne!(content(&[0, 0, 1]), content(&[0, 0, 2]));
    }

    #[test]
    fn numbers_go_on_where_they_ended() {
        let mut check = SelfCheck::new(0);
        assert_eq!((check.next(3), check.next(1), check.next(0), check.next(1)), (0, 3, 4, 4));
    }
}
