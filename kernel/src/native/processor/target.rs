//! Whether this processor divides slowly: measured once, in some microseconds, so no list of processors is needed.

use std::{
    hint::black_box,
    sync::LazyLock,
    time::{Duration, Instant},
};

use crate::native::lowering::{division::divide_two_by_one, limbs::Target};

/// A division is slow if it takes longer than this many products, one after the other: then a guess beats two divisions.
const PRODUCTS: u32 = 5;
/// Operations of a round, each on the result of the one before.
const CHAIN: u64 = 128;
/// Rounds, of which the fastest counts: others may have been interrupted.
const ROUNDS: usize = 8;

/// The kind of this processor. Results do not depend on it.
pub fn target() -> Target {
    static TARGET: LazyLock<Target> = LazyLock::new(|| {
        let dividing = fastest(|value, at| divide_two_by_one(value >> 1, at, value).0);
        let multiplying = fastest(|value, at| ((u128::from(value) * u128::from(value ^ at)) >> 64) as u64);
        if dividing > PRODUCTS * multiplying { Target::SlowDivision } else { Target::FastDivision }
    });
    *TARGET
}

/// Time the fastest round.
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
