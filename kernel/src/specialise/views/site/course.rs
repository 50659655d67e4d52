//! One batch of views on its way.

use super::{
    super::{Ground, Site, Views, reader::Reader},
    warming::Known,
};
use crate::{
    batch::{Batch, Effort, Outcome},
    machine::{Failure, Machine},
    specialise::{CallTask, Difference, Inputs, Task},
    trace::Tree,
};

/// First hits of each path, and of each code, that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;

/// One batch on its way.
pub(in super::super) struct Course<'a, 'm> {
    pub views: &'a Views,
    pub site: &'a Site,
    pub machine: &'m mut Machine,
    pub batch: &'a Batch<'a>,
    pub ground: &'a Ground<'a>,
    pub reader: Reader<'a>,
    pub effort: Effort,
}

impl Course<'_, '_> {
    /// The words in which the calldata of a call differs from others'.
    pub fn words(&self, data: &[u8]) -> Box<[u8]> {
        self.site.holes.iter().flat_map(|at| &data[*at..at + 32]).copied().collect()
    }

    pub fn interpret(&mut self, call: usize) -> Result<Outcome, Failure> {
        let tx = self.batch.transaction(self.batch.datas[call]);
        self.machine.run(tx).map(|(result, _)| Outcome::of(result))
    }

    /// Whether a hit is to be interpreted too.
    pub fn is_compared(&self, known: &mut Known, call: usize) -> bool {
        let seldom = known.compared < COMPARED;
        known.compared += u32::from(seldom);
        seldom || self.batch.is_checked(call) || self.site.counts.is_timed()
    }

    /// Interpret a replayed call too. A difference is an error.
    pub fn compare(&mut self, call: usize, replayed: &[u8], tree: &Tree) -> Result<(), Failure> {
        self.site.counts.checked();
        match self.interpret(call)? {
            Outcome::Output(output) if *output == *replayed => Ok(()),
            _ => Err(self.wrong(call, "another output", tree)),
        }
    }

    /// A replay that is not what the interpreter gives: the site is the interpreter's from now on.
    pub fn wrong(&mut self, call: usize, found: &str, tree: &Tree) -> Failure {
        self.site.counts.refuse();
        let tx = self.batch.transaction(self.batch.datas[call]);
        let task = Task::Call(CallTask::of(&tx, Inputs::Words(self.site.holes.clone())));
        let against = (self.ground.settings, self.ground.block);
        let difference = Difference::new(found.to_string(), task, Some(tree.saved()), against);
        Failure::Differs(Box::new(difference.in_machine(self.machine)))
    }
}
