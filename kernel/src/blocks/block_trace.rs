//! Trace one transaction of a block in its place, with everything that the block gives it.

use pyo3::{exceptions::PyIndexError, prelude::*, types::PyList};
use revm::primitives::Bytes;

use super::{block::Block, receipt::Receipt};
use crate::{
    convert::{AddressArg, WordArg},
    evm::{Evm, frames},
    machine::Rules,
};

#[pymethods]
impl Evm {
    /// Execute transaction `index` of a block under a tracer, on the state before it: the receipt and the frames.
    ///
    /// Fees, access list, blobs and authorisations count as in the block. `blob_fee_fraction` sets the environment of
    /// the block first; without it the current one stays. `sender`, `value`, `data` and `gas` replace those of the
    /// transaction, with the next nonce of its sender; another sender may be a contract.
    #[pyo3(signature = (block, index, blob_fee_fraction=None, *, sender=None, value=None, data=None, gas=None,
                        next_nonce=false, commit=true))]
    #[allow(clippy::too_many_arguments)]
    fn trace_in_block<'py>(
        &mut self,
        py: Python<'py>,
        block: &Block,
        index: usize,
        blob_fee_fraction: Option<u64>,
        sender: Option<AddressArg>,
        value: Option<WordArg>,
        data: Option<&[u8]>,
        gas: Option<u64>,
        next_nonce: bool,
        commit: bool,
    ) -> PyResult<(Receipt, Bound<'py, PyList>)> {
        let count = block.transactions.len();
        let mut tx = block
            .transactions
            .get(index)
            .cloned()
            .ok_or_else(|| PyIndexError::new_err(format!("the block has {count} transactions, none at {index}")))?;
        let mut rules = Rules::REPLAY;
        if let Some(sender) = sender {
            tx.caller = sender.0;
            rules.check_nonce = false;
        }
        tx.value = value.map_or(tx.value, |value| value.0);
        tx.data = data.map_or(tx.data, Bytes::copy_from_slice);
        tx.gas_limit = gas.unwrap_or(tx.gas_limit);
        if let Some(fraction) = blob_fee_fraction {
            self.row.block = block.block_env(self.settings.spec, fraction)?;
        }
        let usual = std::mem::replace(&mut self.settings.rules, rules);
        let done = self.run(py, |machine, _| {
            if next_nonce || !rules.check_nonce {
                tx.nonce = machine.read_info(tx.caller)?.nonce;
            }
            machine.trace(tx, commit)
        });
        self.settings.rules = usual;
        let (result, tracer) = done?;
        Ok((Receipt::new(result), frames(py, &tracer)?))
    }
}
