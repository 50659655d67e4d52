//! The range of a result from the ranges of its operands.

use revm::{bytecode::opcode as op, primitives::U256};

use super::range::{Range, mask};
use crate::{rows::floats::Float, trace::arithmetic::compute};

/// The range of a pure instruction's result. `exact`: a sum, difference or product that certainly does not wrap.
pub fn range_of_pure(opcode: u8, a: &Range, b: &Range, c: &Range, exact: bool) -> Range {
    match opcode {
        op::ADD => sum(a, b, exact),
        op::SUB => difference(a, b, exact),
        op::MUL => product(a, b, exact),
        op::DIV => quotient(a, b),
        op::MOD => remainder(a, b),
        op::ADDMOD | op::MULMOD => Range::between(U256::ZERO, c.high.saturating_sub(U256::ONE)),
        op::EXP => power(a, b),
        op::LT => decide(a.high < b.low, a.low >= b.high),
        op::GT => decide(a.low > b.high, a.high <= b.low),
        op::SLT => signed_less(a, b),
        op::SGT => signed_less(b, a),
        op::EQ => decide(a.as_constant().is_some() && a.as_constant() == b.as_constant(), a.meet(b).is_none()),
        op::ISZERO => decide(a.high.is_zero(), a.is_nonzero()),
        op::AND => {
            let bits = Range::bits(a.maybe & b.maybe, a.sure & b.sure);
            bits.meet(&Range::between(U256::ZERO, a.high.min(b.high))).unwrap_or(bits)
        }
        op::OR => {
            let bits = Range::bits(a.maybe | b.maybe, a.sure | b.sure);
            bits.meet(&Range::between(a.low.max(b.low), U256::MAX)).unwrap_or(bits)
        }
        op::XOR => Range::bits((a.maybe | b.maybe) & !(a.sure & b.sure), (a.sure & !b.maybe) | (b.sure & !a.maybe)),
        op::NOT => Range { low: !a.high, high: !a.low, maybe: !a.sure, sure: !a.maybe },
        op::BYTE => Range::below_bits(8),
        op::SHL => shifted_left(a, b),
        op::SHR => shifted_right(a, b),
        op::CLZ => Range::between(U256::from(a.high.leading_zeros()), U256::from(a.low.leading_zeros())),
        _ => Float::of_code(opcode).map_or(Range::FULL, |float| Range::below_bits(float.bits())),
    }
}

/// Whether a · b is above the limit.
pub fn range_of_product_above(a: &Range, b: &Range, limit: U256) -> Range {
    let above = |a: U256, b: U256| a.checked_mul(b).is_none_or(|product| product > limit);
    decide(above(a.low, b.low), !above(a.high, b.high))
}

fn decide(certainly: bool, never: bool) -> Range {
    match (certainly, never) {
        (true, _) => Range::exactly(U256::ONE),
        (_, true) => Range::exactly(U256::ZERO),
        _ => Range::below_bits(1),
    }
}

/// Clear the low bits that are zero in any case.
fn with_trailing_zeros(range: Range, zeros: usize) -> Range {
    range.meet(&Range::bits(!mask(zeros), U256::ZERO)).unwrap_or(range)
}

fn sum(a: &Range, b: &Range, exact: bool) -> Range {
    let (low, low_wraps) = a.low.overflowing_add(b.low);
    let (high, high_wraps) = a.high.overflowing_add(b.high);
    let range = match (low_wraps, high_wraps) {
        (false, true) if exact => Range::between(low, U256::MAX),
        (false, true) => Range::FULL,
        _ => Range::between(low, high),
    };
    with_trailing_zeros(range, a.maybe.trailing_zeros().min(b.maybe.trailing_zeros()))
}

fn difference(a: &Range, b: &Range, exact: bool) -> Range {
    let range = if a.low >= b.high || a.high < b.low {
        Range::between(a.low.wrapping_sub(b.high), a.high.wrapping_sub(b.low))
    } else if exact {
        Range::between(a.low.saturating_sub(b.high), a.high.saturating_sub(b.low))
    } else {
        Range::FULL
    };
    with_trailing_zeros(range, a.maybe.trailing_zeros().min(b.maybe.trailing_zeros()))
}

fn product(a: &Range, b: &Range, exact: bool) -> Range {
    let range = match (a.low.checked_mul(b.low), a.high.checked_mul(b.high)) {
        (Some(low), Some(high)) => Range::between(low, high),
        (Some(low), None) if exact => Range::between(low, U256::MAX),
        _ => Range::FULL,
    };
    with_trailing_zeros(range, (a.maybe.trailing_zeros() + b.maybe.trailing_zeros()).min(256))
}

fn quotient(a: &Range, b: &Range) -> Range {
    if b.is_nonzero() { Range::between(a.low / b.high, a.high / b.low) } else { Range::between(U256::ZERO, a.high) }
}

fn remainder(a: &Range, b: &Range) -> Range {
    if a.high < b.low {
        return *a;
    }
    Range::between(U256::ZERO, a.high.min(b.high.saturating_sub(U256::ONE)))
}

fn power(a: &Range, b: &Range) -> Range {
    // A power of zero is 0 or 1.
    match a.high.max(U256::ONE).checked_pow(b.high) {
        Some(high) => Range::between(U256::ZERO, high),
        None => Range::FULL,
    }
}

fn signed_less(a: &Range, b: &Range) -> Range {
    let known = |range: &Range| range.is_positive() || range.is_negative();
    if !(known(a) && known(b)) {
        return Range::below_bits(1);
    }
    let flipped = U256::ONE << 255;
    decide(a.high ^ flipped < b.low ^ flipped, a.low ^ flipped >= b.high ^ flipped)
}

fn shifted_left(by: &Range, value: &Range) -> Range {
    let Some(count) = by.as_constant() else { return Range::FULL };
    let shift = |word: U256| compute(op::SHL, count, word, U256::ZERO);
    let bits = Range::bits(shift(value.maybe), shift(value.sure));
    let whole = usize::try_from(count).is_ok_and(|count| value.high.bit_len() + count <= 256);
    let bounds = if whole { Range::between(shift(value.low), shift(value.high)) } else { Range::FULL };
    bits.meet(&bounds).unwrap_or(bits)
}

fn shifted_right(by: &Range, value: &Range) -> Range {
    let shift = |count: U256, word: U256| compute(op::SHR, count, word, U256::ZERO);
    let bounds = Range::between(shift(by.high, value.low), shift(by.low, value.high));
    let Some(count) = by.as_constant() else { return bounds };
    let bits = Range::bits(shift(count, value.maybe), shift(count, value.sure));
    bits.meet(&bounds).unwrap_or(bits)
}
