//! The recorded paths of a call site: a tree, and machine code for those that are taken often.

use std::{
    sync::{
        Mutex, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use revm::primitives::{HashMap, U256};

use super::{
    code::{Code, Draft},
    row::RowView,
    statistics::Counts,
};
use crate::trace::{End, Guard, Replay, Tree, Values};

/// Replays of a path after which it becomes code, and paths with code that are tried on a row.
const WARM: u32 = 2_000;
const MOST_TRIES: usize = 6;
/// How often the paths with code are put in order.
const SORTED_EVERY: u64 = 512;

/// What is known of a path besides its steps.
#[derive(Default)]
pub struct Known {
    guards: Vec<(Guard, U256)>,
    pub compared: AtomicU32,
    hits: AtomicU32,
    draft: Mutex<Option<Draft>>,
}

impl Known {
    pub fn new(guards: Vec<(Guard, U256)>) -> Self {
        Self { guards, ..Self::default() }
    }
}

/// A path as code, and how often it was taken.
struct Hot {
    step: usize,
    code: Code,
    hits: AtomicU64,
}

/// Recorded paths, and those of them that are code, the most used ones first.
pub struct Paths {
    pub tree: Tree,
    pub known: HashMap<usize, Known>,
    hot: RwLock<Vec<Hot>>,
}

impl Paths {
    pub fn new() -> Self {
        Self { tree: Tree::new(), known: HashMap::default(), hot: RwLock::default() }
    }

    /// Follow a row to the end of its path: by code where there is some, otherwise step by step.
    pub fn replay(&self, values: &mut Values, view: &mut RowView<'_>, counts: &Counts) -> Replay {
        if let Ok(hot) = self.hot.try_read() {
            let taken = hot.iter().take(MOST_TRIES).find(|path| path.code.run(&self.tree.graph, values, view));
            if let Some(taken) = taken {
                counts.native.fetch_add(1, Relaxed);
                let hits = taken.hits.fetch_add(1, Relaxed);
                let step = taken.step;
                drop(hot);
                if hits % SORTED_EVERY == SORTED_EVERY - 1
                    && let Ok(mut hot) = self.hot.try_write()
                {
                    hot.sort_by_key(|path| std::cmp::Reverse(path.hits.load(Relaxed)));
                }
                return Replay::End(step);
            }
        }
        let replay = self.tree.replay(values, view);
        if let Replay::End(step) = replay {
            self.warm(step, values, counts);
        }
        replay
    }

    /// A path that is taken often becomes code.
    fn warm(&self, step: usize, values: &Values, counts: &Counts) {
        let (Some(known), End::Transaction(ending)) = (self.known.get(&step), self.tree.end(step)) else { return };
        let hits = known.hits.fetch_add(1, Relaxed);
        if hits < WARM {
            return;
        }
        let Ok(mut place) = known.draft.try_lock() else { return };
        if hits == WARM {
            *place = Some(Draft::new(&self.tree.graph, &known.guards, &ending.nodes()));
        }
        if place.as_mut().is_some_and(|draft| draft.sample(values)) {
            let started = Instant::now();
            if let Some(code) = place.take().and_then(Draft::compile) {
                let mut hot = self.hot.write().unwrap_or_else(PoisonError::into_inner);
                hot.push(Hot { step, code, hits: AtomicU64::default() });
                counts.compiled.fetch_add(1, Relaxed);
            }
            counts.compiling.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        }
    }
}
