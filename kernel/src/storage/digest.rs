//! The digest of a state. Python's `hashlib` computes it: OpenSSL's SHA-256 is several times as fast as the one in Rust.

use pyo3::{prelude::*, types::PyBytes};
use revm::primitives::hardfork::SpecId;

use super::{dump, overlay::Row, world::World};

/// Return the SHA-256 of the dump of a state, in hexadecimal digits.
pub fn digest(py: Python<'_>, world: &World, row: &Row, spec: SpecId) -> PyResult<String> {
    let (head, rest) = py.detach(|| dump::in_parts(world, row, spec));
    let hash = match world.canonical().filter(|_| rest.of_kept) {
        Some(kept) => kept.hash_after_codes(py, &head)?,
        None => sha256(py, &head)?,
    };
    hash.call_method1("update", (PyBytes::new(py, &rest.bytes),))?;
    hash.call_method0("hexdigest")?.extract()
}

/// Begin a hash.
pub fn sha256<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("hashlib")?.getattr("sha256")?.call1((PyBytes::new(py, bytes),))
}
