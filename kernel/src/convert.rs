//! Python values to EVM values and back, and failures to exceptions.

use pyo3::{
    create_exception,
    exceptions::{PyException, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyBytes, PyInt, PyList, PyTuple},
};
use revm::primitives::{Address, B256, Log, U256};

use crate::{machine::Failure, specialise::Difference, storage::database::Miss};

create_exception!(_kernel, MissingState, PyException, "State that is not in this world: (message, items).");
create_exception!(_kernel, Reverted, PyException, "The call reverted: (message, output, gas_used).");
create_exception!(_kernel, Halted, PyException, "The call halted: (message, reason, gas_used).");
create_exception!(_kernel, InvalidTransaction, PyException, "The transaction cannot be executed: (message,).");

/// An address argument: exactly twenty bytes.
pub struct AddressArg(pub Address);

impl<'a, 'py> FromPyObject<'a, 'py> for AddressArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let bytes: &[u8] = object.extract()?;
        let array: [u8; 20] = bytes
            .try_into()
            .map_err(|_| PyValueError::new_err(format!("an address has 20 bytes, got {}", bytes.len())))?;
        Ok(Self(Address::from(array)))
    }
}

/// A 256-bit word given as a Python integer.
pub struct WordArg(pub U256);

impl<'a, 'py> FromPyObject<'a, 'py> for WordArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(small) = object.extract::<u64>() {
            return Ok(Self(U256::from(small)));
        }
        let py = object.py();
        if !object.is_instance_of::<PyInt>() {
            return Err(PyTypeError::new_err(format!("an integer is needed, not {}", object.get_type().name()?)));
        }
        let bytes = object.call_method1(intern!(py, "to_bytes"), (32, intern!(py, "big"))).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                PyOverflowError::new_err(format!("{} does not fit into 256 unsigned bits", *object))
            } else {
                error
            }
        })?;
        Ok(Self(U256::from_be_slice(bytes.extract()?)))
    }
}

/// A gas limit given as a Python integer.
pub struct GasArg(pub u64);

impl<'a, 'py> FromPyObject<'a, 'py> for GasArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                PyOverflowError::new_err(format!("gas {} does not fit into 64 unsigned bits", *object))
            } else {
                error
            }
        })
    }
}

pub fn word_to_python(py: Python<'_>, word: U256) -> PyResult<Bound<'_, PyAny>> {
    if let Ok(small) = u64::try_from(word) {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    let bytes = PyBytes::new(py, &word.to_be_bytes::<32>());
    py.get_type::<PyInt>().call_method1(intern!(py, "from_bytes"), (bytes, intern!(py, "big")))
}

pub fn hash_from_python(bytes: &[u8]) -> PyResult<B256> {
    let array: [u8; 32] =
        bytes.try_into().map_err(|_| PyValueError::new_err(format!("a hash has 32 bytes, got {}", bytes.len())))?;
    Ok(B256::from(array))
}

pub fn logs_to_python<'py>(py: Python<'py>, logs: &[Log]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for log in logs {
        let topics = PyList::new(py, log.topics().iter().map(|topic| PyBytes::new(py, topic.as_slice())))?;
        list.append((PyBytes::new(py, log.address.as_slice()), topics, PyBytes::new(py, &log.data.data)))?;
    }
    Ok(list)
}

fn miss_to_python<'py>(py: Python<'py>, miss: &Miss) -> PyResult<Bound<'py, PyTuple>> {
    match miss {
        Miss::Account(address)
        | Miss::Unproven(address, None, _)
        | Miss::Unremovable(address, None, _)
        | Miss::Malformed(address, None) => ("account", PyBytes::new(py, address.as_slice()), 0).into_pyobject(py),
        Miss::Slot(address, slot)
        | Miss::Unproven(address, Some(slot), _)
        | Miss::Unremovable(address, Some(slot), _)
        | Miss::Malformed(address, Some(slot)) => {
            ("slot", PyBytes::new(py, address.as_slice()), word_to_python(py, *slot)?).into_pyobject(py)
        }
        Miss::Code(address, _) => ("code", PyBytes::new(py, address.as_slice()), 0).into_pyobject(py),
        Miss::BlockHash(number) => ("block_hash", PyBytes::new(py, &[]), *number).into_pyobject(py),
    }
}

impl Failure {
    pub fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Missing(misses) => {
                let items: PyResult<Vec<_>> = misses.iter().map(|miss| miss_to_python(py, miss)).collect();
                match items.and_then(|items| PyList::new(py, items)) {
                    Ok(items) => MissingState::new_err((misses[0].to_string(), items.unbind())),
                    Err(error) => error,
                }
            }
            Self::Invalid(text) => InvalidTransaction::new_err(text),
            Self::Internal(text) => PyRuntimeError::new_err(text),
            Self::Differs(difference) => difference_to_python(py, &difference).unwrap_or_else(|error| error),
        }
    }
}

/// The package's own error for a replay that differs, which writes the file that reproduces it: whoever catches errors
/// of calls must not take it for one.
fn difference_to_python(py: Python<'_>, difference: &Difference) -> PyResult<PyErr> {
    let evidence =
        serde_json::to_vec(&difference.evidence).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let told = (difference.message(), PyBytes::new(py, &difference.state), PyBytes::new(py, &evidence));
    let error = py.import("mayavi.evm.replay_difference")?.call_method1("replay_differs", told)?;
    Ok(PyErr::from_value(error))
}
