//! A program as one path: from the inputs of a row to its outputs, with all transactions between.
//!
//! A row that none of the recorded paths fits runs operation by operation, and each of its calls is replayed by itself.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

use revm::{
    context::BlockEnv,
    primitives::{Address, B256, U256},
};

use super::{
    Fault, Mode, Runner, Specialiser,
    branches::{TreeCode, TreeDraft},
    compiler::{Order, compile},
    growth::Growth,
    paths::{Known, Paths, SavedPaths},
    recorded::Recorded,
    row::{PlaneView, RowView, keep_changes, raise_nonce},
    twin::Twin,
};
use crate::{
    machine::{Failure, Machine},
    overlay,
    program::Program,
    trace::{End, Ending, Fact, ProgramRecorder, Replay, Values},
};

/// When a program is recorded. With its comparisons a recording costs as much as a hundred rows.
const BEFORE: u64 = 64;
const BEFORE_CHECK: u64 = 8;
const ADVANCE: u64 = 2;
const ADVANCE_CHECK: u64 = 64;
const ROWS_A_RECORDING: u64 = 192;
const HITS_A_RECORDING: u64 = 64;
const MOST_RECORDINGS: u64 = 2_048;
/// One row in so many is followed step by step where no code fits: that takes longer than its operations do.
const FOLLOWED: u64 = 4;
/// First hits of each path and of each code that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;
/// Rows after which one in sixteen must have been replayed, or the program is left to its operations for good.
const TRIAL: u64 = 40_000;

/// The recorded paths of one program, and those of them that are code.
pub struct ProgramSite {
    pub program: u64,
    /// The same in every process.
    pub fingerprint: B256,
    pub recorded: Recorded,
    growth: Mutex<Growth>,
    code: RwLock<Option<Arc<TreeCode>>>,
    /// How often the code has changed.
    version: AtomicU64,
}

impl ProgramSite {
    pub fn new(index: u64, program: &Program, closed: bool) -> Self {
        let site = Self {
            program: program.key().0,
            fingerprint: program.fingerprint(),
            recorded: Recorded::new(index, u32::MAX),
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
    fn warm(self: &Arc<Self>, all: &Specialiser, paths: &Paths, step: usize, values: &Values) {
        let Ok(mut growth) = self.growth.try_lock() else { return };
        let draft = growth.note(all, paths, (self.recorded.generation(), step), values);
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

    fn order(self: &Arc<Self>, draft: Option<TreeDraft>) {
        let Some(draft) = draft.map(Box::new) else { return };
        if compile(Order::Program { draft, into: Arc::downgrade(self) }).is_some() {
            self.growth.lock().unwrap_or_else(PoisonError::into_inner).done();
        }
    }

    /// An order has been carried out.
    pub fn compiled(&self, code: Option<TreeCode>) {
        if let Some(code) = code {
            self.recorded.counts.compiled.store(code.leaves.len() as u64, Relaxed);
            *self.code.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(code));
            self.version.fetch_add(1, Release);
        }
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).done();
    }

    fn wrong(&self, found: &str) -> Failure {
        Failure::Internal(format!(
            "a replayed program differs from its operations: {found}; please report this, and go on with specialise=off"
        ))
    }

    fn may_record(&self, mode: Mode, rows: u64) -> bool {
        let counts = &self.recorded.counts;
        let (hits, recordings) = (counts.hits.load(Relaxed), counts.recordings.load(Relaxed));
        if rows >= TRIAL && hits < rows / 16 {
            counts.switch_off("few rows are replayed");
            return false;
        }
        let advance = if mode == Mode::Check { ADVANCE_CHECK } else { ADVANCE };
        let paid = advance + rows / ROWS_A_RECORDING + hits / HITS_A_RECORDING;
        !self.recorded.full.load(Relaxed) && recordings < MOST_RECORDINGS.min(paid)
    }
}

/// A row that is to run a program.
pub struct Row<'a> {
    pub machine: &'a mut Machine,
    pub block: &'a mut BlockEnv,
    pub inputs: &'a [u8],
    pub registers: &'a mut Vec<U256>,
    pub outputs: &'a mut [u8],
}

