//! The EVM kernel of Mayavi: revm behind frozen worlds, writes-only overlays and batched programs. No network, no policy.

#[cfg(feature = "bench")]
mod bare;
mod batch;
mod blocks;
mod bundle;
mod columns;
mod convert;
mod device;
mod evm;
mod faults;
mod hashes;
mod inspector;
mod machine;
mod native;
mod outcomes;
mod paths;
mod proofs;
mod records;
mod rows;
mod seeding;
mod specialise;
mod stopwatch;
mod storage;
#[cfg(test)]
mod test_world;
mod trace;
mod views;

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use revm::primitives::B256;

use convert::{AddressArg, hash_from_python};

#[pyfunction]
fn keccak256<'py>(py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, revm::primitives::keccak256(data).as_slice())
}

#[pyfunction]
fn checksum_address(address: AddressArg) -> String {
    address.0.to_checksum(None)
}

#[pyfunction]
fn create_address<'py>(py: Python<'py>, sender: AddressArg, nonce: u64) -> Bound<'py, PyBytes> {
    PyBytes::new(py, sender.0.create(nonce).as_slice())
}

#[pyfunction]
fn create2_address<'py>(
    py: Python<'py>,
    sender: AddressArg,
    salt: &[u8],
    init_code_hash: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let salt: B256 = hash_from_python(salt)?;
    Ok(PyBytes::new(py, sender.0.create2(salt, hash_from_python(init_code_hash)?).as_slice()))
}

#[pyfunction]
fn hardforks() -> Vec<&'static str> {
    blocks::hardfork::names()
}

#[pyfunction]
#[pyo3(signature = (data, level=3))]
fn zstd_compress<'py>(py: Python<'py>, data: &[u8], level: i32) -> PyResult<Bound<'py, PyBytes>> {
    let packed = py.detach(|| zstd::bulk::compress(data, level))?;
    Ok(PyBytes::new(py, &packed))
}

#[pyfunction]
fn zstd_decompress<'py>(py: Python<'py>, data: &[u8], max_size: usize) -> PyResult<Bound<'py, PyBytes>> {
    let plain = py
        .detach(|| zstd::bulk::decompress(data, max_size))
        .map_err(|error| PyValueError::new_err(format!("zstd: {error}")))?;
    Ok(PyBytes::new(py, &plain))
}

#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("MissingState", py.get_type::<convert::MissingState>())?;
    module.add("Reverted", py.get_type::<convert::Reverted>())?;
    module.add("Halted", py.get_type::<convert::Halted>())?;
    module.add("InvalidTransaction", py.get_type::<convert::InvalidTransaction>())?;
    module.add_class::<blocks::block::Block>()?;
    module.add_class::<storage::state::State>()?;
    module.add_class::<proofs::witness::Witness>()?;
    module.add_class::<evm::Evm>()?;
    module.add_class::<blocks::receipt::Receipt>()?;
    module.add_class::<rows::fleet::Fleet>()?;
    module.add_class::<rows::program::Program>()?;
    module.add_class::<rows::program::PyTemplate>()?;
    module.add_class::<rows::program::Word>()?;
    module.add_class::<native::binding::NativeBuilder>()?;
    module.add_class::<native::binding::NativeCode>()?;
    module.add("DeviceError", py.get_type::<device::binding::DeviceError>())?;
    module.add_class::<device::binding::DeviceCode>()?;
    module.add_class::<device::fleet::DeviceFleet>()?;
    module.add_class::<paths::PathRecorder>()?;
    module.add_class::<records::figures::FigureNames>()?;
    module.add_class::<records::figures::Figures>()?;
    module.add_class::<records::snapshots::SnapshotColumns>()?;
    module.add_function(wrap_pyfunction!(records::parquet_columns::parquet_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(device::binding::cuda_devices, module)?)?;
    module.add_function(wrap_pyfunction!(device::binding::open_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::binding::compile_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(device::binding::digest_weight, module)?)?;
    module.add_function(wrap_pyfunction!(keccak256, module)?)?;
    module.add_function(wrap_pyfunction!(checksum_address, module)?)?;
    module.add_function(wrap_pyfunction!(create_address, module)?)?;
    module.add_function(wrap_pyfunction!(create2_address, module)?)?;
    module.add_function(wrap_pyfunction!(hardforks, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::block::header_hash, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::block::decode_header, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::receipt::logs_hash, module)?)?;
    module.add_function(wrap_pyfunction!(zstd_compress, module)?)?;
    module.add_function(wrap_pyfunction!(zstd_decompress, module)?)?;
    module.add_function(wrap_pyfunction!(rows::portable::exp, module)?)?;
    module.add_function(wrap_pyfunction!(rows::portable::log, module)?)?;
    module.add_function(wrap_pyfunction!(rows::portable::words_to_floats, module)?)?;
    module.add_function(wrap_pyfunction!(columns::columns_to_words, module)?)?;
    module.add_function(wrap_pyfunction!(evm::call_each, module)?)?;
    module.add_function(wrap_pyfunction!(specialise::reproduction::reproduce_difference, module)?)?;
    module.add_function(wrap_pyfunction!(specialise::reproduction::recording_mismatches, module)?)?;
    module.add_function(wrap_pyfunction!(faults::faults, module)?)?;
    module.add_function(wrap_pyfunction!(seeding::stream_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(seeding::stream_words, module)?)?;
    #[cfg(feature = "bench")]
    {
        module.add_function(wrap_pyfunction!(bare::bare_calls, module)?)?;
        module.add_function(wrap_pyfunction!(bare::bare_replay, module)?)?;
    }
    Ok(())
}
