//! Division by a variable without branches: both numbers are scaled until the divisor's highest bit is set, then the
//! quotient comes limb by limb from a reciprocal of the divisor's two highest limbs.

use super::assembler::{Assembler, Predicate};
use crate::native::lowering::limbs::{Limb, ZERO};

const MOST: Limb = Limb::Known(u64::MAX);

/// The divisor's two highest limbs, the lower one first, and the reciprocal of both.
#[derive(Clone, Copy)]
struct Top {
    limbs: [Limb; 2],
    reciprocal: Limb,
}

/// Quotient and remainder, as long as dividend and divisor; both are zero for the divisor zero.
pub fn divide(out: &mut Assembler, dividend: &[Limb], divisor: &[Limb]) -> (Vec<Limb>, Vec<Limb>) {
    let any = divisor.iter().skip(1).fold(divisor[0], |any, limb| out.limb("or.b64", &[&any, limb]));
    let any = out.is_set(any);
    // One limb becomes two, so that there always are two highest ones.
    let below = usize::from(divisor.len() == 1);
    let mut scaled = [vec![ZERO; below], divisor.to_vec()].concat();
    let mut rest = [vec![ZERO; below], dividend.to_vec(), vec![ZERO; divisor.len()]].concat();
    let moves: &[usize] = match divisor.len() {
        1 => &[],
        2 => &[1],
        _ => &[2, 1],
    };
    let moved: Vec<(usize, Predicate)> = moves
        .iter()
        .map(|count| {
            let highest = &scaled[scaled.len() - count..];
            let all = highest.iter().skip(1).fold(highest[0], |all, limb| out.limb("or.b64", &[&all, limb]));
            let empty = out.test("setp.eq.u64", &[&all, &0]);
            scaled = up(out, empty, &scaled, *count);
            rest = up(out, empty, &rest, *count);
            (*count, empty)
        })
        .collect();
    let bits = out.half("clz.b64", &[&scaled[scaled.len() - 1]]);
    let bits = out.half("and.b32", &[&bits, &63]);
    let left = out.half("sub.u32", &[&63, &bits]);
    (scaled, rest) = (shifted_left(out, &scaled, [&bits, &left]), shifted_left(out, &rest, [&bits, &left]));
    let size = scaled.len();
    let limbs = [scaled[size - 2], scaled[size - 1]];
    let top = Top { limbs, reciprocal: reciprocal(out, limbs) };
    let mut quotient = vec![ZERO; dividend.len()];
    for at in (0..dividend.len()).rev() {
        quotient[at] = next_limb(out, &mut rest[at..=at + size], &scaled, top);
    }
    let mut remainder = shifted_right(out, &rest[..size], [&bits, &left]);
    for (count, empty) in moved.into_iter().rev() {
        remainder = down(out, empty, &remainder, count);
    }
    remainder.drain(..below);
    let [quotient, remainder] =
        [quotient, remainder].map(|limbs| limbs.into_iter().map(|limb| out.select(any, limb, ZERO)).collect());
    (quotient, remainder)
}

/// A number moved up by whole limbs where the predicate holds.
fn up(out: &mut Assembler, moves: Predicate, limbs: &[Limb], count: usize) -> Vec<Limb> {
    let from = |at: usize| at.checked_sub(count).map_or(ZERO, |at| limbs[at]);
    (0..limbs.len()).map(|at| out.select(moves, from(at), limbs[at])).collect()
}

fn down(out: &mut Assembler, moves: Predicate, limbs: &[Limb], count: usize) -> Vec<Limb> {
    let from = |at: usize| limbs.get(at + count).copied().unwrap_or(ZERO);
    (0..limbs.len()).map(|at| out.select(moves, from(at), limbs[at])).collect()
}

