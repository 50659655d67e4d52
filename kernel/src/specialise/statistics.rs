//! Counts of a call site: what was replayed, what was not, and why.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use pyo3::{prelude::*, types::PyDict};
use revm::primitives::{Address, hex};

use super::difference::count_mismatch;

/// Guards that are told apart in the counts of one site.
const MOST_GUARDS: usize = 256;
/// One hit in so many is interpreted too, compared and timed: more often at first.
const TIMED_AT_FIRST: u64 = 64;
const FIRST: u64 = 2_048;
const TIMED: u64 = 8_192;
/// Timed hits before a site is judged.
const JUDGED: u64 = 24;

/// Why a site is off whose replay differed.
const REFUSED: &str = "a replay of it differed from the interpreter";

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
    /// Paths that another process had recorded.
    pub cached: AtomicU64,
    /// Recordings that something else changed the ground of.
    pub discarded: AtomicU64,
    /// Recordings that ended at something not modelled.
    pub fruitless: AtomicU64,
    /// How often all paths were forgotten.
    pub resets: AtomicU64,
    pub nanoseconds: AtomicU64,
    /// Spent on rows that went through the tree of a program step by step.
    pub following: AtomicU64,
    /// What a hit saves.
    saved: AtomicU64,
    /// From which hit on the next one is timed, how many were, at how many of them the interpreter was faster, and
    /// both times.
    due: AtomicU64,
    timed: AtomicU64,
    slower: AtomicU64,
    replaying: AtomicU64,
    interpreting: AtomicU64,
    /// Hits that were interpreted too and compared, for whatever reason.
    checks: AtomicU64,
    /// Recordings whose path did not lead their own call to its own end.
    mismatches: AtomicU64,
    off: AtomicBool,
    reason: Mutex<String>,
    /// Whether a replay differed from the interpreter: nothing recorded here is to be used again.
    refused: AtomicBool,
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

    /// Whether a hit is to be interpreted too.
    pub fn is_due(&self) -> bool {
        self.hits.load(Relaxed) >= self.due.load(Relaxed)
    }

    /// Whether the next hit is to be interpreted too.
    pub fn is_timed(&self) -> bool {
        let hits = self.hits.load(Relaxed);
        if hits < self.due.load(Relaxed) {
            return false;
        }
        self.due.store(hits + if hits < FIRST { TIMED_AT_FIRST } else { TIMED }, Relaxed);
        true
    }

    /// Note how long a replay took, and its interpretation. A site whose replays are mostly slower is given up; that
    /// changes no result.
    pub fn time(&self, replayed: Duration, interpreted: Duration) {
        self.replaying.fetch_add(replayed.as_nanos() as u64, Relaxed);
        self.interpreting.fetch_add(interpreted.as_nanos() as u64, Relaxed);
        let timed = self.timed.fetch_add(1, Relaxed) + 1;
        self.note_saved(timed == 1, interpreted.saturating_sub(replayed).as_nanos() as u64);
        let slower = u64::from(replayed > interpreted);
        let slower = self.slower.fetch_add(slower, Relaxed) + slower;
        if timed >= JUDGED && 2 * slower > timed {
            self.switch_off("replays take longer than the interpreter");
        }
    }

    /// Nanoseconds that hits by code have saved, as far as the timed ones tell, and those that recordings and following
    /// took.
    pub fn balance(&self) -> (u64, u64) {
        let spent = self.nanoseconds.load(Relaxed) + self.following.load(Relaxed);
        (self.native.load(Relaxed) * self.saved.load(Relaxed), spent)
    }

    /// Take a timed hit into what hits save: about the median of them.
    fn note_saved(&self, first: bool, saved: u64) {
        let known = self.saved.load(Relaxed);
        let step = known / 8 + 1;
        let next = match (first, saved > known) {
            (true, _) => saved,
            (false, true) => known + step,
            (false, false) => known.saturating_sub(step),
        };
        self.saved.store(next, Relaxed);
    }

    /// Note that a hit is interpreted too.
    pub fn checked(&self) {
        self.checks.fetch_add(1, Relaxed);
    }

    /// A recording has led to something else than its own end: the site is left to the interpreter, which changes no
    /// result.
    pub fn mismatched(&self, found: &str) {
        self.mismatches.fetch_add(1, Relaxed);
        count_mismatch();
        self.switch_off(found);
    }

    /// A replay differed from the interpreter.
    pub fn refuse(&self) {
        self.switch_off(REFUSED);
        self.refused.store(true, Relaxed);
    }

    pub fn is_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    pub fn is_off(&self) -> bool {
        self.off.load(Relaxed)
    }

    /// Why the site is left to the interpreter, if it is.
    pub fn reason(&self) -> Option<String> {
        self.is_off().then(|| self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone())
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
            cached: self.cached.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            fruitless: self.fruitless.load(Relaxed),
            resets: self.resets.load(Relaxed),
            timed: self.timed.load(Relaxed),
            checks: self.checks.load(Relaxed),
            mismatches: self.mismatches.load(Relaxed),
            replay_seconds: self.replaying.load(Relaxed) as f64 / 1e9,
            interpret_seconds: self.interpreting.load(Relaxed) as f64 / 1e9,
            seconds: self.nanoseconds.load(Relaxed) as f64 / 1e9,
            off: self.reason(),
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
    pub cached: u64,
    pub discarded: u64,
    pub fruitless: u64,
    pub resets: u64,
    /// Hits that were timed, and how long they took: replayed and interpreted.
    pub timed: u64,
    /// Hits that were interpreted too, and recordings that contradicted themselves.
    pub checks: u64,
    pub mismatches: u64,
    pub replay_seconds: f64,
    pub interpret_seconds: f64,
    /// Spent recording.
    pub seconds: f64,
    /// Why the site is left to the interpreter, if it is.
    pub off: Option<String>,
    /// Calls that left the known paths, by the guard that they failed.
    pub misses: BTreeMap<String, u64>,
}

