//! What the instructions over limbs mean, one row at a time: the lowering is tested without a code generator.

use super::{
    division::{add, subtract},
    float_steps,
    limbs::{Binary, Helper, Instruction, Limb},
    lower::Lowered,
};
use crate::native::processor::calls;

/// Run one row; its flag, and outputs where that is not zero.
pub fn run(lowered: &Lowered, inputs: &[u64], outputs: &mut [u64]) -> u8 {
    let (mut values, mut failed) = (vec![0; lowered.writer.values as usize], 0);
    let mut code = &lowered.writer.code;
    let mut at = 0;
    loop {
        match &code[at] {
            Instruction::End(number) => return if failed == 0 { *number } else { 0 },
            Instruction::Branch { condition, then, otherwise } => {
                let holds = match condition {
                    Limb::Known(value) => *value != 0,
                    Limb::Value(number) => values[*number as usize] != 0,
                };
                (code, at) = (if holds { then } else { otherwise }, 0);
            }
            instruction => {
                step(lowered, instruction, inputs, outputs, &mut values, &mut failed);
                at += 1;
            }
        }
    }
}

fn step(
    lowered: &Lowered,
    instruction: &Instruction,
    inputs: &[u64],
    outputs: &mut [u64],
    values: &mut [u64],
    failed: &mut u64,
) {
    let known = values.to_vec();
    let limb = |limb: Limb| match limb {
        Limb::Known(value) => value,
        Limb::Value(number) => known[number as usize],
    };
    let mut set = |into: u32, value: u64| values[into as usize] = value;
    match instruction {
        Instruction::Load { into, at } => set(*into, inputs[*at as usize]),
        Instruction::Store { at, value } => outputs[*at as usize] = limb(*value),
        Instruction::Binary(into, binary, a, b) => set(*into, computed(*binary, limb(*a), limb(*b))),
        Instruction::Float(into, step, a, b) => set(*into, float_steps::computed(*step, limb(*a), limb(*b))),
        Instruction::Funnel(into, upper, lower, by) => set(*into, limb(*lower) >> by | limb(*upper) << (64 - by)),
        Instruction::LeadingZeros(into, value) => set(*into, u64::from(limb(*value).leading_zeros())),
        Instruction::MultiplyAdd([low, high], x, y, a, b) => {
            let sum = u128::from(limb(*x)) * u128::from(limb(*y)) + u128::from(limb(*a)) + u128::from(limb(*b));
            set(*low, sum as u64);
            set(*high, (sum >> 64) as u64);
        }
        Instruction::Multiply(into, a, b, size) => {
            let [a, b] = [a, b].map(|limbs| limbs.iter().map(|each| limb(*each)).collect::<Vec<_>>());
            let mut product = vec![0; a.len() + b.len()];
            for (i, x) in a.iter().enumerate() {
                let mut carried = 0;
                for (j, y) in b.iter().enumerate() {
                    let sum = u128::from(*x) * u128::from(*y) + u128::from(product[i + j]) + u128::from(carried);
                    (product[i + j], carried) = (sum as u64, (sum >> 64) as u64);
                }
                product[i + b.len()] = carried;
            }
            product.iter().take(*size as usize).zip(*into..).for_each(|(value, into)| set(into, *value));
        }
        Instruction::Add(into, pairs) | Instruction::Sub(into, pairs) => {
            let link = if matches!(instruction, Instruction::Add(..)) { add } else { subtract };
            let mut carried = false;
            for (at, [a, b]) in pairs.iter().enumerate() {
                let (value, next) = link(limb(*a), limb(*b), carried);
                carried = next;
                set(into + at as u32, value);
            }
        }
        Instruction::Less(into, pairs) => {
            let less = pairs.iter().fold(false, |borrowed, [a, b]| subtract(limb(*a), limb(*b), borrowed).1);
            set(*into, u64::from(less));
        }
        Instruction::Select(into, condition, then, otherwise) => {
            set(*into, limb(if limb(*condition) == 0 { *otherwise } else { *then }));
        }
        Instruction::Call { helper, into, results, arguments } => {
            let found = called(lowered, *helper, arguments, limb);
            found.iter().take(*results as usize).zip(*into..).for_each(|(value, into)| set(into, *value));
        }
        Instruction::Guess { wrong, guess, helper, into, arguments } => {
            let found = match limb(*wrong) {
                0 => guess.iter().map(|guess| limb(*guess)).collect(),
                _ => called(lowered, *helper, arguments, limb).to_vec(),
            };
            found.iter().take(guess.len()).zip(*into..).for_each(|(value, into)| set(into, *value));
        }
        Instruction::Fail(value) => *failed |= limb(*value),
        Instruction::Branch { .. } | Instruction::End(_) => unreachable!("the end of a list"),
    }
}

fn called(lowered: &Lowered, helper: Helper, arguments: &[Limb], limb: impl Fn(Limb) -> u64) -> [u64; 8] {
    let given: Vec<u64> = arguments.iter().map(|argument| limb(*argument)).collect();
    let (entry, detail) = calls::entry(helper, given.len(), &lowered.texts);
    let mut found = [0; 8];
    // SAFETY: the arguments are those that the lowering made for this helper, and no result has more limbs.
    unsafe { entry(given.as_ptr(), found.as_mut_ptr(), detail) };
    found
}

fn computed(binary: Binary, a: u64, b: u64) -> u64 {
    match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << b,
        Binary::Shr => a >> b,
        Binary::Sar => (a.cast_signed() >> b).cast_unsigned(),
        Binary::Div => a / b,
        Binary::Rem => a % b,
        Binary::Equal => u64::from(a == b),
    }
}
