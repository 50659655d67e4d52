//! One call site: the recorded paths of a template with its target and sender.

use std::{
    sync::{
        PoisonError,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed},
        },
    },
    time::{Duration, Instant},
};

use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    context_interface::cfg::GasParams,
    primitives::Address,
    state::EvmState,
};

use super::{
    compare::{difference, logs_differ, touched},
    paths::{Known, Paths, SavedPaths},
    shape::Tariff,
    show::SiteShown,
};
use crate::specialise::{
    Answer, Call, CallTask, Difference, Fault, Inputs, Mode, Specialiser, Task, recorded::Recorded, row::keep,
    statistics::SiteStatistics,
};
use crate::{
    machine::{Failure, Machine},
    trace::{DataGas, End, Ending, Fact, Recorder, Replay, SavedTree, Values},
};

/// When a site records.
struct Pace {
    /// Calls before the first recording: by then the rows have written what they write.
    before: u64,
    /// Recordings that may come before any has paid.
    advance: u64,
    /// Calls, and replayed calls, that pay for one more. With its comparisons a recording costs as much as seven calls.
    calls: u64,
    hits: u64,
}

/// A short run is hardly slower than without.
const CAREFUL: Pace = Pace { before: 64, advance: 2, calls: 48, hits: 8 };
/// A check is after as many replays as possible.
const EAGER: Pace = Pace { before: 8, advance: 64, calls: 24, hits: 8 };

impl Pace {
    fn of(mode: Mode) -> &'static Self {
        match mode {
            Mode::On => &CAREFUL,
            Mode::Check => &EAGER,
        }
    }
}

/// Replays of a path after which it becomes code.
const WARM: u32 = 512;
/// Recordings of one site.
const MOST_RECORDINGS: u64 = 4_096;
/// Hits of each path that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;
/// Calls after which a site must have replayed one in eight, or it is left to the interpreter for good.
const TRIAL: u64 = 20_000;

pub struct Site {
    to: Address,
    sender: Address,
    selector: [u8; 4],
    holes: Vec<usize>,
    tariff: Tariff,
    pub recorded: Recorded,
}

impl Site {
    pub fn new(index: u64, call: &Call<'_>, params: &GasParams) -> Self {
        let mut selector = [0; 4];
        let there = call.shape.data.len().min(4);
        selector[..there].copy_from_slice(&call.shape.data[..there]);
        Self {
            to: call.to,
            sender: call.sender,
            selector,
            holes: call.shape.holes.clone(),
            tariff: Tariff::new(call.shape, params),
            recorded: Recorded::new(index, WARM),
        }
    }

    /// What the calldata of a call costs; none where the gas limit may not allow it.
    pub fn data_gas(&self, call: &Call<'_>) -> Option<DataGas> {
        self.tariff.of(call.holes)
    }

    /// Interpret a replayed call too, before it is kept: what differs, in words.
    #[allow(clippy::too_many_arguments)]
    pub fn verify(
        &self,
        all: &Specialiser,
        machine: &mut Machine,
        call: &Call<'_>,
        (ending, values, gas): (&Ending, &Values, u64),
        tx: TxEnv,
        replayed: Option<Duration>,
        logs: impl FnOnce(&ExecutionResult, &mut Machine) -> Option<String>,
    ) -> Result<Option<String>, Failure> {
        self.recorded.counts.checked();
        let began = Instant::now();
        let (result, state) = machine.run(tx)?;
        if let Some(replayed) = replayed.filter(|_| all.mode == Mode::On) {
            self.recorded.counts.time(replayed, began.elapsed());
        }
        let found = difference(ending, values, gas, (&result, &state), call.sender);
        Ok(found.or_else(|| logs(&result, machine)))
    }

    /// Its paths as data; none where they were forgotten since.
    pub fn tree(&self, generation: u64) -> Option<SavedTree> {
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
        (generation == self.recorded.generation()).then(|| paths.tree.saved())
    }

    /// What differs between the logs of a path and those of the interpreter. A path that is forgotten has none to compare.
    pub fn logs_differ(
        &self,
        all: &Specialiser,
        (generation, step): (u64, usize),
        result: &ExecutionResult,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
    ) -> Option<String> {
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
        if generation != self.recorded.generation() {
            return None;
        }
        self.logs_of_path_differ(all, &paths, step, result, machine, block, call)
    }

    #[allow(clippy::too_many_arguments)]
    fn logs_of_path_differ(
        &self,
        all: &Specialiser,
        paths: &Paths,
        step: usize,
        result: &ExecutionResult,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
    ) -> Option<String> {
        let End::Transaction(ending) = paths.tree.end(step) else { return Some("its path has no end".into()) };
        let (mut values, mut view) = (Values::default(), all.view(machine, block, call));
        values.grow(&paths.tree.graph);
        if !paths.tree.evaluate(&ending.log_nodes(), &mut values, &mut view) {
            return Some("a log cannot be read".into());
        }
        logs_differ(ending, &values, result)
    }

