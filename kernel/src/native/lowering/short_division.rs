//! Quotients of two limbs, and reciprocals by which they are guessed: what most divisions of amounts come to.

use super::division::{divide_two_by_one, next_limb_by_two};

/// A quotient of two limbs; a longer one is zero, and so is that of the divisor zero.
#[inline(always)]
pub fn divide_to_two(dividend: [u64; 4], divisor: [u64; 2]) -> [u64; 2] {
    let ([first, second, third, fourth], [low, high]) = (dividend, divisor);
    if joined(fourth, third) >= joined(high, low) {
        return [0, 0];
    }
    if high == 0 {
        let (upper, rest) =
            if third == 0 && second < low { (0, second) } else { divide_two_by_one(third, second, low) };
        return [divide_two_by_one(rest, first, low).0, upper];
    }
    let by = high.leading_zeros();
    let moved = |upper: u64, lower: u64| upper << by | (lower >> 1) >> (63 - by);
    let scaled = joined(moved(high, low), low << by);
    let (rest, next) = (joined(moved(fourth, third), moved(third, second)), moved(second, first));
    let (upper, rest) = match rest << 64 | u128::from(next) {
        short if rest >> 64 == 0 && short < scaled => (0, short),
        _ => next_limb_by_two(rest, next, scaled),
    };
    [last_limb_by_two(rest, first << by, scaled), upper]
}

/// The last limb of a quotient by two limbs. Whether its estimate is one too large is a coin's toss, so that is no branch.
#[inline(always)]
fn last_limb_by_two(rest: u128, limb: u64, divisor: u128) -> u64 {
    let (low, high, top) = (divisor as u64, (divisor >> 64) as u64, (rest >> 64) as u64);
    if top >= high {
        return next_limb_by_two(rest, limb, divisor).0;
    }
    let (estimate, left) = divide_two_by_one(top, rest as u64, high);
    let (next, below) = joined(left, limb).overflowing_sub(u128::from(estimate) * u128::from(low));
    let still_below = below & !next.overflowing_add(divisor).1;
    // Hidden, or the compiler would first branch by `below`.
    if std::hint::black_box(still_below) {
        return two_less(estimate);
    }
    estimate - u64::from(below)
}

#[cold]
#[inline(never)]
fn two_less(limb: u64) -> u64 {
    limb - 2
}

#[inline(always)]
fn joined(upper: u64, lower: u64) -> u128 {
    u128::from(upper) << 64 | u128::from(lower)
}

/// 2^255 by two limbs that are shifted to their highest bit: at most 2^5 too large, and at most 2^128 - 1. Zero where
/// the upper limb is zero.
#[inline(always)]
pub fn reciprocal_of([low, high]: [u64; 2]) -> [u64; 2] {
    if high == 0 {
        return [0, 0];
    }
    let by = high.leading_zeros();
    let (upper, lower) = (high << by | (low >> 1) >> (63 - by), low << by);
    // 2^127 by the upper limb and one more: below the true value by one part in 2^62 at most.
    let first = if upper == u64::MAX { 1 << 63 } else { divide_two_by_one(1 << 63, 0, upper + 1).0 };
    // One step of Newton's method: what is left of 2^191 has 130 bits, of which the lowest 64 do not matter.
    let under = u128::from(first) * u128::from(lower);
    let over = u128::from(first) * u128::from(upper) + (under >> 64);
    let left = (1_u128 << 127) - over - u128::from(under as u64 != 0);
    let more = ((u128::from(first) * u128::from(left as u64)) >> 63) + ((u128::from(first) * (left >> 64)) << 1);
    let value = (u128::from(first) << 64).saturating_add(more).saturating_add(24);
    [value as u64, (value >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use revm::primitives::ruint::aliases::U512;

    use super::*;
    use crate::native::{
        lowering::division::{MOST, divide},
        samples::Samples,
    };

    #[test]
    fn quotients_of_two_limbs_are_those_of_all_sizes() {
        let (mut samples, mut short) = (Samples::new(13), 0);
        for round in 0..200_000 {
            let [a, b, q] = [(); 3].map(|()| samples.word().into_limbs());
            let divisor = [b[0], b[1]];
            let mut dividend = a;
            if round % 2 == 0 {
                // A multiple of the divisor, or next to one.
                let product = U512::from_limbs_slice(&q[..2]) * U512::from_limbs_slice(&divisor);
                let near = product.wrapping_add(U512::from(round % 3)).wrapping_sub(U512::ONE);
                dividend.copy_from_slice(&near.as_limbs()[..4]);
            }
            let (mut quotient, mut remainder) = ([0; MOST], [0; MOST]);
            divide(&dividend, &divisor, &mut quotient, &mut remainder);
            let fits = quotient[2..] == [0; MOST - 2];
            short += usize::from(fits);
            let expected = if fits { [quotient[0], quotient[1]] } else { [0, 0] };
            assert_eq!(divide_to_two(dividend, divisor), expected, "{dividend:x?} by {divisor:x?}");
        }
        assert!(short > 50_000, "{short} were short");
    }

    #[test]
    fn reciprocals_are_hardly_too_large() {
        let mut samples = Samples::new(17);
        for _ in 0..200_000 {
            let [low, high, ..] = samples.word().into_limbs();
            let found = U512::from_limbs_slice(&reciprocal_of([low, high]));
            if high == 0 {
                assert_eq!(found, U512::ZERO);
                continue;
            }
            let divisor = U512::from_limbs_slice(&[low, high]) << high.leading_zeros() as usize;
            let quotient: U512 = (U512::ONE << 255) / divisor;
            let exact = quotient.min((U512::ONE << 128) - U512::ONE);
            assert!(found >= exact && found - exact <= U512::from(32), "{low:x} {high:x}");
        }
    }
}
