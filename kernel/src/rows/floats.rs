//! Float operations on words, with the same bits on every machine.
//!
//! A float is the lowest 64 bits of a word, by IEEE 754; bits above them are ignored, and zero in results. Every result
//! that is not a number has the same bits, for processors differ in which.

use pyo3::{exceptions::PyTypeError, prelude::*, types::PyFloat};
use revm::primitives::U256;
use serde::{Deserialize, Serialize};

use super::{
    arithmetic::Function,
    portable::{exp_of, limbs_to_float, log_of},
    program::{Program, SourceArg, Word},
};

/// The bits of a result that is not a number.
pub const NOT_A_NUMBER: u64 = 0x7ff8 << 48;
pub const SIGN: u64 = 1 << 63;

/// A float operation. Its code stands where the EVM has no instruction, so that graphs of both need one kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Float {
    Add = 0xb0,
    Subtract,
    Multiply,
    Divide,
    Minimum,
    Maximum,
    Less,
    Absolute,
    Negate,
    /// Rounded to 32 bits.
    Single,
    Exp,
    Log,
    /// An unsigned word as a float.
    OfWord,
    /// A float as a signed word.
    ToWord,
}

const ALL: [Float; 14] = [
    Float::Add,
    Float::Subtract,
    Float::Multiply,
    Float::Divide,
    Float::Minimum,
    Float::Maximum,
    Float::Less,
    Float::Absolute,
    Float::Negate,
    Float::Single,
    Float::Exp,
    Float::Log,
    Float::OfWord,
    Float::ToWord,
];

impl Float {
    pub const fn code(self) -> u8 {
        self as u8
    }

    pub fn of_code(code: u8) -> Option<Self> {
        ALL.get(usize::from(code.checked_sub(Self::Add.code())?)).copied()
    }

    pub fn operands(self) -> usize {
        if self.code() <= Self::Less.code() { 2 } else { 1 }
    }

    /// Whether its operands are floats and its result fits into 64 bits.
    pub fn of_floats(self) -> bool {
        !matches!(self, Self::OfWord | Self::ToWord)
    }

    /// The most bits that a result has.
    pub fn bits(self) -> usize {
        match self {
            Self::Less => 1,
            Self::ToWord => 256,
            _ => 64,
        }
    }

    pub fn name(self) -> String {
        format!("FLOAT_{self:?}").to_uppercase()
    }

    /// The result for words; the second counts only where there are two operands.
    #[inline]
    pub fn apply(self, a: U256, b: U256) -> U256 {
        match self {
            Self::OfWord => U256::from(limbs_to_float(*a.as_limbs()).to_bits()),
            Self::ToWord => {
                let whole = to_integer(a.as_limbs()[0]);
                let above = (whole.cast_signed() >> 63).cast_unsigned();
                U256::from_limbs([whole, above, above, above])
            }
            _ => U256::from(self.of_bits(a.as_limbs()[0], b.as_limbs()[0])),
        }
    }

    /// The same for bits, of operations on floats.
    #[inline]
    pub fn of_bits(self, a: u64, b: u64) -> u64 {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let result = match self {
            Self::Add => x + y,
            Self::Subtract => x - y,
            Self::Multiply => x * y,
            Self::Divide => x / y,
            Self::Minimum if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Maximum if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Minimum if x < y => x,
            Self::Maximum if x > y => x,
            Self::Minimum | Self::Maximum => y,
            Self::Less => return u64::from(x < y),
            Self::Absolute => return a & !SIGN,
            Self::Negate => return a ^ SIGN,
            Self::Single => f64::from(x as f32),
            Self::Exp if x.is_nan() => x,
            Self::Exp => exp_of(x),
            Self::Log => log_of(x),
            Self::OfWord | Self::ToWord => unreachable!("{self:?} takes or gives a word"),
        };
        if result.is_nan() { NOT_A_NUMBER } else { result.to_bits() }
    }
}

/// The nearest integer of 64 bits, the even one of two; the lowest or highest for a number beyond, zero for none.
#[inline]
pub fn to_integer(bits: u64) -> u64 {
    (f64::from_bits(bits).round_ties_even() as i64).cast_unsigned()
}

