//! A row while it runs a program, and how a replayed path is kept in it.

use revm::{
    context::BlockEnv,
    primitives::{Address, U256},
};

use crate::specialise::{
    Runner, Specialiser,
    row::{RowView, keep_changes, raise_nonce},
};
use crate::{
    machine::{Failure, Machine},
    rows::program::Program,
    trace::{Ending, Values},
};

/// A row that is to run a program.
pub struct Row<'a> {
    pub machine: &'a mut Machine,
    pub block: &'a mut BlockEnv,
    pub inputs: &'a [u8],
    pub registers: &'a mut Vec<U256>,
    pub outputs: &'a mut [u8],
}

impl Row<'_> {
    pub fn operate(&mut self, program: &Program, runner: Option<&mut Runner<'_>>) -> Result<(), Failure> {
        program.run(self.machine, self.block, self.inputs, self.registers, self.outputs, runner)
    }

    pub fn view<'v>(&'v mut self, words: &'v [U256], all: &'v Specialiser) -> RowView<'v> {
        let (database, places) = (self.machine.database(), &all.places);
        RowView { holes: words, block: self.block, sender: Address::ZERO, database, places }
    }

    /// Keep what a path leaves: slots, nonces, time and outputs.
    pub fn keep(
        &mut self,
        all: &Specialiser,
        (number, ending): (u64, &Ending),
        values: &Values,
        text: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let database = self.machine.database();
        let missing = |miss| Failure::Missing(vec![miss]);
        for (sender, by) in &ending.nonces {
            raise_nonce(database, *sender, *by).map_err(missing)?;
        }
        keep_changes(database, (number, ending), values, (&all.watch, &all.places)).map_err(missing)?;
        text.clear();
        values.write_into(&ending.output, text);
        let (outputs, time) = text.split_at(self.outputs.len());
        self.outputs.copy_from_slice(outputs);
        self.block.number = U256::from_be_slice(&time[..32]);
        self.block.timestamp = U256::from_be_slice(&time[32..]);
        Ok(())
    }
}
