//! The recorded paths of a call site: a tree, and machine code for those that are taken often.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use revm::primitives::{HashMap, U256};

use super::{
    code::{Code, Draft},
    compiler::{Order, compile},
    row::RowView,
    show::PathShown,
    statistics::Counts,
};
use crate::trace::{End, Guard, Origins, Replay, Tree, Values};

/// Rows that its code refused after which it is compiled again, for wider values; and how often.
const REFUSED: u32 = 1_024;
const MOST_VERSIONS: u32 = 6;
/// Paths of one site that become code.
const MOST_CODES: u32 = 32;

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
    /// Its first hits, up to a few.
    pub fresh: AtomicU32,
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
        let hits = longer.extract_if(.., |hot| hot.step == step).map(|hot| hot.hits.load(Relaxed)).sum();
        longer.push(Arc::new(Hot { step, code, hits: AtomicU64::new(hits), fresh: AtomicU32::default() }));
        *list = Arc::new(longer);
        self.version.fetch_add(1, Release);
    }

    /// Put the most used ones first.
    pub fn sort(&self) {
        let Ok(mut list) = self.list.try_write() else { return };
        let uses = |hot: &Arc<Hot>| std::cmp::Reverse(hot.hits.load(Relaxed));
        let mut sorted: Vec<_> = list.iter().map(|hot| (uses(hot), Arc::clone(hot))).collect();
        sorted.sort_by_key(|(uses, _)| *uses);
        if sorted.iter().map(|(_, hot)| hot.step).ne(list.iter().map(|hot| hot.step)) {
            *list = Arc::new(sorted.into_iter().map(|(_, hot)| hot).collect());
            self.version.fetch_add(1, Release);
        }
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
        let Ok(mut making) = known.making.try_lock() else { return };
        let Making { draft, rows } = &mut *making;
        let refused = hits - self.warm;
        let again =
            refused > 0 && refused.is_multiple_of(REFUSED) && refused / REFUSED < MOST_VERSIONS && !rows.is_empty();
        if again || refused == 0 && self.ordered.fetch_add(1, Relaxed) < MOST_CODES {
            *draft = Some(Draft::new(&self.tree.graph, &known.guards, ending));
        }
        let Some(mut ready) = draft.take() else { return };
        if !ready.sample(values, rows) {
            *draft = Some(ready);
            return;
        }
        let into = Arc::downgrade(&self.hot);
        let order = Order::Path { draft: Box::new(ready), step, into, counts: Arc::clone(counts) };
        if let Some(Order::Path { draft: again, .. }) = compile(order) {
            *draft = Some(*again);
        }
    }
}