impl Row<'_> {
    pub fn operate(&mut self, program: &Program, runner: Option<&mut Runner<'_>>) -> Result<(), Failure> {
        program.run(self.machine, self.block, self.inputs, self.registers, self.outputs, runner)
    }

    fn view<'v>(&'v mut self, words: &'v [U256], all: &'v Specialiser) -> RowView<'v> {
        let (database, places) = (self.machine.database(), &all.places);
        RowView { holes: words, block: self.block, sender: Address::ZERO, database, places }
    }

    /// Keep what a path leaves: slots, nonces, time and outputs.
    pub fn keep(
        &mut self,
        all: &Specialiser,
        (number, ending): (u64, &Ending),
        values: &Values,
        text: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let database = self.machine.database();
        let missing = |miss| Failure::Missing(vec![miss]);
        for (sender, by) in &ending.nonces {
            raise_nonce(database, *sender, *by).map_err(missing)?;
        }
        keep_changes(database, (number, ending), values, (&all.watch, &all.places)).map_err(missing)?;
        text.clear();
        values.write_into(&ending.output, text);
        let (outputs, time) = text.split_at(self.outputs.len());
        self.outputs.copy_from_slice(outputs);
        self.block.number = U256::from_be_slice(&time[..32]);
        self.block.timestamp = U256::from_be_slice(&time[32..]);
        Ok(())
    }
}

/// What a thread keeps of a program between its rows.
pub struct Whole {
    key: (u64, usize, usize),
    site: Arc<ProgramSite>,
    /// The code as it was when this thread last looked.
    code: Option<Arc<TreeCode>>,
    version: u64,
    hits: u64,
    /// Inputs of the row, and room for its outputs.
    words: Vec<U256>,
    text: Vec<u8>,
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.site.recorded.count_native(self.hits);
    }
}

impl Runner<'_> {
    /// Run a program on a row that has all it needs at hand; false, and nothing has happened, if it has not.
    pub fn run_at_once(
        &mut self,
        program: &Program,
        row: &mut overlay::Row,
        inputs: &[u8],
        outputs: &mut [u8],
    ) -> bool {
        let Some(whole) = self.whole.as_mut().filter(|whole| whole.key == program.key()) else { return false };
        let counts = &whole.site.recorded.counts;
        if self.all.mode == Mode::Check || counts.is_due() || !self.all.is_usual(&row.block) {
            return false;
        }
        let Some(code) = whole.ready().filter(|code| code.reads.is_plain()) else { return false };
        whole.take_inputs(inputs);
        let mut view = PlaneView { words: &whole.words, block: &row.block, plane: &row.overlay.plane };
        let Some(leaf) = code.run(&mut self.room, &mut view) else { return false };
        let fresh = leaf.fresh.load(Relaxed) < COMPARED;
        let done = !fresh && leaf.keep_at_once(row, outputs, &self.room.words.words);
        whole.hits += u64::from(done);
        done
    }

    /// Run a program on a row: as a whole where its path is known, otherwise operation by operation.
    pub fn run(&mut self, program: &Program, row: &mut Row<'_>) -> Result<(), Failure> {
        let all = self.all;
        let key = program.key();
        let kept = self.whole.take().filter(|whole| whole.key == key);
        let found = kept.or_else(|| Some(Whole::new(key, all.program(program, row.machine)?)));
        let Some(mut whole) = found else { return row.operate(program, Some(self)) };
        let result = if whole.site.recorded.counts.is_off() || !all.is_usual(row.block) {
            row.operate(program, Some(self))
        } else {
            whole.run(self, program, row)
        };
        self.whole = Some(whole);
        result
    }
}

impl Whole {
    fn new(key: (u64, usize, usize), site: Arc<ProgramSite>) -> Self {
        Self { key, site, code: None, version: u64::MAX, hits: 0, words: Vec::new(), text: Vec::new() }
    }

    fn run(&mut self, runner: &mut Runner<'_>, program: &Program, row: &mut Row<'_>) -> Result<(), Failure> {
        self.take_inputs(row.inputs);
        if let Some(code) = self.ready()
            && self.run_code(&code, runner, program, row)?
        {
            return Ok(());
        }
        let (recorded, mode) = (&self.site.recorded, runner.all.mode);
        let rows = recorded.counts.calls.fetch_add(1, Relaxed) + 1;
        let (before, followed) = if mode == Mode::Check { (BEFORE_CHECK, 1) } else { (BEFORE, FOLLOWED) };
        if rows <= before || !rows.is_multiple_of(followed) {
            return row.operate(program, Some(runner));
        }
        if recorded.stale.load(Acquire) {
            recorded.refresh(runner.all);
        }
        self.follow(runner, program, row, rows)
    }