/// What Python may give for a float: a `Word` that holds one, or a float.
pub struct FloatArg(SourceArg);

impl<'a, 'py> FromPyObject<'a, 'py> for FloatArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(float) = object.cast::<PyFloat>() {
            return Ok(Self(constant(float.extract()?)));
        }
        match object.cast::<Word>() {
            Ok(word) => Ok(Self(SourceArg::from(*word.get()))),
            Err(_) => Err(PyTypeError::new_err("a float is a Word that holds one, or a Python float")),
        }
    }
}

impl From<FloatArg> for SourceArg {
    fn from(float: FloatArg) -> Self {
        float.0
    }
}

fn constant(value: f64) -> SourceArg {
    let bits = if value.is_nan() { NOT_A_NUMBER } else { value.to_bits() };
    SourceArg::from(Word::constant(U256::from(bits)))
}

impl Program {
    fn of_one(&mut self, float: Float, a: FloatArg) -> PyResult<Word> {
        self.compute(Function::Float(float), [a.0])
    }

    fn of_two(&mut self, float: Float, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.compute(Function::Float(float), [a.0, b.0])
    }
}

#[pymethods]
impl Program {
    /// A float as a word, where a method takes any word: `either`, `output`.
    #[staticmethod]
    fn float_constant(value: f64) -> Word {
        constant(value).word()
    }

    /// `a + b`.
    fn float_add(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Add, a, b)
    }

    /// `a - b`.
    fn float_subtract(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Subtract, a, b)
    }

    /// `a * b`.
    fn float_multiply(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Multiply, a, b)
    }

    /// `a / b`, infinite or not a number where `b` is zero.
    fn float_divide(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Divide, a, b)
    }

    /// The smaller of two, `b` of equal ones; not a number if one is not.
    fn float_minimum(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Minimum, a, b)
    }

    /// The larger of two, `b` of equal ones; not a number if one is not.
    fn float_maximum(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Maximum, a, b)
    }

    /// The float, at least `low`, then at most `high`.
    fn float_clip(&mut self, float: FloatArg, low: FloatArg, high: FloatArg) -> PyResult<Word> {
        let raised = self.of_two(Float::Maximum, float, low)?;
        self.compute(Function::Float(Float::Minimum), [SourceArg::from(raised), high.0])
    }

    /// 1 where `a < b`, else 0; a word, not a float.
    fn float_less(&mut self, a: FloatArg, b: FloatArg) -> PyResult<Word> {
        self.of_two(Float::Less, a, b)
    }

    /// The float without its sign.
    fn float_absolute(&mut self, a: FloatArg) -> PyResult<Word> {
        self.of_one(Float::Absolute, a)
    }

    /// The float with the other sign.
    fn float_negate(&mut self, a: FloatArg) -> PyResult<Word> {
        self.of_one(Float::Negate, a)
    }

    /// The nearest float of 32 bits.
    fn float_single(&mut self, a: FloatArg) -> PyResult<Word> {
        self.of_one(Float::Single, a)
    }

    /// e to the power of the float, the bits of `portable.exp`.
    fn float_exp(&mut self, a: FloatArg) -> PyResult<Word> {
        self.of_one(Float::Exp, a)
    }

    /// The natural logarithm of a float above zero, the bits of `portable.log`.
    fn float_log(&mut self, a: FloatArg) -> PyResult<Word> {
        self.of_one(Float::Log, a)
    }

    /// A word as a float, rounded to 53 bits limb by limb, as in `Outcome.floats`.
    fn float_of_word(&mut self, word: SourceArg) -> PyResult<Word> {
        self.compute(Function::Float(Float::OfWord), [word])
    }

    /// The integer nearest to a float, of two the even one, as a signed word: below zero two's complement.
    ///
    /// At least -2**63 and at most 2**63 - 1; zero for what is not a number.
    fn word_of_float(&mut self, float: FloatArg) -> PyResult<Word> {
        self.of_one(Float::ToWord, float)
    }
}
