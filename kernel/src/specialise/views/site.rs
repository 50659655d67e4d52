//! The paths of one call site of views, and a batch on them.

mod course;
mod recording;
mod warming;

use std::sync::atomic::Ordering::Relaxed;

use revm::{
    context::BlockEnv,
    primitives::{HashMap, U256},
};

use super::{
    Ground, Site, Views,
    bulk::{Bulk, Live, in_parts},
    facts,
    lowered::Kinds,
    memos::{Memos, Since},
    reader::{Reader, Remembering},
};
use crate::{
    batch::{Batch, Effort, Outcome, Outcomes},
    machine::{Failure, Machine},
    storage::changes::{Moment, Sieve},
    trace::{End, Guard, Replay, Tree, Values, Watch},
};
use course::Course;
use warming::{Known, Ready};

/// Calls after which a site must have replayed one in eight, or its calls are no longer kept.
const TRIAL: u64 = 8_192;
/// Calls whose derived words are remembered.
const MOST_MEMOS: usize = 1 << 17;

/// The paths of a site, and what they rely on.
pub struct Paths {
    holes: usize,
    pub(super) block: BlockEnv,
    tree: Tree,
    kinds: Kinds,
    ground: facts::Ground,
    /// Slots that have changed since some recording: they are never taken for constant again.
    watch: Watch,
    known: Vec<Known>,
    by_step: HashMap<usize, usize>,
    memos: Memos,
    values: Values,
    /// In which batch each expression that all calls share was last computed.
    computed: Vec<u64>,
    batches: u64,
    /// The last batch of more than one call, and the state it read.
    last: Option<(u64, Moment)>,
    codes: usize,
}

impl Paths {
    pub fn new(holes: usize, block: BlockEnv) -> Self {
        let mut tree = Tree::new();
        // The words of the calldata are the first expressions after zero.
        (0..holes).for_each(|hole| _ = tree.graph.input(hole));
        Self {
            holes,
            block,
            tree,
            kinds: Kinds::default(),
            ground: facts::Ground::default(),
            watch: Watch::default(),
            known: Vec::new(),
            by_step: HashMap::default(),
            memos: Memos::default(),
            values: Values::default(),
            computed: Vec::new(),
            batches: 0,
            last: None,
            codes: 0,
        }
    }

    /// Forget all paths.
    pub fn forget(&mut self) {
        let watch = std::mem::take(&mut self.watch);
        *self = Self { watch, ..Self::new(self.holes, self.block.clone()) };
    }

    /// Every call's outcome.
    pub(super) fn run(
        &mut self,
        views: &Views,
        site: &Site,
        machine: &mut Machine,
        ground: &Ground<'_>,
        batch: &Batch<'_>,
    ) -> Result<(Outcomes, Effort), Failure> {
        let reader = Reader::new(ground.world, ground.overlay, ground.block, &site.holes);
        let mut course = Course { views, site, machine, batch, ground, reader, effort: Effort::default() };
        if !self.ground.holds(&mut course.reader, &self.watch) {
            self.forget();
            site.counts.resets.fetch_add(1, Relaxed);
        }
        let calls = batch.datas.len();
        site.counts.calls.fetch_add(calls as u64, Relaxed);
        let mut outcomes = Outcomes::default();
        let left = if calls == 1 && self.tree.is_short() { vec![0] } else { self.by_code(&mut course, &mut outcomes)? };
        for call in left {
            outcomes.single.push((call, self.by_tree(&mut course, call)?));
        }
        let (all, hits) = (site.counts.calls.load(Relaxed), site.counts.hits.load(Relaxed));
        if all >= TRIAL && hits < all / 8 {
            site.counts.switch_off("few calls are replayed");
            self.forget();
        }
        let mut effort = course.effort;
        if calls > 1 {
            effort.traces = self.known.len();
            effort.operations = self.tree.operations();
        }
        Ok((outcomes, effort))
    }

