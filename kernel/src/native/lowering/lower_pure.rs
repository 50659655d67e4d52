//! The lowering of pure instructions: sums, products, logic, comparisons and shifts.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    limbs::{Binary, Helper, Limb, Target, ZERO},
    lower::Lowering,
    lower_float::lowered,
};
use crate::native::ssa::ir::NodeId;
use crate::{rows::floats::Float, trace::arithmetic::takes};

/// The highest bit of a limb.
const TOP: Limb = Limb::Known(1 << 63);

impl Lowering<'_> {
    /// At least the lowest `size` limbs of an instruction's result, or all that it has.
    pub(super) fn pure(&mut self, id: NodeId, opcode: u8, arguments: [NodeId; 3], size: usize) -> Vec<Limb> {
        let count = takes(opcode).unwrap_or(3);
        let [a, b] = [0, 1].map(|at| if at < count { self.operand(id, at, arguments[at]) } else { Vec::new() });
        let shift = self.as_constant(arguments[0]).and_then(|by| usize::try_from(by).ok()).filter(|by| *by < 256);
        let mut result = match opcode {
            op::ADD => self.wrapped(&a, &b, size, |lowering, a, b| lowering.writer.add(a, b)),
            op::SUB => self.wrapped(&a, &b, size, |lowering, a, b| lowering.writer.sub(a, b)),
            op::MUL => self.multiply(&a, &b, size),
            op::DIV | op::MOD => self.divided(id, opcode, &a, &b, arguments[1]),
            op::LT => vec![self.writer.less(&a, &b)],
            op::SLT => {
                let [mut a, mut b] = [arguments[0], arguments[1]].map(|node| self.sized(node, 4));
                (a[3], b[3]) = (self.writer.xor(a[3], TOP), self.writer.xor(b[3], TOP));
                vec![self.writer.less(&a, &b)]
            }
            op::EQ => vec![self.equal(&a, &b)],
            op::ISZERO => {
                let any = self.writer.any(&a);
                vec![self.writer.is_zero(any)]
            }
            op::AND => self.bitwise(Binary::And, &a, &b, size),
            op::OR => self.bitwise(Binary::Or, &a, &b, size),
            op::XOR => self.bitwise(Binary::Xor, &a, &b, size),
            op::NOT => self.bitwise(Binary::Xor, &a, &[Limb::Known(u64::MAX); 4], 4),
            op::CLZ => vec![self.leading_zeros(arguments[0])],
            op::SHL => match shift {
                Some(by) => self.shifted_left(&b, by, size),
                None => self.shifted_left_by(&a, &b),
            },
            op::SHR => match shift {
                Some(by) => self.shifted_right(&b, by),
                None => self.shifted_right_by(&a, &b, ZERO),
            },
            op::SAR => self.arithmetic_shift(&a, shift, arguments[1]),
            op::SIGNEXTEND if shift.is_some_and(|at| at < 31) => {
                let by = 248 - 8 * shift.unwrap_or_default();
                let value = self.sized(arguments[1], 4);
                let moved = self.shifted_left(&value, by, 4);
                self.shifted_arithmetically(&moved, by)
            }
            op::ADDMOD | op::MULMOD => self.modular(id, opcode, &a, &b, arguments[2]),
            _ => match Float::of_code(opcode) {
                Some(float) => lowered(&mut self.writer, float, &a, &b),
                None => self.called(opcode, arguments, count),
            },
        };
        result.truncate(size);
        result
    }

    /// A sum or difference of `size` limbs.
    fn wrapped(
        &mut self,
        a: &[Limb],
        b: &[Limb],
        size: usize,
        make: fn(&mut Self, &[Limb], &[Limb]) -> Vec<Limb>,
    ) -> Vec<Limb> {
        let [a, b] = [a, b].map(|limbs| {
            let mut limbs = limbs.to_vec();
            limbs.resize(size, ZERO);
            limbs
        });
        make(self, &a, &b)
    }

    /// The whole sum or product by a modulus.
    fn modular(&mut self, id: NodeId, opcode: u8, a: &[Limb], b: &[Limb], modulus: NodeId) -> Vec<Limb> {
        let whole = match opcode {
            op::ADDMOD => self.wrapped(a, b, a.len().max(b.len()) + 1, |lowering, a, b| lowering.writer.add(a, b)),
            _ => self.multiply(a, b, a.len() + b.len()),
        };
        if self.as_constant(modulus) == Some(U256::MAX) {
            return self.folded(whole);
        }
        let modulus = self.operand(id, 2, modulus);
        let (dividend, size) = (whole.len() as u8, modulus.len());
        self.writer.call(Helper::Remainder { dividend }, [whole, modulus].concat(), size)
    }

    /// A number of up to eight limbs by 2^256 - 1: both halves together, and what they carry.
    fn folded(&mut self, mut whole: Vec<Limb>) -> Vec<Limb> {
        whole.resize(8, ZERO);
        let sum = self.wrapped(&whole[..4], &whole[4..], 5, |lowering, a, b| lowering.writer.add(a, b));
        let sum = self.wrapped(&sum[..4], &sum[4..], 4, |lowering, a, b| lowering.writer.add(a, b));
        let full = self.equal(&sum, &[Limb::Known(u64::MAX); 4]);
        self.selected(full, &[], &sum, 4)
    }

    /// The lowest `size` limbs of a product: rows of multiply and add.
    pub(super) fn multiply(&mut self, a: &[Limb], b: &[Limb], size: usize) -> Vec<Limb> {
        if self.writer.target == Target::Device {
            return self.writer.multiply(a, b, size);
        }
        let mut result = vec![ZERO; size];
        for (i, x) in a.iter().enumerate().filter(|(_, x)| **x != ZERO) {
            let mut carried = ZERO;
            for (j, y) in b.iter().enumerate() {
                match i + j {
                    at if at + 1 < size => {
                        (result[at], carried) = self.writer.multiply_add(*x, *y, result[at], carried);
                    }
                    at if at + 1 == size => {
                        let product = self.writer.binary(Binary::Mul, *x, *y);
                        let sum = self.writer.binary(Binary::Add, product, result[at]);
                        result[at] = self.writer.binary(Binary::Add, sum, carried);
                    }
                    _ => {}
                }
            }
            if i + b.len() < size {
                result[i + b.len()] = carried;
            }
        }
        result
    }

    pub(super) fn shifted_right(&mut self, limbs: &[Limb], by: usize) -> Vec<Limb> {
        let (whole, bits) = (by / 64, (by % 64) as u32);
        let kept = limbs.get(whole..).unwrap_or(&[]);
        let above = |at: usize| kept.get(at + 1).copied().unwrap_or(ZERO);
        (0..kept.len()).map(|at| self.writer.funnel(above(at), kept[at], bits)).collect()
    }

    pub(super) fn shifted_left(&mut self, limbs: &[Limb], by: usize, size: usize) -> Vec<Limb> {
        let (whole, bits) = (by / 64, (by % 64) as u32);
        let at = |at: Option<usize>| at.and_then(|at| limbs.get(at).copied()).unwrap_or(ZERO);
        (0..size)
            .map(|limb| match (at(limb.checked_sub(whole)), at(limb.checked_sub(whole + 1))) {
                (upper, _) if bits == 0 => upper,
                (upper, lower) => self.writer.funnel(upper, lower, 64 - bits),
            })
            .collect()
    }

    /// A number shifted right by 1 to 255 bits, filled with its sign.
    fn shifted_arithmetically(&mut self, limbs: &[Limb], by: usize) -> Vec<Limb> {
        let sign = self.writer.binary(Binary::Sar, limbs[3], Limb::Known(63));
        let mut long = limbs.to_vec();
        long.extend([sign; 5]);
        let mut result = self.shifted_right(&long, by);
        result.truncate(4);
        result
    }

    fn arithmetic_shift(&mut self, by: &[Limb], shift: Option<usize>, value: NodeId) -> Vec<Limb> {
        let value = self.sized(value, 4);
        match shift {
            Some(by) => self.shifted_arithmetically(&value, by),
            None => {
                let sign = self.writer.binary(Binary::Sar, value[3], Limb::Known(63));
                self.shifted_right_by(by, &value, sign)
            }
        }
    }

    /// The low six bits of a count, its bits for one and two limbs, and whether it is 256 or more.
    fn count(&mut self, by: &[Limb]) -> (Limb, Limb, Limb, Limb) {
        let low = by[0];
        let bits = self.writer.and(low, Limb::Known(63));
        let (one, two) = (self.writer.and(low, Limb::Known(64)), self.writer.and(low, Limb::Known(128)));
        let mut beyond = self.writer.binary(Binary::Shr, low, Limb::Known(8));
        for limb in &by[1..] {
            beyond = self.writer.or(beyond, *limb);
        }
        (bits, one, two, beyond)
    }

    /// A shift by a count that is only known at run time: by two limbs, by one, by bits.
    fn shifted_right_by(&mut self, by: &[Limb], value: &[Limb], fill: Limb) -> Vec<Limb> {
        let (bits, one, two, beyond) = self.count(by);
        let mut limbs = value.to_vec();
        limbs.resize(if fill == ZERO { value.len() } else { 4 }, ZERO);
        let size = limbs.len();
        for (condition, whole) in [(two, 2), (one, 1)] {
            let from = |at: usize| limbs.get(at).copied().unwrap_or(fill);
            limbs = (0..size).map(|at| self.writer.select(condition, from(at + whole), from(at))).collect();
        }
        let rest = self.writer.binary(Binary::Sub, Limb::Known(63), bits);
        let mut result = Vec::new();
        for at in 0..size {
            let upper = limbs.get(at + 1).copied().unwrap_or(fill);
            let lower = self.writer.binary(Binary::Shr, limbs[at], bits);
            let upper = self.writer.binary(Binary::Shl, upper, Limb::Known(1));
            let upper = self.writer.binary(Binary::Shl, upper, rest);
            let both = self.writer.or(lower, upper);
            result.push(self.writer.select(beyond, fill, both));
        }
        result
    }

    fn shifted_left_by(&mut self, by: &[Limb], value: &[Limb]) -> Vec<Limb> {
        let (bits, one, two, beyond) = self.count(by);
        let mut limbs = value.to_vec();
        limbs.resize(4, ZERO);
        for (condition, whole) in [(two, 2), (one, 1)] {
            let from = |at: Option<usize>| at.map_or(ZERO, |at| limbs[at]);
            limbs =
                (0..4_usize).map(|at| self.writer.select(condition, from(at.checked_sub(whole)), limbs[at])).collect();
        }
        let rest = self.writer.binary(Binary::Sub, Limb::Known(63), bits);
        let mut result = Vec::new();
        for at in 0..4_usize {
            let below = at.checked_sub(1).map_or(ZERO, |below| limbs[below]);
            let upper = self.writer.binary(Binary::Shl, limbs[at], bits);
            let lower = self.writer.binary(Binary::Shr, below, Limb::Known(1));
            let lower = self.writer.binary(Binary::Shr, lower, rest);
            let both = self.writer.or(upper, lower);
            result.push(self.writer.select(beyond, ZERO, both));
        }
        result
    }

    fn leading_zeros(&mut self, node: NodeId) -> Limb {
        let limbs = self.sized(node, 4);
        let mut count = Limb::Known(256);
        for (at, limb) in limbs.into_iter().enumerate() {
            let zeros = self.writer.leading_zeros(limb);
            let all = self.writer.binary(Binary::Add, zeros, Limb::Known(64 * (3 - at as u64)));
            count = self.writer.select(limb, all, count);
        }
        count
    }
}
