//! The recorded paths of a call site: a tree, and machine code for those that are taken often.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use revm::primitives::{Address, HashMap, U256};
use serde::{Deserialize, Serialize};

use super::{
    code::{Code, Draft},
    show::PathShown,
};
use crate::specialise::{
    compiler::{Order, compile},
    row::RowView,
    statistics::Counts,
};
use crate::trace::{End, Guard, Origins, Replay, SavedTree, Tree, Values};

/// Rows that its code refused after which it is compiled again, for wider values; and how often.
const REFUSED: u32 = 1_024;
const MOST_VERSIONS: u32 = 6;
/// Paths of one site that become code.
const MOST_CODES: u32 = 32;
/// Paths with code that are tried on a row: the most used ones.
pub const MOST_TRIES: usize = 6;
/// Rows that the tree took along a path with code before the paths are put in order again.
const SORTED_EVERY: u32 = 64;

/// What is known of a path besides its steps.
#[derive(Default)]
pub struct Known {
    guards: Vec<(Guard, U256)>,
    origins: Origins,
    pub compared: AtomicU32,
    /// Replays by the tree: once there is code, of rows that it refuses.
    hits: AtomicU32,
    making: Mutex<Making>,
}

/// What is known of a path, as data.
#[derive(Serialize, Deserialize)]
struct SavedKnown {
    step: usize,
    guards: Vec<(Guard, U256)>,
    origins: Origins,
    /// The rows that its code was made for; none where it is no code.
    rows: Vec<Vec<U256>>,
}

/// Paths as data, the most used ones first.
#[derive(Serialize, Deserialize)]
pub struct SavedPaths {
    tree: SavedTree,
    known: Vec<SavedKnown>,
}

impl SavedPaths {
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The same with the rows that each path's code was made for.
    pub fn with_rows(mut self, rows: impl Fn(usize) -> Vec<Vec<U256>>) -> Self {
        self.known.iter_mut().for_each(|path| path.rows = rows(path.step));
        self
    }
}

/// A path on its way to code, and the rows that say how wide its values are.
#[derive(Default)]
struct Making {
    draft: Option<Draft>,
    rows: Vec<Vec<U256>>,
}

impl Known {
    pub fn new(guards: Vec<(Guard, U256)>, origins: Origins) -> Self {
        Self { guards, origins, ..Self::default() }
    }

    pub fn guards(&self) -> &[(Guard, U256)] {
        &self.guards
    }

    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// The rows that its code was made for in another process.
    pub fn rows(&self) -> Vec<Vec<U256>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner).rows.clone()
    }

    /// Replays by the tree.
    pub fn hits(&self) -> u64 {
        u64::from(self.hits.load(Relaxed))
    }
}

/// A path as code, and how often it was taken.
pub struct Hot {
    pub step: usize,
    pub code: Code,
    pub hits: AtomicU64,
    /// How often the tree took it meanwhile, because its code was not tried or refused the row.
    by_tree: AtomicU64,
    /// Its first hits, up to a few.
    pub fresh: AtomicU32,
}

impl Hot {
    fn uses(&self) -> u64 {
        self.hits.load(Relaxed) + self.by_tree.load(Relaxed)
    }
}

/// Paths that are code, the most used ones first.
pub type HotList = Arc<Vec<Arc<Hot>>>;

/// The list of the paths that are code, which grows while it is read.
#[derive(Default)]
pub struct HotPaths {
    list: RwLock<HotList>,
    version: AtomicU64,
}

impl HotPaths {
    pub fn add(&self, step: usize, code: Code) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let mut longer = Vec::clone(&list);
        let (mut hits, mut by_tree) = (0, 0);
        for old in longer.extract_if(.., |hot| hot.step == step) {
            hits += old.hits.load(Relaxed);
            by_tree += old.by_tree.load(Relaxed);
        }
        let (hits, by_tree) = (AtomicU64::new(hits), AtomicU64::new(by_tree));
        longer.push(Arc::new(Hot { step, code, hits, by_tree, fresh: AtomicU32::default() }));
        *list = Arc::new(longer);
        self.version.fetch_add(1, Release);
    }

    /// Put the most used ones first.
    pub fn sort(&self) {
        let Ok(mut list) = self.list.try_write() else { return };
        let mut sorted: Vec<_> = list.iter().map(|hot| (std::cmp::Reverse(hot.uses()), Arc::clone(hot))).collect();
        sorted.sort_by_key(|(uses, _)| *uses);
        if sorted.iter().map(|(_, hot)| hot.step).ne(list.iter().map(|hot| hot.step)) {
            *list = Arc::new(sorted.into_iter().map(|(_, hot)| hot).collect());
            self.version.fetch_add(1, Release);
        }
    }

    /// The tree took a path with code so many times more: the path may be one of those to be tried.
    fn count_by_tree(&self, step: usize, times: u32) {
        if let Some((_, list)) = self.list()
            && let Some(hot) = list.iter().find(|hot| hot.step == step)
        {
            hot.by_tree.fetch_add(u64::from(times), Relaxed);
            self.sort();
        }
    }

    /// Whether a path is one of those that are tried.
    fn is_tried(&self, step: usize) -> bool {
        self.list().is_some_and(|(_, list)| list.iter().take(MOST_TRIES).any(|hot| hot.step == step))
    }

    pub fn version(&self) -> u64 {
        self.version.load(Acquire)
    }

    /// The list and its version; none while it is being changed.
    pub fn list(&self) -> Option<(u64, HotList)> {
        let list = self.list.try_read().ok()?;
        Some((self.version(), Arc::clone(&list)))
    }
}

