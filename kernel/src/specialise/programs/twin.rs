//! A copy of a row that runs the same program another way, and what differs between both afterwards.

use std::{
    mem::{swap, take},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use revm::{context::BlockEnv, primitives::U256};

use super::running::Row as Running;
use crate::specialise::Runner;
use crate::{
    machine::Failure,
    rows::program::Program,
    storage::{
        identity::identity,
        overlay::{Overlay, Row},
    },
};

pub struct Twin {
    overlay: Overlay,
    block: BlockEnv,
    outputs: Vec<u8>,
}

impl Twin {
    pub fn of(row: &mut Running<'_>) -> Self {
        let overlay = row.machine.overlay().without_snapshots();
        Self { overlay, block: row.block.clone(), outputs: vec![0; row.outputs.len()] }
    }

    /// Let `f` run on the twin in place of the row.
    pub fn exchange<R>(&mut self, row: &mut Running<'_>, f: impl FnOnce(&mut Running<'_>) -> R) -> R {
        self.swap(row);
        // The row must come back whatever happens.
        let result = catch_unwind(AssertUnwindSafe(|| f(row)));
        self.swap(row);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn swap(&mut self, row: &mut Running<'_>) {
        swap(row.machine.overlay(), &mut self.overlay);
        swap(row.block, &mut self.block);
        row.outputs.swap_with_slice(&mut self.outputs);
        row.machine.set_block(row.block);
    }

    /// Run the program on the twin, operation by operation.
    pub fn operate(
        &mut self,
        program: &Program,
        row: &mut Running<'_>,
        runner: Option<&mut Runner<'_>>,
    ) -> Result<(), Failure> {
        self.exchange(row, |row| row.operate(program, runner))
    }

    /// What differs between the row and its twin, in words; none where state, block and outputs are alike.
    pub fn difference(&mut self, row: &mut Running<'_>) -> Option<String> {
        if let Some(at) = row.outputs.chunks(32).zip(self.outputs.chunks(32)).position(|(one, other)| one != other) {
            let word = |bytes: &[u8]| U256::from_be_slice(&bytes[32 * at..32 * at + 32]);
            return Some(format!("output {at} is {} instead of {}", word(row.outputs), word(&self.outputs)));
        }
        let world = row.machine.database().world.clone();
        let mut now = Row { overlay: take(row.machine.overlay()), block: row.block.clone() };
        let mut then = Row { overlay: take(&mut self.overlay), block: self.block.clone() };
        now.overlay.flush();
        then.overlay.flush();
        let alike = identity(&world, &now) == identity(&world, &then);
        let found = (!alike).then(|| describe(&now, &then));
        *row.machine.overlay() = now.overlay;
        found
    }
}

/// The first thing that two rows differ in.
fn describe(now: &Row, then: &Row) -> String {
    if (now.block.number, now.block.timestamp) != (then.block.number, then.block.timestamp) {
        return format!("block {} at {}", now.block.number, now.block.timestamp);
    }
    for (address, account) in then.overlay.iter() {
        let Some(mine) = now.overlay.get(address) else { return format!("account {address} is untouched") };
        if mine.info.nonce != account.info.nonce {
            return format!("nonce {} of {address} instead of {}", mine.info.nonce, account.info.nonce);
        }
        for (key, value) in &account.slots {
            let found = mine.slots.get(key);
            if found != Some(value) {
                return format!("slot {key:#x} of {address} is {found:?} instead of {value}");
            }
        }
    }
    "something is written that should not be".into()
}
