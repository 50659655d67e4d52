//! Time spent in the kernel, summed over calls.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Sum of the wall-clock time of everything passed to `time`, on a monotonic clock.
#[derive(Debug, Default)]
pub struct Stopwatch {
    nanoseconds: AtomicU64,
}

impl Stopwatch {
    /// Run `work` and add its duration to the sum.
    pub fn time<R>(&self, work: impl FnOnce() -> R) -> R {
        let started = Instant::now();
        let result = work();
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
        result
    }

    pub fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9
    }
}
