//! Counts what emulated kernels do: instructions of lanes and of warps, and bytes of global memory.

use std::collections::HashMap;

use super::parser::{Function, Line, Module, Operation};

/// Lanes of a warp.
pub const LANES: u64 = 32;

/// What kernels did since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Instructions of all lanes. One whose predicate is false is issued too.
    pub instructions: u64,
    /// Those of them that work on 64 bits.
    pub wide: u64,
    /// Instructions that warps issue: each as often as the lane that runs it most often.
    pub issued: u64,
    /// Bytes read from global memory.
    pub loaded: u64,
    /// Bytes written to it.
    pub stored: u64,
}

/// Counts a module's lines, lane by lane.
#[derive(Default)]
pub struct Counter {
    pub work: Work,
    /// Where the lines of each function begin, by the address of the function.
    firsts: HashMap<usize, usize>,
    /// How often the present lane ran each line, and any lane of the present warp.
    lane: Vec<u32>,
    warp: Vec<u32>,
    /// Lines that are not zero in `lane`.
    touched: Vec<usize>,
}

impl Counter {
    /// Begin with the kernels of a module.
    pub fn enter(&mut self, module: &Module) {
        self.firsts.clear();
        let mut lines = 0;
        for function in module.functions.values() {
            self.firsts.insert(std::ptr::from_ref(function).addr(), lines);
            lines += function.lines.len();
        }
        self.lane = vec![0; lines];
        self.warp = vec![0; lines];
        self.touched.clear();
    }

    /// The number of a function's first line.
    pub fn first(&self, function: &Function) -> usize {
        self.firsts[&std::ptr::from_ref(function).addr()]
    }

    /// A lane issues the line with this number.
    pub fn count(&mut self, at: usize, line: &Line) {
        self.work.instructions += 1;
        self.work.wide += u64::from(line.bits == 64);
        if self.lane[at] == 0 {
            self.touched.push(at);
        }
        self.lane[at] += 1;
    }

    /// A lane reads or writes bytes of global memory.
    pub fn moved(&mut self, operation: Operation, bytes: usize) {
        if !matches!(operation, Operation::Store) {
            self.work.loaded += bytes as u64;
        }
        if !matches!(operation, Operation::Load) {
            self.work.stored += bytes as u64;
        }
    }

    /// A lane ended; `last`: it was the last one of its warp.
    pub fn leave(&mut self, last: bool) {
        for at in self.touched.drain(..) {
            self.warp[at] = self.warp[at].max(self.lane[at]);
            self.lane[at] = 0;
        }
        if last {
            self.work.issued += self.warp.iter().map(|count| u64::from(*count)).sum::<u64>();
            self.warp.fill(0);
        }
    }
}
