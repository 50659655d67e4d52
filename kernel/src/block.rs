//! Mainnet blocks as a node gives them: decoded, their hashes recomputed, executed with every check on.

use alloy_consensus::{
    Eip658Value, Header, Receipt as ConsensusReceipt, ReceiptEnvelope, ReceiptWithBloom, Transaction as _, TxEnvelope,
    TxReceipt, TxType, Typed2718,
    proofs::{calculate_receipt_root, calculate_transaction_root, calculate_withdrawals_root},
    transaction::SignerRecoverable,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_rpc_types_eth::{Block as RpcBlock, Transaction as RpcTransaction};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use revm::{
    context::{BlockEnv, TxEnv, either::Either, result::ExecutionResult},
    primitives::{Address, B256, Bytes, Log, U256, address, alloy_primitives::Bloom, hardfork::SpecId, keccak256},
};

use crate::{
    convert::logs_to_python,
    evm::{Evm, blob_fee},
    machine::{Failure, Machine, Rules},
};

/// EIP-4788: where the parent's beacon root is stored.
const BEACON_ROOTS: Address = address!("000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
/// EIP-2935: where the parent's hash is stored.
const HISTORY: Address = address!("0000F90827F1C53a10cb7A02335B175320002935");
const GWEI: u64 = 1_000_000_000;

/// A block with its transactions, senders recovered from the signatures.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct Block {
    inner: RpcBlock<RpcTransaction<TxEnvelope>>,
    transactions: Vec<TxEnv>,
    kinds: Vec<TxType>,
    /// Transactions whose `from` is not the signer: (index, signer).
    forged: Vec<(usize, Address)>,
    parse_seconds: f64,
    recover_seconds: f64,
}

fn environment(tx: &TxEnvelope, caller: Address) -> TxEnv {
    TxEnv {
        tx_type: tx.ty(),
        caller,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().map(<[B256]>::to_vec).unwrap_or_default(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: tx
            .authorization_list()
            .map(|list| list.iter().cloned().map(Either::Left).collect())
            .unwrap_or_default(),
    }
}

impl Block {
    fn parse(json: &[u8]) -> Result<Self, String> {
        let started = std::time::Instant::now();
        let inner: RpcBlock<RpcTransaction<TxEnvelope>> =
            serde_json::from_slice(json).map_err(|error| format!("not a block with full transactions: {error}"))?;
        let parse_seconds = started.elapsed().as_secs_f64();
        let started = std::time::Instant::now();
        let (mut transactions, mut kinds, mut forged) = (Vec::new(), Vec::new(), Vec::new());
        let list = match inner.transactions.as_transactions() {
            Some(list) => list,
            None if inner.transactions.is_empty() => &[],
            None => return Err("the block has transaction hashes only; ask for full transactions".into()),
        };
        for (index, tx) in list.iter().enumerate() {
            let envelope = tx.inner.inner();
            let signer = envelope
                .recover_signer_unchecked()
                .map_err(|error| format!("transaction {index}: the signature does not recover: {error}"))?;
            if signer != tx.inner.signer() {
                forged.push((index, signer));
            }
            transactions.push(environment(envelope, signer));
            kinds.push(envelope.tx_type());
        }
        let recover_seconds = started.elapsed().as_secs_f64();
        Ok(Self { inner, transactions, kinds, forged, parse_seconds, recover_seconds })
    }

    #[cfg(feature = "bench")]
    pub fn transactions(&self) -> &[TxEnv] {
        &self.transactions
    }

    pub fn block_env(&self, spec: SpecId, blob_fee_fraction: u64) -> PyResult<BlockEnv> {
        let header = &self.inner.header.inner;
        let merged = spec.is_enabled_in(SpecId::MERGE);
        let blob = header.excess_blob_gas.map(|excess| blob_fee(excess, blob_fee_fraction)).transpose();
        Ok(BlockEnv {
            number: U256::from(header.number),
            beneficiary: header.beneficiary,
            timestamp: U256::from(header.timestamp),
            gas_limit: header.gas_limit,
            basefee: header.base_fee_per_gas.unwrap_or_default(),
            difficulty: if merged { U256::ZERO } else { header.difficulty },
            prevrandao: merged.then_some(header.mix_hash),
            blob_excess_gas_and_price: blob.map_err(PyValueError::new_err)?,
            ..Default::default()
        })
    }
}

#[pymethods]
impl Block {
    /// Decode the answer to `eth_getBlockByNumber(…, true)`.
    #[staticmethod]
    fn from_json(py: Python<'_>, json: &[u8]) -> PyResult<Self> {
        py.detach(|| Self::parse(json)).map_err(PyValueError::new_err)
    }

    #[getter]
    fn number(&self) -> u64 {
        self.inner.header.inner.number
    }

    #[getter]
    fn timestamp(&self) -> u64 {
        self.inner.header.inner.timestamp
    }

    fn __len__(&self) -> usize {
        self.transactions.len()
    }

    #[getter]
    fn parse_seconds(&self) -> f64 {
        self.parse_seconds
    }

    #[getter]
    fn recover_seconds(&self) -> f64 {
        self.recover_seconds
    }

    /// Claims of the header, next to the values computed from the block without executing it.
    fn claims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let header = &self.inner.header.inner;
        let envelopes: Vec<&TxEnvelope> =
            self.inner.transactions.as_transactions().unwrap_or_default().iter().map(|tx| tx.inner.inner()).collect();
        let dict = PyDict::new(py);
        let hash = |hash: B256| PyBytes::new(py, hash.as_slice());
        dict.set_item("hash", hash(self.inner.header.hash))?;
        dict.set_item("computed_hash", hash(header.hash_slow()))?;
        dict.set_item("transactions_root", hash(header.transactions_root))?;
        dict.set_item("computed_transactions_root", hash(calculate_transaction_root(&envelopes)))?;
        dict.set_item("withdrawals_root", header.withdrawals_root.map(hash))?;
        let withdrawals = self.inner.withdrawals.as_ref().map(|list| calculate_withdrawals_root(list));
        dict.set_item("computed_withdrawals_root", withdrawals.map(hash))?;
        dict.set_item("receipts_root", hash(header.receipts_root))?;
        dict.set_item("logs_bloom", PyBytes::new(py, header.logs_bloom.as_slice()))?;
        dict.set_item("gas_used", header.gas_used)?;
        dict.set_item("blob_gas_used", header.blob_gas_used)?;
        // Computed from the encoding, not taken from the input.
        let hashes = envelopes.iter().map(|tx| PyBytes::new(py, keccak256(tx.encoded_2718()).as_slice()));
        dict.set_item("transaction_hashes", PyList::new(py, hashes)?)?;
        let stated = envelopes.iter().map(|tx| PyBytes::new(py, tx.tx_hash().as_slice()));
        dict.set_item("stated_transaction_hashes", PyList::new(py, stated)?)?;
        let forged =
            self.forged.iter().map(|(index, signer)| (*index, PyBytes::new(py, signer.as_slice()))).collect::<Vec<_>>();
        dict.set_item("forged", forged)?;
        Ok(dict)
    }
}

/// Hash of a block header given as JSON: the keccak of its RLP encoding.
#[pyfunction]
pub fn header_hash<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let header: Header =
        serde_json::from_slice(json).map_err(|error| PyValueError::new_err(format!("not a block header: {error}")))?;
    Ok(PyBytes::new(py, header.hash_slow().as_slice()))
}

