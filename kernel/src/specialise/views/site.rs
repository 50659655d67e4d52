//! The paths of one call site of views, and a batch on them.

use std::sync::{Arc, OnceLock, atomic::Ordering::Relaxed};
use std::time::Instant;

use revm::{
    context::{BlockEnv, result::ExecutionResult},
    primitives::{HashMap, U256, hex},
};

use super::{
    Ground, Site, Views,
    bulk::{Bulk, Live, Memo, Share},
    facts,
    lowered::{Kinds, Lowered},
    reader::Reader,
};
use crate::{
    batch::{Batch, Effort, Outcome},
    machine::{Failure, Machine},
    native::{executable::Executable, ir::Function, likely::likely_bounds},
    specialise::Mode,
    trace::{End, Fact, Guard, MOST_NODES, Path, Recorder, Replay, Tree, Values, Watch},
};

/// Replays of a path after which it becomes code; calls that its code refused after which it is compiled again, for
/// wider values; and how often.
const WARM: u32 = 192;
const REFUSED: u32 = 512;
const MOST_VERSIONS: u32 = 6;
/// Paths of one site that become code.
const MOST_CODES: usize = 64;
/// Calls whose values say how wide the words of a path are.
const SAMPLES: usize = 24;
/// First hits of each path, and of each code, that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;
/// Calls, and replayed calls, that pay for a recording.
const CALLS_A_RECORDING: u64 = 12;
const HITS_A_RECORDING: u64 = 8;
const MOST_RECORDINGS: u64 = 4_096;
/// Calls after which a site must have replayed one in eight, or its calls are no longer kept.
const TRIAL: u64 = 8_192;
/// Calls whose derived words are remembered.
const MOST_MEMOS: usize = 1 << 17;
/// Calls from which on a further thread pays.
const CALLS_A_THREAD: usize = 2_048;

/// A recorded path.
struct Known {
    step: usize,
    guards: Vec<(Guard, U256)>,
    hits: u64,
    /// Replays by the tree: once there is code, of calls that it refuses.
    walked: u32,
    /// Hits that were compared since the path, or its code, was new.
    compared: u32,
    rows: Vec<Vec<U256>>,
    /// What is to be compiled next, once there are rows enough.
    draft: Option<(Lowered, Function)>,
    /// Code that is on its way, and the one in use.
    coming: Option<Ready>,
    code: Option<Ready>,
    versions: u32,
}

/// A path as code, as soon as it is compiled.
#[derive(Clone)]
struct Ready {
    lowered: Arc<Lowered>,
    code: Arc<OnceLock<Executable>>,
}

/// The paths of a site, and what they rely on.
pub struct Paths {
    holes: usize,
    block: BlockEnv,
    tree: Tree,
    kinds: Kinds,
    ground: facts::Ground,
    /// Slots that have changed since some recording: they are never taken for constant again.
    watch: Watch,
    known: Vec<Known>,
    by_step: HashMap<usize, usize>,
    memos: HashMap<Box<[u8]>, Memo>,
    values: Values,
    /// In which batch each expression that all calls share was last computed.
    computed: Vec<u64>,
    batches: u64,
    codes: usize,
}

