//! Simpler forms of logic and comparisons, and the overflow checks of compilers.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{graph::Graph, ir::NodeId, peepholes::exponent};
use crate::faults::Fault;

/// A check whether a product is above a limit, by a division: only right where the divisor is not zero.
struct ProductCheck {
    divisor: NodeId,
    factors: [NodeId; 2],
    limit: U256,
    /// Whether it is true where the product is above the limit, or where it is not.
    above: bool,
}

impl Graph {
    pub(super) fn simpler_less(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(self.constant(U256::ZERO));
        }
        if self.is(b, 1) {
            return Some(self.iszero(a));
        }
        if self.is(a, 0) {
            let zero = self.iszero(b);
            return Some(self.iszero(zero));
        }
        if self.is_never_less(a, b) {
            return Some(self.constant(U256::ZERO));
        }
        // A difference wraps where the whole is below what is taken from it: a < a - b is a < b.
        if let Some([whole, part, _]) = self.matched(b, op::SUB)
            && whole == a
        {
            return Some(self.pure(op::LT, [a, part, 0]));
        }
        let check = self.check_of_less(a, b)?;
        self.range(check.divisor).is_nonzero().then(|| self.product_check(&check))
    }

    /// Whether a word is certainly not below another one: they are in order, or it is the whole sum of that and more.
    fn is_never_less(&self, a: NodeId, b: NodeId) -> bool {
        let is_sum = self.matched(a, op::ADD).is_some_and(|[left, right, _]| {
            let exact = self.exact.contains(&(op::ADD, [left.min(right), left.max(right)]));
            (b == left || b == right) && (exact || self.range(left).high.checked_add(self.range(right).high).is_some())
        });
        is_sum || self.ordered.contains(&(b, a))
    }

    pub(super) fn simpler_signed_less(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(self.constant(U256::ZERO));
        }
        let (left, right) = (self.range(a), self.range(b));
        let same = left.is_positive() && right.is_positive() || left.is_negative() && right.is_negative();
        if same {
            return Some(self.pure(op::LT, [a, b, 0]));
        }
        self.is(b, 0).then(|| self.shift(op::SHR, 255, a))
    }

    pub(super) fn simpler_equal(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(self.one());
        }
        if self.is(b, 0) {
            return Some(self.iszero(a));
        }
        if self.is(b, 1) && self.range(a).is_boolean() {
            return Some(a);
        }
        // A word that is its own masked part has no bit outside the mask.
        for (masked, whole) in [(a, b), (b, a)] {
            if let Some([inner, mask, _]) = self.matched(masked, op::AND)
                && let Some(mask) = self.as_constant(mask).filter(|_| inner == whole)
            {
                let outside = self.and(whole, !mask);
                return Some(self.iszero(outside));
            }
        }
        let check = self.check_of_equal(a, b)?;
        self.range(check.divisor).is_nonzero().then(|| self.product_check(&check))
    }

    pub(super) fn simpler_iszero(&mut self, a: NodeId) -> Option<NodeId> {
        if let Some([inner, ..]) = self.matched(a, op::ISZERO) {
            if self.range(inner).is_boolean() {
                return Some(inner);
            }
            // Three in a row are one.
            return self.matched(inner, op::ISZERO).map(|[core, ..]| self.iszero(core));
        }
        for opcode in [op::SUB, op::XOR] {
            if let Some([left, right, _]) = self.matched(a, opcode) {
                return Some(self.pure(op::EQ, [left, right, 0]));
            }
        }
        None
    }

    pub(super) fn simpler_and(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(a);
        }
        if let Some(mask) = self.as_constant(b) {
            if self.covers(mask, a) {
                return Some(a);
            }
            if let Some([inner, first, _]) = self.matched(a, op::AND)
                && let Some(first) = self.as_constant(first)
            {
                return Some(self.and(inner, first & mask));
            }
            return self.masked_side(a, mask);
        }
        for (test, other) in [(a, b), (b, a)] {
            let Some(tested) = self.tested_nonzero(test) else { continue };
            if let Some(check) = self.check_of(other).filter(|check| check.above && check.divisor == tested) {
                return Some(self.product_check(&check));
            }
        }
        None
    }

    /// A mask on two words put together, of which only one has such bits.
    fn masked_side(&mut self, a: NodeId, mask: U256) -> Option<NodeId> {
        let [left, right, _] = self.matched(a, op::OR)?;
        for (dead, other) in [(left, right), (right, left)] {
            if self.range(dead).maybe & mask == U256::ZERO {
                return Some(self.and(other, mask));
            }
        }
        None
    }

    pub(super) fn simpler_or(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b || self.is(b, 0) {
            return Some(a);
        }
        for (test, other) in [(a, b), (b, a)] {
            let Some([tested, ..]) = self.matched(test, op::ISZERO) else { continue };
            if let Some(check) = self.check_of(other).filter(|check| !check.above && check.divisor == tested) {
                return Some(self.product_check(&check));
            }
        }
        None
    }

    pub(super) fn simpler_xor(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(self.constant(U256::ZERO));
        }
        if self.as_constant(b) == Some(U256::MAX) {
            return Some(self.pure(op::NOT, [a, 0, 0]));
        }
        self.is(b, 0).then_some(a)
    }

    /// What `iszero(iszero(x))` asks for.
    fn tested_nonzero(&self, node: NodeId) -> Option<NodeId> {
        let [inner, ..] = self.matched(node, op::ISZERO)?;
        self.matched(inner, op::ISZERO).map(|[core, ..]| core)
    }

    fn check_of(&self, node: NodeId) -> Option<ProductCheck> {
        if let Some([a, b, _]) = self.matched(node, op::LT) {
            return self.check_of_less(a, b);
        }
        if let Some([a, b, _]) = self.matched(node, op::EQ) {
            return self.check_of_equal(a, b);
        }
        let [inner, ..] = self.matched(node, op::ISZERO)?;
        self.check_of(inner).map(|check| ProductCheck { above: !check.above, ..check })
    }

    /// `limit / divisor < factor`.
    fn check_of_less(&self, a: NodeId, factor: NodeId) -> Option<ProductCheck> {
        let [limit, divisor, _] = self.matched(a, op::DIV)?;
        let limit = self.as_constant(limit)?;
        Some(ProductCheck { divisor, factors: [factor, divisor], limit, above: true })
    }

    /// `divisor · factor / divisor == factor`.
    fn check_of_equal(&self, a: NodeId, b: NodeId) -> Option<ProductCheck> {
        for (quotient, factor) in [(a, b), (b, a)] {
            let Some([product, divisor, _]) = self.matched(quotient, op::DIV) else { continue };
            let factors = [[divisor, factor], [factor, divisor]];
            let multiplied = self.matched(product, op::MUL).is_some_and(|[a, b, _]| factors.contains(&[a, b]));
            let shifted = self.matched(product, op::SHL).is_some_and(|[by, moved, _]| {
                moved == divisor && self.as_constant(factor).is_some_and(|value| exponent(value) == self.as_small(by))
            });
            if multiplied || shifted {
                return Some(ProductCheck { divisor, factors: [factor, divisor], limit: U256::MAX, above: false });
            }
        }
        None
    }

    fn product_check(&mut self, check: &ProductCheck) -> NodeId {
        let limit = if Fault::LimitOneTooHigh.is_on() { check.limit.saturating_add(U256::ONE) } else { check.limit };
        let above = self.product_above(check.factors, limit);
        if check.above { above } else { self.iszero(above) }
    }
}
