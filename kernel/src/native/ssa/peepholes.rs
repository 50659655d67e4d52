//! Simpler forms of instructions on words: arithmetic and what the others share. `bits.rs` has logic and comparisons.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{graph::Graph, ir::NodeId, range::mask};
use crate::faults::Fault;

/// Powers up to this one are products.
const SMALL_POWER: usize = 8;

/// The exponent of a power of two.
pub fn exponent(value: U256) -> Option<usize> {
    (value.count_ones() == 1).then(|| value.trailing_zeros())
}

impl Graph {
    /// A node that is the same as this instruction; constants are on the right of commutative ones.
    pub(super) fn simplified(&mut self, opcode: u8, arguments: [NodeId; 3]) -> Option<NodeId> {
        let [a, b, c] = arguments;
        match opcode {
            op::ADD => self.simpler_sum(a, b),
            op::SUB => self.simpler_difference(a, b),
            op::MUL => self.simpler_product(a, b),
            op::DIV => self.simpler_quotient(a, b),
            op::MOD => self.simpler_remainder(a, b),
            op::SDIV | op::SMOD => self.simpler_signed(opcode, a, b),
            op::ADDMOD | op::MULMOD => self.simpler_modular(opcode, a, b, c),
            op::EXP => self.simpler_power(a, b),
            op::SIGNEXTEND => self.simpler_extension(a, b),
            op::LT => self.simpler_less(a, b),
            op::SLT => self.simpler_signed_less(a, b),
            op::EQ => self.simpler_equal(a, b),
            op::ISZERO => self.simpler_iszero(a),
            op::AND => self.simpler_and(a, b),
            op::OR => self.simpler_or(a, b),
            op::XOR => self.simpler_xor(a, b),
            op::NOT => self.matched(a, op::NOT).map(|[inner, ..]| inner),
            op::BYTE => self.simpler_byte(a, b),
            op::SHL | op::SHR | op::SAR => self.simpler_shift(opcode, a, b),
            _ => None,
        }
    }

    fn simpler_sum(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is(b, 0) {
            return Some(a);
        }
        for (sum, other) in [(a, b), (b, a)] {
            if let Some([whole, part, _]) = self.matched(sum, op::SUB)
                && part == other
            {
                return Some(whole);
            }
        }
        let ([inner, first, _], second) = (self.matched(a, op::ADD)?, self.as_constant(b)?);
        let both = self.as_constant(first)?.wrapping_add(second);
        let both = self.constant(both);
        Some(self.pure(op::ADD, [inner, both, 0]))
    }

    fn simpler_difference(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is(b, 0) {
            return Some(a);
        }
        if a == b {
            return Some(self.constant(U256::ZERO));
        }
        if self.as_constant(a) == Some(U256::MAX) {
            return Some(self.pure(op::NOT, [b, 0, 0]));
        }
        let [left, right, _] = self.matched(a, op::ADD)?;
        match b {
            _ if b == left => Some(right),
            _ if b == right => Some(left),
            _ => None,
        }
    }

    fn simpler_product(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let factor = self.as_constant(b)?;
        if factor <= U256::ONE {
            return Some(if factor.is_zero() { b } else { a });
        }
        exponent(factor).map(|by| self.shift(op::SHL, by, a))
    }

    fn simpler_quotient(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is(a, 0) || self.is(b, 0) {
            return Some(self.constant(U256::ZERO));
        }
        // a · b / a, where the product is whole and the divisor not zero.
        if let Some([left, right, _]) = self.matched(a, op::MUL)
            && self.range(b).is_nonzero()
            && (b == left || b == right)
            && self.is_whole(left, right)
        {
            return Some(if b == left { right } else { left });
        }
        let divisor = self.as_constant(b)?;
        if let Some(by) = exponent(divisor) {
            return Some(self.shift(op::SHR, by, a));
        }
        let [inner, first, _] = self.matched(a, op::DIV)?;
        let both = self.as_constant(first).filter(|first| !first.is_zero())?.checked_mul(divisor)?;
        let both = self.constant(both);
        Some(self.pure(op::DIV, [inner, both, 0]))
    }

    /// Whether a product certainly does not wrap.
    pub(super) fn is_whole(&self, a: NodeId, b: NodeId) -> bool {
        self.exact.contains(&(op::MUL, [a.min(b), a.max(b)]))
            || self.range(a).high.checked_mul(self.range(b).high).is_some()
    }

