//! What the EVM's pure instructions compute, outside an interpreter, and the float operations of programs.

use std::cmp::Ordering;

use revm::{
    bytecode::opcode as op,
    interpreter::instructions::i256::{i256_cmp, i256_div, i256_mod},
    primitives::U256,
};

use crate::rows::floats::Float;

/// How many operands a pure instruction of the EVM takes; `None` for every other one.
pub fn operands(opcode: u8) -> Option<usize> {
    match opcode {
        op::ISZERO | op::NOT | op::CLZ => Some(1),
        op::ADD..=op::SMOD | op::EXP | op::SIGNEXTEND | op::LT..=op::EQ | op::AND..=op::XOR | op::BYTE..=op::SAR => {
            Some(2)
        }
        op::ADDMOD | op::MULMOD => Some(3),
        _ => None,
    }
}

/// How many operands a pure operation of a graph takes: an instruction of the EVM, or a float operation.
pub fn takes(code: u8) -> Option<usize> {
    operands(code).or_else(|| Float::of_code(code).map(Float::operands))
}

/// The name of a pure operation.
pub fn name(code: u8) -> String {
    match Float::of_code(code) {
        Some(float) => float.name(),
        None => op::OpCode::new(code).map_or("?", |opcode| opcode.as_str()).to_owned(),
    }
}

/// The result of a pure operation; `a` was on top of the stack.
#[inline]
pub fn compute(opcode: u8, a: U256, b: U256, c: U256) -> U256 {
    match opcode {
        op::ADD => a.wrapping_add(b),
        op::MUL => a.wrapping_mul(b),
        op::SUB => a.wrapping_sub(b),
        op::DIV => divide(a, b),
        op::SDIV => i256_div(a, b),
        op::MOD => a.checked_rem(b).unwrap_or_default(),
        op::SMOD => i256_mod(a, b),
        op::ADDMOD => a.add_mod(b, c),
        op::MULMOD => a.mul_mod(b, c),
        op::EXP => a.pow(b),
        op::SIGNEXTEND => sign_extend(a, b),
        op::LT => U256::from(a < b),
        op::GT => U256::from(a > b),
        op::SLT => U256::from(i256_cmp(&a, &b) == Ordering::Less),
        op::SGT => U256::from(i256_cmp(&a, &b) == Ordering::Greater),
        op::EQ => U256::from(a == b),
        op::ISZERO => U256::from(a.is_zero()),
        op::AND => a & b,
        op::OR => a | b,
        op::XOR => a ^ b,
        op::NOT => !a,
        op::BYTE => small(a, 32).map_or(U256::ZERO, |at| U256::from(b.byte(31 - at))),
        op::SHL => small(a, 256).map_or(U256::ZERO, |by| b << by),
        op::SHR => small(a, 256).map_or(U256::ZERO, |by| b >> by),
        op::SAR => b.arithmetic_shr(small(a, 256).unwrap_or(256)),
        op::CLZ => U256::from(a.leading_zeros()),
        _ => match Float::of_code(opcode) {
            Some(float) => float.apply(a, b),
            None => unreachable!("{opcode:#x} is not a pure instruction"),
        },
    }
}

/// Put the result of a pure operation on some of the words among them.
///
/// What is frequent is computed where it belongs. Words that travel through memory in other pieces than they were
/// written in make the processor wait, longer than most operations take.
#[inline(always)]
pub fn compute_among(words: &mut [U256], at: usize, opcode: u8, [a, b, c]: &[u32; 3]) {
    let (a, b, c) = (*a as usize, *b as usize, *c as usize);
    match opcode {
        op::ADD => words[at] = words[a].wrapping_add(words[b]),
        op::MUL => words[at] = words[a].wrapping_mul(words[b]),
        op::SUB => words[at] = words[a].wrapping_sub(words[b]),
        op::DIV => words[at] = divide(words[a], words[b]),
        op::LT => words[at] = U256::from(words[a] < words[b]),
        op::GT => words[at] = U256::from(words[a] > words[b]),
        op::EQ => words[at] = U256::from(words[a] == words[b]),
        op::ISZERO => words[at] = U256::from(words[a].is_zero()),
        op::AND => words[at] = words[a] & words[b],
        op::OR => words[at] = words[a] | words[b],
        op::SHL => words[at] = small(words[a], 256).map_or(U256::ZERO, |by| words[b] << by),
        op::SHR => words[at] = small(words[a], 256).map_or(U256::ZERO, |by| words[b] >> by),
        _ => words[at] = compute(opcode, words[a], words[b], words[c]),
    }
}

/// `value` as a small number, where it is below `limit`.
#[inline]
fn small(value: U256, limit: usize) -> Option<usize> {
    usize::try_from(value).ok().filter(|value| *value < limit)
}

#[inline]
fn divide(a: U256, b: U256) -> U256 {
    let ([a0, a1, 0, 0], [b0, b1, 0, 0]) = (a.into_limbs(), b.into_limbs()) else {
        return a.checked_div(b).unwrap_or_default();
    };
    // Most amounts fit into half a word, where the processor does it much faster.
    let (a, b) = (u128::from(a1) << 64 | u128::from(a0), u128::from(b1) << 64 | u128::from(b0));
    U256::from(a.checked_div(b).unwrap_or_default())
}

fn sign_extend(at: U256, value: U256) -> U256 {
    let Some(at) = small(at, 31) else { return value };
    let bit = 8 * at + 7;
    let mask = (U256::ONE << bit) - U256::ONE;
    if value.bit(bit) { value | !mask } else { value & mask }
}
