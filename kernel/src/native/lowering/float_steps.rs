//! Float instructions over limbs: few, so that every code generator can have them. `lower_float.rs` makes the rest of them.

use super::limbs::{Instruction, Limb, Writer};

/// An instruction on the bits of floats. What a processor may choose the bits of, a result that is not a number, is
/// replaced where an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatStep {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// 1 where the first is below the second.
    Less,
    /// 1 where the first is not a number.
    IsNan,
    /// Rounded to 32 bits and back.
    Single,
    /// An unsigned integer as a float.
    OfUnsigned,
    /// A float as a signed integer: rounded towards zero, the lowest or highest for a number beyond, zero for none.
    ToSigned,
}

/// What an instruction gives.
pub fn computed(step: FloatStep, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match step {
        FloatStep::Add => (x + y).to_bits(),
        FloatStep::Subtract => (x - y).to_bits(),
        FloatStep::Multiply => (x * y).to_bits(),
        FloatStep::Divide => (x / y).to_bits(),
        FloatStep::Less => u64::from(x < y),
        FloatStep::IsNan => u64::from(x.is_nan()),
        FloatStep::Single => f64::from(x as f32).to_bits(),
        FloatStep::OfUnsigned => (a as f64).to_bits(),
        FloatStep::ToSigned => (x as i64).cast_unsigned(),
    }
}

impl Writer {
    pub fn float(&mut self, step: FloatStep, a: Limb, b: Limb) -> Limb {
        if let (Limb::Known(a), Limb::Known(b)) = (a, b) {
            return Limb::Known(computed(step, a, b));
        }
        let into = self.fresh(1);
        self.code.push(Instruction::Float(into, step, a, b));
        Limb::Value(into)
    }
}