struct Executed {
    receipts: Vec<(bool, u64, Vec<Log>)>,
    failure: Option<(usize, Failure)>,
    system_calls: Vec<(&'static str, bool)>,
    withdrawals: usize,
    seconds: f64,
}

fn execute(machine: &mut Machine, env: &BlockEnv, block: &Block, spec: SpecId) -> Executed {
    let header = &block.inner.header.inner;
    machine.set_block(env);
    let mut done = Executed {
        receipts: Vec::with_capacity(block.transactions.len()),
        failure: None,
        system_calls: Vec::new(),
        withdrawals: 0,
        seconds: 0.0,
    };
    // A system call runs only if its contract is known; the result lists those left out.
    let mut at_start = Vec::new();
    if let Some(root) = header.parent_beacon_block_root.filter(|_| spec.is_enabled_in(SpecId::CANCUN)) {
        at_start.push(("EIP-4788 beacon root", BEACON_ROOTS, root));
    }
    if spec.is_enabled_in(SpecId::PRAGUE) {
        at_start.push(("EIP-2935 parent hash", HISTORY, header.parent_hash));
    }
    for (name, contract, word) in at_start {
        let stands = machine.stands(contract);
        let called = stands && machine.system_call(contract, Bytes::copy_from_slice(word.as_slice())).is_ok();
        done.system_calls.push((name, called));
    }
    let started = std::time::Instant::now();
    for (index, tx) in block.transactions.iter().enumerate() {
        match machine.run_and_commit(tx.clone()) {
            Ok(result) => {
                let gas_used = result.tx_gas_used();
                match result {
                    ExecutionResult::Success { logs, .. } => done.receipts.push((true, gas_used, logs)),
                    _ => done.receipts.push((false, gas_used, Vec::new())),
                }
            }
            Err(failure) => {
                done.failure = Some((index, failure));
                break;
            }
        }
    }
    done.seconds = started.elapsed().as_secs_f64();
    if done.failure.is_none() {
        for withdrawal in block.inner.withdrawals.iter().flat_map(|list| list.iter()) {
            // The balance of an account that no transaction touched is not in the pre-state.
            if !machine.stands(withdrawal.address) {
                continue;
            }
            if let Ok(mut info) = machine.read_info(withdrawal.address) {
                info.balance = info.balance.saturating_add(U256::from(withdrawal.amount) * U256::from(GWEI));
                machine.overlay().set_info(withdrawal.address, info);
                done.withdrawals += 1;
            }
        }
    }
    done
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
    fn replay<'py>(&mut self, py: Python<'py>, block: &Block, blob_fee_fraction: u64) -> PyResult<Bound<'py, PyDict>> {
        let spec = self.settings.spec;
        let env = block.block_env(spec, blob_fee_fraction)?;
        self.row.block = env.clone();
        let rules = std::mem::replace(&mut self.settings.rules, Rules::REPLAY);
        let done = self.run(py, |machine, _| Ok(execute(machine, &env, block, spec)));
        self.settings.rules = rules;
        let done = done?;

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
        let failure = done.failure.map(|(index, failure)| {
            let text = match failure {
                Failure::Missing(misses) => misses[0].to_string(),
                Failure::Invalid(text) | Failure::Internal(text) => text,
            };
            (index, text)
        });
        dict.set_item("failure", failure)?;
        Ok(dict)
    }
}
