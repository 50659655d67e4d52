//! The lowering of float operations: exp and log become the additions and multiplications that they are.

use super::{
    float_steps::FloatStep::{self, Add, Divide, IsNan, Less, Multiply, OfUnsigned, Single, Subtract, ToSigned},
    limbs::{Binary, Limb, Writer, ZERO},
};
use crate::rows::{
    floats::{Float, NOT_A_NUMBER, SIGN},
    portable::{EXP_TERMS, INVERSE_LN2, LN2_HIGH, LN2_LOW, LOG_TERMS, SHIFT, SQUARE_ROOT_HALF, power_of_two},
};

/// From here on floats are integers.
const WHOLE: f64 = (1_u64 << 52) as f64;
const EXPONENT: u64 = 0x7ff << 52;

/// The limbs of a float operation on the limbs of its operands.
pub fn lowered(writer: &mut Writer, float: Float, a: &[Limb], b: &[Limb]) -> Vec<Limb> {
    let at = |limbs: &[Limb]| limbs.first().copied().unwrap_or(ZERO);
    let mut floats = Floats(writer);
    let (x, y) = (at(a), at(b));
    let result = match float {
        Float::Add => floats.two(Add, x, y),
        Float::Subtract => floats.two(Subtract, x, y),
        Float::Multiply => floats.two(Multiply, x, y),
        Float::Divide => floats.two(Divide, x, y),
        Float::Single => floats.one(Single, x),
        Float::Exp => floats.exp(x),
        Float::Log => floats.log(x),
        Float::Minimum => return vec![floats.first_if(Less, [x, y], [x, y])],
        Float::Maximum => return vec![floats.first_if(Less, [y, x], [x, y])],
        Float::Less => return vec![floats.two(Less, x, y)],
        Float::Absolute => return vec![floats.0.and(x, Limb::Known(!SIGN))],
        Float::Negate => return vec![floats.0.xor(x, Limb::Known(SIGN))],
        Float::OfWord => return vec![floats.number(a)],
        Float::ToWord => return floats.integer(x),
    };
    vec![floats.defined(result)]
}

fn float(value: f64) -> Limb {
    Limb::Known(value.to_bits())
}

struct Floats<'a>(&'a mut Writer);

