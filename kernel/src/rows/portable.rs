//! exp and log, bit-identical on every machine, and conversion of words to floats.
//!
//! The C library chooses an implementation by processor, and two of them may differ in the last bit. These use
//! additions, multiplications and divisions alone, which IEEE 754 defines to the last bit (and Rust never fuses two of
//! them into one), and are within two units of it of the true value.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Its last bits are zero: a multiple by an exponent is exact.
pub const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
pub const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
pub const INVERSE_LN2: f64 = std::f64::consts::LOG2_E;
pub const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;
pub const SQUARE_ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// One over the factorials of 14 down to 2.
pub const EXP_TERMS: [f64; 13] = {
    let mut terms = [0.0; 13];
    let (mut n, mut factorial) = (2, 2.0);
    while n <= 14 {
        terms[14 - n] = 1.0 / factorial;
        n += 1;
        factorial *= n as f64;
    }
    terms
};
/// One over the odd numbers from 27 down to 3.
pub const LOG_TERMS: [f64; 13] = {
    let mut terms = [0.0; 13];
    let mut at = 0;
    while at < 13 {
        terms[at] = 1.0 / (27 - 2 * at) as f64;
        at += 1;
    }
    terms
};

pub fn exp_of(x: f64) -> f64 {
    let x = x.clamp(-750.0, 720.0); // beyond, the result is zero or infinite anyway
    let shifted = x * INVERSE_LN2 + SHIFT; // rounds to an integer, which stands in the last bits
    let exponent = shifted - SHIFT;
    let rest = (x - exponent * LN2_HIGH) - exponent * LN2_LOW;
    let tail = EXP_TERMS.iter().fold(0.0, |tail, term| tail * rest + term);
    let mantissa = 1.0 + (rest + rest * rest * tail);
    // In two steps, for a power of two by itself may be too large or too small; the first never rounds.
    let power = shifted.to_bits() as i32;
    mantissa * power_of_two(power >> 1) * power_of_two(power - (power >> 1))
}

/// Two to the power of `exponent`, where that is a normal number.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

pub fn log_of(x: f64) -> f64 {
    let (mut mantissa, mut exponent) = halved(x);
    if mantissa < SQUARE_ROOT_HALF {
        mantissa *= 2.0;
        exponent -= 1.0;
    }
    mantissa -= 1.0;
    let ratio = mantissa / (2.0 + mantissa); // log(1 + m) = 2·atanh(ratio)
    let square = ratio * ratio;
    let tail = LOG_TERMS.iter().fold(0.0, |tail, term| tail * square + term);
    exponent * LN2_HIGH + (2.0 * ratio + (2.0 * ratio * square * tail + exponent * LN2_LOW))
}

/// `x` as a number from a half to one times a power of two.
fn halved(x: f64) -> (f64, f64) {
    if !x.is_finite() || x == 0.0 {
        return (x, 0.0);
    }
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE { (x * power_of_two(64), -64) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | (1022 << 52)), f64::from(exponent + shift))
}

fn each<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    function: impl Fn(f64) -> f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice().map_err(|_| PyValueError::new_err("values must be contiguous"))?;
    let found: Vec<f64> = values.iter().map(|x| function(*x)).collect();
    Ok(PyArray1::from_vec(py, found))
}

/// e to the power of each of `values`.
#[pyfunction]
pub fn exp<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    each(py, values, exp_of)
}

/// The natural logarithm of each of `values`, all of which are above zero.
#[pyfunction]
pub fn log<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    each(py, values, log_of)
}

/// (rows, columns, 32) bytes, big-endian words, as (rows, columns) floats: rounded to 53 bits, limb by limb.
#[pyfunction]
pub fn words_to_floats<'py>(py: Python<'py>, words: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let words = words.as_array();
    let (rows, columns, width) = words.dim();
    if width != 32 {
        return Err(PyValueError::new_err(format!("a word has 32 bytes, not {width}")));
    }
    let mut floats = Vec::with_capacity(rows * columns);
    for row in words.outer_iter() {
        match row.as_slice() {
            Some(row) => floats.extend(row.as_chunks::<32>().0.iter().map(word_to_float)),
            None => floats.extend(row.outer_iter().map(|word| word_to_float(&std::array::from_fn(|at| word[at])))),
        }
    }
    PyArray1::from_vec(py, floats).reshape([rows, columns])
}

/// A word as a float, rounded limb by limb.
pub fn word_to_float(word: &[u8; 32]) -> f64 {
    let (limbs, _) = word.as_chunks::<8>();
    limbs_to_float([3, 2, 1, 0].map(|at| u64::from_be_bytes(limbs[at])))
}

/// The same for limbs, lowest first.
#[inline]
pub fn limbs_to_float([last, third, second, first]: [u64; 4]) -> f64 {
    if first | second | third == 0 {
        return last as f64; // as nearly always, and what the sum would be
    }
    let scaled = |limb: u64, power| limb as f64 * power_of_two(power);
    scaled(first, 192) + scaled(second, 128) + scaled(third, 64) + last as f64
}
