//! New paths of a site of views, within a budget.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use revm::{context::result::ExecutionResult, primitives::HashSet};

use super::{super::Views, Paths, course::Course, warming::Known};
use crate::{
    batch::Outcome,
    machine::Failure,
    specialise::Mode,
    trace::{End, Fact, MOST_NODES, Path, Recorder, Replay},
};

/// Calls, and replayed calls, that pay for a recording.
const CALLS_A_RECORDING: u64 = 12;
const HITS_A_RECORDING: u64 = 8;
const MOST_RECORDINGS: u64 = 4_096;

impl Paths {
    pub(super) fn may_record(&self, course: &Course<'_, '_>) -> bool {
        let counts = &course.site.counts;
        let (calls, hits) = (counts.calls.load(Relaxed), counts.hits.load(Relaxed));
        let paid = calls / CALLS_A_RECORDING + hits / HITS_A_RECORDING;
        let paid = if course.ground.mode == Mode::Check { paid + 64 } else { paid };
        counts.recordings.load(Relaxed) < paid.min(MOST_RECORDINGS) && self.tree.graph.len() < MOST_NODES
    }

    /// Interpret a call, and know its path from now on.
    pub(super) fn record(&mut self, course: &mut Course<'_, '_>, call: usize) -> Result<Outcome, Failure> {
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
                counts.mismatched(found);
                if course.ground.mode == Mode::Check {
                    return Err(course.wrong(call, &format!("while it was recorded, {found}"), &self.tree));
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
    ) -> Result<(ExecutionResult, Path, HashSet<Fact>), Failure> {
        course.site.counts.recordings.fetch_add(1, Relaxed);
        let Views { places, fault, .. } = course.views;
        let mut recorder = Recorder::of_transaction(&mut self.tree.graph, &course.site.holes, &self.watch, places);
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
}
