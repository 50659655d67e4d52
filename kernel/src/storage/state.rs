//! `State`: a frozen world as Python sees it.

use std::sync::Arc;

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use revm::{context::BlockEnv, primitives::hardfork::SpecId};

use super::{
    digest, dump,
    overlay::{Overlay, Row},
    world::World,
};

/// A frozen world: immutable, and the base of EVMs and fleets.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct State {
    pub world: Arc<World>,
    pub block: BlockEnv,
    pub spec: SpecId,
}

#[pymethods]
impl State {
    #[staticmethod]
    fn load(py: Python<'_>, dump: &[u8]) -> PyResult<Self> {
        let (world, block, spec) = py.detach(|| dump::load(dump)).map_err(PyValueError::new_err)?;
        Ok(Self { world, block, spec })
    }

    fn dump<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| dump::dump(&self.world, &self.row(), self.spec));
        PyBytes::new(py, &bytes)
    }

    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        digest::digest(py, &self.world, &self.row(), self.spec)
    }

    #[getter]
    fn chain_id(&self) -> u64 {
        self.world.chain_id
    }
}

impl State {
    /// A row that starts at this state.
    pub fn row(&self) -> Row {
        Row { overlay: Overlay::default(), block: self.block.clone() }
    }
}
