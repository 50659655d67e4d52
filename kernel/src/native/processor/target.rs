//! How fast this processor divides: measured once, in some microseconds, since no list of processors knows the next one.

use std::{
    hint::black_box,
    sync::LazyLock,
    time::{Duration, Instant},
};

use crate::native::lowering::{division::divide_two_by_one, limbs::Target};

/// From here on a guess takes less time than the two divisions of a quotient of two limbs: a division takes as long as
/// this many products, each of what the one before has found.
const PRODUCTS: u32 = 5;
/// Divisions of a round, each of what the one before has found.
const CHAIN: u64 = 128;
/// The fastest round counts: in others the processor may have done something else.
const ROUNDS: usize = 8;

/// What code on this processor is made for. What it computes is the same for every target.
pub fn target() -> Target {
    static TARGET: LazyLock<Target> = LazyLock::new(|| {
        let dividing = fastest(|value, at| divide_two_by_one(value >> 1, at, value).0);
        let multiplying = fastest(|value, at| ((u128::from(value) * u128::from(value ^ at)) >> 64) as u64);
        if dividing > PRODUCTS * multiplying { Target::SlowDivision } else { Target::FastDivision }
    });
    *TARGET
}

/// How long the fastest chain takes.
fn fastest(next: impl Fn(u64, u64) -> u64) -> Duration {
    let round = || {
        let begin = Instant::now();
        let mut value = black_box(u64::MAX / 3 * 2);
        for at in 0..CHAIN {
            value = next(value, at) | 1 << 63;
        }
        black_box(value);
        begin.elapsed()
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}
