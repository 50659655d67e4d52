//! New paths of a site of transactions, within a budget.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use revm::{context::result::ExecutionResult, primitives::HashSet, state::EvmState};

use super::{
    super::Mode,
    course::Course,
    site::{Known, Paths},
};
use crate::specialise::sites::{compare::touched, site::settle_gas};
use crate::{
    machine::Failure,
    trace::{End, Fact, MOST_NODES, Path, Recorder, Replay},
};

/// Transactions, and replayed ones, that pay for a recording.
const CALLS_A_RECORDING: u64 = 16;
const HITS_A_RECORDING: u64 = 8;
const MOST_RECORDINGS: u64 = 4_096;
/// Expressions and steps of all sites of a world, about 150 bytes each.
const MOST_HELD: usize = 1 << 19;

/// An interpreted transaction, its path, and what the path takes for constant.
struct Followed {
    result: ExecutionResult,
    state: EvmState,
    path: Path,
    folded: HashSet<Fact>,
}

impl Paths {
    pub fn may_record(&self, course: &Course<'_>) -> bool {
        let counts = &course.site.counts;
        let paid = counts.calls.load(Relaxed) / CALLS_A_RECORDING + counts.hits.load(Relaxed) / HITS_A_RECORDING;
        let paid = if course.sending.mode == Mode::Check { paid + 64 } else { paid };
        let room = self.tree.graph.len() < MOST_NODES && course.sends.held.load(Relaxed) < MOST_HELD;
        room && counts.recordings.load(Relaxed) < paid.min(MOST_RECORDINGS)
    }

    /// Interpret a transaction, keep it, and know its path from now on.
    pub fn record(&mut self, course: &mut Course<'_>) -> Result<ExecutionResult, Failure> {
        let started = Instant::now();
        let mut followed = self.follow(course)?;
        let written = self.written(course, &followed);
        if !written.is_empty() {
            if self.ground.relies_on(&written) {
                self.forget();
            }
            self.watch.change(written);
            followed = self.follow(course)?;
        }
        let Followed { result, state, path, folded } = followed;
        let counts = &course.site.counts;
        if self.ground.rely(&folded, &mut course.sight().reader) {
            if let Some(found) = self.add(course, path, (&result, &state))? {
                counts.mismatched(&found);
                if course.sending.mode == Mode::Check {
                    return Err(course.wrong(&format!("while it was recorded, {found}"), &self.tree));
                }
                self.forget();
            }
        } else {
            counts.discarded.fetch_add(1, Relaxed);
        }
        let before = std::mem::replace(&mut self.held, self.tree.size());
        course.sends.held.fetch_add(self.held.wrapping_sub(before), Relaxed); // less is a wrapped number
        counts.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        course.machine.overlay().apply(state);
        Ok(result)
    }

    /// Slots that the recording took for constant, but that were written over the world or that it writes itself.
    fn written(&self, course: &mut Course<'_>, followed: &Followed) -> Vec<Fact> {
        let own: HashSet<Fact> = match &followed.path.end {
            End::Transaction(ending) => (ending.writes.iter())
                .filter_map(|write| Some(Fact::Slot(write.address, self.tree.graph.as_constant(write.key)?)))
                .collect(),
            _ => HashSet::default(),
        };
        let mut sight = course.sight();
        let mut is_written = |fact: &Fact| match fact {
            Fact::Slot(address, key) => own.contains(fact) || sight.reader.written(*address, *key).is_some(),
            Fact::Code(_) | Fact::Storage(_) => false,
        };
        followed.folded.iter().copied().filter(&mut is_written).collect()
    }

    /// Interpret a transaction under a recorder.
    fn follow(&mut self, course: &mut Course<'_>) -> Result<Followed, Failure> {
        course.site.counts.recordings.fetch_add(1, Relaxed);
        let tx = course.sending.tx;
        let (graph, holes) = (&mut self.tree.graph, &course.site.holes);
        let mut recorder = Recorder::of_sent(graph, holes, tx.caller, &self.watch, &course.sends.places);
        let (result, state) = course.machine.record_transaction(tx.clone(), &mut recorder)?;
        let (mut path, folded) = recorder.finish_transaction(&result, touched(&state, tx.caller));
        if course.sends.fault.load(Relaxed) {
            path.guards.pop();
        }
        Ok(Followed { result, state, path, folded })
    }

    /// Add a path. One that does not lead its own transaction to its own end would lead no other one right.
    fn add(
        &mut self,
        course: &mut Course<'_>,
        path: Path,
        interpreted: (&ExecutionResult, &EvmState),
    ) -> Result<Option<String>, Failure> {
        let wanted = match &path.end {
            End::Transaction(ending) => Some(ending.log_nodes()),
            _ => None,
        };
        if !self.tree.insert(path) {
            return Ok(Some("its path contradicts an earlier one".into()));
        }
        let logs = wanted.as_ref().map(|wanted| self.tree.schedule(wanted.iter().copied())).unwrap_or_default();
        let counts = &course.site.counts;
        let mut sight = course.sight();
        let step = match self.tree.replay(&mut self.values, &mut sight) {
            Replay::End(step) => step,
            Replay::Interpret => {
                counts.fruitless.fetch_add(1, Relaxed);
                return Ok(None);
            }
            Replay::Unknown(_) if wanted.is_none() => return Ok(None),
            Replay::Unknown(_) => return Ok(Some("its path does not lead to its end".into())),
        };
        if !logs.iter().all(|node| self.tree.graph.evaluate(*node, &mut self.values, &mut sight).is_ok()) {
            return Ok(Some("a log cannot be read".into()));
        }
        counts.paths.fetch_add(1, Relaxed);
        self.known.insert(step, Known { logs, ..Known::default() });
        let Some(ending) = self.tree.ending_mut(step) else { return Ok(None) };
        settle_gas(ending, &self.values, &course.site.params);
        let replayed = course.result(ending, &self.values);
        course.difference(ending, &self.values, &replayed, interpreted)
    }
}