/// A number shifted left by 0 to 63 bits; both counts are given, of bits and of 63 less them.
fn shifted_left(out: &mut Assembler, limbs: &[Limb], [bits, left]: [&dyn std::fmt::Display; 2]) -> Vec<Limb> {
    let mut shifted = Vec::new();
    for at in 0..limbs.len() {
        let mut limb = if limbs[at] == ZERO { ZERO } else { out.limb("shl.b64", &[&limbs[at], bits]) };
        if let Some(lower) = at.checked_sub(1).map(|at| limbs[at]).filter(|lower| *lower != ZERO) {
            let half = out.limb("shr.u64", &[&lower, &1]);
            let carried = out.limb("shr.u64", &[&half, left]);
            limb = if limb == ZERO { carried } else { out.limb("or.b64", &[&limb, &carried]) };
        }
        shifted.push(limb);
    }
    shifted
}

fn shifted_right(out: &mut Assembler, limbs: &[Limb], [bits, left]: [&dyn std::fmt::Display; 2]) -> Vec<Limb> {
    let mut shifted = Vec::new();
    for at in 0..limbs.len() {
        let mut limb = out.limb("shr.u64", &[&limbs[at], bits]);
        if let Some(upper) = limbs.get(at + 1) {
            let twice = out.limb("shl.b64", &[upper, &1]);
            let carried = out.limb("shl.b64", &[&twice, left]);
            limb = out.limb("or.b64", &[&limb, &carried]);
        }
        shifted.push(limb);
    }
    shifted
}

/// One digit of 32 bits of a quotient: `high · 2^32 + digit` by a divisor given by its halves.
fn half_digit(out: &mut Assembler, high: Limb, digit: Limb, [low_half, high_half]: [Limb; 2]) -> Limb {
    let mut quotient = out.limb("div.u64", &[&high, &high_half]);
    let product = out.limb("mul.lo.u64", &[&quotient, &high_half]);
    let mut rest = out.limb("sub.u64", &[&high, &product]);
    // The estimate is at most two too large.
    for _ in 0..2 {
        let product = out.limb("mul.lo.u64", &[&quotient, &low_half]);
        let whole = out.limb("shl.b64", &[&rest, &32]);
        let whole = out.limb("or.b64", &[&whole, &digit]);
        let above = out.test("setp.gt.u64", &[&product, &whole]);
        let long = out.test("setp.gt.u64", &[&quotient, &0xffff_ffff_u32]);
        let above = out.test("or.pred", &[&above, &long]);
        let known = out.test("setp.le.u64", &[&rest, &0xffff_ffff_u32]);
        let above = out.test("and.pred", &[&above, &known]);
        let less = out.limb("sub.u64", &[&quotient, &1]);
        let more = out.limb("add.u64", &[&rest, &high_half]);
        (quotient, rest) = (out.select(above, less, quotient), out.select(above, more, rest));
    }
    quotient
}

/// `(2^128 - 1) / high - 2^64` for a limb whose highest bit is set, then the same for both limbs of a divisor.
fn reciprocal(out: &mut Assembler, [low, high]: [Limb; 2]) -> Limb {
    let lower = out.limb("and.b64", &[&high, &0xffff_ffff_u32]);
    let upper = out.limb("shr.u64", &[&high, &32]);
    let rest = out.limb("not.b64", &[&high]);
    let digit = Limb::Known(0xffff_ffff);
    let first = half_digit(out, rest, digit, [lower, upper]);
    let moved = out.limb("shl.b64", &[&rest, &32]);
    let moved = out.limb("or.b64", &[&moved, &digit]);
    let taken = out.limb("mul.lo.u64", &[&first, &high]);
    let rest = out.limb("sub.u64", &[&moved, &taken]);
    let second = half_digit(out, rest, digit, [lower, upper]);
    let mut value = out.limb("shl.b64", &[&first, &32]);
    value = out.limb("add.u64", &[&value, &second]);
    let mut product = out.limb("mul.lo.u64", &[&high, &value]);
    product = out.limb("add.u64", &[&product, &low]);
    let wrapped = out.test("setp.lt.u64", &[&product, &low]);
    let large = out.test("setp.ge.u64", &[&product, &high]);
    let twice = out.test("and.pred", &[&wrapped, &large]);
    for condition in [wrapped, twice] {
        let less = out.limb("sub.u64", &[&value, &1]);
        let lower = out.limb("sub.u64", &[&product, &high]);
        (value, product) = (out.select(condition, less, value), out.select(condition, lower, product));
    }
    let [below, above] = [out.limb("mul.lo.u64", &[&value, &low]), out.limb("mul.hi.u64", &[&value, &low])];
    product = out.limb("add.u64", &[&product, &above]);
    let wrapped = out.test("setp.lt.u64", &[&product, &above]);
    let small = out.less(&[below, product], &[low, high]);
    let large = out.test("setp.eq.u64", &[&small, &0]);
    let twice = out.test("and.pred", &[&wrapped, &large]);
    for condition in [wrapped, twice] {
        let less = out.limb("sub.u64", &[&value, &1]);
        value = out.select(condition, less, value);
    }
    value
}