    pub fn call(
        &self,
        all: &Specialiser,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
        (began, checked): (Option<Instant>, bool),
        tx: impl FnOnce() -> Result<TxEnv, Failure>,
    ) -> Result<Answer, Failure> {
        let calls = self.recorded.counts.calls.fetch_add(1, Relaxed) + 1;
        let interpret = |machine: &mut Machine, tx| all.interpret(machine, tx, call.commit).map(Answer::Interpreted);
        let begun = self.is_begun(all.mode, calls) && !self.recorded.counts.is_off();
        let data = self.tariff.of(call.holes).filter(|_| begun);
        let Some(data) = data else { return interpret(machine, tx()?) };
        if self.recorded.stale.load(Acquire) {
            self.recorded.refresh(all);
        }
        // While another thread records here, the interpreter is faster than waiting.
        let Ok(paths) = self.recorded.paths.try_read() else { return interpret(machine, tx()?) };
        let mut values = self.recorded.take_values();
        let mut view = all.view(machine, block, call);
        match paths.replay(&mut values, &mut view, &self.recorded.counts) {
            Replay::End(step) => {
                let End::Transaction(ending) = paths.tree.end(step) else { return interpret(machine, tx()?) };
                self.recorded.counts.hits.fetch_add(1, Relaxed);
                let gas = ending.gas.used(&values, &all.params, data, ending.success);
                let replayed = began.map(|began| began.elapsed());
                if replayed.is_some() || checked || self.is_compared(all, &paths, step) {
                    let end = (&**ending, &values, gas);
                    let found = self.verify(all, machine, call, end, tx()?, replayed, |result, machine| {
                        self.logs_of_path_differ(all, &paths, step, result, machine, block, call)
                    })?;
                    if let Some(found) = found {
                        return Err(self.wrong(all, machine, block, call, found, Some(paths.tree.saved())));
                    }
                }
                let output = values.write(&ending.output);
                let (success, code_ran) = (ending.success, ending.ran);
                if call.commit {
                    keep(
                        machine.database(),
                        (self.recorded.number(self.recorded.generation(), step), ending),
                        &values,
                        call.sender,
                        (&all.watch, &all.places),
                    )
                    .map_err(|miss| Failure::Missing(vec![miss]))?;
                }
                self.recorded.give_values(values);
                drop(paths);
                Ok(Answer::Replayed { success, gas, output, code_ran })
            }
            Replay::Unknown(step) => {
                self.recorded.counts.missed(step, || paths.tree.describe(step));
                self.recorded.give_values(values);
                drop(paths);
                if self.may_record(all.mode, calls) {
                    self.record(all, machine, block, call, tx()?, data)
                } else {
                    interpret(machine, tx()?)
                }
            }
            Replay::Interpret => {
                self.recorded.counts.left.fetch_add(1, Relaxed);
                self.recorded.give_values(values);
                drop(paths);
                interpret(machine, tx()?)
            }
        }
    }

    fn is_compared(&self, all: &Specialiser, paths: &Paths, step: usize) -> bool {
        let seldom = |path: &AtomicU32| path.load(Relaxed) < COMPARED && path.fetch_add(1, Relaxed) < COMPARED;
        all.mode == Mode::Check || paths.known.get(&step).is_some_and(|path| seldom(&path.compared))
    }

    /// A replay that is not what the interpreter gives: nothing recorded here is used again.
    pub fn wrong(
        &self,
        all: &Specialiser,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
        found: String,
        tree: Option<SavedTree>,
    ) -> Failure {
        self.recorded.counts.refuse();
        let mut data = call.shape.data.clone();
        for (at, word) in self.holes.iter().zip(call.holes) {
            data[*at..*at + 32].copy_from_slice(&word.to_be_bytes::<32>());
        }
        let (to, sender, gas) = (self.to, self.sender, call.shape.gas);
        let inputs = Inputs::Words(self.holes.clone());
        let task = Task::Call(CallTask { to, sender, data, gas, gas_price: 0, priority_fee: None, inputs });
        let difference = Difference::new(found, task, tree, (&all.settings, block));
        Failure::Differs(Box::new(difference.in_machine(machine)))
    }

    fn may_record(&self, mode: Mode, calls: u64) -> bool {
        let counts = &self.recorded.counts;
        let (hits, recordings) = (counts.hits.load(Relaxed), counts.recordings.load(Relaxed));
        if calls >= TRIAL && hits < calls / 8 {
            counts.switch_off("few calls are replayed");
            return false;
        }
        let pace = Pace::of(mode);
        let paid = pace.advance + calls / pace.calls + hits / pace.hits;
        !self.recorded.full.load(Relaxed) && recordings < MOST_RECORDINGS.min(paid)
    }

