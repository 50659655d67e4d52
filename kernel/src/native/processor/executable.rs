//! A function ready to run: machine code where that is allowed, otherwise the batch interpreter.

use super::{cranelift::Machine, interpreter::Interpreter, rows::Rows, target::target};
use crate::native::{
    lowering::limbs::Target,
    ssa::{
        ir::{Function, Malformed},
        plan::{Likely, Plan},
        tree::Tree,
    },
};

/// The setting that forbids machine code: `MAYAVI_JIT=0`.
const SETTING: &str = "MAYAVI_JIT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Interpreter,
    Machine,
}

impl Backend {
    /// The fastest one that is allowed.
    pub fn allowed() -> Self {
        match std::env::var(SETTING) {
            Ok(value) if value.trim() == "0" => Self::Interpreter,
            _ => Self::Machine,
        }
    }
}

enum Code {
    /// One for each leaf, with its number.
    Interpreter(Vec<(u8, Interpreter)>),
    Machine(Box<Machine>),
}

/// A function that runs whole batches of rows; many threads may run it at once.
pub struct Executable {
    code: Code,
    pub input_words: usize,
    pub output_words: usize,
}

impl Executable {
    /// Optimise and compile a function by the fastest back end that works here.
    #[allow(dead_code, reason = "for recorders; the binding names a back end")]
    pub fn new(function: &Function, likely: &[Likely]) -> Result<Self, Malformed> {
        let plan = Plan::new(function, likely)?;
        Ok(Self::of_plan(&plan, Backend::allowed()))
    }

    /// The same for a tree of paths: one function with branches.
    pub fn of_tree(tree: &Tree, likely: &[Likely]) -> Result<Self, Malformed> {
        let plan = Plan::of_tree(tree, likely)?;
        Ok(Self::of_plan(&plan, Backend::allowed()))
    }

    /// Compile a plan. Where no machine code can be made, the interpreter takes its place.
    pub fn of_plan(plan: &Plan, backend: Backend) -> Self {
        Self::for_target(plan, backend, target())
    }

    /// Compile a plan as for another kind of processor.
    pub fn for_target(plan: &Plan, backend: Backend, target: Target) -> Self {
        let code = match backend {
            Backend::Machine => Machine::new(plan, target).map(|machine| Code::Machine(Box::new(machine))),
            Backend::Interpreter => Err(String::new()),
        };
        Self {
            code: code.unwrap_or_else(|_| Code::Interpreter(interpreters(plan))),
            input_words: plan.input_words(),
            output_words: plan.output_words(),
        }
    }

    pub fn backend(&self) -> Backend {
        match self.code {
            Code::Interpreter(_) => Backend::Interpreter,
            Code::Machine(_) => Backend::Machine,
        }
    }

    /// Bytes of machine code.
    pub fn size(&self) -> usize {
        if let Code::Machine(machine) = &self.code { machine.size } else { 0 }
    }

    /// Run every row: where all guards hold, its flag becomes the number of its leaf, from 1, and its outputs are written;
    /// otherwise its flag becomes 0.
    ///
    /// Panics where rows do not lie inside their slices.
    pub fn run(&self, rows: &mut Rows<'_>) {
        rows.check(self.input_words, self.output_words);
        match &self.code {
            Code::Interpreter(leaves) => {
                rows.flags[..rows.count].fill(0);
                leaves.iter().for_each(|(number, interpreter)| interpreter.run(rows, *number));
            }
            // SAFETY: checked above, with the words of the plan that the machine was made of.
            Code::Machine(machine) => unsafe { machine.run(rows) },
        }
    }
}

/// An interpreter for each leaf, of the plans that lead to it.
fn interpreters(plan: &Plan) -> Vec<(u8, Interpreter)> {
    plan.paths().iter().map(|path| (path.number, Interpreter::new(path))).collect()
}
