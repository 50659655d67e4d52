//! Many calls of one contract on one state: nothing is kept, so threads may share the state and take calls as they come.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use revm::{
    context::{
        BlockEnv, TxEnv,
        result::{ExecutionResult, Output},
    },
    primitives::{Address, Bytes, HashMap, TxKind, U256},
};

use crate::{
    evm::transaction,
    machine::{Failure, Machine, Settings, with_shared},
    specialise::{CallTask, Difference, Inputs, Mode, SelfCheck, Task, self_check::OF_MANY, views::Ground},
    storage::{
        database::Miss,
        overlay::{Overlay, Row},
        world::World,
    },
    trace::{Layout, Traced, Traces},
};

/// Calls a thread takes at a time: few enough to balance, enough to not matter.
const CHUNK: usize = 64;

/// What is to be called, with which data, by whom.
pub struct Batch<'a> {
    pub to: Address,
    pub sender: Address,
    pub gas: u64,
    pub datas: &'a [&'a [u8]],
    /// Where the calldata may differ, 32 bytes each; none where that is to be found out.
    pub holes: Option<&'a [usize]>,
    /// Whether every call is interpreted too, and compared.
    pub verify: bool,
    /// Whether calls are replayed; if not, and nothing is to be verified, every call is interpreted.
    pub mode: Option<Mode>,
    /// Which calls are checked beside those: the number of the first. None for a single call, which has its own say.
    pub checked: Option<(SelfCheck, u64)>,
}

impl Batch<'_> {
    /// Whether a call is interpreted too if it is replayed.
    pub fn is_checked(&self, call: usize) -> bool {
        self.compares() || self.checked.is_some_and(|(check, first)| check.picks(first + call as u64, 0, OF_MANY))
    }

    /// Whether replayed calls are compared with interpreted ones.
    fn compares(&self) -> bool {
        self.verify || self.mode == Some(Mode::Check)
    }

    pub fn transaction(&self, data: &[u8]) -> TxEnv {
        TxEnv {
            caller: self.sender,
            gas_limit: self.gas,
            kind: TxKind::Call(self.to),
            data: Bytes::copy_from_slice(data),
            ..transaction(TxKind::Call(self.to), &[], None, U256::ZERO, None, 0, None, 0)
        }
    }
}

/// What a call gave: its output, or how it failed.
pub enum Outcome {
    Output(Bytes),
    Failed(Box<ExecutionResult>),
}

impl Outcome {
    pub fn of(result: ExecutionResult) -> Self {
        match result {
            ExecutionResult::Success { output: Output::Call(data), .. } => Self::Output(data),
            ExecutionResult::Success { output, .. } => Self::Output(output.into_data()),
            failed => Self::Failed(Box::new(failed)),
        }
    }
}

/// Outputs of calls that took one path.
pub struct Answers {
    pub path: usize,
    pub calls: Vec<usize>,
    /// Bytes of an output.
    pub length: usize,
    /// One output after the other.
    pub outputs: Bytes,
}

impl Answers {
    /// Every call with its output.
    pub fn each(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let output = |(at, call): (usize, &usize)| (*call, &self.outputs[at * self.length..(at + 1) * self.length]);
        self.calls.iter().enumerate().map(output)
    }
}

/// What the calls of a batch gave: by code many at once, else one by one.
#[derive(Default)]
pub struct Outcomes {
    pub answers: Vec<Answers>,
    pub single: Vec<(usize, Outcome)>,
}

impl Outcomes {
    /// One by one, in order.
    pub fn in_order(self) -> Vec<Outcome> {
        let mut all = self.single;
        for Answers { calls, length, outputs, .. } in self.answers {
            let output = |at| Outcome::Output(outputs.slice(at * length..(at + 1) * length));
            all.extend(calls.into_iter().enumerate().map(|(at, call)| (call, output(at))));
        }
        all.sort_unstable_by_key(|(call, _)| *call);
        all.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

/// How the calls of a batch were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Calls whose output came from a trace.
    pub replayed: usize,
    /// Calls that went through the interpreter, recordings included.
    pub interpreted: usize,
    /// Paths that were recorded, all threads together.
    pub traces: usize,
    /// Operations of these paths; shared ones count once.
    pub operations: usize,
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.replayed += other.replayed;
        self.interpreted += other.interpreted;
        self.traces += other.traces;
        self.operations += other.operations;
    }
}

