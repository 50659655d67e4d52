//! The recorded paths of one program: when one more is recorded, and when they become code.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{
        AtomicU64,
        Ordering::{Relaxed, Release},
    },
};

use revm::primitives::B256;

use super::{
    branches::{TreeCode, TreeDraft},
    device::{Barred, DeviceTree},
    growth::Growth,
    running::Row,
};
use crate::specialise::{
    Difference, Mode, Specialiser, Task,
    compiler::{Order, compile},
    recorded::Recorded,
    sites::paths::{Paths, SavedPaths},
};
use crate::{
    machine::Failure,
    rows::program::Program,
    trace::{Fact, SavedTree, Values},
};

/// When a program is recorded. With its comparisons a recording costs as much as a hundred rows.
const ADVANCE: u64 = 2;
const ADVANCE_CHECK: u64 = 64;
const ROWS_A_RECORDING: u64 = 192;
const HITS_A_RECORDING: u64 = 64;
const MOST_RECORDINGS: u64 = 2_048;
/// Nanoseconds that recordings and following may take before hits have to pay for more.
const ALLOWANCE: u64 = 2_000_000_000;
/// One row in so many is followed step by step where no code fits: that takes longer than its operations do.
const FOLLOWED: u64 = 4;
/// The same while hits do not pay.
const FOLLOWED_UNPAID: u64 = 64;
/// Rows after which one in so many must have been replayed, or the program is left to its operations for good.
const TRIALS: [(u64, u64); 2] = [(8_192, 64), (40_000, 16)];

/// The recorded paths of one program, and those of them that are code.
pub struct ProgramSite {
    pub program: u64,
    /// The same in every process.
    pub fingerprint: B256,
    pub recorded: Recorded,
    growth: Mutex<Growth>,
    pub code: RwLock<Option<Arc<TreeCode>>>,
    /// How often the code has changed.
    pub version: AtomicU64,
}

impl ProgramSite {
    pub fn new(index: u64, program: &Program, closed: bool) -> Self {
        let site = Self {
            program: program.key().0,
            fingerprint: program.fingerprint(),
            recorded: Recorded::pinning(index, u32::MAX),
            growth: Mutex::default(),
            code: RwLock::default(),
            version: AtomicU64::default(),
        };
        let open = (!closed).then_some("missing state may be fetched");
        if let Some(reason) = program.obstacle().or(open) {
            site.recorded.counts.switch_off(reason);
        }
        site
    }

    /// A row has taken a path step by step: if that happens often, it becomes code.
    pub fn warm(self: &Arc<Self>, all: &Specialiser, paths: &Paths, step: usize, values: &Values) {
        let Ok(mut growth) = self.growth.try_lock() else { return };
        let draft = growth.note(all, paths, (self.recorded.generation(), step), values, self.pays(all));
        drop(growth);
        self.order(draft);
    }

    /// Its paths as data, and what they rely on; none where there are none to keep.
    pub fn saved(&self, all: &Specialiser) -> Option<(Vec<Fact>, SavedPaths)> {
        let (folded, paths) = self.recorded.saved(all)?;
        let growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        Some((folded, paths.with_rows(|step| growth.rows_of(step))))
    }

    /// Take up paths of another process, before the first row.
    pub fn take_up(self: &Arc<Self>, all: &Specialiser, folded: &[Fact], saved: SavedPaths, inputs: usize) {
        if self.recorded.counts.is_off() || !self.recorded.take_up(all, folded, saved, inputs) {
            return;
        }
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        let draft = growth.take_up(all, &paths, self.recorded.generation());
        drop(growth);
        self.order(draft);
    }

    /// Its paths that rows took, up to `most` of them, for a device; or why there are none.
    pub fn device_tree(&self, most: usize, barred: &Barred) -> Result<DeviceTree, String> {
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
        let growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.recorded.generation();
        if growth.generation() != generation {
            return Err("no path of the program is known yet".to_owned());
        }
        DeviceTree::new(&paths.tree.graph, generation, growth.often(&paths, 1), most, barred)
    }

    fn order(self: &Arc<Self>, draft: Option<TreeDraft>) {
        let Some(draft) = draft.map(Box::new) else { return };
        if compile(Order::Program { draft, into: Arc::downgrade(self) }).is_some() {
            self.growth.lock().unwrap_or_else(PoisonError::into_inner).done();
        }
    }

    /// An order has been carried out.
    pub fn compiled(&self, code: Option<TreeCode>) {
        match code {
            Some(code) => {
                self.recorded.counts.compiled.store(code.leaves.len() as u64, Relaxed);
                *self.code.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(code));
                self.version.fetch_add(1, Release);
            }
            None => self.recorded.counts.switch_off("no machine code can be made"),
        }
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).done();
    }

    /// Its paths as data; none where they were forgotten since.
    pub fn tree(&self, generation: u64) -> Option<SavedTree> {
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
        (generation == self.recorded.generation()).then(|| paths.tree.saved())
    }

    /// A replay that is not what the operations give: nothing recorded here is used again. Its state is added once the
    /// run is taken back.
    pub fn wrong(
        &self,
        all: &Specialiser,
        program: &Program,
        row: &Row<'_>,
        found: String,
        tree: Option<SavedTree>,
    ) -> Failure {
        self.recorded.counts.refuse();
        let task = Task::Program { program: program.saved(), inputs: row.inputs.to_vec() };
        Failure::Differs(Box::new(Difference::new(found, task, tree, (&all.settings, row.block))))
    }

    /// Whether hits save twice the time that recordings and following take, but for an allowance.
    fn pays(&self, all: &Specialiser) -> bool {
        let (saved, spent) = self.recorded.counts.balance();
        all.mode == Mode::Check || all.is_thorough() || spent <= ALLOWANCE + saved / 2
    }

    /// One row in so many is followed where no code fits.
    pub fn followed(&self, all: &Specialiser) -> u64 {
        match all.mode {
            Mode::Check => 1,
            Mode::On if all.is_thorough() => 1,
            Mode::On if self.pays(all) => FOLLOWED,
            Mode::On => FOLLOWED_UNPAID,
        }
    }

    pub fn may_record(&self, all: &Specialiser, rows: u64) -> bool {
        let counts = &self.recorded.counts;
        let (hits, recordings) = (counts.hits.load(Relaxed), counts.recordings.load(Relaxed));
        if all.is_thorough() {
            return !self.recorded.full.load(Relaxed) && recordings < MOST_RECORDINGS;
        }
        if TRIALS.iter().any(|(after, share)| rows >= *after && hits < rows / share) {
            counts.switch_off("few rows are replayed");
            return false;
        }
        let advance = if all.mode == Mode::Check { ADVANCE_CHECK } else { ADVANCE };
        let paid = advance + rows / ROWS_A_RECORDING + hits / HITS_A_RECORDING;
        self.pays(all) && !self.recorded.full.load(Relaxed) && recordings < MOST_RECORDINGS.min(paid)
    }
}
