//! A thread that compiles paths of views, as long as there are any.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The process whose thread is at work: a forked one has none.
    process: Option<u32>,
}

#[derive(Default)]
pub struct Makers(Arc<(Mutex<Queue>, Condvar)>);

impl Makers {
    /// Do a job some time soon; at once where no thread can be had.
    pub fn order(&self, job: Job) {
        let mut queue = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(job);
        let process = std::process::id();
        if queue.process == Some(process) {
            return;
        }
        queue.process = Some(process);
        drop(queue);
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("mayavi-views".into());
        if thread.spawn(move || work(&shared)).is_err() {
            work(&self.0);
        }
    }

    /// Wait until there is nothing left to do.
    pub fn finish(&self) {
        let (queue, done) = &*self.0;
        let mut open = queue.lock().unwrap_or_else(PoisonError::into_inner);
        while open.process == Some(std::process::id()) {
            open = done.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn work((queue, done): &(Mutex<Queue>, Condvar)) {
    loop {
        let mut open = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(job) = open.jobs.pop_front() else {
            open.process = None;
            done.notify_all();
            return;
        };
        drop(open);
        // A path whose compilation fails stays with the tree.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}
