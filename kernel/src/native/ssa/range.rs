//! What is certain about a word: its lowest and highest value, and which bits can be and must be set.

use revm::primitives::U256;

/// Words between `low` and `high` that have all bits of `sure` and none outside `maybe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub low: U256,
    pub high: U256,
    pub maybe: U256,
    pub sure: U256,
}

/// The word whose lowest `bits` bits are set.
pub fn mask(bits: usize) -> U256 {
    if bits == 0 { U256::ZERO } else { U256::MAX >> (256 - bits.min(256)) }
}

/// How many 64-bit limbs a value up to `high` needs; at least one.
pub fn limbs(high: U256) -> usize {
    high.bit_len().div_ceil(64).max(1)
}

impl Range {
    pub const FULL: Self = Self { low: U256::ZERO, high: U256::MAX, maybe: U256::MAX, sure: U256::ZERO };

    pub fn exactly(value: U256) -> Self {
        Self { low: value, high: value, maybe: value, sure: value }
    }

    pub fn between(low: U256, high: U256) -> Self {
        Self { low, high, ..Self::FULL }.tightened()
    }

    pub fn below_bits(bits: usize) -> Self {
        Self::between(U256::ZERO, mask(bits))
    }

    pub fn bits(maybe: U256, sure: U256) -> Self {
        Self { low: sure, high: maybe, maybe, sure }.tightened()
    }

    pub fn as_constant(&self) -> Option<U256> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn is_boolean(&self) -> bool {
        self.high <= U256::ONE
    }

    pub fn is_nonzero(&self) -> bool {
        !self.low.is_zero()
    }

    /// Whether the word is not negative as a signed one.
    pub fn is_positive(&self) -> bool {
        !self.high.bit(255)
    }

    pub fn is_negative(&self) -> bool {
        self.low.bit(255)
    }

    /// The words in both, or `None` where there are none.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let both = Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
            maybe: self.maybe & other.maybe,
            sure: self.sure | other.sure,
        };
        let possible = both.low <= both.high && both.sure & !both.maybe == U256::ZERO;
        Some(both.tightened()).filter(|both| possible && both.low <= both.high && both.sure & !both.maybe == U256::ZERO)
    }

    /// The words in either.
    pub fn join(&self, other: &Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            maybe: self.maybe | other.maybe,
            sure: self.sure & other.sure,
        }
    }

    /// Let bounds and bits tell each other what they know.
    fn tightened(self) -> Self {
        let (low, high) = (self.low.max(self.sure), self.high.min(self.maybe));
        if low > high {
            return Self { low, high, ..self };
        }
        // Both bounds agree on the bits above the highest one in which they differ.
        let free = mask((low ^ high).bit_len());
        Self { low, high, maybe: self.maybe & (high | free), sure: self.sure | (low & !free) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_bits_tell_each_other() {
        let range = Range::between(U256::from(0x100), U256::from(0x1ff));
        assert_eq!((range.maybe, range.sure), (U256::from(0x1ff), U256::from(0x100)));
        let bits = Range::bits(U256::from(0xff0), U256::from(0x10));
        assert_eq!((bits.low, bits.high), (U256::from(0x10), U256::from(0xff0)));
    }

    #[test]
    fn ranges_without_a_common_word_do_not_meet() {
        let low = Range::between(U256::ZERO, U256::from(3));
        assert_eq!(low.meet(&Range::between(U256::from(4), U256::MAX)), None);
        assert_eq!(low.meet(&Range::exactly(U256::from(2))).and_then(|both| both.as_constant()), Some(U256::from(2)));
    }
}
