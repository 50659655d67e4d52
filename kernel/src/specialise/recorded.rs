//! Recorded paths of a call site or a program, and what happens to them: counted, forgotten, weighed.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::{
    Specialiser,
    sites::paths::{HotList, HotPaths, Paths, SavedPaths},
    statistics::Counts,
};
use crate::trace::{Fact, MOST_NODES, Stale, Values};

/// Expressions and steps of all paths of a fleet, about 150 bytes each.
const MOST_HELD: usize = 1 << 19;

pub struct Recorded {
    /// Its number among those of the fleet, and how often its paths were forgotten.
    index: u64,
    warm: u32,
    /// Whether its paths ask for keys that hardly change.
    pins: AtomicBool,
    generation: AtomicU64,
    pub paths: RwLock<Paths>,
    pub stale: Stale,
    /// Whether its graph takes no more expressions.
    pub full: AtomicBool,
    /// Expressions and steps of its paths.
    held: AtomicUsize,
    /// Memory for the values of one replay each.
    spare: Mutex<Vec<Values>>,
    pub counts: Arc<Counts>,
}

impl Recorded {
    /// No paths yet; one becomes code after `warm` replays.
    pub fn new(index: u64, warm: u32) -> Self {
        Self {
            index,
            warm,
            pins: AtomicBool::default(),
            generation: AtomicU64::default(),
            paths: RwLock::new(Paths::new(warm)),
            stale: Stale::default(),
            full: AtomicBool::default(),
            held: AtomicUsize::default(),
            spare: Mutex::default(),
            counts: Arc::default(),
        }
    }

    /// The same for paths that ask for keys which hardly change.
    pub fn pinning(index: u64, warm: u32) -> Self {
        let mut new = Self::new(index, warm);
        new.pins = AtomicBool::new(true);
        new.paths.get_mut().unwrap_or_else(PoisonError::into_inner).tree.graph.pins.on = true;
        new
    }

    /// The number of an ending among all there ever are in the fleet.
    pub fn number(&self, generation: u64, step: usize) -> u64 {
        self.index << 48 | (generation & 0xffff) << 32 | step as u64
    }

    /// How often its paths were forgotten.
    pub fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// Whether its paths are to be forgotten, or not to be used.
    pub fn is_stale(&self) -> bool {
        self.stale.load(Acquire) || self.counts.is_off()
    }

    /// Its paths that are code; none while they change.
    fn hot(&self) -> Option<Arc<HotPaths>> {
        Some(Arc::clone(&self.paths.try_read().ok()?.hot))
    }

    /// Count hits of machine code.
    pub fn count_native(&self, hits: u64) {
        if hits > 0 {
            [&self.counts.calls, &self.counts.hits, &self.counts.native]
                .into_iter()
                .for_each(|count| _ = count.fetch_add(hits, Relaxed));
        }
    }

    pub fn take_values(&self) -> Values {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Give memory back, while the paths are still held: it belongs to this very graph.
    pub fn give_values(&self, values: Values) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(values);
    }

    /// Forget all paths, because something they rely on has changed.
    pub fn refresh(&self, all: &Specialiser) {
        let mut paths = self.paths.write().unwrap_or_else(PoisonError::into_inner);
        if self.stale.load(Acquire) {
            *paths = Paths::new(self.warm);
            paths.tree.graph.pins.on = self.pins.load(Relaxed);
            all.held.fetch_sub(self.held.swap(0, Relaxed), Relaxed);
            self.full.store(false, Relaxed);
            self.generation.fetch_add(1, Release);
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.counts.resets.fetch_add(1, Relaxed);
            self.stale.store(false, Release);
        }
    }

    /// Its paths as data, and what they rely on; none where there are none to keep.
    pub fn saved(&self, all: &Specialiser) -> Option<(Vec<Fact>, SavedPaths)> {
        let paths = self.paths.read().unwrap_or_else(PoisonError::into_inner);
        let kept = !self.is_stale() && !paths.known.is_empty();
        kept.then(|| (all.watch.relied_on_by(&self.stale), paths.saved()))
    }

    /// Take up paths of another process with so many `inputs`, before the first call. False where they do not fit.
    pub fn take_up(&self, all: &Specialiser, folded: &[Fact], saved: SavedPaths, inputs: usize) -> bool {
        let number = |address, key| all.places.number(address, key);
        let Some(taken) = Paths::restored(saved, inputs, self.warm, number) else { return false };
        self.pins.store(taken.tree.graph.pins.on, Relaxed);
        let graph = &taken.tree.graph;
        let writes = taken.tree.endings().flat_map(|ending| &ending.writes);
        let fixed = writes.filter_map(|write| Some(Fact::Slot(write.address, graph.as_constant(write.key)?)));
        all.watch.change(fixed);
        let size = taken.tree.size();
        if all.held.load(Relaxed) + size > MOST_HELD || !all.watch.rely(folded, &self.stale) {
            return false;
        }
        all.held.fetch_add(size, Relaxed);
        self.held.store(size, Relaxed);
        let count = taken.known.len() as u64;
        [&self.counts.paths, &self.counts.cached].into_iter().for_each(|each| each.store(count, Relaxed));
        *self.paths.write().unwrap_or_else(PoisonError::into_inner) = taken;
        true
    }

    /// Note how much its paths hold, after one was added.
    pub fn weigh(&self, all: &Specialiser, paths: &Paths) {
        if paths.tree.graph.pins.outgrown {
            self.pins.store(false, Relaxed);
            self.stale.store(true, Release);
        }
        let size = paths.tree.size();
        let others = all.held.load(Relaxed).saturating_sub(self.held.swap(size, Relaxed));
        all.held.store(others + size, Relaxed);
        self.full.store(paths.tree.graph.len() > MOST_NODES || others + size > MOST_HELD, Relaxed);
    }
}

/// The code of recorded paths as it was when a thread last looked.
#[derive(Default)]
pub struct AtHand {
    generation: Option<u64>,
    shared: Arc<HotPaths>,
    version: u64,
    pub list: HotList,
}

impl AtHand {
    /// Whether there is code that may be used. The order matters: paths are forgotten before they are fresh again.
    pub fn is_ready(&mut self, of: &Recorded) -> bool {
        if of.is_stale() {
            return false;
        }
        let generation = of.generation();
        if Some(generation) != self.generation || self.shared.version() != self.version {
            let Some(shared) = of.hot() else { return false };
            let Some((version, list)) = shared.list() else { return false };
            *self = Self { generation: Some(generation), shared, version, list };
        }
        !self.list.is_empty()
    }

    /// How often the paths had been forgotten then.
    pub fn generation(&self) -> u64 {
        self.generation.unwrap_or_default()
    }

    /// Put the most used ones first.
    pub fn sort(&self) {
        self.shared.sort();
    }
}
