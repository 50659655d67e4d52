//! Execute a block on the state of its parent with every check on, and report what the header claims.

use std::collections::BTreeSet;

use alloy_consensus::{
    Eip658Value, Receipt as ConsensusReceipt, ReceiptEnvelope, ReceiptWithBloom, TxReceipt, TxType,
    proofs::calculate_receipt_root,
};
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS, eip4844::DATA_GAS_PER_BLOB};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use revm::{
    context::{BlockEnv, result::ExecutionResult},
    primitives::{
        Address, Bytes, KECCAK_EMPTY, Log, U256,
        alloy_primitives::{Bloom, map::B256Set},
        hardfork::SpecId,
    },
};

use super::{
    block::Block,
    requests::{Requests, collect},
};
use crate::{
    convert::{AddressArg, logs_to_python},
    evm::Evm,
    machine::{Failure, Machine, Rules},
};

const GWEI: u64 = 1_000_000_000;

#[derive(Default)]
struct Executed {
    receipts: Vec<(bool, u64, Vec<Log>)>,
    /// Index of the transaction, or `None` for a step of the whole block.
    failure: Option<(Option<usize>, Failure)>,
    system_calls: Vec<(&'static str, bool)>,
    withdrawals: usize,
    requests: Option<Requests>,
    /// Codes of the accounts that transactions touched, created ones included.
    codes: B256Set,
    /// Blocks whose hash was read.
    hashes_read: BTreeSet<u64>,
    seconds: f64,
}

/// The whole block, as far as the pre-state goes. A proven pre-state must go all the way.
fn execute(machine: &mut Machine, env: &BlockEnv, block: &Block, spec: SpecId, deposits: Option<Address>) -> Executed {
    let proven = machine.database().world.proven.is_some();
    machine.database().hashes_read.clear();
    machine.set_block(env);
    let mut done = Executed { receipts: Vec::with_capacity(block.transactions.len()), ..Default::default() };
    if let Err(failure) = system_calls(machine, block, spec, proven, &mut done) {
        done.failure = Some((None, failure));
        return done;
    }
    let started = std::time::Instant::now();
    transactions(machine, block, proven, &mut done);
    done.seconds = started.elapsed().as_secs_f64();
    if done.failure.is_some() {
        return done;
    }
    let end = withdraw(machine, block, proven, &mut done).and_then(|()| {
        if proven && spec.is_enabled_in(SpecId::PRAGUE) {
            let logs = done.receipts.iter().flat_map(|(_, _, logs)| logs);
            done.requests = Some(collect(machine, logs, deposits)?);
        }
        Ok(())
    });
    done.failure = end.err().map(|failure| (None, failure));
    done.hashes_read = std::mem::take(&mut machine.database().hashes_read);
    done
}

/// The calls that open a block. In a partial pre-state they run only if their contract is known.
fn system_calls(
    machine: &mut Machine,
    block: &Block,
    spec: SpecId,
    proven: bool,
    done: &mut Executed,
) -> Result<(), Failure> {
    let mut calls = Vec::new();
    if let Some(root) = block.header.parent_beacon_block_root.filter(|_| spec.is_enabled_in(SpecId::CANCUN)) {
        calls.push(("EIP-4788 beacon root", BEACON_ROOTS_ADDRESS, root));
    }
    if spec.is_enabled_in(SpecId::PRAGUE) {
        calls.push(("EIP-2935 parent hash", HISTORY_STORAGE_ADDRESS, block.header.parent_hash));
    }
    for (name, contract, word) in calls {
        let data = Bytes::copy_from_slice(word.as_slice());
        let called = match proven {
            true => machine.has_code(contract)? && machine.system_call(contract, data)?.is_success(),
            false => machine.stands(contract) && machine.system_call(contract, data).is_ok(),
        };
        done.system_calls.push((name, called));
    }
    Ok(())
}

fn transactions(machine: &mut Machine, block: &Block, proven: bool, done: &mut Executed) {
    for (index, tx) in block.transactions.iter().enumerate() {
        let (result, state) = match machine.run(tx.clone()) {
            Ok(both) => both,
            Err(failure) => {
                done.failure = Some((Some(index), failure));
                break;
            }
        };
        if proven {
            let touched = state.values().filter(|account| account.is_touched());
            done.codes.extend(touched.map(|account| account.info.code_hash).filter(|hash| *hash != KECCAK_EMPTY));
        }
        machine.overlay().apply(state);
        let gas_used = result.tx_gas_used();
        match result {
            ExecutionResult::Success { logs, .. } => done.receipts.push((true, gas_used, logs)),
            _ => done.receipts.push((false, gas_used, Vec::new())),
        }
    }
}

fn withdraw(machine: &mut Machine, block: &Block, proven: bool, done: &mut Executed) -> Result<(), Failure> {
    for withdrawal in block.withdrawals.iter().flat_map(|list| list.iter()) {
        // The balance of an account that no transaction touched is not in a partial pre-state.
        if !proven && !machine.stands(withdrawal.address) {
            continue;
        }
        let mut info = machine.read_info(withdrawal.address)?;
        info.balance = info.balance.saturating_add(U256::from(withdrawal.amount) * U256::from(GWEI));
        machine.overlay().set_info(withdrawal.address, info);
        done.withdrawals += 1;
    }
    Ok(())
}

fn envelope(kind: TxType, success: bool, cumulative: u64, logs: &[Log]) -> ReceiptEnvelope {
    let receipt =
        ConsensusReceipt { status: Eip658Value::Eip658(success), cumulative_gas_used: cumulative, logs: logs.to_vec() };
    let receipt: ReceiptWithBloom<ConsensusReceipt> = receipt.into_with_bloom();
    match kind {
        TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
        TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
        TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
        TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
        TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
    }
}

#[pymethods]
impl Evm {
    /// Execute a block on the state of its parent with all checks on, and report the results.
    ///
    /// On a proven pre-state everything runs: withdrawals, system calls, requests (`deposit_contract` emits deposits).
    #[pyo3(signature = (block, blob_fee_fraction, deposit_contract=None))]
    fn replay<'py>(
        &mut self,
        py: Python<'py>,
        block: &Block,
        blob_fee_fraction: u64,
        deposit_contract: Option<AddressArg>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let spec = self.settings.spec;
        let env = block.block_env(spec, blob_fee_fraction)?;
        let deposits = deposit_contract.map(|address| address.0);
        self.row.block = env.clone();
        let rules = std::mem::replace(&mut self.settings.rules, Rules::REPLAY);
        let done = self.run(py, |machine, _| Ok(execute(machine, &env, block, spec, deposits)));
        self.settings.rules = rules;
        report(py, block, done?)
    }
}

