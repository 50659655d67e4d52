//! Transactions of one sender with reads between them, in one call from Python: all of them, or none.

use pyo3::{prelude::*, pybacked::PyBackedBytes};
use revm::primitives::U256;

use crate::{
    convert::{AddressArg, Halted, Reverted, WordArg},
    evm::Evm,
};

/// Target and calldata; for a read, the least and the most that the first word of its output may be.
type Step = (AddressArg, PyBackedBytes, Option<(PyBackedBytes, PyBackedBytes)>);

/// What the sender offers for a unit of gas.
#[derive(Clone, Copy)]
struct Price {
    gas: u128,
    tip: Option<u128>,
}

#[pymethods]
impl Evm {
    /// Send the transactions among `steps`; their receipts.
    ///
    /// None, and nothing has happened, where a read is out of its bounds, a target has no code, or a transaction fails
    /// or returns false.
    #[pyo3(signature = (steps, sender, gas_price=0, priority_fee=None))]
    fn attempt<'py>(
        &mut self,
        py: Python<'py>,
        steps: Vec<Step>,
        sender: AddressArg,
        gas_price: u128,
        priority_fee: Option<u128>,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let (start, price) = (self.snapshot(), Price { gas: gas_price, tip: priority_fee });
        let mut receipts = Vec::with_capacity(steps.len());
        for step in steps {
            match self.step(py, step, &sender, price, &mut receipts) {
                Ok(true) => {}
                Ok(false) => {
                    self.revert(start)?;
                    return Ok(None);
                }
                Err(error) => {
                    self.revert(start)?;
                    return Err(error);
                }
            }
        }
        self.release(start)?;
        Ok(Some(receipts))
    }
}

impl Evm {
    /// Whether a step went as expected.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        (to, data, bounds): Step,
        sender: &AddressArg,
        price: Price,
        receipts: &mut Vec<Bound<'py, PyAny>>,
    ) -> PyResult<bool> {
        if !self.has_code(py, AddressArg(to.0))? {
            return Ok(false);
        }
        let Some((least, most)) = bounds else {
            let (from, nothing) = (Some(AddressArg(sender.0)), WordArg(U256::ZERO));
            let receipt = self.transact(py, Some(to), &data, from, nothing, None, price.gas, price.tip)?;
            let done = receipt.is_done();
            receipts.push(Bound::new(py, receipt)?.into_any());
            return Ok(done);
        };
        match self.call(py, to, &data, None, WordArg(U256::ZERO), None) {
            // Big-endian words of equal length compare as their bytes do.
            Ok(output) => Ok(output.as_bytes().get(..32).is_some_and(|word| (&*least..=&*most).contains(&word))),
            Err(error) if error.is_instance_of::<Reverted>(py) || error.is_instance_of::<Halted>(py) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