/// Results of one thread: outcomes by the index of their first call, and missing state.
#[derive(Default)]
struct Share {
    outcomes: Vec<(usize, Vec<Outcome>)>,
    missing: BTreeSet<Miss>,
    failure: Option<(usize, Failure)>,
    effort: Effort,
}

/// Every call's outcome, in order. What any of them lacks is reported for all of them together.
pub fn run(
    world: &Arc<World>,
    row: &mut Row,
    settings: &Settings,
    probe: bool,
    threads: usize,
    batch: &Batch<'_>,
) -> Result<(Outcomes, Effort), Failure> {
    let (overlay, kept) = by_kept_paths(world, row, settings, probe, threads, batch);
    let done = match kept {
        // What is missing is reported for all calls together.
        Ok(None) | Err(Failure::Missing(_)) => run_once(world, &overlay, &row.block, settings, probe, threads, batch),
        Ok(Some(done)) => Ok(done),
        Err(failure) => Err(failure),
    };
    give_back(row, overlay);
    done
}

/// A single call's outcome by paths that are kept; none where it is to be interpreted.
pub fn run_single(
    world: &Arc<World>,
    row: &mut Row,
    settings: &Settings,
    batch: &Batch<'_>,
) -> Result<Option<Outcome>, Failure> {
    let (overlay, kept) = by_kept_paths(world, row, settings, false, 1, batch);
    give_back(row, overlay);
    match kept {
        Err(Failure::Missing(_)) => Ok(None),
        kept => Ok(kept?.and_then(|(outcomes, _)| outcomes.in_order().pop())),
    }
}

type Kept = Result<Option<(Outcomes, Effort)>, Failure>;

/// Every call's outcome by paths that are kept, if the batch is for them; and the row's writes, shared meanwhile.
fn by_kept_paths(
    world: &Arc<World>,
    row: &mut Row,
    settings: &Settings,
    probe: bool,
    threads: usize,
    batch: &Batch<'_>,
) -> (Arc<Overlay>, Kept) {
    row.overlay.flush();
    row.overlay.changes.watch();
    let overlay = Arc::new(std::mem::take(&mut row.overlay));
    let Some(mode) = batch.mode.filter(|_| !probe) else { return (overlay, Ok(None)) };
    let kept = with_shared(world, &overlay, &row.block, settings, false, |machine| {
        let ground = Ground { world, overlay: &overlay, block: &row.block, settings, mode, threads };
        world.views.run(machine, &ground, batch)
    });
    (overlay, kept)
}

/// The threads are gone, and with them every other share of the writes.
fn give_back(row: &mut Row, overlay: Arc<Overlay>) {
    row.overlay = Arc::try_unwrap(overlay).unwrap_or_else(|shared| (*shared).clone());
}

/// Every call's outcome, by recordings for this batch alone, or by the interpreter if nothing is to be replayed.
fn run_once(
    world: &Arc<World>,
    overlay: &Arc<Overlay>,
    block: &BlockEnv,
    settings: &Settings,
    probe: bool,
    threads: usize,
    batch: &Batch<'_>,
) -> Result<(Outcomes, Effort), Failure> {
    let threads = threads.clamp(1, batch.datas.len().div_ceil(CHUNK).max(1));
    let replays = batch.mode.is_some() || batch.verify;
    let layouts = if replays { Layout::of(batch.datas) } else { HashMap::default() };
    let next = AtomicUsize::new(0);
    let work = || {
        with_shared(world, overlay, block, settings, probe, |machine| {
            let mut worker = Worker { machine, batch, probe, traces: HashMap::default(), done: Share::default() };
            worker.work(&layouts, threads, &next);
            Ok(worker.done)
        })
    };
    let shares: Vec<Result<Share, Failure>> = std::thread::scope(|scope| {
        // A thread that the system does not give is not needed: the others take its calls.
        let others: Vec<_> =
            (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(share) => share,
            Err(_) => Err(Failure::Internal("a thread of the batch panicked".into())),
        });
        std::iter::once(own).chain(joined).collect()
    });
    gather(shares)
}