    fn take_inputs(&mut self, inputs: &[u8]) {
        let (words, _) = inputs.as_chunks::<32>();
        self.words.clear();
        self.words.extend(words.iter().map(|word| U256::from_be_bytes(*word)));
    }

    /// Code that may be used. The order matters: paths are forgotten before they are fresh again.
    fn ready(&mut self) -> Option<Arc<TreeCode>> {
        let recorded = &self.site.recorded;
        if recorded.is_stale() {
            return None;
        }
        let (generation, version) = (recorded.generation(), self.site.version.load(Acquire));
        if version != self.version {
            self.code.clone_from(&*self.site.code.try_read().ok()?);
            self.version = version;
        }
        self.code.as_ref().filter(|code| code.generation == generation).map(Arc::clone)
    }

    /// Run the code on the row; false, and nothing has happened, if no path of it fits.
    fn run_code(
        &mut self,
        code: &TreeCode,
        runner: &mut Runner<'_>,
        program: &Program,
        row: &mut Row<'_>,
    ) -> Result<bool, Failure> {
        let all = runner.all;
        let began = self.site.recorded.counts.is_timed().then(Instant::now);
        let mut room = std::mem::take(&mut runner.room);
        let Some(leaf) = code.run(&mut room, &mut row.view(&self.words, all)) else {
            runner.room = room;
            return Ok(false);
        };
        self.hits += 1;
        let fresh = leaf.fresh.load(Relaxed) < COMPARED && leaf.fresh.fetch_add(1, Relaxed) < COMPARED;
        let replayed = began.map(|began| began.elapsed());
        let number = self.site.recorded.number(code.generation, leaf.step);
        let compared = fresh || replayed.is_some() || all.mode == Mode::Check;
        let twin = if compared { Some(self.twin(runner, program, row, fresh, replayed)?) } else { None };
        leaf.keep(row, all, number, &room.words.words)?;
        runner.room = room;
        match twin.and_then(|mut twin| twin.difference(row)) {
            Some(found) => Err(self.site.wrong(&found)),
            None => Ok(true),
        }
    }

    /// The row as its operations leave it: interpreted where `fresh`, otherwise by replays of its calls.
    fn twin(
        &self,
        runner: &mut Runner<'_>,
        program: &Program,
        row: &mut Row<'_>,
        fresh: bool,
        replayed: Option<Duration>,
    ) -> Result<Twin, Failure> {
        let (mut twin, began) = (Twin::of(row), Instant::now());
        let interpreted = fresh && runner.all.mode == Mode::On;
        twin.operate(program, row, (!interpreted).then_some(&mut *runner))?;
        if let Some(replayed) = replayed.filter(|_| runner.all.mode == Mode::On && !interpreted) {
            self.site.recorded.counts.time(replayed, began.elapsed());
        }
        Ok(twin)
    }

    /// Go through the tree of paths, step by step.
    fn follow(
        &mut self,
        runner: &mut Runner<'_>,
        program: &Program,
        row: &mut Row<'_>,
        rows: u64,
    ) -> Result<(), Failure> {
        let (all, site) = (runner.all, Arc::clone(&self.site));
        let recorded = &site.recorded;
        // While another thread records here, the operations are faster than waiting.
        let Ok(paths) = recorded.paths.try_read() else { return row.operate(program, Some(runner)) };
        let mut values = recorded.take_values();
        match paths.tree.replay(&mut values, &mut row.view(&self.words, all)) {
            Replay::End(step) => {
                let End::Transaction(ending) = paths.tree.end(step) else { return row.operate(program, Some(runner)) };
                site.warm(all, &paths, step, &values);
                recorded.counts.hits.fetch_add(1, Relaxed);
                let seldom = |known: &Known| {
                    known.compared.load(Relaxed) < COMPARED && known.compared.fetch_add(1, Relaxed) < COMPARED
                };
                let fresh = paths.known.get(&step).is_some_and(seldom);
                let compared = fresh || all.mode == Mode::Check;
                let twin = if compared { Some(self.twin(runner, program, row, fresh, None)?) } else { None };
                row.keep(all, (recorded.number(recorded.generation(), step), ending), &values, &mut self.text)?;
                recorded.give_values(values);
                match twin.and_then(|mut twin| twin.difference(row)) {
                    Some(found) => Err(site.wrong(&found)),
                    None => Ok(()),
                }
            }
            Replay::Unknown(step) => {
                recorded.counts.missed(step, || paths.tree.describe(step));
                recorded.give_values(values);
                drop(paths);
                match site.may_record(all.mode, rows) {
                    true => self.record(runner, program, row),
                    false => row.operate(program, Some(runner)),
                }
            }
            Replay::Interpret => {
                recorded.counts.left.fetch_add(1, Relaxed);
                recorded.give_values(values);
                drop(paths);
                row.operate(program, Some(runner))
            }
        }
    }

