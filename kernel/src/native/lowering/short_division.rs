//! Quotients of two limbs, and reciprocals by which they are guessed: what most divisions of amounts come to.

use revm::primitives::ruint::algorithms::div::{div_2x1_mg10, reciprocal_mg10};

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

/// The same where division is slow: a divisor of one limb, for which no quotient is guessed, needs only products.
#[inline(always)]
pub fn divide_to_two_by_products(dividend: [u64; 4], divisor: [u64; 2]) -> [u64; 2] {
    let ([first, second, third, fourth], [low, high]) = (dividend, divisor);
    if high != 0 || joined(fourth, third) >= u128::from(low) {
        return divide_to_two(dividend, divisor);
    }
    let by = low.leading_zeros();
    let moved = |upper: u64, lower: u64| upper << by | (lower >> 1) >> (63 - by);
    let divisor = low << by;
    let reciprocal = limb_reciprocal(divisor);
    let next = |rest: u64, limb: u64| div_2x1_mg10(joined(rest, limb), divisor, reciprocal);
    let (upper, rest) = next(moved(third, second), moved(second, first));
    [next(rest, first << by).0, upper]
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

/// 2^255 by two limbs that are shifted to their highest bit: at most 2^6 too large, and at most 2^128 - 1. Zero where
/// the upper limb is zero.
#[inline(always)]
pub fn reciprocal_of(divisor: [u64; 2]) -> [u64; 2] {
    reciprocal_from(divisor, |upper| divide_two_by_one(1 << 63, 0, upper).0)
}

/// The same by products alone, where division is slow.
#[inline(always)]
pub fn reciprocal_by_products(divisor: [u64; 2]) -> [u64; 2] {
    reciprocal_from(divisor, |upper| 1 << 63 | limb_reciprocal(upper) >> 1)
}

/// `first` is 2^127 by a limb whose highest bit is set, rounded down.
#[inline(always)]
fn reciprocal_from([low, high]: [u64; 2], first: impl Fn(u64) -> u64) -> [u64; 2] {
    if high == 0 {
        return [0, 0];
    }
    let by = high.leading_zeros();
    let (upper, lower) = (high << by | (low >> 1) >> (63 - by), low << by);
    // 2^127 by the upper limb and one more: below the true value by one part in 2^62 at most.
    let first = if upper == u64::MAX { 1 << 63 } else { first(upper + 1) };
    // One step of Newton's method: what is left of 2^191 has 130 bits, of which the lowest 66 hardly matter.
    let whole = u128::from(first) * u128::from(upper) + ((u128::from(first) * u128::from(lower)) >> 64);
    let left = (((1 << 127) - whole) >> 2) as u64;
    let more = (u128::from(first) * u128::from(left)) >> 64;
    let value = (u128::from(first) << 64).saturating_add((more << 3) + 36);
    [value as u64, (value >> 64) as u64]
}

/// 2^128 - 1 by a limb whose highest bit is set, less 2^64: rounded down, from a table and products.
#[inline(always)]
fn limb_reciprocal(divisor: u64) -> u64 {
    debug_assert!(divisor >> 63 == 1);
    // SAFETY: the highest bit is set.
    unsafe { reciprocal_mg10(divisor) }
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
            let divisor = [b[0], if round % 8 < 4 { b[1] } else { 0 }];
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
            for divided in [divide_to_two, divide_to_two_by_products] {
                assert_eq!(divided(dividend, divisor), expected, "{dividend:x?} by {divisor:x?}");
            }
        }
        assert!(short > 50_000, "{short} were short");
    }

    #[test]
    fn reciprocals_are_hardly_too_large() {
        let mut samples = Samples::new(17);
        for _ in 0..200_000 {
            let [low, high, ..] = samples.word().into_limbs();
            for reciprocal in [reciprocal_of, reciprocal_by_products] {
                let found = U512::from_limbs_slice(&reciprocal([low, high]));
                if high == 0 {
                    assert_eq!(found, U512::ZERO);
                    continue;
                }
                let divisor = U512::from_limbs_slice(&[low, high]) << high.leading_zeros() as usize;
                let quotient: U512 = (U512::ONE << 255) / divisor;
                let exact = quotient.min((U512::ONE << 128) - U512::ONE);
                assert!(found >= exact && found - exact <= U512::from(64), "{low:x} {high:x}");
            }
        }
    }
}
