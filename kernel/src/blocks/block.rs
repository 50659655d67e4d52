//! Blocks with whole transactions: decoded, signers recovered, hashes recomputed.

use alloy_consensus::{
    Block as ConsensusBlock, Header, SignableTransaction, Transaction as _, TxEip1559, TxEip2930, TxEip4844, TxEip7702,
    TxEnvelope, TxLegacy, TxType, Typed2718,
    proofs::{calculate_transaction_root, calculate_withdrawals_root},
    transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip4895::Withdrawals,
};
use alloy_rlp::Decodable;
use alloy_rpc_types_eth::{Block as RpcBlock, Transaction as RpcTransaction};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};
use revm::{
    context::{BlockEnv, TxEnv, either::Either},
    primitives::{Address, B256, U256, alloy_primitives::Signature, hardfork::SpecId, keccak256},
};
use serde_json::Value;

use crate::evm::blob_fee;

/// A block with its transactions, senders recovered from the signatures.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct Block {
    pub header: Header,
    stated_hash: B256,
    envelopes: Vec<TxEnvelope>,
    /// Headers of the ommers; of a block that is not encoded they are not known.
    pub ommers: Vec<Header>,
    pub withdrawals: Option<Withdrawals>,
    pub transactions: Vec<TxEnv>,
    pub kinds: Vec<TxType>,
    /// Transactions whose signature has the higher of two possible values, by index: invalid since Homestead (EIP-2).
    pub malleable: Vec<usize>,
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

/// A transaction and its signature as one JSON object, without its hash; or the bytes that a block holds.
fn signed(encoded: &[u8]) -> Result<TxEnvelope, String> {
    if encoded.first() != Some(&b'{') {
        let mut rest = encoded;
        let tx = TxEnvelope::decode_2718(&mut rest).map_err(|error| error.to_string())?;
        return if rest.is_empty() { Ok(tx) } else { Err(format!("{} bytes too many", rest.len())) };
    }
    fn typed<T: serde::de::DeserializeOwned>(object: Value) -> Result<T, String> {
        serde_json::from_value(object).map_err(|error| error.to_string())
    }
    let object: Value = serde_json::from_slice(encoded).map_err(|error| error.to_string())?;
    let signature: Signature = typed(object.clone())?;
    Ok(match object.get("type").and_then(Value::as_str) {
        Some("0x0") => TxEnvelope::Legacy(typed::<TxLegacy>(object)?.into_signed(signature)),
        Some("0x1") => TxEnvelope::Eip2930(typed::<TxEip2930>(object)?.into_signed(signature)),
        Some("0x2") => TxEnvelope::Eip1559(typed::<TxEip1559>(object)?.into_signed(signature)),
        Some("0x3") => typed::<TxEip4844>(object)?.into_signed(signature).into(),
        Some("0x4") => TxEnvelope::Eip7702(typed::<TxEip7702>(object)?.into_signed(signature)),
        other => return Err(format!("unknown transaction type {other:?}")),
    })
}

impl Block {
    /// Recover the signers; `senders` are those that the source states.
    pub(super) fn of(
        header: Header,
        stated_hash: B256,
        envelopes: Vec<TxEnvelope>,
        withdrawals: Option<Withdrawals>,
        senders: Option<Vec<Address>>,
        parse_seconds: f64,
    ) -> Result<Self, String> {
        let started = std::time::Instant::now();
        let (mut transactions, mut kinds) = (Vec::new(), Vec::new());
        let (mut malleable, mut forged) = (Vec::new(), Vec::new());
        for (index, envelope) in envelopes.iter().enumerate() {
            let signer = envelope
                .recover_signer_unchecked()
                .map_err(|error| format!("transaction {index}: the signature does not recover: {error}"))?;
            if senders.as_ref().is_some_and(|senders| senders[index] != signer) {
                forged.push((index, signer));
            }
            if envelope.signature().normalize_s().is_some() {
                malleable.push(index);
            }
            transactions.push(environment(envelope, signer));
            kinds.push(envelope.tx_type());
        }
        let recover_seconds = started.elapsed().as_secs_f64();
        Ok(Self {
            header,
            stated_hash,
            envelopes,
            ommers: Vec::new(),
            withdrawals,
            transactions,
            kinds,
            malleable,
            forged,
            parse_seconds,
            recover_seconds,
        })
    }

    fn parse(json: &[u8]) -> Result<Self, String> {
        let started = std::time::Instant::now();
        let inner: RpcBlock<RpcTransaction<TxEnvelope>> =
            serde_json::from_slice(json).map_err(|error| format!("not a block with full transactions: {error}"))?;
        let parse_seconds = started.elapsed().as_secs_f64();
        if inner.transactions.as_transactions().is_none() && !inner.transactions.is_empty() {
            return Err("the block has transaction hashes only; ask for full transactions".into());
        }
        let (mut envelopes, mut senders) = (Vec::new(), Vec::new());
        for tx in inner.transactions.into_transactions() {
            let (envelope, sender) = tx.inner.into_parts();
            envelopes.push(envelope);
            senders.push(sender);
        }
        Self::of(inner.header.inner, inner.header.hash, envelopes, inner.withdrawals, Some(senders), parse_seconds)
    }

    fn assemble(header: &[u8], transactions: &[PyBackedBytes], withdrawals: Option<&[u8]>) -> Result<Self, String> {
        let started = std::time::Instant::now();
        let header = parse_header(header)?;
        let mut envelopes = Vec::with_capacity(transactions.len());
        for (index, encoded) in transactions.iter().enumerate() {
            envelopes.push(signed(encoded).map_err(|error| format!("transaction {index}: {error}"))?);
        }
        let withdrawals = withdrawals
            .map(|json| serde_json::from_slice(json).map_err(|error| format!("not a list of withdrawals: {error}")))
            .transpose()?;
        let parse_seconds = started.elapsed().as_secs_f64();
        Self::of(header.clone(), header.hash_slow(), envelopes, withdrawals, None, parse_seconds)
    }

