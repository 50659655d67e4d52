//! Division of numbers of a few limbs, lowest first: by the real size of the operands, never trapping.

/// The most limbs a dividend has: the product of two words.
pub const MOST: usize = 8;

/// `high · 2^64 + low` by `divisor`, which is above `high`: quotient and remainder.
#[inline(always)]
pub fn divide_two_by_one(high: u64, low: u64, divisor: u64) -> (u64, u64) {
    debug_assert!(high < divisor);
    #[cfg(target_arch = "x86_64")]
    {
        let (quotient, remainder);
        // SAFETY: the quotient fits into a register because `high` is below the divisor: the instruction cannot fault.
        unsafe {
            std::arch::asm!(
                "div {divisor}",
                divisor = in(reg) divisor,
                inout("rax") low => quotient,
                inout("rdx") high => remainder,
                options(pure, nomem, nostack),
            );
        }
        (quotient, remainder)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let number = u128::from(high) << 64 | u128::from(low);
        ((number / u128::from(divisor)) as u64, (number % u128::from(divisor)) as u64)
    }
}

fn significant(limbs: &[u64]) -> usize {
    limbs.iter().rposition(|limb| *limb != 0).map_or(0, |at| at + 1)
}

/// Quotient and remainder; both are zero for the divisor zero. Each is as long as its operand at least.
#[inline]
pub fn divide(dividend: &[u64], divisor: &[u64], quotient: &mut [u64], remainder: &mut [u64]) {
    quotient.fill(0);
    remainder.fill(0);
    let (n, m) = (significant(dividend), significant(divisor));
    if m == 0 {
        return;
    }
    if n < m {
        remainder[..n].copy_from_slice(&dividend[..n]);
    } else if n == 1 {
        (quotient[0], remainder[0]) = (dividend[0] / divisor[0], dividend[0] % divisor[0]);
    } else if m == 1 {
        let mut rest = 0;
        for at in (0..n).rev() {
            (quotient[at], rest) = divide_two_by_one(rest, dividend[at], divisor[0]);
        }
        remainder[0] = rest;
    } else if m == 2 {
        divide_by_two(&dividend[..n], [divisor[0], divisor[1]], quotient, remainder);
    } else {
        divide_long(&dividend[..n], &divisor[..m], quotient, remainder);
    }
}

/// Shift left by less than 64 bits; `into` may be one limb longer.
fn shifted(limbs: &[u64], by: u32, into: &mut [u64]) {
    let mut carried = 0;
    for (at, place) in into.iter_mut().enumerate() {
        let limb = limbs.get(at).copied().unwrap_or(0);
        *place = limb << by | carried;
        carried = if by == 0 { 0 } else { limb >> (64 - by) };
    }
}

/// Division by two limbs, the most common one of large amounts: everything stays in registers.
fn divide_by_two(dividend: &[u64], divisor: [u64; 2], quotient: &mut [u64], remainder: &mut [u64]) {
    let by = divisor[1].leading_zeros();
    let scaled = (u128::from(divisor[1]) << 64 | u128::from(divisor[0])) << by;
    let above = |limb: u64| if by == 0 { 0 } else { limb >> (64 - by) };
    let at = |at: usize| dividend[at] << by | if at > 0 { above(dividend[at - 1]) } else { 0 };
    let last = dividend.len() - 1;
    let mut rest = u128::from(above(dividend[last])) << 64 | u128::from(at(last));
    for place in (0..last).rev() {
        (quotient[place], rest) = next_limb_by_two(rest, at(place), scaled);
    }
    rest >>= by;
    (remainder[0], remainder[1]) = (rest as u64, (rest >> 64) as u64);
}

/// Quotient by one limb; zero for the divisor zero.
#[inline(always)]
pub fn divide_by_limb<const N: usize>(dividend: &[u64; N], divisor: u64) -> [u64; N] {
    let (mut quotient, mut rest) = ([0; N], 0);
    if divisor == 0 {
        return quotient;
    }
    for at in (0..N).rev() {
        // Limbs above the dividend are zero: no need to divide them.
        if rest == 0 && dividend[at] < divisor {
            rest = dividend[at];
            continue;
        }
        (quotient[at], rest) = divide_two_by_one(rest, dividend[at], divisor);
    }
    quotient
}

/// Quotient by two limbs, of which the upper one is not zero.
#[inline(always)]
pub fn divide_by_limbs<const N: usize>(dividend: &[u64; N], divisor: [u64; 2]) -> [u64; N] {
    let by = divisor[1].leading_zeros();
    let scaled = (u128::from(divisor[1]) << 64 | u128::from(divisor[0])) << by;
    let above = |limb: u64| (u128::from(limb) << by >> 64) as u64;
    let (mut quotient, mut rest) = ([0; N], u128::from(above(dividend[N - 1])));
    for at in (0..N).rev() {
        let limb = dividend[at] << by | if at > 0 { above(dividend[at - 1]) } else { 0 };
        let whole = rest << 64 | u128::from(limb);
        if rest >> 64 == 0 && whole < scaled {
            rest = whole;
            continue;
        }
        (quotient[at], rest) = next_limb_by_two(rest, limb, scaled);
    }
    quotient
}

