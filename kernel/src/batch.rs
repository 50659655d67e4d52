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
    primitives::{Address, Bytes, TxKind, U256},
};

use crate::{
    database::Miss,
    evm::transaction,
    machine::{Failure, Machine, Settings, with_shared},
    overlay::{Overlay, Row},
    world::World,
};

/// Calls a thread takes at a time: few enough to balance, enough to not matter.
const CHUNK: usize = 64;

/// What is to be called, with which data, by whom.
pub struct Batch<'a> {
    pub to: Address,
    pub sender: Address,
    pub gas: u64,
    pub datas: &'a [&'a [u8]],
    /// Whether every call is interpreted too, and compared.
    pub verify: bool,
}

impl Batch<'_> {
    fn transaction(&self, data: &[u8]) -> TxEnv {
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
    Output(Vec<u8>),
    Failed(ExecutionResult),
}

impl Outcome {
    fn of(result: ExecutionResult) -> Self {
        match result {
            ExecutionResult::Success { output: Output::Call(data), .. } => Self::Output(data.into()),
            ExecutionResult::Success { output, .. } => Self::Output(output.into_data().into()),
            failed => Self::Failed(failed),
        }
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
    /// Operations these paths consist of; what they share counts once.
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

/// What one thread did: outcomes by the index of their first call, and what it lacked.
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
) -> Result<(Vec<Outcome>, Effort), Failure> {
    let overlay = Arc::new(std::mem::take(&mut row.overlay));
    let threads = threads.clamp(1, batch.datas.len().div_ceil(CHUNK).max(1));
    let next = AtomicUsize::new(0);
    let work = || share(world, &overlay, &row.block, settings, probe, batch, &next);
    let shares: Vec<Result<Share, Failure>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(share) => share,
            Err(_) => Err(Failure::Internal("a thread of the batch panicked".into())),
        });
        std::iter::once(own).chain(joined).collect()
    });
    // The threads are gone, and with them every other share of the writes.
    row.overlay = Arc::try_unwrap(overlay).unwrap_or_else(|shared| (*shared).clone());
    gather(shares)
}

/// One thread's part: calls as they come, until there are none left.
fn share(
    world: &Arc<World>,
    overlay: &Arc<Overlay>,
    block: &BlockEnv,
    settings: &Settings,
    probe: bool,
    batch: &Batch<'_>,
    next: &AtomicUsize,
) -> Result<Share, Failure> {
    with_shared(world, overlay, block, settings, probe, |machine| {
        let mut done = Share::default();
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(datas) = batch.datas.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let mut outcomes = Vec::with_capacity(CHUNK);
            for (i, data) in datas.iter().take(CHUNK).enumerate() {
                match call(machine, batch, data) {
                    Ok(outcome) => {
                        done.effort.interpreted += 1;
                        outcomes.push(outcome);
                    }
                    Err(Failure::Missing(misses)) => done.missing.extend(misses),
                    Err(failure) => {
                        done.failure = Some((first + i, failure));
                        return Ok(done);
                    }
                }
            }
            done.outcomes.push((first, outcomes));
        }
        Ok(done)
    })
}

fn call(machine: &mut Machine, batch: &Batch<'_>, data: &[u8]) -> Result<Outcome, Failure> {
    machine.run(batch.transaction(data)).map(|(result, _)| Outcome::of(result))
}

fn gather(shares: Vec<Result<Share, Failure>>) -> Result<(Vec<Outcome>, Effort), Failure> {
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
    all.outcomes.sort_unstable_by_key(|(first, _)| *first);
    Ok((all.outcomes.into_iter().flat_map(|(_, outcomes)| outcomes).collect(), all.effort))
}