    /// Answer calls by code; returns those that are left.
    fn by_code<'a>(&mut self, course: &mut Course<'a, '_>, outcomes: &mut Outcomes) -> Result<Vec<usize>, Failure> {
        // A single call is worth no more than the path that it took last.
        let only = match course.batch.datas {
            [data] => self.memos.get(&course.words(data)).map(|memo| memo.path),
            _ => None,
        };
        let hashes = &mut course.machine.database().hashes;
        let ready = self.live(&mut Remembering { reader: &mut course.reader, hashes }, only);
        if ready.is_empty() {
            return Ok((0..course.batch.datas.len()).collect());
        }
        let live: Vec<Live<'_>> = ready
            .iter()
            .filter_map(|(path, Ready { lowered, code })| Some(Live { path: *path, lowered, code: code.get()? }))
            .collect();
        let (datas, holes) = (course.batch.datas, &course.site.holes);
        let since = (datas.len() > 1).then(|| {
            let written = |(batch, then)| Some((batch, Sieve::new(course.reader.written_since(then)?)));
            Since { batch: self.batches, before: self.last.and_then(written) }
        });
        if since.is_some() {
            self.last = course.reader.now().map(|now| (self.batches, now));
        }
        let bulk = Bulk { graph: &self.tree.graph, live: &live, datas, memos: &self.memos, holes, since };
        let shares = in_parts(&bulk, &mut self.values, &course.reader, course.ground.threads);
        let (mut left, mut taken, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for share in shares {
            left.extend(share.left);
            taken.extend(share.answers);
            told.extend(share.memos);
        }
        if self.memos.len() + told.len() > MOST_MEMOS {
            self.memos.clear();
        }
        told.sort_unstable_by_key(|(call, _)| *call);
        for (call, memo) in told {
            self.memos.insert(course.words(course.batch.datas[call]), memo);
        }
        let counts = &course.site.counts;
        for answers in taken {
            let (known, count) = (&mut self.known[answers.path], answers.calls.len());
            known.hits += count as u64;
            [&counts.hits, &counts.native].into_iter().for_each(|all| _ = all.fetch_add(count as u64, Relaxed));
            course.effort.replayed += count;
            for (call, output) in answers.each() {
                if course.is_compared(known, call) {
                    course.compare(call, output, &self.tree)?;
                }
            }
            outcomes.answers.push(answers);
        }
        left.sort_unstable();
        Ok(left)
    }

    /// Paths with code whose conditions hold in this state, the most used ones first. What they share is computed.
    fn live(&mut self, reader: &mut Remembering<'_, '_>, only: Option<usize>) -> Vec<(usize, Ready)> {
        self.values.grow(&self.tree.graph);
        let (graph, values, computed) = (&self.tree.graph, &mut self.values, &mut self.computed);
        self.batches += 1;
        let batch = self.batches;
        computed.resize(graph.len(), 0);
        let mut live = Vec::new();
        let wanted = |path: &usize| only.is_none_or(|only| only == *path);
        for (path, known) in self.known.iter_mut().enumerate().filter(|(path, _)| wanted(path)) {
            let hits = known.hits;
            let Some(ready) = known.ready() else { continue };
            let lowered = &ready.lowered;
            let mut compute = |node: &u32| {
                std::mem::replace(&mut computed[*node as usize], batch) == batch
                    || graph.evaluate(*node, values, reader).is_ok()
            };
            if !lowered.shared.iter().all(&mut compute) {
                continue;
            }
            let holds = |(guard, wanted): &(Guard, U256)| {
                let value = values.get(guard.node);
                if guard.only_truth { value.is_zero() == wanted.is_zero() } else { value == *wanted }
            };
            if lowered.conditions.iter().all(holds) {
                live.push((hits, path, ready.clone()));
            }
        }
        live.sort_by_key(|(hits, ..)| std::cmp::Reverse(*hits));
        live.into_iter().map(|(_, path, ready)| (path, ready)).collect()
    }

    /// Answer a call from the tree of paths, or record its own.
    fn by_tree(&mut self, course: &mut Course<'_, '_>, call: usize) -> Result<Outcome, Failure> {
        course.reader.data = course.batch.datas[call];
        let counts = &course.site.counts;
        let hashes = &mut course.machine.database().hashes;
        match self.tree.replay(&mut self.values, &mut Remembering { reader: &mut course.reader, hashes }) {
            Replay::End(step) => {
                counts.hits.fetch_add(1, Relaxed);
                course.effort.replayed += 1;
                let End::Output(text) = self.tree.end(step) else { return course.interpret(call) };
                let output = self.values.write(text);
                if let Some(path) = self.by_step.get(&step).copied() {
                    self.walked(course, path);
                    if course.is_compared(&mut self.known[path], call) {
                        course.compare(call, &output, &self.tree)?;
                    }
                }
                Ok(Outcome::Output(output.into()))
            }
            Replay::Unknown(step) => {
                counts.missed(step, || self.tree.describe(step));
                course.effort.interpreted += 1;
                if self.may_record(course) { self.record(course, call) } else { course.interpret(call) }
            }
            Replay::Interpret => {
                counts.left.fetch_add(1, Relaxed);
                course.effort.interpreted += 1;
                course.interpret(call)
            }
        }
    }
}
