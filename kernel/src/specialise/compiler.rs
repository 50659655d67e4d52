//! One thread that turns paths into machine code, so that no step waits for it. Results do not depend on when it is done.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError, TryLockError, Weak,
        atomic::Ordering::Relaxed,
        mpsc::{Sender, channel},
    },
    time::Instant,
};

use super::{
    programs::{branches::TreeDraft, program_site::ProgramSite},
    sites::{code::Draft, paths::HotPaths},
    statistics::Counts,
};

/// A path, or the paths of a program, to be compiled. By the time they are, they may be forgotten.
pub enum Order {
    Path { draft: Box<Draft>, step: usize, into: Weak<HotPaths>, counts: Arc<Counts> },
    Program { draft: Box<TreeDraft>, into: Weak<ProgramSite> },
}

impl Order {
    fn carry_out(self) {
        let started = Instant::now();
        match self {
            Self::Path { draft, step, into, counts } => {
                let Some(into) = into.upgrade() else { return };
                if let Some(code) = draft.compile() {
                    into.add(step, code);
                    counts.compiled.fetch_add(1, Relaxed);
                }
                counts.compiling.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
            }
            Self::Program { draft, into } => {
                let Some(into) = into.upgrade() else { return };
                let code = draft.compile();
                let counts = &into.recorded.counts;
                counts.compiling.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
                into.compiled(code);
            }
        }
    }
}

/// Orders that are not carried out yet.
#[derive(Default)]
struct Open(Mutex<usize>, Condvar);

impl Open {
    fn change(&self, by: isize) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *open = open.saturating_add_signed(by);
        if *open == 0 {
            self.1.notify_all();
        }
    }
}

struct Compiler {
    /// The process it runs in: a forked one has none of its threads.
    process: u32,
    orders: Sender<Order>,
    open: Arc<Open>,
}

static COMPILER: Mutex<Option<Compiler>> = Mutex::new(None);

impl Compiler {
    fn start() -> std::io::Result<Self> {
        let (orders, inbox) = channel::<Order>();
        let open = Arc::new(Open::default());
        let done = Arc::clone(&open);
        std::thread::Builder::new().name("mayavi-compiler".into()).spawn(move || {
            for order in inbox {
                // A path whose compilation fails stays with the tree.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| order.carry_out()));
                done.change(-1);
            }
        })?;
        Ok(Self { process: std::process::id(), orders, open })
    }
}

/// Compile a path some time soon; at once where no thread can be had. Gives the order back if it is to be asked for again.
pub fn compile(order: Order) -> Option<Order> {
    // A process forked while another thread held the lock would wait for ever.
    let mut place = match COMPILER.try_lock() {
        Ok(place) => place,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Some(order),
    };
    if place.as_ref().is_none_or(|compiler| compiler.process != std::process::id()) {
        *place = Compiler::start().ok();
    }
    let Some(compiler) = &*place else {
        drop(place);
        order.carry_out();
        return None;
    };
    compiler.open.change(1);
    if let Err(unsent) = compiler.orders.send(order) {
        compiler.open.change(-1);
        *place = None;
        return Some(unsent.0);
    }
    None
}

/// Wait until everything that was asked for is compiled.
pub fn finish() {
    let open = match &*COMPILER.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(compiler) if compiler.process == std::process::id() => Arc::clone(&compiler.open),
        _ => return,
    };
    let mut left = open.0.lock().unwrap_or_else(PoisonError::into_inner);
    while *left > 0 {
        left = open.1.wait(left).unwrap_or_else(PoisonError::into_inner);
    }
}