/// Recorded paths, and those of them that are code.
pub struct Paths {
    pub tree: Tree,
    pub known: HashMap<usize, Known>,
    pub hot: Arc<HotPaths>,
    /// Paths that were given to the compiler.
    ordered: AtomicU32,
    /// Replays of a path after which it becomes code.
    warm: u32,
}

impl Paths {
    /// No paths yet; one becomes code after `warm` replays.
    pub fn new(warm: u32) -> Self {
        Self { tree: Tree::new(), known: HashMap::default(), hot: Arc::default(), ordered: AtomicU32::default(), warm }
    }

    pub fn saved(&self) -> SavedPaths {
        let hot = self.hot.list().map(|(_, list)| list).unwrap_or_default();
        let hits = |step: usize| hot.iter().find(|hot| hot.step == step).map(|hot| hot.hits.load(Relaxed));
        let mut known: Vec<(u64, SavedKnown)> = Vec::new();
        for (step, path) in &self.known {
            let native = hits(*step);
            let making = path.making.lock().unwrap_or_else(PoisonError::into_inner);
            let rows = if native.is_some() { making.rows.clone() } else { Vec::new() };
            let (guards, origins) = (path.guards.clone(), path.origins.clone());
            known.push((path.hits() + native.unwrap_or(0), SavedKnown { step: *step, guards, origins, rows }));
        }
        known.sort_by_key(|(hits, path)| (std::cmp::Reverse(*hits), path.step));
        SavedPaths { tree: self.tree.saved(), known: known.into_iter().map(|(_, path)| path).collect() }
    }

    /// Take saved paths up, of calls with so many `inputs`. None where they do not hold together.
    pub fn restored(
        saved: SavedPaths,
        inputs: usize,
        warm: u32,
        number: impl Fn(Address, U256) -> Option<u32>,
    ) -> Option<Self> {
        let mut paths = Self { tree: Tree::restored(saved.tree, inputs, number)?, ..Self::new(warm) };
        let nodes = paths.tree.graph.len();
        for SavedKnown { step, guards, origins, rows } in saved.known {
            let within = guards.iter().all(|(guard, _)| (guard.node as usize) < nodes);
            if !within || !matches!(paths.tree.end(step), End::Transaction(_)) {
                return None;
            }
            let known = Known::new(guards, origins);
            known.making.lock().unwrap_or_else(PoisonError::into_inner).rows = rows;
            paths.known.insert(step, known);
        }
        Some(paths)
    }

    /// Have the paths compiled that were code where they were saved.
    pub fn compile_again(&self, counts: &Arc<Counts>) {
        for (step, known) in &self.known {
            let mut making = known.making.lock().unwrap_or_else(PoisonError::into_inner);
            let End::Transaction(ending) = self.tree.end(*step) else { continue };
            if making.rows.is_empty() || self.ordered.fetch_add(1, Relaxed) >= MOST_CODES {
                continue;
            }
            let draft = Draft::new(&self.tree.graph, &known.guards, ending);
            let Some(draft) = draft.sampled_by(&making.rows) else { continue };
            known.hits.store(self.warm + 1, Relaxed);
            self.order(draft, *step, counts, &mut making.draft);
        }
    }

    /// Every path that ends in a transaction, with what is known of it.
    pub fn show(&self) -> Vec<PathShown> {
        let hot = self.hot.list().map(|(_, list)| list).unwrap_or_default();
        let native = |step: usize| hot.iter().find(|hot| hot.step == step).map(|hot| hot.hits.load(Relaxed));
        let shown = |(step, known): (&usize, &Known)| match self.tree.end(*step) {
            End::Transaction(ending) => Some(PathShown::new(&self.tree.graph, known, ending, native(*step))),
            _ => None,
        };
        self.known.iter().filter_map(shown).collect()
    }

    /// Follow a row to the end of its path, step by step.
    pub fn replay(&self, values: &mut Values, view: &mut RowView<'_>, counts: &Arc<Counts>) -> Replay {
        let replay = self.tree.replay(values, view);
        if let Replay::End(step) = replay {
            self.warm(step, values, counts);
        }
        replay
    }

    /// A path that is taken often becomes code.
    fn warm(&self, step: usize, values: &Values, counts: &Arc<Counts>) {
        let (Some(known), End::Transaction(ending)) = (self.known.get(&step), self.tree.end(step)) else { return };
        let hits = known.hits.fetch_add(1, Relaxed);
        if hits < self.warm {
            return;
        }
        if (hits - self.warm) % SORTED_EVERY == SORTED_EVERY - 1 {
            self.hot.count_by_tree(step, SORTED_EVERY);
        }
        let Ok(mut making) = known.making.try_lock() else { return };
        let Making { draft, rows } = &mut *making;
        let refused = hits - self.warm;
        let again = refused > 0
            && refused.is_multiple_of(REFUSED)
            && refused / REFUSED < MOST_VERSIONS
            && !rows.is_empty()
            && self.hot.is_tried(step);
        if again || refused == 0 && self.ordered.fetch_add(1, Relaxed) < MOST_CODES {
            *draft = Some(Draft::new(&self.tree.graph, &known.guards, ending));
        }
        let Some(mut ready) = draft.take() else { return };
        if !ready.sample(values, rows) {
            *draft = Some(ready);
            return;
        }
        self.order(ready, step, counts, draft);
    }

    /// Have a draft compiled; it goes `back` where it is to be asked for again.
    fn order(&self, draft: Draft, step: usize, counts: &Arc<Counts>, back: &mut Option<Draft>) {
        let into = Arc::downgrade(&self.hot);
        let order = Order::Path { draft: Box::new(draft), step, into, counts: Arc::clone(counts) };
        if let Some(Order::Path { draft, .. }) = compile(order) {
            *back = Some(*draft);
        }
    }
}