impl Floats<'_> {
    fn two(&mut self, step: FloatStep, a: Limb, b: Limb) -> Limb {
        self.0.float(step, a, b)
    }

    fn one(&mut self, step: FloatStep, a: Limb) -> Limb {
        self.0.float(step, a, ZERO)
    }

    /// The bits that everything that is not a number has.
    fn defined(&mut self, value: Limb) -> Limb {
        let none = self.one(IsNan, value);
        self.0.select(none, Limb::Known(NOT_A_NUMBER), value)
    }

    /// The first of two where a comparison holds, else the second; not a number if one is not.
    fn first_if(&mut self, step: FloatStep, compared: [Limb; 2], [a, b]: [Limb; 2]) -> Limb {
        let holds = self.two(step, compared[0], compared[1]);
        let chosen = self.0.select(holds, a, b);
        let (left, right) = (self.one(IsNan, a), self.one(IsNan, b));
        let none = self.0.or(left, right);
        self.0.select(none, Limb::Known(NOT_A_NUMBER), chosen)
    }

    /// A number limb by limb, from the highest.
    fn number(&mut self, limbs: &[Limb]) -> Limb {
        let mut sum = float(0.0);
        for (at, limb) in limbs.iter().enumerate().rev().filter(|(_, limb)| **limb != ZERO) {
            let mut part = self.one(OfUnsigned, *limb);
            if at > 0 {
                part = self.two(Multiply, part, float(power_of_two(64 * at as i32)));
            }
            sum = if sum == float(0.0) { part } else { self.two(Add, sum, part) };
        }
        sum
    }

    fn integer(&mut self, x: Limb) -> Vec<Limb> {
        let size = self.0.and(x, Limb::Known(!SIGN));
        let lifted = self.two(Add, size, float(WHOLE)); // rounds to an integer
        let rounded = self.two(Subtract, lifted, float(WHOLE));
        let small = self.two(Less, size, float(WHOLE));
        let whole = self.0.select(small, rounded, size);
        let sign = self.0.and(x, Limb::Known(SIGN));
        let whole = self.0.or(whole, sign);
        let low = self.one(ToSigned, whole);
        let above = self.0.binary(Binary::Sar, low, Limb::Known(63));
        vec![low, above, above, above]
    }

    /// The sum of the terms times powers of `x`, the last term times none.
    fn polynomial(&mut self, terms: &[f64], x: Limb) -> Limb {
        terms.iter().fold(float(0.0), |tail, term| {
            let product = self.two(Multiply, tail, x);
            self.two(Add, product, float(*term))
        })
    }

    fn exp(&mut self, x: Limb) -> Limb {
        let low = self.two(Less, x, float(-750.0));
        let x = self.0.select(low, float(-750.0), x);
        let high = self.two(Less, float(720.0), x);
        let x = self.0.select(high, float(720.0), x);
        let scaled = self.two(Multiply, x, float(INVERSE_LN2));
        let shifted = self.two(Add, scaled, float(SHIFT));
        let exponent = self.two(Subtract, shifted, float(SHIFT));
        let [upper, lower] = [LN2_HIGH, LN2_LOW].map(|part| self.two(Multiply, exponent, float(part)));
        let rest = self.two(Subtract, x, upper);
        let rest = self.two(Subtract, rest, lower);
        let tail = self.polynomial(&EXP_TERMS, rest);
        let square = self.two(Multiply, rest, rest);
        let tail = self.two(Multiply, square, tail);
        let tail = self.two(Add, rest, tail);
        let mantissa = self.two(Add, float(1.0), tail);
        let power = self.0.binary(Binary::Shl, shifted, Limb::Known(32));
        let power = self.0.binary(Binary::Sar, power, Limb::Known(32));
        let half = self.0.binary(Binary::Sar, power, Limb::Known(1));
        let other = self.0.binary(Binary::Sub, power, half);
        [half, other].into_iter().fold(mantissa, |product, power| {
            let biased = self.0.binary(Binary::Add, power, Limb::Known(1023));
            let factor = self.0.binary(Binary::Shl, biased, Limb::Known(52));
            self.two(Multiply, product, factor)
        })
    }

    fn log(&mut self, x: Limb) -> Limb {
        let (mantissa, exponent) = self.halved(x);
        let low = self.two(Less, mantissa, float(SQUARE_ROOT_HALF));
        let doubled = self.two(Multiply, mantissa, float(2.0));
        let mantissa = self.0.select(low, doubled, mantissa);
        let less = self.two(Subtract, exponent, float(1.0));
        let exponent = self.0.select(low, less, exponent);
        let mantissa = self.two(Subtract, mantissa, float(1.0));
        let sum = self.two(Add, float(2.0), mantissa);
        let ratio = self.two(Divide, mantissa, sum);
        let square = self.two(Multiply, ratio, ratio);
        let tail = self.polynomial(&LOG_TERMS, square);
        let twice = self.two(Multiply, float(2.0), ratio);
        let product = self.two(Multiply, twice, square);
        let product = self.two(Multiply, product, tail);
        let [upper, lower] = [LN2_HIGH, LN2_LOW].map(|part| self.two(Multiply, exponent, float(part)));
        let tail = self.two(Add, product, lower);
        let tail = self.two(Add, twice, tail);
        self.two(Add, upper, tail)
    }

    /// `x` as a number from a half to one times a power of two; itself if it is zero, infinite or no number.
    fn halved(&mut self, x: Limb) -> (Limb, Limb) {
        let size = self.0.and(x, Limb::Known(!SIGN));
        let small = self.0.less(&[size], &[float(f64::MIN_POSITIVE)]);
        let lifted = self.two(Multiply, x, float(power_of_two(64)));
        let bits = self.0.select(small, lifted, x);
        let exponent = self.0.binary(Binary::Shr, bits, Limb::Known(52));
        let exponent = self.0.and(exponent, Limb::Known(0x7ff));
        let exponent = self.one(OfUnsigned, exponent);
        let bias = self.0.select(small, float(-1022.0 - 64.0), float(-1022.0));
        let exponent = self.two(Add, exponent, bias);
        let mantissa = self.0.and(bits, Limb::Known(!EXPONENT));
        let mantissa = self.0.or(mantissa, Limb::Known(1022 << 52));
        let finite = self.0.less(&[size], &[Limb::Known(EXPONENT)]);
        let usual = self.0.select(size, finite, ZERO);
        (self.0.select(usual, mantissa, x), self.0.select(usual, exponent, float(0.0)))
    }
}
