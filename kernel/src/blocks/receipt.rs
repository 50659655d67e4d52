//! What comes out of a call or transaction, as Python sees it.

use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyList},
};
use revm::{
    context::result::{ExecutionResult, Output},
    primitives::{Address, Bytes, Log, LogData, keccak256},
};

use crate::convert::{AddressArg, Halted, Reverted, hash_from_python, logs_to_python};

/// What a transaction left behind.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct Receipt {
    #[pyo3(get)]
    success: bool,
    #[pyo3(get)]
    gas_used: u64,
    /// Gas spent before the refund; below `gas_used` only where the floor of the calldata applies.
    #[pyo3(get)]
    gas_spent: u64,
    /// Refund after its cap.
    #[pyo3(get)]
    gas_refunded: u64,
    #[pyo3(get)]
    reason: String,
    output: Bytes,
    logs: Vec<Log>,
    created: Option<Address>,
}

impl Receipt {
    /// Whether the transaction succeeded, and did not return false.
    pub fn is_done(&self) -> bool {
        self.success && (self.output.is_empty() || self.output.iter().any(|byte| *byte != 0))
    }

    pub fn new(result: ExecutionResult) -> Self {
        let gas = *result.gas();
        let (gas_used, gas_spent, gas_refunded) = (gas.tx_gas_used(), gas.total_gas_spent(), gas.inner_refunded());
        let failed = |reason: String, output: Bytes| Self {
            success: false,
            gas_used,
            gas_spent,
            gas_refunded,
            reason,
            output,
            logs: Vec::new(),
            created: None,
        };
        match result {
            ExecutionResult::Success { output, logs, .. } => {
                let (output, created) = match output {
                    Output::Call(data) => (data, None),
                    Output::Create(data, address) => (data, address),
                };
                let reason = "success".into();
                Self { success: true, gas_used, gas_spent, gas_refunded, reason, output, logs, created }
            }
            ExecutionResult::Revert { output, .. } => failed("revert".into(), output),
            ExecutionResult::Halt { reason, .. } => failed(format!("{reason:?}"), Bytes::new()),
        }
    }
}

#[pymethods]
impl Receipt {
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.output)
    }

    #[getter]
    fn logs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        logs_to_python(py, &self.logs)
    }

    #[getter]
    fn created<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.created.map(|address| PyBytes::new(py, address.as_slice()))
    }
}

/// The hash of the encoded logs of a transaction: what the official state tests compare.
#[pyfunction]
pub fn logs_hash<'py>(
    py: Python<'py>,
    logs: Vec<(AddressArg, Vec<PyBackedBytes>, PyBackedBytes)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded: PyResult<Vec<Log>> = logs
        .into_iter()
        .map(|(address, topics, data)| {
            let topics = topics.iter().map(|topic| hash_from_python(topic)).collect::<PyResult<_>>()?;
            Ok(Log { address: address.0, data: LogData::new_unchecked(topics, Bytes::copy_from_slice(&data)) })
        })
        .collect();
    Ok(PyBytes::new(py, keccak256(alloy_rlp::encode(encoded?)).as_slice()))
}

/// The output of a call, or the exception with the reason.
pub fn output(py: Python<'_>, result: ExecutionResult) -> PyResult<Bound<'_, PyBytes>> {
    let gas_used = result.tx_gas_used();
    match result {
        ExecutionResult::Success { output, .. } => Ok(PyBytes::new(py, output.data())),
        ExecutionResult::Revert { output, .. } => {
            Err(Reverted::new_err(("the call reverted", PyBytes::new(py, &output).unbind(), gas_used)))
        }
        ExecutionResult::Halt { reason, .. } => {
            let reason = format!("{reason:?}");
            Err(Halted::new_err((format!("the call halted: {reason}"), reason, gas_used)))
        }
    }
}
