//! The lowering of division: by constants with multiplications, by variables with a call.

use revm::{
    bytecode::opcode as op,
    primitives::{HashSet, U256, ruint::Uint},
};

use super::{
    limbs::{Binary, Helper, Limb, Target, ZERO},
    lower::{Lowering, known},
};
use crate::{
    faults::Fault,
    native::ssa::{
        ir::{Node, NodeId},
        range::limbs,
    },
};

/// Wide enough for reciprocals of words.
type Wide = Uint<1024, 16>;

/// How to divide by an odd constant with one product.
#[derive(Debug, PartialEq, Eq)]
enum Reciprocal {
    /// `n · factor >> by` is the quotient.
    Exact { factor: Wide, by: usize },
    /// `(n >> top) · factor >> by` is the quotient or one less.
    Short { factor: Wide, top: usize, by: usize },
}

/// What looking at the remainder costs beside its products, in products.
const CORRECTION: usize = 3;

fn wide_limbs(value: Wide) -> usize {
    value.bit_len().div_ceil(64).max(1)
}

fn power(by: usize) -> Wide {
    Wide::ONE << by
}

/// A reciprocal that needs the fewest products for dividends up to `high`.
fn reciprocal(divisor: U256, high: U256) -> Reciprocal {
    let (divisor, high) = (Wide::from(divisor), Wide::from(high));
    let (bits, size) = (divisor.bit_len(), high.bit_len());
    let exact = exact_reciprocal(divisor, high);
    // Barrett: the highest bits of the dividend decide all but one; both errors are below a half.
    let top = bits - 2;
    let mut all = size + 1;
    let aligned = (all - top).next_multiple_of(64) + top;
    if wide_limbs(power(aligned) / divisor) == wide_limbs(power(all) / divisor) {
        all = aligned;
    }
    let factor = power(all) / divisor;
    let rest = wide_limbs(divisor * Wide::from(2) - Wide::ONE);
    let products = wide_limbs(high >> top) * wide_limbs(factor) + rest * (rest + 1) / 2 + 1;
    match exact {
        Some((factor, by)) if wide_limbs(high) * wide_limbs(factor) <= products + CORRECTION => {
            Reciprocal::Exact { factor, by }
        }
        _ => Reciprocal::Short { factor, top, by: all - top },
    }
}

/// The shortest factor with `n · factor >> by == n / divisor` for all `n` up to `high`.
fn exact_reciprocal(divisor: Wide, high: Wide) -> Option<(Wide, usize)> {
    for count in 1..=5 {
        let most = 64 * count + divisor.bit_len() - 1;
        for by in [most / 64 * 64, most, most - 1] {
            let factor = (power(by) + divisor - Wide::ONE) / divisor;
            let error = factor * divisor - power(by);
            if wide_limbs(factor) <= count && error * high < power(by) {
                return Some((factor, by));
            }
        }
    }
    None
}

/// Divisors of several quotients.
pub(super) fn shared_divisors(nodes: &[Node]) -> HashSet<NodeId> {
    let (mut once, mut shared): (HashSet<NodeId>, HashSet<NodeId>) = Default::default();
    for node in nodes {
        if let Node::Pure(op::DIV, [_, divisor, _]) = node
            && !once.insert(*divisor)
        {
            shared.insert(*divisor);
        }
    }
    shared
}

