//! One batch of views on its way.

use revm::primitives::hex;

use super::{
    super::{Ground, Site, Views, reader::Reader},
    warming::Known,
};
use crate::{
    batch::{Batch, Effort, Outcome},
    machine::{Failure, Machine},
    specialise::Mode,
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
    pub fn is_compared(&self, known: &mut Known) -> bool {
        let seldom = known.compared < COMPARED;
        known.compared += u32::from(seldom);
        seldom || self.ground.mode == Mode::Check || self.batch.verify || self.site.counts.is_timed()
    }

    pub fn compare(&mut self, call: usize, replayed: &[u8]) -> Result<(), Failure> {
        match self.interpret(call)? {
            Outcome::Output(output) if *output == *replayed => Ok(()),
            _ => Err(self.wrong(call, "another output")),
        }
    }

    pub fn wrong(&self, call: usize, found: &str) -> Failure {
        Failure::Internal(format!(
            "a replayed call differs from the interpreted one: {found}: {} with {}; please report this, and go on with \
             specialise=off",
            self.batch.to,
            hex::encode(self.batch.datas[call])
        ))
    }
}
