//! A program as one path: from the inputs of a row to its outputs, with all transactions between.
//!
//! A row that none of the recorded paths fits runs operation by operation, and each of its calls is replayed by itself.

use std::{
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed},
    },
    time::{Duration, Instant},
};

use revm::primitives::U256;

use super::{branches::TreeCode, program_site::ProgramSite, running::Row, twin::Twin};
use crate::specialise::{Mode, Runner, row::PlaneView, sites::paths::Known};
use crate::{
    machine::Failure,
    native::processor::row_loop::SIDE_BY_SIDE,
    rows::program::Program,
    storage::overlay,
    trace::{End, Replay},
};

/// Rows before the first recording: by then they have written what they write.
const BEFORE: u64 = 64;
const BEFORE_CHECK: u64 = 8;
/// First hits of each path and of each code that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;

/// What a thread keeps of a program between its rows.
pub struct Whole {
    key: (u64, usize, usize),
    pub site: Arc<ProgramSite>,
    /// The code as it was when this thread last looked.
    code: Option<Arc<TreeCode>>,
    version: u64,
    hits: u64,
    /// Inputs of the row, and room for its outputs.
    pub words: Vec<U256>,
    pub text: Vec<u8>,
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.site.recorded.count_native(self.hits);
    }
}

impl Runner<'_> {
    /// Have the paths of a program at hand, if it has any.
    pub fn prepare(&mut self, program: &Program) {
        self.whole = self.all.known_program(program).map(|site| Whole::new(program.key(), site));
    }

    /// Run a program on rows that have all they need at hand, their inputs and outputs one behind the other: true for
    /// those that have, and nothing has happened to the others. As many rows as fit are computed side by side.
    pub fn run_at_once(
        &mut self,
        program: &Program,
        rows: &mut [&mut overlay::Row],
        inputs: &[u8],
        outputs: &mut [u8],
    ) -> [bool; SIDE_BY_SIDE] {
        let none = [false; SIDE_BY_SIDE];
        let Some(whole) = self.whole.as_mut().filter(|whole| whole.key == program.key()) else { return none };
        let all = self.all;
        let due = all.mode == Mode::Check || all.is_thorough() || whole.site.recorded.counts.is_due();
        if due || !rows.iter().all(|row| all.is_usual(&row.block)) || !whole.is_ready() {
            return none;
        }
        let Some(code) = whole.code.as_deref().filter(|code| code.reads.is_plain()) else { return none };
        let (given, told) = (inputs.len() / rows.len(), outputs.len() / rows.len());
        let mut gathered = none;
        for (at, row) in rows.iter().enumerate() {
            take_words(&mut whole.words, &inputs[at * given..][..given]);
            let mut view = PlaneView { words: &whole.words, block: &row.block, plane: &row.overlay.plane };
            gathered[at] = code.reads.gather_at(at, &mut self.room, &mut view);
        }
        let mut leaves = [None; SIDE_BY_SIDE];
        match rows.len() {
            SIDE_BY_SIDE => leaves = code.run_gathered(&mut self.room),
            _ => [leaves[0]] = code.run_gathered(&mut self.room),
        }
        let mut done = none;
        for (at, row) in rows.iter_mut().enumerate() {
            let leaf = leaves[at].filter(|leaf| gathered[at] && leaf.fresh.load(Relaxed) >= COMPARED);
            let outputs = &mut outputs[at * told..][..told];
            done[at] = leaf.is_some_and(|leaf| leaf.keep_at_once(row, outputs, code.made(&self.room, at)));
            whole.hits += u64::from(done[at]);
        }
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
        take_words(&mut self.words, row.inputs);
        let thorough = runner.all.is_thorough();
        let code = if !thorough && self.is_ready() { self.code.clone() } else { None };
        if let Some(code) = code
            && self.run_code(&code, runner, program, row)?
        {
            return Ok(());
        }
        let (recorded, mode) = (&self.site.recorded, runner.all.mode);
        let rows = recorded.counts.calls.fetch_add(1, Relaxed) + 1;
        let before = if mode == Mode::Check { BEFORE_CHECK } else { BEFORE };
        if rows <= before || !rows.is_multiple_of(self.site.followed(runner.all)) {
            return row.operate(program, Some(runner));
        }
        if recorded.stale.load(Acquire) {
            recorded.refresh(runner.all);
        }
        self.follow(runner, program, row, rows)
    }

    /// Whether its code may be used. The order matters: paths are forgotten before they are fresh again.
    fn is_ready(&mut self) -> bool {
        let recorded = &self.site.recorded;
        if recorded.is_stale() {
            return false;
        }
        let (generation, version) = (recorded.generation(), self.site.version.load(Acquire));
        if version != self.version {
            let Ok(code) = self.site.code.try_read() else { return false };
            self.code.clone_from(&code);
            self.version = version;
        }
        self.code.as_ref().is_some_and(|code| code.generation == generation)
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
        let compared = fresh || replayed.is_some() || runner.checked || all.mode == Mode::Check;
        let twin = if compared { Some(self.twin(runner, program, row, fresh, replayed)?) } else { None };
        leaf.keep(row, all, number, &room.words.words)?;
        runner.room = room;
        match twin.and_then(|mut twin| twin.difference(row)) {
            Some(found) => Err(self.site.wrong(all, program, row, found, self.site.tree(code.generation))),
            None => Ok(true),
        }
    }

    /// The row as its operations leave it: interpreted where `fresh` or checked, otherwise by replays of its calls.
    fn twin(
        &self,
        runner: &mut Runner<'_>,
        program: &Program,
        row: &mut Row<'_>,
        fresh: bool,
        replayed: Option<Duration>,
    ) -> Result<Twin, Failure> {
        let (mut twin, began) = (Twin::of(row), Instant::now());
        let interpreted = (fresh || runner.checked) && runner.all.mode == Mode::On;
        self.site.recorded.counts.checked();
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
        let (mut values, began) = (recorded.take_values(), Instant::now());
        let replay = paths.tree.replay(&mut values, &mut row.view(&self.words, all));
        recorded.counts.following.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
        match replay {
            Replay::End(step) => {
                let End::Transaction(ending) = paths.tree.end(step) else { return row.operate(program, Some(runner)) };
                site.warm(all, &paths, step, &values);
                recorded.counts.hits.fetch_add(1, Relaxed);
                let seldom = |known: &Known| {
                    known.compared.load(Relaxed) < COMPARED && known.compared.fetch_add(1, Relaxed) < COMPARED
                };
                let fresh = paths.known.get(&step).is_some_and(seldom);
                let compared = fresh || runner.checked || all.mode == Mode::Check;
                let twin = if compared { Some(self.twin(runner, program, row, fresh, None)?) } else { None };
                row.keep(all, (recorded.number(recorded.generation(), step), ending), &values, &mut self.text)?;
                recorded.give_values(values);
                match twin.and_then(|mut twin| twin.difference(row)) {
                    Some(found) => Err(site.wrong(all, program, row, found, Some(paths.tree.saved()))),
                    None => Ok(()),
                }
            }
            Replay::Unknown(step) => {
                recorded.counts.missed(step, || paths.tree.describe(step));
                recorded.give_values(values);
                drop(paths);
                match site.may_record(all, rows) {
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
}

fn take_words(into: &mut Vec<U256>, bytes: &[u8]) {
    let (words, _) = bytes.as_chunks::<32>();
    into.clear();
    into.extend(words.iter().map(|word| U256::from_be_bytes(*word)));
}