impl Lowering<'_> {
    pub(super) fn divided(&mut self, id: NodeId, opcode: u8, a: &[Limb], b: &[Limb], divisor: NodeId) -> Vec<Limb> {
        if let Some(divisor) = self.as_constant(divisor) {
            let quotient = self.divided_by(a, self.bound(id, 0), divisor);
            return if opcode == op::DIV { quotient } else { self.rest(a, &quotient, divisor) };
        }
        if let ([a], [b]) = (a, b) {
            return vec![self.divided_limbs(opcode, *a, *b)];
        }
        let size = match self.writer.target {
            Target::Device => a.len(),
            _ => a.len().min(limbs(self.plan.highs[id as usize])),
        };
        if opcode == op::DIV && b.len() == 2 && size <= 2 && self.is_guessed(divisor) {
            return self.guessed(a, b, divisor);
        }
        let arguments = [a, b].concat();
        let dividend = a.len() as u8;
        match opcode {
            op::DIV => self.writer.call(Helper::Divide { dividend }, arguments, size),
            _ => self.writer.call(Helper::Remainder { dividend }, arguments, b.len()),
        }
    }

    /// Whether quotients by a divisor are guessed: where it has several, or a division is slow. A device would wait for
    /// its slowest row.
    fn is_guessed(&self, divisor: NodeId) -> bool {
        match self.writer.target {
            Target::FastDivision => self.shared_divisors.contains(&divisor),
            Target::SlowDivision => true,
            Target::Device => false,
        }
    }

    /// A quotient of two limbs by a divisor of two: a product with the reciprocal is nearly always right, so nothing
    /// that follows waits until it is known to be. A guess is less than 2^8 away from the quotient, so three limbs of
    /// what it leaves show whether it is right.
    fn guessed(&mut self, a: &[Limb], b: &[Limb], divisor: NodeId) -> Vec<Limb> {
        let [low, high, up, down] = self.reciprocal_of(b, divisor);
        let mut dividend = a.to_vec();
        dividend.resize(4, ZERO);
        let product = self.upper_product(&dividend, [low, high]);
        // The divisor times 2^up has 128 bits: the product is 2^(255 - up) times too large.
        let mut shifted = |upper: Limb, lower: Limb| {
            let upper = self.writer.binary(Binary::Shl, upper, Limb::Known(1));
            let [upper, lower] = [(Binary::Shl, upper, up), (Binary::Shr, lower, down)]
                .map(|(shift, limb, by)| self.writer.binary(shift, limb, by));
            self.writer.or(upper, lower)
        };
        let guess = vec![shifted(product[1], product[0]), shifted(product[2], product[1])];
        let whole = self.multiply(&guess, b, 3);
        let rest = self.writer.sub(&dividend[..3], &whole);
        let below = self.writer.less(&rest[..2], b);
        let above = self.writer.xor(below, Limb::Known(1));
        let wrong = if Fault::GuessTrusted.is_on() { ZERO } else { self.writer.or(above, rest[2]) };
        self.writer.guess(wrong, guess, Helper::Divide { dividend: a.len() as u8 }, [a, b].concat())
    }

    /// The product of four limbs by two from its limb 3 on: as it is, or up to five too large. What the lowest limbs
    /// would add is less than that, and is not computed.
    fn upper_product(&mut self, a: &[Limb], [low, high]: [Limb; 2]) -> [Limb; 3] {
        const MISSING: Limb = Limb::Known(5);
        let (_, first) = self.writer.multiply_add(a[1], high, ZERO, ZERO);
        let (_, second) = self.writer.multiply_add(a[2], low, ZERO, ZERO);
        let (third, carried) = self.writer.multiply_add(a[2], high, first, second);
        let (third, more) = self.writer.multiply_add(a[3], low, third, MISSING);
        let (fourth, fifth) = self.writer.multiply_add(a[3], high, carried, more);
        [third, fourth, fifth]
    }

    /// The reciprocal of a divisor and how far that is shifted up, and down again; made once for all its quotients.
    fn reciprocal_of(&mut self, b: &[Limb], divisor: NodeId) -> [Limb; 4] {
        if let Some(known) = self.made.reciprocals.get(&divisor) {
            return *known;
        }
        let found = self.writer.call(Helper::Reciprocal, b.to_vec(), 2);
        let some = self.writer.or(b[1], Limb::Known(1));
        let up = self.writer.leading_zeros(some);
        let down = self.writer.xor(up, Limb::Known(63));
        let made = [found[0], found[1], up, down];
        self.made.reciprocals.insert(divisor, made);
        made
    }

    /// A division of one limb by one limb, which may be zero.
    fn divided_limbs(&mut self, opcode: u8, a: Limb, b: Limb) -> Limb {
        let zero = self.writer.is_zero(b);
        let divisor = self.writer.or(b, zero);
        if opcode == op::MOD {
            return self.writer.binary(Binary::Rem, a, divisor);
        }
        let quotient = self.writer.binary(Binary::Div, a, divisor);
        self.writer.select(zero, ZERO, quotient)
    }

    /// A number of at most `high` by a constant that is not zero.
    fn divided_by(&mut self, a: &[Limb], high: U256, divisor: U256) -> Vec<Limb> {
        let zeros = divisor.trailing_zeros();
        let (odd, high) = (divisor >> zeros, high >> zeros);
        let mut a = self.shifted_right(a, zeros);
        a.resize(limbs(high), ZERO);
        if odd == U256::ONE {
            return a;
        }
        if high < odd {
            return vec![ZERO];
        }
        let size = limbs(high / odd);
        let mut quotient = match reciprocal(odd, high) {
            Reciprocal::Exact { factor, by } => {
                let factor = wide_known(factor);
                let product = self.multiply(&a, &factor, a.len() + factor.len());
                self.shifted_right(&product, by)
            }
            Reciprocal::Short { factor, top, by } => {
                let mut highest = self.shifted_right(&a, top);
                highest.resize(limbs(high >> top), ZERO);
                let factor = wide_known(factor);
                let product = self.multiply(&highest, &factor, highest.len() + factor.len());
                let mut quotient = self.shifted_right(&product, by);
                quotient.resize(size, ZERO);
                self.corrected(&a, quotient, odd)
            }
        };
        quotient.resize(size, ZERO);
        quotient
    }

    /// A quotient that may be one too low.
    fn corrected(&mut self, a: &[Limb], quotient: Vec<Limb>, divisor: U256) -> Vec<Limb> {
        if Fault::NoCorrection.is_on() {
            return quotient;
        }
        let size = if divisor.bit_len() == 256 { 5 } else { limbs(divisor << 1) };
        let product = self.multiply(&quotient, &known(divisor, limbs(divisor)), size);
        let mut a = a.to_vec();
        a.resize(size, ZERO);
        let rest = self.writer.sub(&a, &product);
        let below = self.writer.less(&rest, &known(divisor, size));
        let one = self.writer.xor(below, Limb::Known(1));
        let mut more = vec![one];
        more.resize(quotient.len(), ZERO);
        self.writer.add(&quotient, &more)
    }

    /// What a division by a constant leaves.
    fn rest(&mut self, a: &[Limb], quotient: &[Limb], divisor: U256) -> Vec<Limb> {
        let size = limbs(divisor);
        let product = self.multiply(quotient, &known(divisor, size), size);
        let mut a = a.to_vec();
        a.resize(size, ZERO);
        self.writer.sub(&a, &product)
    }
}

