//! Arithmetic on the words of a program, so that a step needs nothing from Python between its calls.
//!
//! Nothing wraps and nothing fails: one row's odd number must not stop a batch. A result above 2**256 - 1 is 2**256 - 1,
//! one below zero is zero, and a division by zero gives zero, as in the EVM.

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::primitives::{U256, keccak256, ruint::Uint};
use serde::{Deserialize, Serialize};

use super::{
    floats::Float,
    program::{Program, SourceArg, Word},
};

/// A pure function of words.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    MultiplyDivide,
    Minimum,
    Maximum,
    Less,
    Equal,
    Either,
    ShiftRight,
    /// `count` bits from bit `low` upwards.
    Bits {
        low: usize,
        count: usize,
    },
    WithBits {
        low: usize,
        count: usize,
    },
    Keccak,
    Float(Float),
}

impl Function {
    /// What it makes of its arguments; there are as many as the method of its name takes.
    pub fn apply(self, words: &[U256]) -> U256 {
        match (self, words) {
            (Self::Add, [a, b]) => a.saturating_add(*b),
            (Self::Subtract, [a, b]) => a.saturating_sub(*b),
            (Self::Multiply, [a, b]) => a.saturating_mul(*b),
            (Self::Divide, [a, b]) => a.checked_div(*b).unwrap_or_default(),
            (Self::MultiplyDivide, [a, b, c]) => multiply_divide(*a, *b, *c),
            (Self::Minimum, [a, b]) => *a.min(b),
            (Self::Maximum, [a, b]) => *a.max(b),
            (Self::Less, [a, b]) => U256::from(a < b),
            (Self::Equal, [a, b]) => U256::from(a == b),
            (Self::Either, [condition, a, b]) => *(if condition.is_zero() { b } else { a }),
            (Self::ShiftRight, [word, by]) => match usize::try_from(*by) {
                Ok(by) if by < 256 => *word >> by,
                _ => U256::ZERO,
            },
            (Self::Bits { low, count }, [word]) => (*word >> low) & largest(count),
            (Self::WithBits { low, count }, [word, value]) => {
                let largest = largest(count);
                (*word & !(largest << low)) | (*value.min(&largest) << low)
            }
            (Self::Keccak, words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect();
                keccak256(bytes).into()
            }
            (Self::Float(float), [a]) => float.apply(*a, U256::ZERO),
            (Self::Float(float), [a, b]) => float.apply(*a, *b),
            (function, words) => unreachable!("{function:?} does not take {} words", words.len()),
        }
    }
}

/// `a * b / c` with a product of 512 bits.
fn multiply_divide(a: U256, b: U256, c: U256) -> U256 {
    if c.is_zero() {
        return U256::ZERO;
    }
    if let Some(product) = a.checked_mul(b) {
        return product / c;
    }
    let product: Uint<512, 8> = a.widening_mul(b);
    U256::saturating_from(product / Uint::<512, 8>::from(c))
}

/// The largest number of `count` bits, of which there is one at least.
fn largest(count: usize) -> U256 {
    U256::MAX >> (256 - count)
}

fn check_field(low: usize, count: usize) -> PyResult<()> {
    if count == 0 || low.checked_add(count).is_none_or(|end| end > 256) {
        return Err(PyValueError::new_err(format!("a word has no field of {count} bits at bit {low}")));
    }
    Ok(())
}

#[pymethods]
impl Program {
    /// `a + b`, at most 2**256 - 1.
    fn add(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Add, [a, b])
    }

    /// `a - b`, at least zero.
    fn subtract(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Subtract, [a, b])
    }

    /// `a * b`, at most 2**256 - 1.
    fn multiply(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Multiply, [a, b])
    }

    /// `a / b`, rounded down; zero where `b` is zero.
    fn divide(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Divide, [a, b])
    }

    /// `a * b / c`, rounded down, at most 2**256 - 1; the product may have 512 bits. Zero where `c` is zero.
    fn multiply_divide(&mut self, a: SourceArg, b: SourceArg, c: SourceArg) -> PyResult<Word> {
        self.compute(Function::MultiplyDivide, [a, b, c])
    }

    /// The smaller of two.
    fn minimum(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Minimum, [a, b])
    }

    /// The larger of two.
    fn maximum(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Maximum, [a, b])
    }

    /// 1 where `a < b`, else 0.
    fn less(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Less, [a, b])
    }

    /// 1 where `a == b`, else 0.
    fn equal(&mut self, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Equal, [a, b])
    }

    /// `b` where `condition` is zero, else `a`.
    fn either(&mut self, condition: SourceArg, a: SourceArg, b: SourceArg) -> PyResult<Word> {
        self.compute(Function::Either, [condition, a, b])
    }

    /// `word >> by`.
    fn shift_right(&mut self, word: SourceArg, by: SourceArg) -> PyResult<Word> {
        self.compute(Function::ShiftRight, [word, by])
    }

    /// The field of `count` bits that begins at bit `low`; bit 0 is the lowest.
    fn bits(&mut self, word: SourceArg, low: usize, count: usize) -> PyResult<Word> {
        check_field(low, count)?;
        self.compute(Function::Bits { low, count }, [word])
    }

    /// The word with that field set to `value`, or to the largest the field holds.
    fn with_bits(&mut self, word: SourceArg, low: usize, count: usize, value: SourceArg) -> PyResult<Word> {
        check_field(low, count)?;
        self.compute(Function::WithBits { low, count }, [word, value])
    }

    /// The Keccak-256 hash of the words one after the other, 32 bytes each.
    #[pyo3(signature = (*words))]
    fn keccak(&mut self, words: Vec<SourceArg>) -> PyResult<Word> {
        self.compute(Function::Keccak, words)
    }

    /// Where Solidity keeps `mapping[key]` of the mapping at `slot`: `keccak(key, slot)`.
    fn mapping_slot(&mut self, key: SourceArg, slot: SourceArg) -> PyResult<Word> {
        self.compute(Function::Keccak, [key, slot])
    }
}
