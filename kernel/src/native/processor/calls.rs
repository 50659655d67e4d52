//! What generated code calls: division by variables, rare instructions, hashes. Limbs pass through memory.

use revm::primitives::U256;

use crate::native::{
    lowering::{
        division::{MOST, divide, divide_by_limb, divide_by_limbs},
        limbs::Helper,
        short_division::reciprocal_of,
    },
    ssa::{ir::Part, reference::hash},
};
use crate::trace::arithmetic::compute;

/// A helper as generated code sees it: arguments, results, and what else it must know.
pub type Entry = unsafe extern "C" fn(*const u64, *mut u64, usize);

/// The entry of a helper and its last argument; `texts` must outlive the code.
pub fn entry(helper: Helper, arguments: usize, texts: &[Vec<Part>]) -> (Entry, usize) {
    match helper {
        Helper::Divide { dividend } => {
            let sizes = usize::from(dividend) | arguments << 8;
            (quotient_of(usize::from(dividend), arguments - usize::from(dividend)), sizes)
        }
        Helper::Remainder { dividend } => (remainder, usize::from(dividend) | arguments << 8),
        Helper::Reciprocal => (reciprocal, 0),
        Helper::Pure(opcode) => (pure, usize::from(opcode) | arguments << 8),
        Helper::Keccak(text) => (keccak, std::ptr::from_ref(&texts[text as usize]) as usize),
    }
}

/// Dividend and divisor, one behind the other.
///
/// # Safety
/// `arguments` has as many limbs as `sizes` says.
unsafe fn operands<'a>(arguments: *const u64, sizes: usize) -> (&'a [u64], &'a [u64]) {
    // SAFETY: the caller promises so many limbs, and generated code does not write to them during a call.
    unsafe { std::slice::from_raw_parts(arguments, sizes >> 8) }.split_at(sizes & 0xff)
}

/// The entry for a quotient of these sizes: most divisors have two limbs at most, and then nothing is looped over.
fn quotient_of(dividend: usize, divisor: usize) -> Entry {
    match (dividend, divisor) {
        (2, 1) => short_quotient::<2, 1>,
        (3, 1) => short_quotient::<3, 1>,
        (4, 1) => short_quotient::<4, 1>,
        (2, 2) => short_quotient::<2, 2>,
        (3, 2) => short_quotient::<3, 2>,
        (4, 2) => short_quotient::<4, 2>,
        _ => quotient,
    }
}

unsafe extern "C" fn short_quotient<const N: usize, const M: usize>(
    arguments: *const u64,
    results: *mut u64,
    _: usize,
) {
    // SAFETY: generated code passes `N` limbs and then `M`, and has place for `N` elsewhere, all at multiples of eight.
    let (dividend, divisor, quotient) = unsafe {
        (&*arguments.cast::<[u64; N]>(), &*arguments.add(N).cast::<[u64; M]>(), &mut *results.cast::<[u64; N]>())
    };
    let high = if M == 2 { divisor[M - 1] } else { 0 };
    *quotient =
        if high == 0 { divide_by_limb(dividend, divisor[0]) } else { divide_by_limbs(dividend, [divisor[0], high]) };
}

unsafe extern "C" fn reciprocal(arguments: *const u64, results: *mut u64, _: usize) {
    // SAFETY: generated code passes two limbs, and has place for two.
    unsafe { *results.cast::<[u64; 2]>() = reciprocal_of(*arguments.cast::<[u64; 2]>()) };
}

unsafe extern "C" fn quotient(arguments: *const u64, results: *mut u64, sizes: usize) {
    // SAFETY: generated code passes as many limbs as it says.
    let (dividend, divisor) = unsafe { operands(arguments, sizes) };
    // SAFETY: it has place for a quotient as long as the dividend, which is not where the arguments are.
    let results = unsafe { std::slice::from_raw_parts_mut(results, dividend.len()) };
    divide(dividend, divisor, results, &mut [0; MOST]);
}

unsafe extern "C" fn remainder(arguments: *const u64, results: *mut u64, sizes: usize) {
    // SAFETY: generated code passes as many limbs as it says.
    let (dividend, divisor) = unsafe { operands(arguments, sizes) };
    // SAFETY: it has place for a remainder as long as the divisor, which is not where the arguments are.
    let results = unsafe { std::slice::from_raw_parts_mut(results, divisor.len()) };
    let mut rest = [0; MOST];
    divide(dividend, divisor, &mut [0; MOST], &mut rest);
    results.copy_from_slice(&rest[..divisor.len()]);
}

unsafe extern "C" fn pure(arguments: *const u64, results: *mut u64, detail: usize) {
    // SAFETY: generated code passes as many whole words as it says.
    let (words, results) = unsafe {
        (std::slice::from_raw_parts(arguments.cast::<[u64; 4]>(), (detail >> 8) / 4), results.cast::<[u64; 4]>())
    };
    let word = |at: usize| words.get(at).map_or(U256::ZERO, |limbs| U256::from_limbs(*limbs));
    // SAFETY: generated code has place for a word, which is not where the arguments are.
    unsafe { *results = compute(detail as u8, word(0), word(1), word(2)).into_limbs() };
}

unsafe extern "C" fn keccak(arguments: *const u64, results: *mut u64, text: usize) {
    let words = arguments.cast::<[u64; 4]>();
    // SAFETY: the number is the address of a text that the machine holds as long as its code, in a list that never grows.
    let text = unsafe { &*(text as *const Vec<Part>) };
    // SAFETY: generated code passes a word for each number in its text.
    let word = |at: u32| U256::from_limbs(unsafe { *words.add(at as usize) });
    // SAFETY: generated code has place for a word.
    unsafe { *results.cast::<[u64; 4]>() = hash(text, word).into_limbs() };
}