    /// Interpret the row, and know its path from now on.
    fn record(&mut self, runner: &mut Runner<'_>, program: &Program, row: &mut Row<'_>) -> Result<(), Failure> {
        let (all, site, started) = (runner.all, Arc::clone(&self.site), Instant::now());
        let recorded = &site.recorded;
        let mut paths = recorded.paths.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have recorded the same path while this one waited.
        if !matches!(paths.tree.replay(&mut Values::default(), &mut row.view(&self.words, all)), Replay::Unknown(_)) {
            drop(paths);
            return row.operate(program, Some(runner));
        }
        recorded.counts.recordings.fetch_add(1, Relaxed);
        let mut before = Twin::of(row);
        let mut recorder = ProgramRecorder::new(&mut paths.tree.graph, &all.watch, &all.places);
        let Row { machine, block, inputs, registers, outputs } = row;
        let words = program.record(machine, block, inputs, registers, outputs, runner, &mut recorder)?;
        let (mut path, folded) = recorder.finish(words.as_deref());
        match (all.fault, &mut path.end) {
            (Some(Fault::ProgramGuard), _) => _ = path.guards.pop(),
            (Some(Fault::ProgramWrite), End::Transaction(ending)) => _ = ending.writes.pop(),
            _ => {}
        }
        // What the path writes is no constant; a path that took it for one is of no use.
        if let End::Transaction(ending) = &path.end {
            let graph = &paths.tree.graph;
            let fixed = ending.writes.iter().filter_map(|write| Some((write.address, graph.as_constant(write.key)?)));
            all.watch.change(fixed.map(|(address, key)| Fact::Slot(address, key)));
        }
        let found = if recorded.stale.load(Acquire) || !all.watch.rely(&folded, &recorded.stale) {
            recorded.counts.discarded.fetch_add(1, Relaxed);
            None
        } else {
            self.add(all, &mut paths, path, row, &mut before)?
        };
        recorded.weigh(all, &paths);
        drop(paths);
        recorded.counts.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        match found {
            Some(found) if all.mode == Mode::Check => Err(site.wrong(&format!("while it was recorded, {found}"))),
            Some(found) => {
                recorded.counts.switch_off(&found);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Add a path. One that does not lead its own row to its own end would lead no other one right.
    fn add(
        &mut self,
        all: &Specialiser,
        paths: &mut Paths,
        path: crate::trace::Path,
        row: &mut Row<'_>,
        before: &mut Twin,
    ) -> Result<Option<String>, Failure> {
        let recorded = &self.site.recorded;
        let replayable = matches!(path.end, End::Transaction(_));
        let (guards, origins) = (path.guards.clone(), path.origins.clone());
        if !paths.tree.insert(path) {
            return Ok(Some("its path contradicts an earlier one".into()));
        }
        let (words, text) = (&self.words, &mut self.text);
        let replay = before.exchange(row, |row| {
            let mut values = Values::default();
            let replay = paths.tree.replay(&mut values, &mut row.view(words, all));
            if let Replay::End(step) = replay
                && let End::Transaction(ending) = paths.tree.end(step)
            {
                row.keep(all, (recorded.number(recorded.generation(), step), ending), &values, text)?;
            }
            Ok::<_, Failure>(replay)
        })?;
        Ok(match replay {
            Replay::End(step) => {
                paths.known.insert(step, Known::new(guards, origins));
                recorded.counts.paths.fetch_add(1, Relaxed);
                before.difference(row)
            }
            Replay::Interpret => {
                recorded.counts.fruitless.fetch_add(1, Relaxed);
                None
            }
            Replay::Unknown(_) if !replayable => None,
            Replay::Unknown(_) => Some("its path does not lead to its end".into()),
        })
    }
}