/// One limb of a quotient by two limbs, the upper of which has its highest bit set; and the rest.
#[inline(always)]
pub(super) fn next_limb_by_two(rest: u128, limb: u64, divisor: u128) -> (u64, u128) {
    let (low, high, top) = (divisor as u64, (divisor >> 64) as u64, (rest >> 64) as u64);
    let (mut quotient, left, carried) = if top >= high {
        let (left, carried) = (rest as u64).overflowing_add(high);
        (u64::MAX, left, carried)
    } else {
        let (quotient, left) = divide_two_by_one(top, rest as u64, high);
        (quotient, left, false)
    };
    let whole = u128::from(left) << 64 | u128::from(limb);
    let (mut next, borrowed) = whole.overflowing_sub(u128::from(quotient) * u128::from(low));
    // The estimate is at most two too large.
    let mut below = borrowed && !carried;
    while below {
        quotient -= 1;
        let (more, wrapped) = next.overflowing_add(divisor);
        (next, below) = (more, !wrapped);
    }
    (quotient, next)
}

/// Schoolbook division by at least three limbs, limb by limb from the top.
fn divide_long(dividend: &[u64], divisor: &[u64], quotient: &mut [u64], remainder: &mut [u64]) {
    let (n, m) = (dividend.len(), divisor.len());
    let by = divisor[m - 1].leading_zeros();
    let (mut rest, mut scaled) = ([0; MOST + 1], [0; MOST]);
    shifted(dividend, by, &mut rest[..=n]);
    shifted(divisor, by, &mut scaled[..m]);
    for at in (0..=n - m).rev() {
        quotient[at] = next_limb(&mut rest[at..=at + m], &scaled[..m]);
    }
    for at in 0..m {
        let above = if by == 0 { 0 } else { rest[at + 1] << (64 - by) };
        remainder[at] = rest[at] >> by | if at + 1 < m { above } else { 0 };
    }
}

/// One limb of the quotient; takes its multiple of the divisor from the rest.
fn next_limb(rest: &mut [u64], divisor: &[u64]) -> u64 {
    let m = divisor.len();
    let (first, second) = (divisor[m - 1], divisor[m - 2]);
    let (mut limb, mut left, mut too_large) = if rest[m] >= first {
        let (left, carried) = rest[m - 1].overflowing_add(first);
        (u64::MAX, left, !carried)
    } else {
        let (limb, left) = divide_two_by_one(rest[m], rest[m - 1], first);
        (limb, left, true)
    };
    // The estimate from the top is at most two too large; the second limb shows nearly all of it.
    while too_large && u128::from(limb) * u128::from(second) > (u128::from(left) << 64 | u128::from(rest[m - 2])) {
        limb -= 1;
        let (more, carried) = left.overflowing_add(first);
        (left, too_large) = (more, !carried);
    }
    let (mut carried, mut borrowed) = (0, false);
    for at in 0..m {
        let product = u128::from(limb) * u128::from(divisor[at]) + u128::from(carried);
        carried = (product >> 64) as u64;
        (rest[at], borrowed) = subtract(rest[at], product as u64, borrowed);
    }
    (rest[m], borrowed) = subtract(rest[m], carried, borrowed);
    if borrowed {
        limb -= 1;
        let mut carried = false;
        for at in 0..m {
            (rest[at], carried) = add(rest[at], divisor[at], carried);
        }
        rest[m] = rest[m].wrapping_add(u64::from(carried));
    }
    limb
}

#[inline(always)]
pub fn add(a: u64, b: u64, carried: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carried));
    (sum, first | second)
}

#[inline(always)]
pub fn subtract(a: u64, b: u64, borrowed: bool) -> (u64, bool) {
    let (rest, first) = a.overflowing_sub(b);
    let (rest, second) = rest.overflowing_sub(u64::from(borrowed));
    (rest, first | second)
}

#[cfg(test)]
mod tests {
    use revm::primitives::ruint::aliases::U512;

    use super::*;
    use crate::native::samples::Samples;

    #[test]
    fn every_size_divides_like_wide_integers() {
        let mut samples = Samples::new(7);
        for round in 0..200_000 {
            let dividend = [samples.word().into_limbs(), samples.word().into_limbs()].concat();
            let dividend = &dividend[..1 + round % MOST];
            let divisor = samples.word().into_limbs();
            let divisor = &divisor[..1 + (round / MOST) % 4];
            let (mut quotient, mut remainder) = ([0; MOST], [0; MOST]);
            divide(dividend, divisor, &mut quotient, &mut remainder);
            let (a, b) = (U512::from_limbs_slice(dividend), U512::from_limbs_slice(divisor));
            let expected = if b.is_zero() { (U512::ZERO, U512::ZERO) } else { (a / b, a % b) };
            assert_eq!((U512::from_limbs(quotient), U512::from_limbs(remainder)), expected, "{a} by {b}");
        }
    }

    #[test]
    fn short_quotients_are_those_of_all_sizes() {
        fn check<const N: usize>(dividend: [u64; 4], divisor: [u64; 4]) {
            let mut some = [0; N];
            some.copy_from_slice(&dividend[..N]);
            for m in 1..=2 {
                let (mut quotient, mut remainder) = ([0; MOST], [0; MOST]);
                divide(&some, &divisor[..m], &mut quotient, &mut remainder);
                let short = match (m, divisor[1]) {
                    (1, _) | (2, 0) => divide_by_limb(&some, divisor[0]),
                    _ => divide_by_limbs(&some, [divisor[0], divisor[1]]),
                };
                assert_eq!(short, quotient[..N], "{some:?} by {:?}", &divisor[..m]);
            }
        }
        let mut samples = Samples::new(11);
        for _ in 0..100_000 {
            let (dividend, divisor) = (samples.word().into_limbs(), samples.word().into_limbs());
            check::<2>(dividend, divisor);
            check::<3>(dividend, divisor);
            check::<4>(dividend, divisor);
        }
    }
}
