//! One transaction on its way: replayed, compared, kept.

use revm::{
    context::result::{ExecutionResult, Output, ResultGas, SuccessReason},
    primitives::{B256, Bytes, Log, LogData, U256},
    state::EvmState,
};

use super::{
    super::{row::raise_nonce, views::reader::Reader},
    Fees, Sending, Sends, Site,
    sight::Sight,
};
use crate::specialise::{
    CallTask, Difference, Inputs, Task,
    sites::compare::{difference, logs_differ},
};
use crate::{
    machine::{Failure, Machine},
    storage::database::{Miss, RowDatabase},
    trace::{DataGas, Ending, Tree, Values},
};

pub struct Course<'a> {
    pub sends: &'a Sends,
    pub(super) site: &'a Site,
    pub machine: &'a mut Machine,
    pub sending: &'a Sending<'a>,
    pub data: DataGas,
    pub fees: Fees,
}

impl Course<'_> {
    /// The state below the transaction, and its inputs.
    pub fn sight(&mut self) -> Sight<'_> {
        let RowDatabase { world, overlay, hashes, .. } = self.machine.database();
        let mut reader = Reader::new(world, overlay, self.sending.block, &self.site.holes);
        reader.data = &self.sending.tx.data;
        let sender = U256::from_be_slice(self.sending.tx.caller.as_slice());
        Sight { reader, sender, words: self.site.holes.len(), hashes }
    }

    /// What the end of a path tells about its transaction.
    pub fn result(&self, ending: &Ending, values: &Values) -> ExecutionResult {
        let (spent, refunded) = ending.gas.spent(values, &self.site.params, self.data, ending.success);
        let gas =
            ResultGas::default().with_total_gas_spent(spent).with_refunded(refunded).with_floor_gas(self.data.floor);
        let output = Bytes::from(values.write(&ending.output));
        if !ending.success {
            return ExecutionResult::Revert { gas, logs: Vec::new(), output };
        }
        let logs = ending.logs.iter().map(|shape| {
            let topics = shape.topics.iter().map(|topic| B256::from(values.get(*topic))).collect();
            Log { address: shape.address, data: LogData::new_unchecked(topics, values.write(&shape.data).into()) }
        });
        let logs = logs.collect();
        ExecutionResult::Success { reason: SuccessReason::Return, gas, logs, output: Output::Call(output) }
    }

    /// What differs between a replay and the interpreter, in words.
    pub fn difference(
        &mut self,
        ending: &Ending,
        values: &Values,
        replayed: &ExecutionResult,
        (result, state): (&ExecutionResult, &EvmState),
    ) -> Result<Option<String>, Failure> {
        let (gas, sender) = (replayed.tx_gas_used(), self.sending.tx.caller);
        let found = difference(ending, values, gas, (result, state), sender);
        let found = found.or_else(|| logs_differ(ending, values, result));
        let found = found.or_else(|| (replayed.gas() != result.gas()).then(|| "gas or its refund differs".into()));
        if found.is_some() {
            return Ok(found);
        }
        let differ = self.fees.differ(self.machine.database(), gas, state).map_err(missing)?;
        Ok(differ.then(|| "a balance or a nonce differs".into()))
    }

    /// Keep the effects of a replayed transaction, as the interpreter's would be kept.
    pub fn keep(&mut self, ending: &Ending, values: &Values, gas: u64) -> Result<(), Failure> {
        let database = self.machine.database();
        raise_nonce(database, self.sending.tx.caller, 1).map_err(missing)?;
        for address in &ending.touched {
            if !database.overlay.stands(address) {
                use revm::Database;
                let info = database.basic(*address).map_err(missing)?.unwrap_or_default();
                database.overlay.set_info(*address, info);
            }
        }
        self.fees.pay(database, gas).map_err(missing)?;
        for (write, key, value) in ending.changes(values) {
            database.overlay.set_slot(write.address, key, value);
        }
        Ok(())
    }

    /// A replay that is not what the interpreter gives: the site is the interpreter's from now on.
    pub fn wrong(&mut self, found: &str, tree: &Tree) -> Failure {
        self.site.counts.refuse();
        let task = Task::Call(CallTask::of(self.sending.tx, Inputs::WordsAndSender(self.site.holes.clone())));
        let against = (&self.sending.settings, self.sending.block);
        let difference = Difference::new(found.to_string(), task, Some(tree.saved()), against);
        Failure::Differs(Box::new(difference.in_machine(self.machine)))
    }
}

fn missing(miss: Miss) -> Failure {
    Failure::Missing(vec![miss])
}
