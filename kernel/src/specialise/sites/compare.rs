//! Does a replayed transaction do what the interpreter does? Status, output, gas, writes, logs and accounts.

use std::collections::BTreeMap;

use revm::{
    context::result::ExecutionResult,
    primitives::{Address, B256, U256},
    state::EvmState,
};

use crate::trace::{Ending, Values};

/// Accounts besides the sender that a transaction brings into the overlay.
pub fn touched(state: &EvmState, sender: Address) -> Vec<Address> {
    let mut touched: Vec<Address> = state
        .iter()
        .filter(|(address, account)| account.is_touched() && **address != sender)
        .map(|(address, _)| *address)
        .collect();
    touched.sort_unstable();
    touched
}

/// What differs between a replayed transaction and the interpreted one but for logs, in words; `None` if nothing does.
pub fn difference(
    ending: &Ending,
    values: &Values,
    gas: u64,
    (result, state): (&ExecutionResult, &EvmState),
    sender: Address,
) -> Option<String> {
    let (success, output) = match result {
        ExecutionResult::Success { output, .. } => (true, output.data()),
        ExecutionResult::Revert { output, .. } => (false, output),
        ExecutionResult::Halt { reason, .. } => return Some(format!("it halts: {reason:?}")),
    };
    if success != ending.success {
        return Some(format!("success is {success}"));
    }
    if *output != values.write(&ending.output) {
        return Some("the output differs".into());
    }
    if gas != result.tx_gas_used() {
        return Some(format!("{gas} gas instead of {}", result.tx_gas_used()));
    }
    slots_differ(ending, values, state)
        .or_else(|| (touched(state, sender) != ending.touched).then(|| "other accounts are touched".into()))
}

fn slots_differ(ending: &Ending, values: &Values, state: &EvmState) -> Option<String> {
    let replayed: BTreeMap<(Address, U256), U256> =
        ending.changes(values).map(|(write, key, value)| ((write.address, key), value)).collect();
    let mut interpreted = BTreeMap::new();
    for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
        for (key, slot) in account.storage.iter().filter(|(_, slot)| slot.is_changed()) {
            interpreted.insert((*address, *key), slot.present_value);
        }
    }
    let known = |place: &(Address, U256)| (replayed.get(place).copied(), interpreted.get(place).copied());
    let mut places = interpreted.keys().chain(replayed.keys());
    let place = places.find(|place| matches!(known(place), (one, other) if one != other))?;
    let (one, other) = known(place);
    Some(format!("slot {:#x} of {} becomes {one:?} instead of {other:?}", place.1, place.0))
}

/// What differs between the logs of both.
pub fn logs_differ(ending: &Ending, values: &Values, result: &ExecutionResult) -> Option<String> {
    let logs = result.logs();
    if logs.len() != ending.logs.len() {
        return Some(format!("{} logs instead of {}", ending.logs.len(), logs.len()));
    }
    let alike = ending.logs.iter().zip(logs).all(|(shape, log)| {
        let topics: Vec<B256> = shape.topics.iter().map(|topic| B256::from(values.get(*topic))).collect();
        shape.address == log.address && topics == log.data.topics() && values.write(&shape.data) == log.data.data
    });
    (!alike).then(|| "a log differs".into())
}