fn report<'py>(py: Python<'py>, block: &Block, done: Executed) -> PyResult<Bound<'py, PyDict>> {
    let mut cumulative = 0;
    let mut bloom = Bloom::ZERO;
    let mut envelopes = Vec::with_capacity(done.receipts.len());
    let receipts = PyList::empty(py);
    for ((success, gas_used, logs), kind) in done.receipts.iter().zip(&block.kinds) {
        cumulative += gas_used;
        let receipt = envelope(*kind, *success, cumulative, logs);
        bloom.accrue_bloom(receipt.logs_bloom());
        envelopes.push(receipt);
        receipts.append((*success, *gas_used, logs_to_python(py, logs)?))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("receipts", receipts)?;
    dict.set_item("gas_used", cumulative)?;
    dict.set_item("logs_bloom", PyBytes::new(py, bloom.as_slice()))?;
    dict.set_item("receipts_root", PyBytes::new(py, calculate_receipt_root(&envelopes).as_slice()))?;
    dict.set_item("system_calls", done.system_calls)?;
    dict.set_item("withdrawals_applied", done.withdrawals)?;
    dict.set_item("seconds", done.seconds)?;
    let blobs: usize = block.transactions.iter().map(|tx| tx.blob_hashes.len()).sum();
    dict.set_item("blob_gas_used", blobs as u64 * DATA_GAS_PER_BLOB)?;
    let requests = done.requests.as_ref();
    dict.set_item("requests", requests.map(|all| all.iter().map(|one| PyBytes::new(py, one)).collect::<Vec<_>>()))?;
    dict.set_item("requests_hash", requests.map(|all| PyBytes::new(py, all.hash().as_slice())))?;
    let codes: Vec<_> = done.codes.iter().map(|hash| PyBytes::new(py, hash.as_slice())).collect();
    dict.set_item("codes", codes)?;
    dict.set_item("block_hashes_read", done.hashes_read.into_iter().collect::<Vec<_>>())?;
    let failure = done.failure.map(|(index, failure)| {
        let text = match failure {
            Failure::Missing(misses) => misses[0].to_string(),
            Failure::Invalid(text) | Failure::Internal(text) => text,
            Failure::Differs(difference) => difference.message(),
        };
        (index, text)
    });
    dict.set_item("failure", failure)?;
    Ok(dict)
}
