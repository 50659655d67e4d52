//! Recording of a program: the row that runs it is interpreted, and its path is known from then on.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::Ordering::{Acquire, Relaxed},
    },
    time::Instant,
};

use super::{running::Row, twin::Twin, whole::Whole};
use crate::specialise::{
    Fault, Mode, Runner, Specialiser,
    sites::paths::{Known, Paths},
};
use crate::{
    machine::Failure,
    rows::program::Program,
    trace::{End, Fact, Path, ProgramRecorder, Replay, Values},
};

impl Whole {
    /// Interpret the row, and know its path from now on.
    pub fn record(&mut self, runner: &mut Runner<'_>, program: &Program, row: &mut Row<'_>) -> Result<(), Failure> {
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
        let tree = found.is_some().then(|| paths.tree.saved());
        drop(paths);
        recorded.counts.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        let Some(found) = found else { return Ok(()) };
        recorded.counts.mismatched(&found);
        match all.mode {
            Mode::Check => Err(site.wrong(all, program, row, format!("while it was recorded, {found}"), tree)),
            Mode::On => Ok(()),
        }
    }

    /// Add a path. One that does not lead its own row to its own end would lead no other one right.
    fn add(
        &mut self,
        all: &Specialiser,
        paths: &mut Paths,
        path: Path,
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
        let mut values = Values::default();
        let replay = before.exchange(row, |row| {
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
                if all.is_thorough() {
                    self.site.warm(all, paths, step, &values);
                }
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