impl SiteStatistics {
    fn counts(&self) -> [(&'static str, u64); 14] {
        [
            ("calls", self.calls),
            ("hits", self.hits),
            ("native", self.native),
            ("compiled", self.compiled),
            ("left", self.left),
            ("recordings", self.recordings),
            ("paths", self.paths),
            ("cached", self.cached),
            ("discarded", self.discarded),
            ("fruitless", self.fruitless),
            ("resets", self.resets),
            ("timed", self.timed),
            ("checks", self.checks),
            ("mismatches", self.mismatches),
        ]
    }

    /// The counts of many sites together; those that are left to the interpreter are named.
    pub fn total(sites: impl Iterator<Item = Self>, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let (mut number, mut seconds, mut compile_seconds) = (0, 0.0, 0.0);
        let (mut counts, mut misses, mut off) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for site in sites {
            number += 1;
            seconds += site.seconds;
            compile_seconds += site.compile_seconds;
            site.counts().into_iter().for_each(|(name, count)| *counts.entry(name).or_insert(0) += count);
            if let Some(reason) = site.off {
                off.push((
                    format!("{}.{}", site.to.to_checksum(None), hex::encode_prefixed(site.selector)),
                    reason,
                    site.calls,
                ));
            }
            site.misses.into_iter().for_each(|(guard, count)| *misses.entry(guard).or_insert(0) += count);
        }
        let total = PyDict::new(py);
        total.set_item("sites", number)?;
        counts.into_iter().try_for_each(|(name, count): (_, u64)| total.set_item(name, count))?;
        total.set_item("seconds", seconds)?;
        total.set_item("compile_seconds", compile_seconds)?;
        total.set_item("misses", misses)?;
        total.set_item("off_sites", off)?;
        Ok(total)
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let site = PyDict::new(py);
        site.set_item("to", self.to.to_checksum(None))?;
        site.set_item("sender", self.sender.to_checksum(None))?;
        site.set_item("selector", hex::encode_prefixed(self.selector))?;
        self.counts().into_iter().try_for_each(|(name, count)| site.set_item(name, count))?;
        site.set_item("seconds", self.seconds)?;
        site.set_item("replay_seconds", self.replay_seconds)?;
        site.set_item("interpret_seconds", self.interpret_seconds)?;
        site.set_item("compile_seconds", self.compile_seconds)?;
        site.set_item("off", self.off)?;
        site.set_item("misses", self.misses)?;
        Ok(site)
    }
}
