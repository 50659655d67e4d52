//! Counts of a call site: what was replayed, what was not, and why.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use pyo3::{prelude::*, types::PyDict};
use revm::primitives::{Address, hex};

/// Guards that are told apart in the counts of one site.
const MOST_GUARDS: usize = 256;

#[derive(Default)]
pub struct Counts {
    pub calls: AtomicU64,
    pub hits: AtomicU64,
    /// Hits by machine code, paths that became code, and the time that took.
    pub native: AtomicU64,
    pub compiled: AtomicU64,
    pub compiling: AtomicU64,
    /// Calls on a path that is the interpreter's.
    pub left: AtomicU64,
    pub recordings: AtomicU64,
    pub paths: AtomicU64,
    /// Recordings that something else changed the ground of.
    pub discarded: AtomicU64,
    /// Recordings that ended at something not modelled.
    pub fruitless: AtomicU64,
    /// How often all paths were forgotten.
    pub resets: AtomicU64,
    pub nanoseconds: AtomicU64,
    off: AtomicBool,
    reason: Mutex<String>,
    misses: Mutex<BTreeMap<usize, (String, u64)>>,
}

impl Counts {
    pub fn missed(&self, step: usize, guard: impl FnOnce() -> String) {
        let mut misses = self.misses.lock().unwrap_or_else(PoisonError::into_inner);
        let full = misses.len() >= MOST_GUARDS;
        match misses.get_mut(&step) {
            Some((_, count)) => *count += 1,
            None if !full => {
                misses.insert(step, (guard(), 1));
            }
            None => {}
        }
    }

    pub fn is_off(&self) -> bool {
        self.off.load(Relaxed)
    }

    /// Leave the site to the interpreter from now on.
    pub fn switch_off(&self, reason: &str) {
        if !self.off.swap(true, Relaxed) {
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_string();
        }
    }

    pub fn statistics(&self, to: Address, sender: Address, selector: [u8; 4]) -> SiteStatistics {
        let misses = self.misses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_guard = BTreeMap::new();
        for (guard, count) in misses.values() {
            *by_guard.entry(guard.clone()).or_insert(0) += count;
        }
        SiteStatistics {
            to,
            sender,
            selector,
            calls: self.calls.load(Relaxed),
            hits: self.hits.load(Relaxed),
            native: self.native.load(Relaxed),
            compiled: self.compiled.load(Relaxed),
            compile_seconds: self.compiling.load(Relaxed) as f64 / 1e9,
            left: self.left.load(Relaxed),
            recordings: self.recordings.load(Relaxed),
            paths: self.paths.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            fruitless: self.fruitless.load(Relaxed),
            resets: self.resets.load(Relaxed),
            seconds: self.nanoseconds.load(Relaxed) as f64 / 1e9,
            off: self.is_off().then(|| self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            misses: by_guard,
        }
    }
}

/// The counts of one call site.
pub struct SiteStatistics {
    pub to: Address,
    pub sender: Address,
    pub selector: [u8; 4],
    pub calls: u64,
    pub hits: u64,
    pub native: u64,
    pub compiled: u64,
    pub compile_seconds: f64,
    pub left: u64,
    pub recordings: u64,
    pub paths: u64,
    pub discarded: u64,
    pub fruitless: u64,
    pub resets: u64,
    /// Spent recording.
    pub seconds: f64,
    /// Why the site is left to the interpreter, if it is.
    pub off: Option<String>,
    /// Calls that left the known paths, by the guard that they failed.
    pub misses: BTreeMap<String, u64>,
}

impl SiteStatistics {
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let site = PyDict::new(py);
        site.set_item("to", self.to.to_checksum(None))?;
        site.set_item("sender", self.sender.to_checksum(None))?;
        site.set_item("selector", hex::encode_prefixed(self.selector))?;
        for (name, count) in [
            ("calls", self.calls),
            ("hits", self.hits),
            ("native", self.native),
            ("compiled", self.compiled),
            ("left", self.left),
            ("recordings", self.recordings),
            ("paths", self.paths),
            ("discarded", self.discarded),
            ("fruitless", self.fruitless),
            ("resets", self.resets),
        ] {
            site.set_item(name, count)?;
        }
        site.set_item("seconds", self.seconds)?;
        site.set_item("compile_seconds", self.compile_seconds)?;
        site.set_item("off", self.off)?;
        site.set_item("misses", self.misses)?;
        Ok(site)
    }
}