/// One batch on its way.
struct Course<'a, 'm> {
    views: &'a Views,
    site: &'a Site,
    machine: &'m mut Machine,
    batch: &'a Batch<'a>,
    ground: &'a Ground<'a>,
    reader: Reader<'a>,
    effort: Effort,
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
            memos: HashMap::default(),
            values: Values::default(),
            computed: Vec::new(),
            batches: 0,
            codes: 0,
        }
    }

    /// Forget all paths.
    pub fn forget(&mut self) {
        let watch = std::mem::take(&mut self.watch);
        *self = Self { watch, ..Self::new(self.holes, self.block.clone()) };
    }

    /// Whether the block is as in every recording, but for what recordings leave open.
    pub fn is_usual(&self, block: &BlockEnv) -> bool {
        let BlockEnv { number, timestamp, basefee, .. } = block.clone();
        BlockEnv { number, timestamp, basefee, ..self.block.clone() } == *block
    }

    /// Every call's outcome.
    pub(super) fn run(
        &mut self,
        views: &Views,
        site: &Site,
        machine: &mut Machine,
        ground: &Ground<'_>,
        batch: &Batch<'_>,
    ) -> Result<(Vec<Outcome>, Effort), Failure> {
        let reader = Reader::new(ground.world, ground.overlay, ground.block, &site.key.holes);
        let mut course = Course { views, site, machine, batch, ground, reader, effort: Effort::default() };
        if !self.ground.holds(&mut course.reader, &self.watch) {
            self.forget();
            site.counts.resets.fetch_add(1, Relaxed);
        }
        let calls = batch.datas.len();
        site.counts.calls.fetch_add(calls as u64, Relaxed);
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        outcomes.resize_with(calls, || None);
        let left = self.by_code(&mut course, &mut outcomes)?;
        for call in left {
            outcomes[call] = Some(self.by_tree(&mut course, call)?);
        }
        let (all, hits) = (site.counts.calls.load(Relaxed), site.counts.hits.load(Relaxed));
        if all >= TRIAL && hits < all / 8 {
            site.counts.switch_off("few calls are replayed");
            self.forget();
        }
        let mut effort = course.effort;
        effort.traces = self.known.len();
        effort.operations = self.tree.operations();
        Ok((outcomes.into_iter().flatten().collect(), effort))
    }

    /// Answer calls by code; returns those that are left.
    fn by_code<'a>(
        &mut self,
        course: &mut Course<'a, '_>,
        outcomes: &mut [Option<Outcome>],
    ) -> Result<Vec<usize>, Failure> {
        let ready = self.live(&mut course.reader);
        if ready.is_empty() {
            return Ok((0..outcomes.len()).collect());
        }
        let live: Vec<Live<'_>> = ready
            .iter()
            .filter_map(|(path, Ready { lowered, code })| Some(Live { path: *path, lowered, code: code.get()? }))
            .collect();
        let mut words = Vec::new();
        let memos: Vec<Option<&Memo>> = (course.batch.datas.iter())
            .map(|data| {
                words.clear();
                course.site.key.holes.iter().for_each(|at| words.extend_from_slice(&data[*at..at + 32]));
                self.memos.get(words.as_slice())
            })
            .collect();
        let bulk =
            Bulk { graph: &self.tree.graph, live: &live, datas: course.batch.datas, memos: &memos, holes: self.holes };
        let shares = in_parts(&bulk, &mut self.values, &course.reader, course.ground.threads);
        let (mut left, mut taken, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for share in shares {
            left.extend(share.left);
            taken.extend(share.outputs);
            told.extend(share.memos);
        }
        if self.memos.len() + told.len() > MOST_MEMOS {
            self.memos.clear();
        }
        for (call, memo) in told {
            self.memos.insert(course.words(course.batch.datas[call]), memo);
        }
        let counts = &course.site.counts;
        for (call, path, output) in taken {
            let known = &mut self.known[path];
            known.hits += 1;
            [&counts.hits, &counts.native].into_iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
            course.effort.replayed += 1;
            if course.is_compared(known) {
                course.compare(call, &output)?;
            }
            outcomes[call] = Some(Outcome::Output(output));
        }
        left.sort_unstable();
        Ok(left)
    }

    /// Paths with code whose conditions hold in this state, the most used ones first. What they share is computed.
    fn live(&mut self, reader: &mut Reader<'_>) -> Vec<(usize, Ready)> {
        self.values.grow(&self.tree.graph);
        let (graph, values, computed) = (&self.tree.graph, &mut self.values, &mut self.computed);
        self.batches += 1;
        let batch = self.batches;
        computed.resize(graph.len(), 0);
        let mut live = Vec::new();
        for (path, known) in self.known.iter_mut().enumerate() {
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
        match self.tree.replay(&mut self.values, &mut course.reader) {
            Replay::End(step) => {
                counts.hits.fetch_add(1, Relaxed);
                course.effort.replayed += 1;
                let End::Output(text) = self.tree.end(step) else { return course.interpret(call) };
                let output = self.values.write(text);
                if let Some(path) = self.by_step.get(&step).copied() {
                    self.walked(course, path);
                    if course.is_compared(&mut self.known[path]) {
                        course.compare(call, &output)?;
                    }
                }
                Ok(Outcome::Output(output))
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

    fn may_record(&self, course: &Course<'_, '_>) -> bool {
        let counts = &course.site.counts;
        let (calls, hits) = (counts.calls.load(Relaxed), counts.hits.load(Relaxed));
        let paid = calls / CALLS_A_RECORDING + hits / HITS_A_RECORDING;
        let paid = if course.ground.mode == Mode::Check { paid + 64 } else { paid };
        counts.recordings.load(Relaxed) < paid.min(MOST_RECORDINGS) && self.tree.graph.len() < MOST_NODES
    }

    /// Interpret a call, and know its path from now on.
    fn record(&mut self, course: &mut Course<'_, '_>, call: usize) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let (mut result, mut path, mut folded) = self.followed(course, call)?;
        // What was written over the world is likely to be written again: that is no constant.
        let mut is_written =
            |fact: &Fact| matches!(fact, Fact::Slot(address, key) if course.reader.written(*address, *key).is_some());
        let written: Vec<Fact> = folded.iter().copied().filter(&mut is_written).collect();
        if !written.is_empty() {
            if self.ground.relies_on(&written) {
                self.forget();
            }
            self.watch.change(written);
            (result, path, folded) = self.followed(course, call)?;
        }
        let counts = &course.site.counts;
        let output: Option<&[u8]> = match &result {
            ExecutionResult::Success { output, .. } => Some(output.data().as_ref()),
            _ => None,
        };
        if self.ground.rely(&folded, &mut course.reader) {
            let found = self.add(course, call, path, output);
            if let Some(found) = found {
                counts.switch_off(found);
                if course.ground.mode == Mode::Check {
                    return Err(course.wrong(call, &format!("while it was recorded, {found}")));
                }
                self.forget();
            }
        } else {
            counts.discarded.fetch_add(1, Relaxed);
        }
        counts.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        Ok(Outcome::of(result))
    }

    /// Interpret a call under a recorder.
    fn followed(
        &mut self,
        course: &mut Course<'_, '_>,
        call: usize,
    ) -> Result<(ExecutionResult, Path, revm::primitives::HashSet<Fact>), Failure> {
        course.site.counts.recordings.fetch_add(1, Relaxed);
        let Views { places, fault, .. } = course.views;
        let mut recorder = Recorder::of_transaction(&mut self.tree.graph, &course.site.key.holes, &self.watch, places);
        let tx = course.batch.transaction(course.batch.datas[call]);
        let (result, _) = course.machine.record_transaction(tx, &mut recorder)?;
        let (mut path, folded) = recorder.finish_transaction(&result, Vec::new());
        path.end = match path.end {
            End::Transaction(ending) if ending.success => End::Output(ending.output),
            _ => End::Interpret,
        };
        if fault.load(Relaxed) {
            path.guards.pop();
        }
        Ok((result, path, folded))
    }

    /// Add a path. One that does not lead its own call to its own output would lead no other one right.
    fn add(
        &mut self,
        course: &mut Course<'_, '_>,
        call: usize,
        path: Path,
        output: Option<&[u8]>,
    ) -> Option<&'static str> {
        let counts = &course.site.counts;
        let guards = path.guards.clone();
        let replayable = matches!(path.end, End::Output(_));
        if !self.tree.insert(path) {
            return Some("its path contradicts an earlier one");
        }
        self.kinds.grow(&self.tree.graph);
        course.reader.data = course.batch.datas[call];
        match self.tree.replay(&mut self.values, &mut course.reader) {
            Replay::End(step) => {
                let End::Output(text) = self.tree.end(step) else { return None };
                if output != Some(&self.values.write(text)) {
                    return Some("its path gives another output");
                }
                counts.paths.fetch_add(1, Relaxed);
                self.by_step.entry(step).or_insert_with(|| {
                    self.known.push(Known::new(step, guards));
                    self.known.len() - 1
                });
                None
            }
            Replay::Interpret => {
                counts.fruitless.fetch_add(1, Relaxed);
                None
            }
            Replay::Unknown(_) if !replayable => None,
            Replay::Unknown(_) => Some("its path does not lead to its end"),
        }
    }

    /// A call has taken a path by the tree. The next time it is tried first; refused by its code, it counts.
    fn walked(&mut self, course: &Course<'_, '_>, path: usize) {
        if self.known[path].code.is_some() {
            let words = course.words(course.reader.data);
            if self.memos.get(&words).is_none_or(|memo| memo.path != path) {
                self.known[path].hits += 1;
                self.memos.insert(words, Memo { path, words: None });
                return;
            }
        }
        self.warm(course, path);
    }

    /// A path that is taken often becomes code.
    fn warm(&mut self, course: &Course<'_, '_>, path: usize) {
        let Self { known, tree, kinds, values, codes, .. } = self;
        let known = &mut known[path];
        known.hits += 1;
        known.walked += 1;
        let due = if known.versions == 0 { WARM } else { REFUSED };
        if known.walked < due || known.coming.is_some() {
            return;
        }
        if known.draft.is_none() {
            let many = known.versions == 0 && *codes >= MOST_CODES || known.versions >= MOST_VERSIONS;
            let (false, End::Output(text)) = (many, tree.end(known.step)) else { return };
            *codes += usize::from(known.versions == 0);
            known.draft = Some(Lowered::new(&tree.graph, kinds, &known.guards, text));
        }
        let Some((lowered, function)) = known.draft.take() else { return };
        known.rows.push(lowered.inputs().map(|node| values.get(node)).collect());
        if !known.rows.len().is_multiple_of(SAMPLES) {
            known.draft = Some((lowered, function));
            return;
        }
        (known.walked, known.versions) = (0, known.versions + 1);
        let ready = Ready { lowered: Arc::new(lowered), code: Arc::default() };
        let (rows, place, counts) = (known.rows.clone(), Arc::downgrade(&ready.code), Arc::clone(&course.site.counts));
        known.coming = Some(ready);
        course.views.makers.order(Box::new(move || {
            let Some(place) = place.upgrade() else { return };
            let started = Instant::now();
            if let Ok(code) = Executable::new(&function, &likely_bounds(&function, &rows))
                && code.output_words == function.outputs.len()
            {
                counts.compiled.fetch_add(1, Relaxed);
                let _ = place.set(code);
            }
            counts.compiling.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        }));
    }
}

impl Known {
    fn new(step: usize, guards: Vec<(Guard, U256)>) -> Self {
        Self {
            step,
            guards,
            hits: 0,
            walked: 0,
            compared: 0,
            rows: Vec::new(),
            draft: None,
            coming: None,
            code: None,
            versions: 0,
        }
    }

    /// The code of the path, if there is any by now. A new one must prove itself again.
    fn ready(&mut self) -> Option<&Ready> {
        if let Some(coming) = self.coming.take_if(|coming| coming.code.get().is_some()) {
            (self.code, self.compared) = (Some(coming), 0);
        }
        self.code.as_ref()
    }
}

impl Course<'_, '_> {
    /// The words in which the calldata of a call differs from others'.
    fn words(&self, data: &[u8]) -> Box<[u8]> {
        self.site.key.holes.iter().flat_map(|at| &data[*at..at + 32]).copied().collect()
    }

    fn interpret(&mut self, call: usize) -> Result<Outcome, Failure> {
        let tx = self.batch.transaction(self.batch.datas[call]);
        self.machine.run(tx).map(|(result, _)| Outcome::of(result))
    }

    /// Whether a hit is to be interpreted too.
    fn is_compared(&self, known: &mut Known) -> bool {
        let seldom = known.compared < COMPARED;
        known.compared += u32::from(seldom);
        seldom || self.ground.mode == Mode::Check || self.batch.verify || self.site.counts.is_timed()
    }

    fn compare(&mut self, call: usize, replayed: &[u8]) -> Result<(), Failure> {
        match self.interpret(call)? {
            Outcome::Output(output) if output == replayed => Ok(()),
            _ => Err(self.wrong(call, "another output")),
        }
    }

    fn wrong(&self, call: usize, found: &str) -> Failure {
        Failure::Internal(format!(
            "a replayed call differs from the interpreted one: {found}: {} with {}; please report this, and go on with \
             specialise=off",
            self.batch.to,
            hex::encode(self.batch.datas[call])
        ))
    }
}

/// Run a batch on as many threads as pay.
fn in_parts<'a>(bulk: &Bulk<'a>, values: &mut Values, reader: &Reader<'a>, threads: usize) -> Vec<Share> {
    let calls = bulk.datas.len();
    let parts = threads.min(calls / CALLS_A_THREAD).max(1);
    let size = calls.div_ceil(parts);
    let others = (1..parts).map(|part| part * size..((part + 1) * size).min(calls));
    std::thread::scope(|scope| {
        let spawned: Vec<_> = others
            .map(|range| {
                let (mut values, mut reader) =
                    (Values { words: values.words.clone(), scratch: Vec::new() }, reader.clone());
                let again = range.clone();
                let work = move || bulk.run(range, &mut values, &mut reader);
                std::thread::Builder::new().spawn_scoped(scope, work).map_err(|_| again)
            })
            .collect();
        let mut shares = vec![bulk.run(0..size.min(calls), values, &mut reader.clone())];
        for part in spawned {
            shares.push(match part {
                Ok(thread) => match thread.join() {
                    Ok(share) => share,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // A thread that the system does not give is not needed.
                Err(range) => bulk.run(range, values, &mut reader.clone()),
            });
        }
        shares
    })
}
