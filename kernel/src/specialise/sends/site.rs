//! The paths of one call site of transactions.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use revm::{
    context::{BlockEnv, result::ExecutionResult},
    primitives::HashMap,
};

use super::{
    super::{Mode, views::facts::Ground},
    course::Course,
};
use crate::{
    machine::Failure,
    trace::{End, Node, Replay, Tree, Values, Watch},
};

/// First hits of each path that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;
/// Transactions after which a site must have replayed one in eight, or they are the interpreter's.
const TRIAL: u64 = 2_048;

/// A recorded path: what its logs need besides, and how many of its hits were compared.
#[derive(Default)]
pub struct Known {
    pub logs: Vec<Node>,
    pub compared: u32,
}

/// The paths of a site, and what they rely on.
pub struct Paths {
    pub block: BlockEnv,
    pub tree: Tree,
    pub ground: Ground,
    /// Slots that have changed since some recording: they are never taken for constant again.
    pub watch: Watch,
    pub known: HashMap<usize, Known>,
    pub values: Values,
    /// Its share of what all sites hold.
    pub held: usize,
}

impl Paths {
    pub fn new(block: BlockEnv) -> Self {
        Self {
            block,
            tree: Tree::new(),
            ground: Ground::default(),
            watch: Watch::default(),
            known: HashMap::default(),
            values: Values::default(),
            held: 0,
        }
    }

    /// Forget all paths.
    pub fn forget(&mut self) {
        let (watch, held) = (std::mem::take(&mut self.watch), self.held);
        *self = Self { watch, held, ..Self::new(self.block.clone()) };
    }

    /// What came of a transaction, which is kept; none where it is to be interpreted.
    pub fn run(&mut self, course: &mut Course<'_>) -> Result<Option<ExecutionResult>, Failure> {
        let counts = &course.site.counts;
        let calls = counts.calls.fetch_add(1, Relaxed) + 1;
        if calls >= TRIAL && counts.hits.load(Relaxed) < calls / 8 {
            counts.switch_off("few calls are replayed");
            self.forget();
            return Ok(None);
        }
        let began = Instant::now();
        let mut sight = course.sight();
        if !self.ground.holds(&mut sight.reader, &self.watch) {
            self.forget();
            counts.resets.fetch_add(1, Relaxed);
        }
        match self.tree.replay(&mut self.values, &mut sight) {
            Replay::End(step) => self.replayed(course, step, began).map(Some),
            Replay::Unknown(step) => {
                counts.missed(step, || self.tree.describe(step));
                if self.may_record(course) { self.record(course).map(Some) } else { Ok(None) }
            }
            Replay::Interpret => {
                counts.left.fetch_add(1, Relaxed);
                Ok(None)
            }
        }
    }

    /// A transaction has come to the end of a path.
    fn replayed(&mut self, course: &mut Course<'_>, step: usize, began: Instant) -> Result<ExecutionResult, Failure> {
        let Self { tree, known, values, .. } = self;
        let End::Transaction(ending) = tree.end(step) else {
            return Err(course.wrong("its path has no end", tree));
        };
        let known = known.entry(step).or_default();
        let mut sight = course.sight();
        if ending.success && !known.logs.iter().all(|node| tree.graph.evaluate(*node, values, &mut sight).is_ok()) {
            return Err(course.wrong("a log cannot be read", tree));
        }
        let result = course.result(ending, values);
        let replaying = began.elapsed();
        let counts = &course.site.counts;
        counts.hits.fetch_add(1, Relaxed);
        let seldom = known.compared < COMPARED;
        known.compared += u32::from(seldom);
        if seldom || course.sending.checked || course.sending.mode == Mode::Check || counts.is_timed() {
            counts.checked();
            let began = Instant::now();
            let (interpreted, state) = course.machine.run(course.sending.tx.clone())?;
            if course.sending.mode == Mode::On {
                counts.time(replaying, began.elapsed());
            }
            if let Some(found) = course.difference(ending, values, &result, (&interpreted, &state))? {
                return Err(course.wrong(&found, tree));
            }
        }
        course.keep(ending, values, result.tx_gas_used())?;
        Ok(result)
    }
}
