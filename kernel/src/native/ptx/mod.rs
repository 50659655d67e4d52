//! Back end 3: PTX text of a plan, for a driver to compile. Rows are planes of limbs, one thread a row.
//!
//! `rows` computes all outputs of account × scenario; `reduce` adds them up over accounts, one thread a scenario.

mod assembler;
mod division;
pub mod emulator;
mod floats;
mod functions;
mod keccak;
mod parser;
mod printer;
mod products;
mod reduce;
mod rows;
pub mod step;
#[cfg(test)]
mod tests;
pub mod work;

use std::collections::BTreeSet;

use functions::Functions;
pub use functions::Unsupported;

use super::{
    lowering::{
        limbs::{Instruction, Limb, Target, ZERO},
        lower::lower,
    },
    ssa::plan::Plan,
};
pub use reduce::weight;

/// Every device since 2017 runs this.
const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\n";

/// Which limbs of a row a program reads and writes, in the order of their planes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planes {
    /// Limbs of the inputs that differ between accounts.
    pub accounts: Vec<u32>,
    /// Limbs of the inputs that differ between scenarios.
    pub scenarios: Vec<u32>,
    /// Limbs of the outputs that are not always zero.
    pub outputs: Vec<u32>,
}

/// An output that is added up over accounts, and how many limbs its sum has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    pub output: usize,
    pub limbs: usize,
}

/// PTX of a plan.
#[derive(Clone, Debug)]
pub struct Program {
    /// One thread a row.
    pub rows: String,
    /// One thread a scenario.
    pub reduce: String,
    pub planes: Planes,
    pub sums: Vec<Sum>,
}

impl Program {
    /// Print a plan. `scenario_words` are the inputs that differ between scenarios; all others differ between accounts.
    pub fn new(plan: &Plan, scenario_words: &[u32], sums: &[Sum]) -> Result<Self, Unsupported> {
        let lowered = lower(plan, Target::Device);
        let planes = Planes::of(&lowered.writer.code, scenario_words);
        let mut functions = Functions::new(lowered.texts.clone());
        let entry = rows::print(&lowered, &planes, &mut functions)?;
        let rows = format!("{HEAD}{}{entry}", functions.text());
        let mut functions = Functions::new(lowered.texts.clone());
        let entry = reduce::print(&lowered, &planes, sums, &mut functions)?;
        let reduce = format!("{HEAD}{}{entry}", functions.text());
        Ok(Self { rows, reduce, planes, sums: sums.to_vec() })
    }
}

impl Planes {
    fn of(code: &[Instruction], scenario_words: &[u32]) -> Self {
        let (mut loads, mut stores) = (BTreeSet::new(), BTreeSet::new());
        collect(code, &mut loads, &mut stores);
        let (scenarios, accounts) = loads.into_iter().partition(|at| scenario_words.contains(&(at / 4)));
        Self { accounts, scenarios, outputs: stores.into_iter().collect() }
    }

    /// Where a limb of the inputs is: whether among the scenarios' planes, and its number there.
    fn input(&self, at: u32) -> (bool, usize) {
        match self.scenarios.binary_search(&at) {
            Ok(plane) => (true, plane),
            Err(_) => (false, self.accounts.binary_search(&at).unwrap_or_default()),
        }
    }
}

fn collect(code: &[Instruction], loads: &mut BTreeSet<u32>, stores: &mut BTreeSet<u32>) {
    for instruction in code {
        match instruction {
            Instruction::Load { at, .. } => _ = loads.insert(*at),
            Instruction::Store { at, value } if *value != ZERO => _ = stores.insert(*at),
            Instruction::Branch { then, otherwise, .. } => {
                collect(then, loads, stores);
                collect(otherwise, loads, stores);
            }
            _ => {}
        }
    }
}

/// Call `each` with every limb that an instruction reads, and with every value that it writes.
fn limbs_of(instruction: &Instruction, mut reads: impl FnMut(Limb), mut writes: impl FnMut(u32)) {
    let mut pairs = |pairs: &[[Limb; 2]]| pairs.iter().flatten().for_each(|limb| reads(*limb));
    match instruction {
        Instruction::Load { into, .. } => writes(*into),
        Instruction::Store { value, .. } | Instruction::Fail(value) => reads(*value),
        Instruction::Binary(into, _, a, b) | Instruction::Float(into, _, a, b) | Instruction::Funnel(into, a, b, _) => {
            pairs(&[[*a, *b]]);
            writes(*into);
        }
        Instruction::LeadingZeros(into, limb) => {
            reads(*limb);
            writes(*into);
        }
        Instruction::MultiplyAdd(into, x, y, a, b) => {
            pairs(&[[*x, *y], [*a, *b]]);
            into.iter().for_each(|into| writes(*into));
        }
        Instruction::Multiply(into, a, b, size) => {
            a.iter().chain(b).for_each(|limb| reads(*limb));
            (*into..into + size).for_each(writes);
        }
        Instruction::Add(into, all) | Instruction::Sub(into, all) => {
            pairs(all);
            (*into..).take(all.len()).for_each(writes);
        }
        Instruction::Less(into, all) => {
            pairs(all);
            writes(*into);
        }
        Instruction::Select(into, condition, then, otherwise) => {
            [*condition, *then, *otherwise].into_iter().for_each(reads);
            writes(*into);
        }
        Instruction::Call { into, results, arguments, .. } => {
            arguments.iter().for_each(|limb| reads(*limb));
            (*into..into + results).for_each(writes);
        }
        Instruction::Guess { .. } => unreachable!("code for a device guesses nothing"),
        Instruction::Branch { condition, .. } => reads(*condition),
        Instruction::End(_) => {}
    }
}