    fn simpler_remainder(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is(a, 0) || self.range(b).high <= U256::ONE {
            return Some(self.constant(U256::ZERO));
        }
        if self.range(a).high < self.range(b).low {
            return Some(a);
        }
        let by = exponent(self.as_constant(b)?)?;
        Some(self.and(a, mask(by)))
    }

    fn simpler_signed(&mut self, opcode: u8, a: NodeId, b: NodeId) -> Option<NodeId> {
        let unsigned = if opcode == op::SDIV { op::DIV } else { op::MOD };
        let positive = self.range(a).is_positive() && self.range(b).is_positive();
        (positive || self.is(b, 0)).then(|| self.pure(unsigned, [a, b, 0]))
    }

    fn simpler_modular(&mut self, opcode: u8, a: NodeId, b: NodeId, modulus: NodeId) -> Option<NodeId> {
        let (plain, whole) = match opcode {
            op::ADDMOD => (op::ADD, self.range(a).high.checked_add(self.range(b).high).is_some()),
            _ => (op::MUL, self.is_whole(a, b)),
        };
        // A power of two divides 2^256: what wraps makes no difference.
        let even = self.as_constant(modulus).is_some_and(|modulus| modulus.count_ones() <= 1);
        if !(whole || even) {
            return None;
        }
        let value = self.pure(plain, [a, b, 0]);
        Some(self.pure(op::MOD, [value, modulus, 0]))
    }

    fn simpler_power(&mut self, base: NodeId, by: NodeId) -> Option<NodeId> {
        if let Some(value) = self.as_constant(base) {
            return match value {
                _ if value == U256::ONE => Some(base),
                _ if value == U256::from(2) => {
                    let one = self.one();
                    Some(self.pure(op::SHL, [by, one, 0]))
                }
                _ => None,
            };
        }
        let by = self.as_small(by).filter(|by| *by <= SMALL_POWER)?;
        let mut power = self.one();
        for _ in 0..by {
            power = self.pure(op::MUL, [power, base, 0]);
        }
        Some(power)
    }

    pub(super) fn one(&mut self) -> NodeId {
        self.constant(U256::ONE)
    }

    fn simpler_extension(&mut self, at: NodeId, value: NodeId) -> Option<NodeId> {
        if self.range(at).low >= U256::from(31) {
            return Some(value);
        }
        let sign = 8 * self.as_small(at)? + 7;
        (self.range(value).high <= mask(sign)).then_some(value)
    }

    fn simpler_byte(&mut self, at: NodeId, value: NodeId) -> Option<NodeId> {
        let at = self.as_constant(at)?;
        if at >= U256::from(32) {
            return Some(self.constant(U256::ZERO));
        }
        let by = 8 * (31 - at.to::<usize>());
        let moved = self.shift(op::SHR, by, value);
        Some(self.and(moved, U256::from(0xff)))
    }

    fn simpler_shift(&mut self, opcode: u8, by: NodeId, value: NodeId) -> Option<NodeId> {
        if self.is(value, 0) || self.is(by, 0) {
            return Some(value);
        }
        if opcode == op::SAR {
            return self.range(value).is_positive().then(|| self.pure(op::SHR, [by, value, 0]));
        }
        if self.range(by).low >= U256::from(256) {
            return Some(self.constant(U256::ZERO));
        }
        let by = self.as_small(by)?;
        for (inner, back) in [(op::SHL, op::SHR), (op::SHR, op::SHL)] {
            let Some([first, moved, _]) = self.matched(value, inner) else { continue };
            let Some(first) = self.as_small(first) else { continue };
            if inner == opcode {
                return Some(self.shift(opcode, first + by, moved));
            }
            if back == opcode && first == by {
                let kept = if opcode == op::SHR { mask(256 - by) } else { !mask(by) };
                return Some(self.and(moved, kept));
            }
        }
        self.without_dead_side(opcode, by, value)
    }

    /// A shift to the right of two words put together, of which one disappears.
    fn without_dead_side(&mut self, opcode: u8, by: usize, value: NodeId) -> Option<NodeId> {
        let [a, b, _] = self.matched(value, op::OR).filter(|_| opcode == op::SHR)?;
        for (dead, other) in [(a, b), (b, a)] {
            if self.range(dead).maybe >> by == U256::ZERO {
                return Some(self.shift(opcode, by, other));
            }
        }
        None
    }

    /// Whether a mask leaves every bit that a word can have.
    pub(super) fn covers(&self, mask: U256, node: NodeId) -> bool {
        let lost = self.range(node).maybe & !mask;
        if Fault::MaskOneBitShort.is_on() {
            return lost.count_ones() <= 1;
        }
        lost.is_zero()
    }
}
