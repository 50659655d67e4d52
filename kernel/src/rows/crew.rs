//! A thread pool that includes the calling thread; each thread has its own copy of the world.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::storage::world::World;

/// Work below which it takes longer to wake the other threads, and to wait for them, than to go on alone.
const WORTH_WAKING: Duration = Duration::from_micros(500);

pub struct Crew {
    /// All but the one that asks. It begins at once, and does not wait until a sleeping thread has woken up.
    others: Option<ThreadPool>,
    worlds: Vec<Arc<World>>,
}

impl Crew {
    /// One thread alone, on `world` itself.
    pub fn alone(world: &Arc<World>) -> Self {
        Self { others: None, worlds: vec![Arc::clone(world)] }
    }

    /// `threads` threads, each with a copy of `world`: a shared reference count would make them wait for one another.
    pub fn of(world: &Arc<World>, threads: usize) -> Result<Self, String> {
        let worlds: Result<Vec<_>, _> = (0..threads).map(|_| world.isolated()).collect();
        let others = ThreadPoolBuilder::new()
            .num_threads(threads - 1)
            .thread_name(|i| format!("mayavi-{}", i + 1))
            .build()
            .map_err(|error| format!("no threads: {error}"))?;
        Ok(Self { others: Some(others), worlds: worlds? })
    }

    pub fn threads(&self) -> usize {
        self.worlds.len()
    }

    /// Run all jobs, alone as long as the jobs so far suggest that the rest is short.
    pub fn share_if_long<J: Send>(&self, jobs: &mut [J], work: impl Fn(&Arc<World>, &mut J) + Sync) {
        let began = Instant::now();
        for done in 1..=jobs.len() {
            work(&self.worlds[0], &mut jobs[done - 1]);
            let left = (jobs.len() - done) as u32;
            if self.others.is_some() && began.elapsed() * left / done as u32 >= WORTH_WAKING {
                return self.share(&mut jobs[done..], work);
            }
        }
    }

    /// Run all jobs; each thread takes the next one that is not started.
    pub fn share<J: Send>(&self, jobs: &mut [J], work: impl Fn(&Arc<World>, &mut J) + Sync) {
        let helpers = jobs.len().saturating_sub(1).min(self.threads() - 1);
        let waiting = Mutex::new(jobs.iter_mut());
        let join_in = |world: &Arc<World>| {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(job) = next() {
                work(world, job);
            }
        };
        match &self.others {
            Some(others) if helpers > 0 => others.in_place_scope(|scope| {
                for world in &self.worlds[1..=helpers] {
                    scope.spawn(|_| join_in(world));
                }
                join_in(&self.worlds[0]);
            }),
            _ => join_in(&self.worlds[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, thread};

    use super::*;
    use crate::storage::world::Base;

    /// The threads that ran sixteen jobs, each of which takes so long.
    fn threads_of(job: Duration) -> usize {
        let crew = Crew::of(&World::new(1, true, Base::default()), 2).unwrap();
        let mut jobs = vec![None; 16];
        crew.share_if_long(&mut jobs, |_, ran| {
            thread::sleep(job);
            *ran = Some(thread::current().id());
        });
        jobs.into_iter().map(|ran| ran.expect("every job runs")).collect::<HashSet<_>>().len()
    }

    #[test]
    fn other_threads_are_woken_for_long_work_alone() {
        assert_eq!(threads_of(Duration::ZERO), 1);
        assert_eq!(threads_of(Duration::from_millis(20)), 2);
    }
}
