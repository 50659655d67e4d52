//! `State`: a frozen world as Python sees it.

use std::sync::Arc;

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict},
};
use revm::{
    context::BlockEnv,
    primitives::{U256, U256Map, hardfork::SpecId},
    state::AccountInfo,
};

use super::{
    digest, dump,
    overlay::{Overlay, Row},
    world::{Base, BaseAccount, CodeStore, World},
};
use crate::{
    blocks::hardfork,
    convert::{AddressArg, WordArg},
    evm::genesis_block,
};

/// Balance, nonce, code and slots.
type Account<'py> = (WordArg, u64, PyBackedBytes, Bound<'py, PyDict>);

/// A frozen world: immutable, and the base of EVMs and fleets.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct State {
    pub world: Arc<World>,
    pub block: BlockEnv,
    pub spec: SpecId,
}

#[pymethods]
impl State {
    /// A closed world of these accounts, each known in full. Unlike a frozen one it keeps those that are empty.
    #[staticmethod]
    fn of_accounts(chain_id: u64, hardfork: &str, accounts: &Bound<'_, PyDict>) -> PyResult<Self> {
        let spec = hardfork::parse(hardfork).map_err(PyValueError::new_err)?;
        let (mut base, mut codes) = (Base::default(), CodeStore::default());
        for (address, account) in accounts.iter() {
            let address = address.extract::<AddressArg>()?.0;
            let (balance, nonce, code, pairs) = account.extract::<Account<'_>>()?;
            let (code_hash, code) =
                codes.intern(&code).map_err(|error| PyValueError::new_err(format!("account {address}: {error}")))?;
            let mut slots: U256Map<U256> = U256Map::default();
            for (key, value) in pairs.iter() {
                slots.insert(key.extract::<WordArg>()?.0, value.extract::<WordArg>()?.0);
            }
            let info = AccountInfo { balance: balance.0, nonce, code_hash, code: Some(code), account_id: None };
            base.insert(BaseAccount { address, info, complete: true, slots });
        }
        Ok(Self { world: World::new(chain_id, true, base), block: genesis_block(), spec })
    }

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
