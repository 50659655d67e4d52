//! Execution witnesses and proofs for Python: trie nodes and codes below a state root.

use std::sync::Arc;

use alloy_trie::nodes::TrieNode;
use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use revm::primitives::{B256, hardfork::SpecId};

use super::{proven::Proven, whole};
use crate::{
    convert::{AddressArg, WordArg, hash_from_python, word_to_python},
    evm::Evm,
    machine::Failure,
    storage::{database::Miss, world::World},
};

/// Trie nodes and codes below a state root. Everything is found by its hash.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct Witness {
    proven: Arc<Proven>,
}

/// Nonce, balance, storage root and code hash.
type Account<'py> = (u64, Bound<'py, PyAny>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn missing(py: Python<'_>, miss: Miss) -> PyErr {
    Failure::Missing(vec![miss]).into_python(py)
}

fn list<'py>(py: Python<'py>, hashes: impl Iterator<Item = B256>) -> Vec<Bound<'py, PyBytes>> {
    let mut sorted: Vec<B256> = hashes.collect();
    sorted.sort_unstable();
    sorted.iter().map(|hash| PyBytes::new(py, hash.as_slice())).collect()
}

#[pymethods]
impl Witness {
    #[new]
    #[pyo3(signature = (state_root, nodes, codes=Vec::new()))]
    fn new(py: Python<'_>, state_root: &[u8], nodes: Vec<PyBackedBytes>, codes: Vec<PyBackedBytes>) -> PyResult<Self> {
        let root = hash_from_python(state_root)?;
        let proven = py
            .detach(|| Proven::new(root, nodes.iter().map(|node| &**node), codes.iter().map(|code| &**code)))
            .map_err(PyValueError::new_err)?;
        Ok(Self { proven: Arc::new(proven) })
    }

    /// Number of different nodes.
    fn __len__(&self) -> usize {
        self.proven.nodes.len()
    }

    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.proven.state_root.as_slice())
    }

    /// Hashes of the nodes and of the codes that nothing below the state root refers to.
    fn unreferenced<'py>(&self, py: Python<'py>) -> (Vec<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>) {
        let found = py.detach(|| self.proven.references());
        // The node of an empty trie belongs to no other node.
        let nodes = self.proven.nodes.hashes().filter(|(_, node)| !matches!(node, TrieNode::EmptyRoot));
        let nodes = nodes.map(|(hash, _)| *hash).filter(|hash| !found.nodes.contains(hash));
        let codes = self.proven.codes().copied().filter(|hash| !found.codes.contains(hash));
        (list(py, nodes), list(py, codes))
    }

    /// Nonce, balance, storage root and code hash; `None` if it is proven that there is no such account.
    fn account<'py>(&self, py: Python<'py>, address: AddressArg) -> PyResult<Option<Account<'py>>> {
        let Some(account) = self.proven.account(address.0).map_err(|miss| missing(py, miss))? else { return Ok(None) };
        Ok(Some((
            account.nonce,
            word_to_python(py, account.balance)?,
            PyBytes::new(py, account.storage_root.as_slice()),
            PyBytes::new(py, account.code_hash.as_slice()),
        )))
    }

    /// Proven value of a slot.
    fn slot<'py>(&self, py: Python<'py>, address: AddressArg, slot: WordArg) -> PyResult<Bound<'py, PyAny>> {
        let value = self.proven.slot(address.0, slot.0).map_err(|miss| missing(py, miss))?;
        word_to_python(py, value)
    }
}

#[pymethods]
impl Evm {
    /// An EVM on the state below the witness's root. Reading what the witness does not prove is an error.
    #[staticmethod]
    fn from_witness(chain_id: u64, hardfork: &str, witness: &Witness) -> PyResult<Self> {
        let mut evm = Self::new(chain_id, hardfork, false)?;
        evm.world = World::of_proofs(chain_id, Arc::clone(&witness.proven));
        Ok(evm)
    }

    /// State root with the writes applied, of a state from a witness or of a world known in full.
    fn state_root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if self.world.proven.is_none() && !self.world.whole {
            return Err(PyValueError::new_err("only a state from a witness or known in full has a state root"));
        }
        let Self { world, row, settings, stopwatch, .. } = self;
        let clear_empty = settings.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
        let compute = || match &world.proven {
            Some(proven) => proven.root_after(&row.overlay, clear_empty),
            None => Ok(whole::root_of(world, &row.overlay, clear_empty)),
        };
        let root = py.detach(|| stopwatch.time(compute)).map_err(|miss| missing(py, miss))?;
        Ok(PyBytes::new(py, root.as_slice()))
    }
}
