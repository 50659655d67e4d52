//! Seeds of random streams by name, in bulk: the hash of the names, and the output of NumPy's `SeedSequence` for it.
//!
//! A generator of NumPy is seeded in microseconds, nearly all of them spent on mixing eight words of entropy. The mixing
//! is defined to the last bit and will stay so (it is O'Neill's, of her randutils).

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use sha2::{Digest, Sha256};

/// For each of `seeds` the hash of it and `names`, 32 bytes each, and the (seeds, 4) words that seed a PCG64 with it.
#[pyfunction]
pub fn stream_seeds<'py>(
    py: Python<'py>,
    seeds: Vec<u64>,
    names: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyArray2<u64>>)> {
    let mut suffix = Vec::new();
    names.iter().for_each(|name| push_named(&mut suffix, name));
    let mut digests = Vec::with_capacity(seeds.len() * 32);
    let mut words = Vec::with_capacity(seeds.len() * 4);
    for seed in &seeds {
        let mut prefix = b"mayavi stream".to_vec();
        push_named(&mut prefix, &seed.to_string());
        let digest: [u8; 32] = Sha256::new().chain_update(&prefix).chain_update(&suffix).finalize().into();
        words.extend(spread(&digest));
        digests.extend(digest);
    }
    Ok((PyBytes::new(py, &digests), PyArray1::from_vec(py, words).reshape([seeds.len(), 4])?))
}

/// Words that PCG64 generators of these states draw, after `skipped` ones: (states, count).
#[pyfunction]
pub fn stream_words<'py>(
    py: Python<'py>,
    states: PyReadonlyArray2<'py, u64>,
    skipped: u64,
    count: usize,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let given = states.as_slice().map_err(|_| PyValueError::new_err("states must be contiguous"))?;
    let (states, rest) = given.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("a state is four words"));
    }
    let mut words = Vec::with_capacity(states.len() * count);
    for state in states {
        let mut generator = Pcg64::new(state);
        (0..skipped).for_each(|_| generator.step());
        words.extend((0..count).map(|_| generator.draw()));
    }
    PyArray1::from_vec(py, words).reshape([states.len(), count])
}

/// PCG64 as NumPy has it: 128 bits of state, 64 bits a draw (XSL-RR).
struct Pcg64 {
    state: u128,
    increment: u128,
}

impl Pcg64 {
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

    fn new(words: &[u64; 4]) -> Self {
        let [seed, stream] = [0, 2].map(|at| u128::from(words[at]) << 64 | u128::from(words[at + 1]));
        let mut generator = Self { state: 0, increment: stream << 1 | 1 };
        generator.step();
        generator.state = generator.state.wrapping_add(seed);
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(Self::MULTIPLIER).wrapping_add(self.increment);
    }

    fn draw(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }
}

/// With its length before it, so that ("a", "bc") is not ("ab", "c").
fn push_named(into: &mut Vec<u8>, name: &str) {
    into.extend((name.len() as u64).to_be_bytes());
    into.extend(name.as_bytes());
}

/// The words that a PCG64 asks of the `SeedSequence` of the number that `digest` is, big-endian.
fn spread(digest: &[u8; 32]) -> [u64; 4] {
    let (chunks, _) = digest.as_chunks::<4>();
    let mut entropy: Vec<u32> = chunks.iter().rev().map(|word| u32::from_be_bytes(*word)).collect();
    while entropy.len() > 4 && entropy.last() == Some(&0) {
        entropy.pop(); // a number has no leading zeros
    }
    let mut mixing = Hash { factor: 0x43b0_d7e5, power: 0x931e_8875 };
    let mut pool = [0, 1, 2, 3].map(|at| mixing.of(entropy[at]));
    for source in 0..4 {
        for target in (0..4).filter(|target| *target != source) {
            pool[target] = mixed(pool[target], mixing.of(pool[source]));
        }
    }
    for word in &entropy[4..] {
        for target in &mut pool {
            *target = mixed(*target, mixing.of(*word));
        }
    }
    let mut giving = Hash { factor: 0x8b51_f9dd, power: 0x58f3_8ded };
    let given = [0, 1, 2, 3, 0, 1, 2, 3].map(|at| u64::from(giving.of(pool[at])));
    [0, 2, 4, 6].map(|low| given[low] | given[low + 1] << 32)
}

/// A hash whose factor is another one at each use.
struct Hash {
    factor: u32,
    power: u32,
}

impl Hash {
    fn of(&mut self, value: u32) -> u32 {
        let value = value ^ self.factor;
        self.factor = self.factor.wrapping_mul(self.power);
        let value = value.wrapping_mul(self.factor);
        value ^ value >> 16
    }
}

fn mixed(one: u32, other: u32) -> u32 {
    let value = one.wrapping_mul(0xca01_f9dd).wrapping_sub(other.wrapping_mul(0x4973_f715));
    value ^ value >> 16
}
