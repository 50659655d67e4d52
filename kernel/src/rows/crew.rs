//! A thread pool that includes the calling thread; each thread has its own copy of the world.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::storage::world::World;

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