/// State of one thread: its machine and its recordings, by length of calldata.
struct Worker<'a> {
    machine: &'a mut Machine,
    batch: &'a Batch<'a>,
    probe: bool,
    traces: HashMap<usize, Traces<'a>>,
    done: Share,
}

impl<'a> Worker<'a> {
    /// Calls as they come, until there are none left.
    fn work(&mut self, layouts: &'a HashMap<usize, Layout>, threads: usize, next: &AtomicUsize) {
        for (length, layout) in layouts {
            self.traces.insert(*length, Traces::new(layout, self.batch.sender, threads));
        }
        'work: loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(datas) = self.batch.datas.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let mut outcomes = Vec::with_capacity(CHUNK);
            for (i, data) in datas.iter().take(CHUNK).enumerate() {
                match self.call(first + i, data) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(Failure::Missing(misses)) => self.done.missing.extend(misses),
                    Err(failure) => {
                        self.done.failure = Some((first + i, failure));
                        break 'work;
                    }
                }
            }
            self.done.outcomes.push((first, outcomes));
        }
        for traces in self.traces.values() {
            self.done.effort.traces += traces.recordings();
            self.done.effort.operations += traces.operations();
        }
    }

    fn call(&mut self, number: usize, data: &[u8]) -> Result<Outcome, Failure> {
        match self.traced(data)? {
            Traced::Replayed(output, compare) => {
                self.done.effort.replayed += 1;
                if compare || self.batch.is_checked(number) {
                    self.compare(data, &output)?;
                }
                Ok(Outcome::Output(output.into()))
            }
            Traced::Recorded(result) => {
                self.done.effort.interpreted += 1;
                Ok(Outcome::of(result))
            }
            Traced::Interpret => {
                self.done.effort.interpreted += 1;
                self.interpret(data)
            }
        }
    }

    fn traced(&mut self, data: &[u8]) -> Result<Traced, Failure> {
        let Some(traces) = self.traces.get_mut(&data.len()) else { return Ok(Traced::Interpret) };
        // What is missing ends a replay or a recording; the interpreter then finds all that is.
        self.machine.database().probe = false;
        let traced = traces.call(self.machine, data, || self.batch.transaction(data));
        self.machine.database().probe = self.probe;
        match traced {
            Err(Failure::Missing(_)) => Ok(Traced::Interpret),
            traced => traced,
        }
    }

    fn interpret(&mut self, data: &[u8]) -> Result<Outcome, Failure> {
        self.machine.run(self.batch.transaction(data)).map(|(result, _)| Outcome::of(result))
    }

    fn compare(&mut self, data: &[u8], replayed: &[u8]) -> Result<(), Failure> {
        match self.interpret(data)? {
            Outcome::Output(output) if *output == *replayed => Ok(()),
            _ => {
                let tree = self.traces.get(&data.len()).map(Traces::saved);
                let task = Task::Call(CallTask::of(&self.batch.transaction(data), Inputs::Anywhere));
                let (settings, block) = (*self.machine.settings(), self.machine.block().clone());
                let difference = Difference::new("another output".into(), task, tree, (&settings, &block));
                Err(Failure::Differs(Box::new(difference.in_machine(self.machine))))
            }
        }
    }
}

fn gather(shares: Vec<Result<Share, Failure>>) -> Result<(Outcomes, Effort), Failure> {
    let mut all = Share::default();
    for share in shares {
        let share = share?;
        all.outcomes.extend(share.outcomes);
        all.missing.extend(share.missing);
        all.effort += share.effort;
        if let Some((index, failure)) = share.failure
            && all.failure.as_ref().is_none_or(|(first, _)| index < *first)
        {
            all.failure = Some((index, failure));
        }
    }
    if let Some((_, failure)) = all.failure {
        return Err(failure);
    }
    if !all.missing.is_empty() {
        return Err(Failure::Missing(all.missing.into_iter().collect()));
    }
    let numbered = all.outcomes.into_iter().flat_map(|(first, outcomes)| (first..).zip(outcomes));
    Ok((Outcomes { single: numbered.collect(), ..Default::default() }, all.effort))
}