fn wide_known(value: Wide) -> Vec<Limb> {
    value.as_limbs().iter().take(wide_limbs(value)).map(|limb| Limb::Known(*limb)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::samples::Samples;

    #[test]
    fn reciprocals_are_right_for_every_dividend_near_a_multiple() {
        let mut samples = Samples::new(11);
        for _ in 0..5_000 {
            let (divisor, high) = (samples.word() | U256::ONE, samples.word());
            if divisor == U256::ONE || high < divisor {
                continue;
            }
            let found = reciprocal(divisor, high);
            for _ in 0..8 {
                let multiple = samples.word() % (high / divisor + U256::ONE) * divisor;
                for n in
                    [multiple, multiple.saturating_sub(U256::ONE), multiple.saturating_add(divisor - U256::ONE), high]
                {
                    let n = n.min(high);
                    let quotient = Wide::from(n / divisor);
                    match &found {
                        Reciprocal::Exact { factor, by } => assert_eq!((Wide::from(n) * *factor) >> *by, quotient),
                        Reciprocal::Short { factor, top, by } => {
                            let low = ((Wide::from(n) >> *top) * *factor) >> *by;
                            assert!(low == quotient || low + Wide::ONE == quotient, "{n} by {divisor}: {found:?}");
                        }
                    }
                }
            }
        }
    }
}