    /// Interpret a call, and know its path from now on.
    fn record(
        &self,
        all: &Specialiser,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
        tx: TxEnv,
        data: DataGas,
    ) -> Result<Answer, Failure> {
        let started = Instant::now();
        let mut paths = self.recorded.paths.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have recorded the same path while this one waited.
        let mut view = all.view(machine, block, call);
        if !matches!(paths.tree.replay(&mut Values::default(), &mut view), Replay::Unknown(_)) {
            drop(paths);
            return all.interpret(machine, tx, call.commit).map(Answer::Interpreted);
        }
        self.recorded.counts.recordings.fetch_add(1, Relaxed);
        let mut recorder = Recorder::of_transaction(&mut paths.tree.graph, &self.holes, &all.watch, &all.places);
        let (result, state) = machine.record_transaction(tx, &mut recorder)?;
        let (mut path, folded) = recorder.finish_transaction(&result, touched(&state, call.sender));
        if all.fault == Some(Fault::Guard) {
            path.guards.pop();
        }
        // What the path writes is no constant; a path that took it for one is of no use.
        if let End::Transaction(ending) = &path.end {
            let graph = &paths.tree.graph;
            let fixed = ending.writes.iter().filter_map(|write| Some((write.address, graph.as_constant(write.key)?)));
            all.watch.change(fixed.map(|(address, key)| Fact::Slot(address, key)));
        }
        let stale = self.recorded.stale.load(Acquire);
        if !stale && all.watch.rely(&folded, &self.recorded.stale) {
            self.add(all, &mut paths, path, machine, block, call, (&result, &state), data)?;
        } else {
            self.recorded.counts.discarded.fetch_add(1, Relaxed);
        }
        self.recorded.weigh(all, &paths);
        drop(paths);
        self.recorded.counts.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        if call.commit {
            all.commit(machine, state);
        }
        Ok(Answer::Interpreted(result))
    }

    /// Add a path. One that does not lead its own call to its own end would lead no other one right.
    #[allow(clippy::too_many_arguments)]
    fn add(
        &self,
        all: &Specialiser,
        paths: &mut Paths,
        path: crate::trace::Path,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
        (result, state): (&ExecutionResult, &EvmState),
        data: DataGas,
    ) -> Result<(), Failure> {
        let replayable = matches!(path.end, End::Transaction(_));
        let (guards, origins) = (path.guards.clone(), path.origins.clone());
        let found = if !paths.tree.insert(path) {
            Some("its path contradicts an earlier one".to_string())
        } else {
            let mut values = Values::default();
            let mut view = all.view(machine, block, call);
            match paths.tree.replay(&mut values, &mut view) {
                Replay::End(step) => {
                    let wanted = match paths.tree.end(step) {
                        End::Transaction(ending) => ending.log_nodes(),
                        _ => Vec::new(),
                    };
                    paths.tree.evaluate(&wanted, &mut values, &mut view);
                    paths.known.insert(step, Known::new(guards, origins));
                    self.recorded.counts.paths.fetch_add(1, Relaxed);
                    let Some(ending) = paths.tree.ending_mut(step) else { return Ok(()) };
                    settle_gas(ending, &values, &all.params);
                    let gas = ending.gas.used(&values, &all.params, data, ending.success);
                    difference(ending, &values, gas, (result, state), call.sender)
                        .or_else(|| logs_differ(ending, &values, result))
                }
                Replay::Interpret => {
                    self.recorded.counts.fruitless.fetch_add(1, Relaxed);
                    None
                }
                Replay::Unknown(_) if !replayable => None,
                Replay::Unknown(_) => Some("its path does not lead to its end".to_string()),
            }
        };
        let Some(found) = found else { return Ok(()) };
        self.recorded.counts.mismatched(&found);
        match all.mode {
            Mode::Check => {
                let found = format!("while it was recorded, {found}");
                Err(self.wrong(all, machine, block, call, found, Some(paths.tree.saved())))
            }
            Mode::On => Ok(()),
        }
    }

    /// Whether its calls are looked at: enough of them were made, or another process has recorded paths.
    fn is_begun(&self, mode: Mode, calls: u64) -> bool {
        calls > Pace::of(mode).before || self.recorded.counts.cached.load(Relaxed) > 0
    }

    /// Its paths as data, and what they rely on; none where there are none to keep.
    pub fn saved(&self, all: &Specialiser) -> Option<(Vec<Fact>, SavedPaths)> {
        self.recorded.saved(all)
    }

    /// Take up paths of another process, before the first call. False where they do not fit.
    pub fn take_up(&self, all: &Specialiser, folded: &[Fact], saved: SavedPaths) -> bool {
        let taken = self.recorded.take_up(all, folded, saved, self.holes.len());
        if taken {
            let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner);
            paths.compile_again(&self.recorded.counts);
        }
        taken
    }

    pub fn selector(&self) -> [u8; 4] {
        self.selector
    }

    pub fn show(&self) -> SiteShown {
        let paths = self.recorded.paths.read().unwrap_or_else(PoisonError::into_inner).show();
        SiteShown::new(self.to, self.sender, self.selector, paths)
    }

    pub fn statistics(&self) -> SiteStatistics {
        self.recorded.counts.statistics(self.to, self.sender, self.selector)
    }
}

/// The gas of the recorded call is known as a whole: what does not vary is the rest.
pub fn settle_gas(ending: &mut Ending, values: &Values, params: &GasParams) {
    let (varying, _) = ending.gas.varying(values, params);
    ending.gas.constant = ending.gas.constant.saturating_sub(varying);
}