    fn decode(mut rlp: &[u8]) -> Result<Self, String> {
        let started = std::time::Instant::now();
        let block = ConsensusBlock::<TxEnvelope>::decode(&mut rlp)
            .ok()
            .filter(|_| rlp.is_empty())
            .ok_or("these bytes are not an RLP-encoded block")?;
        let parse_seconds = started.elapsed().as_secs_f64();
        let hash = block.header.hash_slow();
        let (body, header) = (block.body, block.header);
        let decoded = Self::of(header, hash, body.transactions, body.withdrawals, None, parse_seconds)?;
        Ok(Self { ommers: body.ommers, ..decoded })
    }

    #[cfg(feature = "bench")]
    pub fn transactions(&self) -> &[TxEnv] {
        &self.transactions
    }

    pub fn block_env(&self, spec: SpecId, blob_fee_fraction: u64) -> PyResult<BlockEnv> {
        let header = &self.header;
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

    /// A block from its header (JSON), transactions (JSON objects with their signatures, or encoded) and withdrawals.
    #[staticmethod]
    #[pyo3(signature = (header, transactions, withdrawals=None))]
    fn from_parts(
        py: Python<'_>,
        header: &[u8],
        transactions: Vec<PyBackedBytes>,
        withdrawals: Option<&[u8]>,
    ) -> PyResult<Self> {
        py.detach(|| Self::assemble(header, &transactions, withdrawals)).map_err(PyValueError::new_err)
    }

    /// Decode the answer to `debug_getRawBlock`.
    #[staticmethod]
    fn from_rlp(py: Python<'_>, rlp: &[u8]) -> PyResult<Self> {
        py.detach(|| Self::decode(rlp)).map_err(PyValueError::new_err)
    }

    /// The header as JSON, in the names of `eth_getBlockByNumber`.
    #[getter]
    fn header(&self) -> PyResult<String> {
        header_to_json(&self.header)
    }

    #[getter]
    fn number(&self) -> u64 {
        self.header.number
    }

    #[getter]
    fn timestamp(&self) -> u64 {
        self.header.timestamp
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
        let header = &self.header;
        let envelopes: Vec<&TxEnvelope> = self.envelopes.iter().collect();
        let dict = PyDict::new(py);
        let hash = |hash: B256| PyBytes::new(py, hash.as_slice());
        dict.set_item("hash", hash(self.stated_hash))?;
        dict.set_item("computed_hash", hash(header.hash_slow()))?;
        dict.set_item("transactions_root", hash(header.transactions_root))?;
        dict.set_item("computed_transactions_root", hash(calculate_transaction_root(&envelopes)))?;
        dict.set_item("withdrawals_root", header.withdrawals_root.map(hash))?;
        let withdrawals = self.withdrawals.as_ref().map(|list| calculate_withdrawals_root(list));
        dict.set_item("computed_withdrawals_root", withdrawals.map(hash))?;
        dict.set_item("receipts_root", hash(header.receipts_root))?;
        dict.set_item("logs_bloom", PyBytes::new(py, header.logs_bloom.as_slice()))?;
        dict.set_item("gas_used", header.gas_used)?;
        dict.set_item("blob_gas_used", header.blob_gas_used)?;
        dict.set_item("state_root", hash(header.state_root))?;
        dict.set_item("requests_hash", header.requests_hash.map(hash))?;
        // Computed from the encoding, not taken from the input.
        let hashes = envelopes.iter().map(|tx| PyBytes::new(py, keccak256(tx.encoded_2718()).as_slice()));
        dict.set_item("transaction_hashes", PyList::new(py, hashes)?)?;
        let stated = envelopes.iter().map(|tx| PyBytes::new(py, tx.tx_hash().as_slice()));
        dict.set_item("stated_transaction_hashes", PyList::new(py, stated)?)?;
        let signers = self.transactions.iter().map(|tx| PyBytes::new(py, tx.caller.as_slice()));
        dict.set_item("signers", PyList::new(py, signers)?)?;
        let forged =
            self.forged.iter().map(|(index, signer)| (*index, PyBytes::new(py, signer.as_slice()))).collect::<Vec<_>>();
        dict.set_item("forged", forged)?;
        Ok(dict)
    }
}

fn parse_header(json: &[u8]) -> Result<Header, String> {
    serde_json::from_slice(json).map_err(|error| format!("not a block header: {error}"))
}

fn header_to_json(header: &Header) -> PyResult<String> {
    serde_json::to_string(header).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Hash of a block header given as JSON: the keccak of its RLP encoding.
#[pyfunction]
pub fn header_hash<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let header = parse_header(json).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, header.hash_slow().as_slice()))
}

/// An RLP-encoded block header as JSON, in the names of `eth_getBlockByNumber`.
#[pyfunction]
pub fn decode_header(mut rlp: &[u8]) -> PyResult<String> {
    let whole = rlp;
    let header = Header::decode(&mut rlp).map_err(|error| PyValueError::new_err(format!("not a header: {error}")))?;
    if !rlp.is_empty() || header.hash_slow() != keccak256(whole) {
        return Err(PyValueError::new_err("not a header: it has bytes that its fields do not give"));
    }
    header_to_json(&header)
}

#[cfg(test)]
mod tests;
