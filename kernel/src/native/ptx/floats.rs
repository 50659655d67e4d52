//! Float instructions as PTX, and what they compute. Each rounds by itself: nothing is fused.

use super::{assembler::Assembler, parser::Operation};
use crate::native::lowering::{float_steps::FloatStep, limbs::Limb};

/// A line of PTX on floats, whose bits are those of registers without a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatLine {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    IsNan,
    /// To 32 bits, and back to 64.
    Narrow,
    Widen,
    OfUnsigned,
    ToSigned,
}

/// Write a float instruction; returns where its result is.
pub fn print(out: &mut Assembler, step: FloatStep, a: Limb, b: Limb) -> Limb {
    let (a, b) = (out.register(a), out.register(b));
    match step {
        FloatStep::Add => out.limb("add.rn.f64", &[&a, &b]),
        FloatStep::Subtract => out.limb("sub.rn.f64", &[&a, &b]),
        FloatStep::Multiply => out.limb("mul.rn.f64", &[&a, &b]),
        FloatStep::Divide => out.limb("div.rn.f64", &[&a, &b]),
        FloatStep::Less => {
            let less = out.test("setp.lt.f64", &[&a, &b]);
            out.select(less, Limb::Known(1), Limb::Known(0))
        }
        FloatStep::IsNan => {
            let none = out.test("setp.nan.f64", &[&a, &a]);
            out.select(none, Limb::Known(1), Limb::Known(0))
        }
        FloatStep::Single => {
            let narrow = out.half("cvt.rn.f32.f64", &[&a]);
            out.limb("cvt.f64.f32", &[&narrow])
        }
        FloatStep::OfUnsigned => out.limb("cvt.rn.f64.u64", &[&a]),
        FloatStep::ToSigned => {
            // A device makes the lowest integer of what is not a number.
            let none = out.test("setp.nan.f64", &[&a, &a]);
            let whole = out.limb("cvt.rzi.s64.f64", &[&a]);
            out.select(none, Limb::Known(0), whole)
        }
    }
}

/// A line on floats by its parts; none for every other one.
pub fn parsed(parts: &[&str]) -> Option<Operation> {
    Some(Operation::Float(match *parts {
        ["add", "rn", "f64"] => FloatLine::Add,
        ["sub", "rn", "f64"] => FloatLine::Subtract,
        ["mul", "rn", "f64"] => FloatLine::Multiply,
        ["div", "rn", "f64"] => FloatLine::Divide,
        ["setp", "lt", "f64"] => FloatLine::Less,
        ["setp", "nan", "f64"] => FloatLine::IsNan,
        ["cvt", "rn", "f32", "f64"] => FloatLine::Narrow,
        ["cvt", "f64", "f32"] => FloatLine::Widen,
        ["cvt", "rn", "f64", "u64"] => FloatLine::OfUnsigned,
        ["cvt", "rzi", "s64", "f64"] => FloatLine::ToSigned,
        _ => return None,
    }))
}

/// What a device computes.
pub fn computed(line: FloatLine, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match line {
        FloatLine::Add => (x + y).to_bits(),
        FloatLine::Subtract => (x - y).to_bits(),
        FloatLine::Multiply => (x * y).to_bits(),
        FloatLine::Divide => (x / y).to_bits(),
        FloatLine::Less => u64::from(x < y),
        FloatLine::IsNan => u64::from(x.is_nan() || y.is_nan()),
        FloatLine::Narrow => u64::from((x as f32).to_bits()),
        FloatLine::Widen => f64::from(f32::from_bits(a as u32)).to_bits(),
        FloatLine::OfUnsigned => (a as f64).to_bits(),
        FloatLine::ToSigned if x.is_nan() => 1 << 63,
        FloatLine::ToSigned => (x as i64).cast_unsigned(),
    }
}