/// One limb of the quotient; takes its multiple of the divisor from the rest, which is one limb longer.
fn next_limb(out: &mut Assembler, rest: &mut [Limb], divisor: &[Limb], top: Top) -> Limb {
    let size = divisor.len();
    let (mut limb, left) = estimate(out, [rest[size], rest[size - 1], rest[size - 2]], top);
    if size == 2 {
        (rest[0], rest[1], rest[2]) = (left[0], left[1], ZERO);
        return limb;
    }
    // Where the rest begins like the divisor, the limb is as large as can be.
    let below = out.less(&[rest[size - 1], rest[size]], &top.limbs);
    let below = out.is_set(below);
    limb = out.select(below, limb, MOST);
    let mut product = super::products::multiply(out, divisor, &[limb], size + 1);
    product.truncate(size + 1);
    let taken = out.chain("sub", rest, &product, true);
    let borrowed = out.limb("subc.u64", &[&0, &0]);
    let back: Vec<Limb> = divisor.iter().map(|each| out.limb("and.b64", &[each, &borrowed])).collect();
    let back = [back, vec![ZERO]].concat();
    rest.copy_from_slice(&out.chain("add", &taken, &back, false));
    out.limb("add.u64", &[&limb, &borrowed])
}

/// Three limbs, the highest first, by the divisor's two highest ones: a limb, and what is left of them.
fn estimate(out: &mut Assembler, [highest, middle, lowest]: [Limb; 3], top: Top) -> (Limb, [Limb; 2]) {
    let [low, high] = top.limbs;
    let product =
        [out.limb("mul.lo.u64", &[&top.reciprocal, &highest]), out.limb("mul.hi.u64", &[&top.reciprocal, &highest])];
    let sum = out.chain("add", &product, &[middle, highest], false);
    let (fraction, mut limb) = (sum[0], sum[1]);
    let product = out.limb("mul.lo.u64", &[&limb, &high]);
    let left = out.limb("sub.u64", &[&middle, &product]);
    let taken = [out.limb("mul.lo.u64", &[&low, &limb]), out.limb("mul.hi.u64", &[&low, &limb])];
    let lowest = out.register(lowest);
    let left = out.chain("sub", &[lowest, left], &taken, false);
    let mut left = out.chain("sub", &left, &top.limbs, false);
    limb = out.limb("add.u64", &[&limb, &1]);
    let large = out.test("setp.ge.u64", &[&left[1], &fraction]);
    let (less, more) = (out.limb("sub.u64", &[&limb, &1]), out.chain("add", &left, &top.limbs, false));
    limb = out.select(large, less, limb);
    left = vec![out.select(large, more[0], left[0]), out.select(large, more[1], left[1])];
    let small = out.less(&left, &top.limbs);
    let enough = out.test("setp.eq.u64", &[&small, &0]);
    let (more, less) = (out.limb("add.u64", &[&limb, &1]), out.chain("sub", &left, &top.limbs, false));
    limb = out.select(enough, more, limb);
    (limb, [out.select(enough, less[0], left[0]), out.select(enough, less[1], left[1])])
}
